/*
 * test_protocol_reply.c - the bytes of every classic answer.
 *
 * Formatters write right before an unreadable page: the room their contract
 * asks for must do.
 */
#include "protocol/protocol.h"
#include "tests/unit/test_protocol_guard.h"

#include <check.h>
#include <inttypes.h>
#include <stdio.h>

#include "tests/unit/run_suite.h"

static const char *const lines[PROTO_CODE_COUNT] = {
	[PROTO_DONE] = "OK\r\n",
	[PROTO_NOT_FOUND] = "NOT_FOUND\r\n",
	[PROTO_EXISTS] = "EXISTS\r\n",
	[PROTO_NOT_STORED] = "NOT_STORED\r\n",
	[PROTO_END] = "END\r\n",
	[PROTO_RESET] = "RESET\r\n",
	[PROTO_ERR_UNKNOWN] = "ERROR\r\n",
	[PROTO_ERR_FORMAT] = "CLIENT_ERROR bad command line format\r\n",
	[PROTO_ERR_CHUNK] = "CLIENT_ERROR bad data chunk\r\n",
	[PROTO_ERR_EXPTIME] = "CLIENT_ERROR invalid exptime argument\r\n",
	[PROTO_ERR_DELTA] = "CLIENT_ERROR invalid numeric delta argument\r\n",
	[PROTO_ERR_NOT_NUMBER] = "CLIENT_ERROR cannot increment or decrement "
				 "non-numeric value\r\n",
	[PROTO_ERR_DELETE_USAGE] = "CLIENT_ERROR bad command line format.  "
				   "Usage: delete <key> [noreply]\r\n",
	[PROTO_ERR_TOO_LARGE] = "SERVER_ERROR object too large for cache\r\n",
	[PROTO_ERR_NO_MEMORY] = "SERVER_ERROR out of memory storing object\r\n",
	[PROTO_ERR_STORAGE] = "SERVER_ERROR storage failure\r\n",
	[PROTO_ERR_FLUSH_DISABLED] = "CLIENT_ERROR flush_all not allowed\r\n",
	[PROTO_ERR_SHUTDOWN_DISABLED] =
		"SERVER_ERROR: shutdown not enabled\r\n",
	[PROTO_ERR_SHUTDOWN_MODE] = "CLIENT_ERROR invalid shutdown mode\r\n",
	[PROTO_ERR_DUMP_DISABLED] =
		"CLIENT_ERROR stats cachedump not allowed\r\n",
	[PROTO_ERR_DETAIL_DISABLED] =
		"CLIENT_ERROR stats detail not allowed\r\n",
	[PROTO_ERR_DETAIL_USAGE] =
		"CLIENT_ERROR usage: stats detail on|off|dump\r\n",
	[PROTO_ERR_CACHEDUMP_LINE] = "CLIENT_ERROR bad command line\r\n",
	[PROTO_ERR_CACHEDUMP_CLASS] = "CLIENT_ERROR Illegal slab id\r\n",
	[PROTO_ERR_MEMLIMIT_SMALL] = "MEMLIMIT_TOO_SMALL cannot set maxbytes "
				     "to less than 8m\r\n",
	[PROTO_ERR_MEMLIMIT_UNIT] = "MEMLIMIT_ADJUST_FAILED input value is "
				    "megabytes not bytes\r\n",
	[PROTO_ERR_MEMLIMIT_FIXED] = "MEMLIMIT_ADJUST_FAILED out of bounds or "
				     "unable to adjust\r\n",
};

/* Verbs whose success has a word of its own. */
static const char *const done[PROTO_VERB_COUNT + 1] = {
	[PROTO_SET] = "STORED\r\n",	   [PROTO_ADD] = "STORED\r\n",
	[PROTO_REPLACE] = "STORED\r\n",	   [PROTO_APPEND] = "STORED\r\n",
	[PROTO_PREPEND] = "STORED\r\n",	   [PROTO_CAS] = "STORED\r\n",
	[PROTO_DELETE] = "DELETED\r\n",	   [PROTO_TOUCH] = "TOUCHED\r\n",
	[PROTO_FLUSH_ALL] = "OK\r\n",	   [PROTO_VERBOSITY] = "OK\r\n",
	[PROTO_CACHE_MEMLIMIT] = "OK\r\n",
};

