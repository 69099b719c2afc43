/*
 * test_protocol_base64.c - every length, every pair of bytes, and what is no
 * base64.
 */
#include "protocol/base64.h"
#include "tests/unit/test_protocol_guard.h"

#include <check.h>

#include "tests/unit/run_suite.h"

static const struct {
	const char *bytes, *text;
} known[] = {
	{"f", "Zg=="},
	{"fo", "Zm8="},
	{"foo", "Zm9v"},
	{"foob", "Zm9vYg=="},
	{"fooba", "Zm9vYmE="},
	{"foobar", "Zm9vYmFy"},
	{"\xff\xef\xbf", "/++/"},
};

START_TEST(test_known)
{
	const struct proto_slice bytes = {known[_i].bytes,
					  strlen(known[_i].bytes)};
	const struct proto_slice text = {known[_i].text,
					 strlen(known[_i].text)};
	char room[16];
	size_t len;

	ck_assert_uint_eq(proto_base64_encode(bytes, room), text.len);
	ck_assert_mem_eq(room, text.data, text.len);
	ck_assert(base64_decode(text, room, &len));
	ck_assert_uint_eq(len, bytes.len);
	ck_assert_mem_eq(room, bytes.data, len);
}
END_TEST

/* Encodes into the last bytes there are, and decodes from there. */
static void check_round(struct guard *in, struct guard *out,
			struct proto_slice bytes)
{
	const size_t want = BASE64_BYTES(bytes.len);
	char *text = out->data + out->size - want;
	char back[PROTO_KEY_MAX + 2];
	size_t len;

	bytes.data = guard_at_end(in, bytes.data, bytes.len);
	ck_assert_uint_eq(proto_base64_encode(bytes, text), want);
	ck_assert(base64_decode((struct proto_slice){text, want}, back, &len));
	ck_assert_uint_eq(len, bytes.len);
	ck_assert_mem_eq(back, bytes.data, len);
}

START_TEST(test_round_of_every_length)
{
	char bytes[PROTO_KEY_MAX];
	struct guard in, out;

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (char)(i * 37 + 11);
	guard_open(&in, 1);
	guard_open(&out, 1);
	for (size_t len = 1; len <= sizeof(bytes); len++)
		check_round(&in, &out, (struct proto_slice){bytes, len});
	guard_close(&out);
	guard_close(&in);
}
END_TEST

START_TEST(test_round_of_every_pair)
{
	for (unsigned int pair = 0; pair < 65536; pair++) {
		const char bytes[2] = {(char)(pair >> 8), (char)pair};
		char text[4], back[3];
		size_t len;

		proto_base64_encode((struct proto_slice){bytes, 2}, text);
		ck_assert(base64_decode((struct proto_slice){text, 4}, back,
					&len));
		ck_assert_uint_eq(len, 2);
		ck_assert_mem_eq(back, bytes, 2);
	}
}
END_TEST

static const char *const wrong[] = {
	"",	   "Z",	   "Zg",       "Zg=",  "Zm9vY", "Z===", "====",
	"=Zg=",	   "Zg=g", "Zg==Zg==", "Zm9-", "Zm9_",	"Zm 9", "Zm9\n",
	"Zm9\x80", "@m9v", "[m9v",     "`m9v", "{m9v",	"/m9:",
};

START_TEST(test_wrong)
{
	const struct proto_slice text = {wrong[_i], strlen(wrong[_i])};
	char room[16];
	size_t len = 77;

	ck_assert(!base64_decode(text, room, &len));
	ck_assert_uint_eq(len, 77);
}
END_TEST

/* Clients that leave rubbish in the last bits are understood. */
START_TEST(test_bits_left_over)
{
	char room[3];
	size_t len;

	ck_assert(base64_decode((struct proto_slice){"Zh==", 4}, room, &len));
	ck_assert_uint_eq(len, 1);
	ck_assert_mem_eq(room, "f", 1);
}
END_TEST

#define COUNT(array) ((int)(sizeof(array) / sizeof((array)[0])))

int main(void)
{
	Suite *suite = suite_create("protocol_base64");
	TCase *base64 = tcase_create("base64");

	tcase_add_loop_test(base64, test_known, 0, COUNT(known));
	tcase_add_test(base64, test_round_of_every_length);
	tcase_add_test(base64, test_round_of_every_pair);
	tcase_add_loop_test(base64, test_wrong, 0, COUNT(wrong));
	tcase_add_test(base64, test_bits_left_over);
	suite_add_tcase(suite, base64);
	return run_suite(suite);
}
