/*
 * test_protocol_reply.c - the bytes of every line of text.
 *
 * Formatters write right before an unreadable page: the room their contract
 * asks for must do.
 */
#include "protocol/reply.h"
#include "tests/unit/test_protocol_guard.h"

#include <check.h>
#include <inttypes.h>
#include <stdio.h>

#include "tests/unit/run_suite.h"

/* 20 digits and CRLF. */
#define NUMBER_MAX 22

static const char *const lines[PROTO_CODE_COUNT] = {
	[PROTO_DONE] = "OK\r\n",
	[PROTO_NOT_FOUND] = "NOT_FOUND\r\n",
	[PROTO_EXISTS] = "EXISTS\r\n",
	[PROTO_NOT_STORED] = "NOT_STORED\r\n",
	[PROTO_END] = "END\r\n",
	[PROTO_RESET] = "RESET\r\n",
	[PROTO_BUSY] = "BUSY this is under way already\r\n",
	[PROTO_LOGIN_MORE] = "ERROR\r\n",
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
	[PROTO_ERR_READ_ONLY] = "CLIENT_ERROR read-only user\r\n",
	[PROTO_ERR_FLUSH_DISABLED] = "CLIENT_ERROR flush_all not allowed\r\n",
	[PROTO_ERR_SHUTDOWN_DISABLED] =
		"SERVER_ERROR: shutdown not enabled\r\n",
	[PROTO_ERR_SHUTDOWN_MODE] = "CLIENT_ERROR invalid shutdown mode\r\n",
	[PROTO_ERR_CACHEDUMP_DISABLED] =
		"CLIENT_ERROR stats cachedump not allowed\r\n",
	[PROTO_ERR_METADUMP_DISABLED] = "ERROR metadump not allowed\r\n",
	[PROTO_ERR_MGDUMP_DISABLED] = "ERROR key dump not allowed\r\n",
	[PROTO_ERR_METADUMP_PIPELINED] = "ERROR cannot pipeline other commands "
					 "before metadump\r\n",
	[PROTO_ERR_MGDUMP_PIPELINED] = "ERROR cannot pipeline other commands "
				       "before mgdump\r\n",
	[PROTO_ERR_DETAIL_DISABLED] =
		"CLIENT_ERROR stats detail not allowed\r\n",
	[PROTO_ERR_DETAIL_USAGE] =
		"CLIENT_ERROR usage: stats detail on|off|dump\r\n",
	[PROTO_ERR_CACHEDUMP_LINE] = "CLIENT_ERROR bad command line\r\n",
	[PROTO_ERR_CACHEDUMP_CLASS] = "CLIENT_ERROR Illegal slab id\r\n",
	[PROTO_ERR_CLASS] = "BADCLASS invalid class id\r\n",
	[PROTO_ERR_CRAWLER_SLEEP] =
		"CLIENT_ERROR sleep must be one second or less\r\n",
	[PROTO_ERR_CRAWLER_DISABLED] = "CLIENT_ERROR lru crawler disabled\r\n",
	[PROTO_ERR_CRAWLER_ENABLED] =
		"ERROR failed to start lru crawler thread\r\n",
	[PROTO_ERR_AUTOMOVE_WINDOW] =
		"CLIENT_ERROR automove window too low or too high\r\n",
	[PROTO_ERR_NO_SPARE_PAGE] =
		"NOSPARE source class has no spare pages\r\n",
	[PROTO_ERR_SAME_CLASS] = "SAME src and dst class are identical\r\n",
	[PROTO_ERR_WATCH_DISABLED] =
		"CLIENT_ERROR watch commands not allowed\r\n",
	[PROTO_ERR_WATCH_PIPELINED] =
		"ERROR cannot pipeline other commands before watch\r\n",
	[PROTO_ERR_WATCH_MANY] =
		"WATCHER_TOO_MANY log watcher limit reached\r\n",
	[PROTO_ERR_NO_TLS] = "Error TLS not enabled\r\n",
	[PROTO_ERR_CERTS] = "Error loading the certificates\r\n",
	[PROTO_ERR_MEMLIMIT_SMALL] = "MEMLIMIT_TOO_SMALL cannot set maxbytes "
				     "to less than 8m\r\n",
	[PROTO_ERR_MEMLIMIT_UNIT] = "MEMLIMIT_ADJUST_FAILED input value is "
				    "megabytes not bytes\r\n",
	[PROTO_ERR_MEMLIMIT_FIXED] = "MEMLIMIT_ADJUST_FAILED out of bounds or "
				     "unable to adjust\r\n",
	[PROTO_ERR_HASH] = "SERVER_ERROR not possible in a hash\r\n",
	[PROTO_ERR_NO_ORDER] = "SERVER_ERROR this store keeps no key order\r\n",
	[PROTO_ERR_META_DUPLICATE] = "CLIENT_ERROR duplicate flag\r\n",
	[PROTO_ERR_META_FLAG] = "CLIENT_ERROR invalid flag\r\n",
	[PROTO_ERR_META_ARITH_FLAG] =
		"CLIENT_ERROR invalid or duplicate flag\r\n",
	[PROTO_ERR_META_NUMBER] =
		"CLIENT_ERROR bad token in command line format\r\n",
	[PROTO_ERR_META_KEY] = "CLIENT_ERROR error decoding key\r\n",
	[PROTO_ERR_META_OPAQUE] = "CLIENT_ERROR opaque token too long\r\n",
	[PROTO_ERR_META_MANY] = "CLIENT_ERROR options flags are too long\r\n",
	[PROTO_ERR_META_SET_MODE] =
		"CLIENT_ERROR invalid mode for ms M token\r\n",
	[PROTO_ERR_META_ARITH_MODE] =
		"CLIENT_ERROR invalid mode for ma M token\r\n",
	[PROTO_ERR_UNAUTHENTICATED] = "CLIENT_ERROR unauthenticated\r\n",
	[PROTO_ERR_LOGIN_FAILED] = "CLIENT_ERROR authentication failure\r\n",
	[PROTO_ERR_LOGIN_FORMAT] =
		"CLIENT_ERROR bad authentication token format\r\n",
	[PROTO_ERR_LOGIN_END] = "CLIENT_ERROR bad command line termination\r\n",
	[PROTO_ERR_LOGIN_LONG] = "CLIENT_ERROR auth token too long\r\n",
	[PROTO_ERR_SHAPE] = "ERROR\r\n",
};

