/*
 * test_protocol_peek.c - gets that are found without parsing them.
 */
#include "protocol/protocol.h"
#include "tests/unit/protocol_rig.h"
#include "tests/unit/test_protocol_guard.h"

#include <check.h>

#include "tests/unit/run_suite.h"

typedef size_t (*peek_fn)(const char *buf, size_t len, struct proto_slice *ret);

/* What stands in the buffer, and how much of it is a get of which key. */
struct peek_case {
	struct proto_slice bytes;
	size_t found;
	const char *key;
};

static const struct peek_case lines[] = {
	{L("get k\r\n"), 7, "k"},
	{L("get k\n"), 6, "k"},
	{L("gets key\r\nget other\r\n"), 10, "key"},
	{L("get one two\r\n"), 13, "one"},
	{L("mg key v q\r\n"), 12, "key"},
	{L("get " K250 "\r\n"), 256, K250},
	{L("get " K250 "k\r\n"), 0, ""},
	{L("get  k\r\n"), 0, ""}, /* good, but unusual */
	{L("get \r\n"), 0, ""},
	{L("get \n"), 0, ""},
	{L("get key"), 0, ""}, /* not whole */
	{L("gat 0 k\r\n"), 0, ""},
	{L("set k 0 0 1\r\n"), 0, ""},
	{L("getter\r\n"), 0, ""},
	{L("mn\r\n"), 0, ""},
	{L("g"), 0, ""},
	{L(""), 0, ""},
};

#define HEAD(opcode, key, extras, body)                   \
	"\x80" opcode "\0" key extras "\0\0\0\0\0\0" body \
	"\0\0\0\1\0\0\0\0\0\0\0\0"

static const struct peek_case packets[] = {
	{L(HEAD("\x00", "\3", "\0", "\3") "key"), 27, "key"},
	{L(HEAD("\x09", "\3", "\0", "\3") "key and more"), 27, "key"},
	{L(HEAD("\x0c", "\1", "\0", "\1") "k"), 25, "k"},
	{L(HEAD("\x0d", "\1", "\0", "\1") "k"), 25, "k"},
	{L(HEAD("\x00", "\3", "\0", "\3") "ke"), 0, ""}, /* not whole */
	{L(HEAD("\x00", "\0", "\0", "\0") "k"), 0, ""},
	{L(HEAD("\x00", "\3", "\0", "\4") "key "), 0, ""},
	{L(HEAD("\x00", "\xff", "\0", "\xff") K250 "kkkkk"), 0, ""},
	{L(HEAD("\x0a", "\0", "\0", "\0")), 0, ""},	/* noop */
	{L(HEAD("\x04", "\1", "\0", "\1") "k"), 0, ""}, /* delete */
	{L(HEAD("\xfe", "\1", "\0", "\1") "k"), 0, ""},
	{L("get key\r\nget another key\r\n"), 0, ""},
	{L("\x80"), 0, ""},
	{L(""), 0, ""},
};

static void check_peek(peek_fn peek, const struct peek_case *want)
{
	struct proto_slice key = {"", 0};
	struct guard guard;
	size_t found;

	guard_open(&guard, want->bytes.len > 0 ? want->bytes.len : 1);
	found = peek(guard_at_end(&guard, want->bytes.data, want->bytes.len),
		     want->bytes.len, &key);
	ck_assert_uint_eq(found, want->found);
	ck_assert_uint_eq(key.len, strlen(want->key));
	ck_assert_int_eq(memcmp(key.data, want->key, key.len), 0);
	guard_close(&guard);
}

START_TEST(test_text_peek)
{
	check_peek(proto_text_peek, &lines[_i]);
}
END_TEST

START_TEST(test_binary_peek)
{
	check_peek(proto_binary_peek, &packets[_i]);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("protocol peek");
	TCase *tests = tcase_create("peek");

	tcase_add_loop_test(tests, test_text_peek, 0,
			    sizeof(lines) / sizeof(lines[0]));
	tcase_add_loop_test(tests, test_binary_peek, 0,
			    sizeof(packets) / sizeof(packets[0]));
	suite_add_tcase(suite, tests);
	return run_suite(suite);
}
