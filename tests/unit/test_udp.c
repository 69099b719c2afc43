/*
 * An answer is cut into datagrams: all of it, in order, numbered, each full
 * but the last.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "server/udp.h"
#include "tests/unit/run_suite.h"

#define ROOM UDP_PAYLOAD_BYTES

static struct pool pool;
static struct output out;

static void set_up(void)
{
	memset(&pool, 0, sizeof(pool));
	output_init(&out, &pool);
}

static void tear_down(void)
{
	output_clear(&out);
	pool_done(&pool);
}

static char byte_at(size_t at)
{
	return (char)(at * 31 % 251);
}

/* Queues so many bytes: first small pieces, then one with its own memory. */
static void queue_answer(size_t bytes)
{
	struct reply *reply;
	char *memory;
	size_t at;

	for (at = 0; at < bytes / 3; at++) {
		char byte = byte_at(at);

		ck_assert(output_write(&out, &byte, 1));
	}
	reply = output_heap_new(bytes - at + 1, &memory);
	ck_assert_ptr_nonnull(reply);
	for (size_t i = at; i < bytes; i++)
		memory[i - at] = byte_at(i);
	output_heap_keep(&out, reply, memory, bytes - at, 0);
}

static const struct {
	size_t bytes;
	uint16_t count;
} counts[] = {
	{0, 0},
	{1, 1},
	{ROOM - 1, 1},
	{ROOM, 1},
	{ROOM + 1, 2},
	{2 * ROOM, 2},
	{2 * ROOM + 1, 3},
	{256 * ROOM, 256},
	{256 * ROOM + 1, 257},
	{(size_t)UINT16_MAX * ROOM, UINT16_MAX},
	{(size_t)UINT16_MAX * ROOM + 1, 0},
	{(size_t)(UINT16_MAX + 2) * ROOM, 0},
};

START_TEST(test_udp_count)
{
	ck_assert_uint_eq(udp_count(counts[_i].bytes), counts[_i].count);
}
END_TEST

static unsigned number_at(const char *buf, size_t at)
{
	return (unsigned)(unsigned char)buf[at] << 8 |
	       (unsigned char)buf[at + 1];
}

static void check_cut(size_t bytes)
{
	struct proto_frame frame = {.request_id = 0xabcd,
				    .count = udp_count(bytes)};
	char buf[UDP_ANSWER_BYTES];
	size_t seen = 0;

	queue_answer(bytes);
	for (unsigned n = 0; n < frame.count; n++) {
		size_t size = udp_cut(&out, &frame, buf);

		ck_assert_uint_eq(number_at(buf, 0), 0xabcd);
		ck_assert_uint_eq(number_at(buf, 2), n);
		ck_assert_uint_eq(number_at(buf, 4), frame.count);
		ck_assert_uint_eq(number_at(buf, 6), 0);
		ck_assert(size == UDP_ANSWER_BYTES || n == frame.count - 1u);
		for (size_t i = PROTO_FRAME_HEAD; i < size; i++)
			ck_assert_int_eq(buf[i], byte_at(seen++));
	}
	ck_assert_uint_eq(seen, bytes);
	ck_assert_uint_eq(output_take(&out, buf, sizeof(buf)), 0);
}

START_TEST(test_udp_cut)
{
	if (counts[_i].bytes <= 257 * ROOM)
		check_cut(counts[_i].bytes);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("udp");
	TCase *tests = tcase_create("answers");
	int count = (int)(sizeof(counts) / sizeof(counts[0]));

	tcase_add_checked_fixture(tests, set_up, tear_down);
	tcase_add_loop_test(tests, test_udp_count, 0, count);
	tcase_add_loop_test(tests, test_udp_cut, 0, count);
	suite_add_tcase(suite, tests);
	return run_suite(suite);
}