START_TEST(test_line_of_every_code)
{
	int verb, code;

	for (code = PROTO_DONE + 1; code < PROTO_CODE_COUNT; code++) {
		for (verb = 0; verb <= PROTO_VERB_COUNT; verb++) {
			struct proto_slice line = proto_classic_line(
				(enum proto_verb)verb, (enum proto_code)code);

			ck_assert_ptr_nonnull(lines[code]);
			ck_assert(proto_slice_is(line, lines[code]));
		}
	}
}
END_TEST

START_TEST(test_line_of_done)
{
	int verb;

	for (verb = 0; verb <= PROTO_VERB_COUNT; verb++) {
		struct proto_slice line =
			proto_classic_line((enum proto_verb)verb, PROTO_DONE);

		ck_assert(proto_slice_is(line,
					 done[verb] ? done[verb] : lines[0]));
	}
}
END_TEST

static void check_number(char *room, uint64_t number)
{
	char want[32];
	size_t len;

	snprintf(want, sizeof(want), "%" PRIu64 "\r\n", number);
	len = proto_classic_number(room, number);
	ck_assert_uint_le(len, PROTO_NUMBER_MAX);
	ck_assert_uint_eq(len, strlen(want));
	ck_assert_mem_eq(room, want, len);
}

/* Around every power of ten, where the number of digits changes. */
START_TEST(test_number)
{
	char filler[PROTO_NUMBER_MAX] = {0};
	struct guard guard;
	uint64_t power = 1, i;
	char *room;

	guard_open(&guard, 1);
	guard_at_end(&guard, filler, sizeof(filler));
	room = guard.data + guard.size - sizeof(filler);
	for (i = 0; i <= 1000; i++)
		check_number(room, i);
	for (i = 0; i < 20; i++, power *= 10) {
		check_number(room, power - 1);
		check_number(room, power);
		check_number(room, power + 1);
	}
	check_number(room, UINT32_MAX);
	check_number(room, UINT64_MAX - 1);
	check_number(room, UINT64_MAX);
	guard_close(&guard);
}
END_TEST

static void check_value(char *room, const char *want, struct proto_slice key,
			uint32_t flags, size_t bytes, bool with_cas,
			uint64_t cas)
{
	size_t len =
		proto_classic_value(room, key, flags, bytes, with_cas, cas);

	ck_assert_uint_eq(len, strlen(want));
	ck_assert_mem_eq(room, want, len);
}

START_TEST(test_value)
{
	const struct proto_slice key = {"key", 3};
	char room[PROTO_VALUE_HEAD_MAX];

	check_value(room, "VALUE key 0 0\r\n", key, 0, 0, false, 9);
	check_value(room, "VALUE key 7 1048576\r\n", key, 7, 1048576, false, 9);
	check_value(room, "VALUE key 7 10 9\r\n", key, 7, 10, true, 9);
	check_value(room, "VALUE key 0 0 0\r\n", key, 0, 0, true, 0);
}
END_TEST

START_TEST(test_value_at_its_longest)
{
	char name[PROTO_KEY_MAX], want[PROTO_VALUE_HEAD_MAX + 1];
	char filler[PROTO_VALUE_HEAD_MAX] = {0};
	const struct proto_slice key = {name, sizeof(name)};
	struct guard guard;
	char *room;

	memset(name, 'k', sizeof(name));
	snprintf(want, sizeof(want),
		 "VALUE %.*s 4294967295 %zu %" PRIu64 "\r\n", (int)sizeof(name),
		 name, SIZE_MAX, UINT64_MAX);
	guard_open(&guard, 1);
	guard_at_end(&guard, filler, sizeof(filler));
	room = guard.data + guard.size - sizeof(filler);
	check_value(room, want, key, UINT32_MAX, SIZE_MAX, true, UINT64_MAX);
	guard_close(&guard);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("protocol_reply");
	TCase *replies = tcase_create("replies");

	tcase_add_test(replies, test_line_of_every_code);
	tcase_add_test(replies, test_line_of_done);
	tcase_add_test(replies, test_number);
	tcase_add_test(replies, test_value);
	tcase_add_test(replies, test_value_at_its_longest);
	suite_add_tcase(suite, replies);

	return run_suite(suite);
}
