/*
 * test_protocol_token.c - tokens, strict integers, words.
 *
 * Every text is looked at right before an unreadable page.
 */
#include "protocol/token.h"
#include "tests/unit/test_protocol_guard.h"

#include <check.h>

#include "tests/unit/run_suite.h"

#define SLICE(text)                    \
	{                              \
		text, sizeof(text) - 1 \
	}

static struct proto_slice guarded(struct guard *guard, struct proto_slice text)
{
	struct proto_slice copy = {guard_at_end(guard, text.data, text.len),
				   text.len};

	return copy;
}

static const struct {
	struct proto_slice text;
	bool good;
	uint64_t number;
} unsigned_cases[] = {
	{SLICE("0"), true, 0},
	{SLICE("9"), true, 9},
	{SLICE("007"), true, 7},
	{SLICE("00000000000000000000000000000000012"), true, 12},
	{SLICE("4294967295"), true, UINT32_MAX},
	{SLICE("4294967296"), true, UINT64_C(4294967296)},
	{SLICE("18446744073709551609"), true, UINT64_MAX - 6},
	{SLICE("18446744073709551615"), true, UINT64_MAX},
	{SLICE("18446744073709551616"), false, 0},
	{SLICE("18446744073709551620"), false, 0},
	{SLICE("99999999999999999999"), false, 0},
	{SLICE("184467440737095516150"), false, 0},
	{SLICE(""), false, 0},
	{SLICE("-"), false, 0},
	{SLICE("-0"), false, 0},
	{SLICE("-1"), false, 0},
	{SLICE("+1"), false, 0},
	{SLICE(" 1"), false, 0},
	{SLICE("1 "), false, 0},
	{SLICE("1x"), false, 0},
	{SLICE("0x1"), false, 0},
	{SLICE("1.0"), false, 0},
	{SLICE("1\0"), false, 0},
	{SLICE("/"), false, 0},
	{SLICE(":"), false, 0},
	{SLICE("\xb1"), false, 0},
};

#define UNSIGNED_COUNT (sizeof(unsigned_cases) / sizeof(unsigned_cases[0]))

START_TEST(test_parse_u64)
{
	struct guard guard;
	size_t i;

	guard_open(&guard, 1);
	for (i = 0; i < UNSIGNED_COUNT; i++) {
		uint64_t number = 77;

		ck_assert_int_eq(
			proto_parse_u64(guarded(&guard, unsigned_cases[i].text),
					&number),
			unsigned_cases[i].good);
		ck_assert_uint_eq(number, unsigned_cases[i].good
						  ? unsigned_cases[i].number
						  : 77);
	}
	guard_close(&guard);
}
END_TEST

START_TEST(test_parse_u32)
{
	struct guard guard;
	size_t i;

	guard_open(&guard, 1);
	for (i = 0; i < UNSIGNED_COUNT; i++) {
		const bool good = unsigned_cases[i].good &&
				  unsigned_cases[i].number <= UINT32_MAX;
		uint32_t number = 77;

		ck_assert_int_eq(
			proto_parse_u32(guarded(&guard, unsigned_cases[i].text),
					&number),
			good);
		ck_assert_uint_eq(number, good ? unsigned_cases[i].number : 77);
	}
	guard_close(&guard);
}
END_TEST

static const struct {
	struct proto_slice text;
	bool good;
	int64_t number;
} signed_cases[] = {
	{SLICE("0"), true, 0},
	{SLICE("-0"), true, 0},
	{SLICE("-1"), true, -1},
	{SLICE("2592000"), true, 2592000},
	{SLICE("2147483648"), true, INT64_C(2147483648)},
	{SLICE("9223372036854775807"), true, INT64_MAX},
	{SLICE("-9223372036854775807"), true, -INT64_MAX},
	{SLICE("-9223372036854775808"), true, INT64_MIN},
	{SLICE("9223372036854775808"), false, 0},
	{SLICE("-9223372036854775809"), false, 0},
	{SLICE("18446744073709551616"), false, 0},
	{SLICE("-18446744073709551616"), false, 0},
	{SLICE(""), false, 0},
	{SLICE("-"), false, 0},
	{SLICE("--1"), false, 0},
	{SLICE("- 1"), false, 0},
	{SLICE("+1"), false, 0},
	{SLICE("-1x"), false, 0},
};

START_TEST(test_parse_i64)
{
	struct guard guard;
	size_t i;

	guard_open(&guard, 1);
	for (i = 0; i < sizeof(signed_cases) / sizeof(signed_cases[0]); i++) {
		int64_t number = 77;

		ck_assert_int_eq(
			proto_parse_i64(guarded(&guard, signed_cases[i].text),
					&number),
			signed_cases[i].good);
		ck_assert_int_eq(number, signed_cases[i].good
						 ? signed_cases[i].number
						 : 77);
	}
	guard_close(&guard);
}
END_TEST

START_TEST(test_take_tokens)
{
	struct proto_slice line = SLICE("  one two   a\tb ");
	struct proto_slice token = SLICE("before");
	struct guard guard;

	guard_open(&guard, 1);
	line = guarded(&guard, line);
	ck_assert(proto_token_take(&line, &token));
	ck_assert(proto_slice_is(token, "one"));
	ck_assert(proto_token_take(&line, &token));
	ck_assert(proto_slice_is(token, "two"));
	ck_assert(proto_token_take(&line, &token));
	ck_assert(proto_slice_is(token, "a\tb"));
	ck_assert(!proto_token_take(&line, &token));
	ck_assert(proto_slice_is(token, "a\tb"));
	ck_assert_uint_eq(line.len, 0);
	ck_assert(!proto_token_take(&line, &token));
	guard_close(&guard);
}
END_TEST