/* Verbs whose success has a word of its own. */
static const char *const done[PROTO_VERB_COUNT + 1] = {
	[PROTO_SET] = "STORED\r\n",	   [PROTO_ADD] = "STORED\r\n",
	[PROTO_REPLACE] = "STORED\r\n",	   [PROTO_APPEND] = "STORED\r\n",
	[PROTO_PREPEND] = "STORED\r\n",	   [PROTO_CAS] = "STORED\r\n",
	[PROTO_DELETE] = "DELETED\r\n",	   [PROTO_TOUCH] = "TOUCHED\r\n",
	[PROTO_FLUSH_ALL] = "OK\r\n",	   [PROTO_VERBOSITY] = "OK\r\n",
	[PROTO_CACHE_MEMLIMIT] = "OK\r\n", [PROTO_NOOP] = "MN\r\n",
	[PROTO_SASL_START] = "STORED\r\n",
};

static struct proto_slice answer(int verb, int code)
{
	const struct proto_form form = {.verb = (enum proto_verb)verb};

	return text_answer(&form, (enum proto_code)code);
}

START_TEST(test_line_of_every_code)
{
	for (int code = PROTO_DONE + 1; code < PROTO_CODE_COUNT; code++) {
		ck_assert_ptr_nonnull(lines[code]);
		for (int verb = 0; verb <= PROTO_VERB_COUNT; verb++) {
			/* It is about two classes there. */
			if (code == PROTO_ERR_CLASS && verb == PROTO_SLABS)
				continue;
			ck_assert(proto_slice_is(answer(verb, code),
						 lines[code]));
		}
	}
	ck_assert(proto_slice_is(answer(PROTO_SLABS, PROTO_ERR_CLASS),
				 "BADCLASS invalid src or dst class id\r\n"));
}
END_TEST

START_TEST(test_line_of_done)
{
	for (int verb = 0; verb <= PROTO_VERB_COUNT; verb++)
		ck_assert(proto_slice_is(answer(verb, PROTO_DONE),
					 done[verb] ? done[verb] : lines[0]));
}
END_TEST

static void check_number(char *room, uint64_t number)
{
	char want[32];

	snprintf(want, sizeof(want), "%" PRIu64 "\r\n", number);
	ck_assert(proto_slice_is(text_number(number, room), want));
}

/* Around every power of ten, where the number of digits changes. */
START_TEST(test_number)
{
	char filler[NUMBER_MAX] = {0};
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

static void check_signed(int64_t number)
{
	char want[32], room[32];
	char *end = put_signed(room, number);

	snprintf(want, sizeof(want), "%" PRId64, number);
	ck_assert_uint_eq((size_t)(end - room), strlen(want));
	ck_assert_mem_eq(room, want, strlen(want));
}

START_TEST(test_signed)
{
	check_signed(0);
	check_signed(-1);
	check_signed(-10);
	check_signed(100);
	check_signed(INT64_MAX);
	check_signed(INT64_MIN);
}
END_TEST

static void check_value(char *room, const char *want, struct proto_slice key,
			uint32_t flags, size_t bytes, bool with_cas,
			uint64_t cas)
{
	const struct proto_form form = {.want_cas = with_cas};
	size_t len = text_value(room, &form, key, flags, bytes, cas);

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
	tcase_add_test(replies, test_signed);
	tcase_add_test(replies, test_value);
	tcase_add_test(replies, test_value_at_its_longest);
	suite_add_tcase(suite, replies);

	return run_suite(suite);
}
