/*
 * test_protocol_udp.c - the frame in front of a datagram.
 */
#include "protocol/protocol.h"
#include "tests/unit/test_protocol_guard.h"

#include <check.h>

#include "tests/unit/run_suite.h"

#define FRAME 8

static bool parse(const char *bytes, size_t len, struct proto_frame *ret)
{
	struct guard guard;
	bool good;

	guard_open(&guard, len > 0 ? len : 1);
	good = proto_frame_parse(guard_at_end(&guard, bytes, len), len, ret);
	guard_close(&guard);
	return good;
}

/* Datagrams, whether they are taken, and what is read of them. */
static const struct {
	char bytes[24];
	size_t len;
	bool taken;
	struct proto_frame want;
} datagrams[] = {
	{"\x12\x34\0\0\0\x01\0\0g", 9, true, {0x1234, 0, 1}},
	{"\xff\xff\xff\xfe\0\x01\0\0get", 11, true, {0xffff, 0xfffe, 1}},
	{"\0\0\0\0\0\x01\xff\xffq", 9, true, {0, 0, 1}}, /* unused: ignored */
	{"\0\x01\0\0\0\0\0\0g", 9, false, {0}},
	{"\0\x01\0\0\0\x02\0\0g", 9, false, {0}},
	{"\0\x01\0\0\x01\0\0\0g", 9, false, {0}},
	{"\0\x01\0\0\x01\x01\0\0g", 9, false, {0}},
	{"\0\x01\0\0\0\x01\0\0", 8, false, {0}}, /* nothing behind it */
	/* another server's error */
	{"\0\x01\0\0\0\x01\0\0ERROR", 13, false, {0}},
	{"\0\x01\0\0\0\x01\0\0ERROR\r\n", 15, false, {0}},
	{"\0\x01\0\0\0\x01\0\0CLIENT_ERROR x", 22, false, {0}},
	{"\0\x01\0\0\0\x01\0\0SERVER_ERROR x", 22, false, {0}},
	{"\0\x01\0\0\0\x01\0\0ERRO", 12, true, {1, 0, 1}},
};

START_TEST(test_parse)
{
	struct proto_frame frame = {1, 2, 3};

	ck_assert(parse(datagrams[_i].bytes, datagrams[_i].len, &frame) ==
		  datagrams[_i].taken);
	if (!datagrams[_i].taken) {
		ck_assert_uint_eq(frame.request_id, 1);
		ck_assert_uint_eq(frame.sequence, 2);
		ck_assert_uint_eq(frame.count, 3);
		return;
	}
	ck_assert_uint_eq(frame.request_id, datagrams[_i].want.request_id);
	ck_assert_uint_eq(frame.sequence, datagrams[_i].want.sequence);
	ck_assert_uint_eq(frame.count, datagrams[_i].want.count);
}
END_TEST

START_TEST(test_short_datagrams)
{
	struct proto_frame frame;
	size_t len;

	for (len = 0; len <= FRAME; len++)
		ck_assert(!parse("\0\x01\0\0\0\x01\0\0", len, &frame));
}
END_TEST

START_TEST(test_write)
{
	const struct proto_frame frame = {0x1234, 0xabcd, 0x00ff};
	char filler[FRAME];
	struct guard guard;
	char *room;

	memset(filler, 0xA5, sizeof(filler));
	guard_open(&guard, 1);
	guard_at_end(&guard, filler, sizeof(filler));
	room = guard.data + guard.size - FRAME;
	proto_frame_write(room, &frame);
	ck_assert_mem_eq(room, "\x12\x34\xab\xcd\x00\xff\x00\x00", FRAME);
	guard_close(&guard);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("protocol_udp");
	TCase *frames = tcase_create("frames");

	tcase_add_loop_test(frames, test_parse, 0,
			    (int)(sizeof(datagrams) / sizeof(datagrams[0])));
	tcase_add_test(frames, test_short_datagrams);
	tcase_add_test(frames, test_write);
	suite_add_tcase(suite, frames);

	return run_suite(suite);
}