START_TEST(test_take_key_good_and_bad)
{
	struct proto_slice line = SLICE(" good a\0b x\ry\0 last");
	struct proto_slice key;
	struct guard guard;

	guard_open(&guard, 1);
	line = guarded(&guard, line);
	ck_assert_int_eq(proto_token_take_key(&line, &key), PROTO_KEY_GOOD);
	ck_assert(proto_slice_is(key, "good"));
	ck_assert_int_eq(proto_token_take_key(&line, &key), PROTO_KEY_BAD);
	ck_assert_uint_eq(key.len, 3);
	ck_assert_mem_eq(key.data, "a\0b", 3);
	ck_assert_int_eq(proto_token_take_key(&line, &key), PROTO_KEY_BAD);
	ck_assert_uint_eq(key.len, 4);
	ck_assert_int_eq(proto_token_take_key(&line, &key), PROTO_KEY_GOOD);
	ck_assert(proto_slice_is(key, "last"));
	ck_assert_int_eq(proto_token_take_key(&line, &key), PROTO_KEY_NONE);
	ck_assert(proto_slice_is(key, "last"));
	guard_close(&guard);
}
END_TEST

START_TEST(test_take_key_of_each_length)
{
	char text[PROTO_KEY_MAX + 2];
	struct guard guard;
	size_t len;

	guard_open(&guard, 1);
	memset(text, 'k', sizeof(text));
	for (len = 1; len <= sizeof(text); len++) {
		struct proto_slice line = {text, len}, key;

		line = guarded(&guard, line);
		ck_assert_int_eq(proto_token_take_key(&line, &key),
				 len <= PROTO_KEY_MAX ? PROTO_KEY_GOOD
						      : PROTO_KEY_BAD);
		ck_assert_uint_eq(key.len, len);
	}
	guard_close(&guard);
}
END_TEST

START_TEST(test_next_key_to_the_end)
{
	struct proto_slice keys = SLICE(" a  bb"), key;
	struct guard guard;

	guard_open(&guard, 1);
	keys = guarded(&guard, keys);
	ck_assert(proto_next_token(&keys, &key));
	ck_assert(proto_slice_is(key, "a"));
	ck_assert(proto_next_token(&keys, &key));
	ck_assert(proto_slice_is(key, "bb"));
	ck_assert(!proto_next_token(&keys, &key));
	guard_close(&guard);
}
END_TEST

static const struct {
	struct proto_slice text;
	const char *left; /* NULL: not cut */
} noreply_cases[] = {
	{SLICE("noreply"), ""},	    {SLICE(" noreply"), ""},
	{SLICE("k  noreply"), "k"}, {SLICE("noreply noreply"), "noreply"},
	{SLICE("xnoreply"), NULL},  {SLICE("noreplyx"), NULL},
	{SLICE("noreply x"), NULL}, {SLICE("NOREPLY"), NULL},
	{SLICE("oreply"), NULL},    {SLICE(""), NULL},
};

START_TEST(test_cut_noreply)
{
	struct guard guard;
	size_t i;

	guard_open(&guard, 1);
	for (i = 0; i < sizeof(noreply_cases) / sizeof(noreply_cases[0]); i++) {
		const char *left = noreply_cases[i].left;
		struct proto_slice text =
			guarded(&guard, noreply_cases[i].text);
		const size_t len = text.len;

		ck_assert_int_eq(proto_token_cut_noreply(&text), left != NULL);
		if (left)
			ck_assert(proto_slice_is(text, left));
		else
			ck_assert_uint_eq(text.len, len);
	}
	guard_close(&guard);
}
END_TEST

START_TEST(test_trim)
{
	struct proto_slice blanks = SLICE("   "), text = SLICE(" a b  ");

	proto_token_trim(&blanks);
	ck_assert_uint_eq(blanks.len, 0);
	proto_token_trim(&blanks);
	ck_assert_uint_eq(blanks.len, 0);
	proto_token_trim(&text);
	ck_assert(proto_slice_is(text, " a b"));
}
END_TEST

START_TEST(test_slice_is)
{
	struct proto_slice text = SLICE("on"), zero = SLICE("on\0");

	ck_assert(proto_slice_is(text, "on"));
	ck_assert(!proto_slice_is(text, "o"));
	ck_assert(!proto_slice_is(text, "off"));
	ck_assert(!proto_slice_is(text, "ON"));
	ck_assert(!proto_slice_is(text, ""));
	ck_assert(!proto_slice_is(zero, "on"));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("protocol_token");
	TCase *integers = tcase_create("integers");
	TCase *tokens = tcase_create("tokens");

	tcase_add_test(integers, test_parse_u64);
	tcase_add_test(integers, test_parse_u32);
	tcase_add_test(integers, test_parse_i64);
	suite_add_tcase(suite, integers);

	tcase_add_test(tokens, test_take_tokens);
	tcase_add_test(tokens, test_take_key_good_and_bad);
	tcase_add_test(tokens, test_take_key_of_each_length);
	tcase_add_test(tokens, test_next_key_to_the_end);
	tcase_add_test(tokens, test_cut_noreply);
	tcase_add_test(tokens, test_trim);
	tcase_add_test(tokens, test_slice_is);
	suite_add_tcase(suite, tokens);

	return run_suite(suite);
}
