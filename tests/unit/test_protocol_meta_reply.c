/*
 * test_protocol_meta_reply.c - the answer lines of the meta commands.
 *
 * A case is a line as a client sends it, what the command found, and the line
 * it is to be answered with. Answers are written right before an unreadable
 * page: the room that the contract asks for must do.
 */
#include "protocol/protocol.h"
#include "tests/unit/test_protocol_guard.h"

#include <check.h>

#include "tests/unit/run_suite.h"

static const struct proto_limits limits = {
	.value_max_bytes = 1000,
	.line_max_bytes = 2048,
	.get_line_max_bytes = 8192,
};

struct answer_case {
	const char *line;
	struct proto_meta_result result;
	const char *want;
};

#define HIT                                                                    \
	.code = PROTO_DONE, .value_bytes = 2, .flags = 7, .cas = 9, .ttl = 90, \
	.ttl_before = 30, .ttl_made = 60, .fetched_before = true,              \
	.idle_seconds = 5
#define MISS .code = PROTO_END

static const struct answer_case cases[] = {
	/* mg: hits */
	{"mg k\n", {HIT}, "HD\r\n"},
	{"mg k v\n", {HIT, .with_value = true}, "VA 2\r\n"},
	{"mg k q v\n", {HIT, .with_value = true}, "VA 2\r\n"},
	{"mg k s f c t h l\n", {HIT}, "HD s2 f7 c9 t90 h1 l5\r\n"},
	{"mg k l h t c f s v\n",
	 {HIT, .with_value = true},
	 "VA 2 l5 h1 t90 c9 f7 s2\r\n"},
	{"mg k t\n", {.code = PROTO_DONE, .ttl = -1}, "HD t-1\r\n"},
	{"mg k t T90\n", {HIT}, "HD t30\r\n"},
	{"mg k T90 t\n", {HIT}, "HD t90\r\n"},
	{"mg k t T-1\n",
	 {.code = PROTO_DONE, .ttl = -5, .ttl_before = 30},
	 "HD t30\r\n"},
	{"mg k k O12\n", {HIT}, "HD kk O12\r\n"},
	{"mg k O k\n", {HIT}, "HD O kk\r\n"},
	{"mg k u x I F1 P L MX N1 E1 D1 J1 R1 C1\n", {HIT}, "HD\r\n"},
	{"mg k vxx sxx\n", {HIT, .with_value = true}, "VA 2 s2\r\n"},
	/* mg: keys */
	{"mg Zm9v b k\n", {HIT}, "HD kfoo\r\n"},
	{"mg Zm9v b k\n", {HIT, .key_base64 = true}, "HD kZm9v b\r\n"},
	{"mg foo k\n", {HIT, .key_base64 = true}, "HD kZm9v b\r\n"},
	{"mg Zm9v b\n", {HIT, .key_base64 = true}, "HD\r\n"},
	{"mg k k v\n",
	 {HIT, .with_value = true, .key_base64 = true},
	 "VA 2 kaw== b\r\n"},
	/* a key that came in a packet must not end the line */
	{"mg YQpi b k s\n", {HIT}, "HD kYQpi b s2\r\n"},
	{"mg YSBi b k\n", {HIT}, "HD kYSBi b\r\n"},
	{"mg AGI= b k\n", {HIT}, "HD kAGI= b\r\n"},
	{"mg YQ1i b k\n", {HIT}, "HD kYQ1i b\r\n"},
	{"mg \xc3\xa9 k\n", {HIT}, "HD k\xc3\xa9\r\n"},
	{"mg ! k\n", {HIT}, "HD k!\r\n"},
	/* mg: marks, in an order of their own */
	{"mg k s\n", {HIT, .win = true}, "HD s2 W\r\n"},
	{"mg k s\n", {HIT, .won = true}, "HD s2 Z\r\n"},
	{"mg k\n", {HIT, .stale = true, .win = true}, "HD X W\r\n"},
	{"mg k\n", {HIT, .stale = true, .won = true}, "HD Z X\r\n"},
	{"mg k N30 t\n",
	 {.code = PROTO_DONE, .ttl = 90, .win = true, .won = true},
	 "HD t90 W\r\n"},
	/* mg: misses */
	{"mg k\n", {MISS}, "EN\r\n"},
	{"mg k q\n", {MISS}, ""},
	{"mg k q k O1\n", {MISS}, ""},
	{"mg k v s c t f h l k O1\n", {MISS}, "EN kk O1\r\n"},
	{"mg Zh== b k\n", {MISS}, "EN kZh== b\r\n"},
	{"mg Zm9v b O1\n", {MISS, .key_base64 = true}, "EN O1\r\n"},
	{"mg k\n", {.code = PROTO_NOT_FOUND}, "EN\r\n"},

	/* ms */
	{"ms k 2\n", {HIT}, "HD\r\n"},
	{"ms k 2 q\n", {HIT}, ""},
	{"ms k 2 c s k O1\n",
	 {.code = PROTO_DONE, .value_bytes = 12, .cas = 9},
	 "HD c9 s12 kk O1\r\n"},
	{"ms k 2 f t h l v\n", {HIT}, "HD\r\n"},
	{"ms Zm9v 2 b k\n", {HIT, .key_base64 = true}, "HD kZm9v b\r\n"},
	{"ms k 3 c s k O1\n", {.code = PROTO_NOT_STORED}, "NS c0 s3 kk O1\r\n"},
	{"ms k 3 c C5\n", {.code = PROTO_EXISTS, .cas = 8}, "EX c0\r\n"},
	{"ms k 3 q\n", {.code = PROTO_NOT_STORED}, "NS\r\n"},
	{"ms k 3 q\n", {.code = PROTO_EXISTS}, "EX\r\n"},
	{"ms k 3 q\n", {.code = PROTO_NOT_FOUND}, "NF\r\n"},
	{"ms Zm9v 2 b k ME\n", {.code = PROTO_NOT_STORED}, "NS kZm9v b\r\n"},

	/* md */
	{"md k\n", {HIT}, "HD\r\n"},
	{"md k q\n", {HIT}, ""},
	{"md k q O1 k\n", {HIT}, ""},
	{"md k O1 k c s t\n", {HIT}, "HD O1 kk\r\n"},
	{"md k q O1 k\n", {.code = PROTO_NOT_FOUND}, "NF O1 kk\r\n"},
	{"md k q C5\n", {.code = PROTO_EXISTS}, "EX\r\n"},
	{"md k x I\n", {HIT, .stale = true, .win = true}, "HD\r\n"},

	/* ma */
	{"ma k\n", {HIT}, "HD\r\n"},
	{"ma k v\n", {HIT, .with_value = true}, "VA 2\r\n"},
	{"ma k v q\n", {HIT, .with_value = true}, ""},
	{"ma k v t c k O1 s f\n",
	 {HIT, .with_value = true},
	 "VA 2 t90 c9 kk O1\r\n"},
	{"ma k t T90\n", {HIT}, "HD t30\r\n"},
	{"ma k T90 t\n", {HIT}, "HD t90\r\n"},
	{"ma k q t c k O1\n", {.code = PROTO_NOT_FOUND}, "NF kk O1\r\n"},
	{"ma k q C1\n", {.code = PROTO_EXISTS}, "EX\r\n"},
	{"ma k N0\n", {.code = PROTO_NOT_STORED}, "NS\r\n"},
	{"ma k\n", {HIT, .stale = true, .won = true}, "HD\r\n"},

	/* what N has made: its ttl counts from N or T on, and q says it */
	{"mg k t N30\n", {HIT, .made = true, .win = true}, "HD t30 W\r\n"},
	{"mg k N30 t\n", {HIT, .made = true, .win = true}, "HD t60 W\r\n"},
	{"mg k t N60 T90\n", {HIT, .made = true}, "HD t30\r\n"},
	{"mg k N60 t T90\n", {HIT, .made = true}, "HD t60\r\n"},
	{"mg k N60 T90 t\n", {HIT, .made = true}, "HD t90\r\n"},
	{"mg k T90 t N60\n", {HIT, .made = true}, "HD t90\r\n"},
	{"mg k T90 N60 t\n", {HIT, .made = true}, "HD t60\r\n"},
	{"ma k T90 N60 t\n", {HIT, .made = true}, "HD t60\r\n"},
	{"mg k t N60 T90\n", {HIT}, "HD t30\r\n"},
	{"mg k N60 t T90\n", {HIT}, "HD t30\r\n"},
	{"mg k T90 N60 t\n", {HIT}, "HD t90\r\n"},
	{"ma k v q N0\n", {HIT, .made = true, .with_value = true}, "VA 2\r\n"},

	/* what has no flags */
	{"me k q\n", {MISS}, "EN\r\n"},
	{"mn\n", {.code = PROTO_DONE}, "MN\r\n"},
};

#define CASE_COUNT ((int)(sizeof(cases) / sizeof(cases[0])))

static void parse(const char *line, struct proto_parsed *ret)
{
	ck_assert_int_eq(proto_text_parse(line, strlen(line), 0, &limits, ret),
			 PROTO_COMMAND);
}

/* The last bytes that can be written to; PROTO_META_HEAD_MAX of them. */
static char *last_room(struct guard *guard)
{
	guard_open(guard, PROTO_META_HEAD_MAX);
	memset(guard->data, 0, guard->size);
	return guard->data + guard->size - PROTO_META_HEAD_MAX;
}

START_TEST(test_answer)
{
	const struct answer_case *want = &cases[_i];
	char key_room[PROTO_KEY_MAX];
	struct proto_parsed parsed;
	struct proto_slice key;
	struct guard guard;
	char *room = last_room(&guard);
	size_t len;

	parse(want->line, &parsed);
	key = proto_meta_key(&parsed.request, key_room);
	len = proto_meta_answer(room, &parsed.request, key, &want->result);
	ck_assert_str_eq(room, want->want);
	ck_assert_uint_eq(len, strlen(want->want));
	guard_close(&guard);
}
END_TEST

/* All there is to show, at its longest. */
static const struct proto_meta_result longest = {
	.code = PROTO_DONE,
	.value_bytes = SIZE_MAX,
	.with_value = true,
	.flags = UINT32_MAX,
	.cas = UINT64_MAX,
	.ttl = INT64_MIN,
	.ttl_before = INT64_MIN,
	.ttl_made = INT64_MIN,
	.fetched_before = true,
	.idle_seconds = UINT64_MAX,
	.key_base64 = true,
	.win = true,
	.won = true,
	.stale = true,
};

START_TEST(test_longest_answer)
{
	static const char line[] =
		"mg k k s f c t h l O234567890123456789012345678901\n";
	char bytes[PROTO_KEY_MAX];
	const struct proto_slice key = {bytes, sizeof(bytes)};
	struct proto_parsed parsed;
	struct guard guard;
	char *room = last_room(&guard);
	size_t len;

	memset(bytes, 0xFF, sizeof(bytes));
	parse(line, &parsed);
	len = proto_meta_answer(room, &parsed.request, key, &longest);
	ck_assert_uint_le(len, PROTO_META_HEAD_MAX);
	ck_assert_mem_eq(room + len - 6, " X W\r\n", 6);

	parse("me k\n", &parsed);
	len = proto_meta_debug(room, &parsed.request, key, &longest);
	ck_assert_uint_le(len, PROTO_META_HEAD_MAX);
	ck_assert_mem_eq(room + len - 2, "\r\n", 2);
	guard_close(&guard);
}
END_TEST

static const struct answer_case debug_cases[] = {
	{"me foo\n",
	 {HIT},
	 "ME foo exp=90 la=5 cas=9 fetch=yes cls=1 size=2\r\n"},
	{"me foo\n",
	 {.code = PROTO_DONE, .ttl = -1, .cas = 1},
	 "ME foo exp=-1 la=0 cas=1 fetch=no cls=1 size=0\r\n"},
	{"me Zm9v b\n",
	 {HIT},
	 "ME foo exp=90 la=5 cas=9 fetch=yes cls=1 size=2\r\n"},
	{"me foo\n",
	 {HIT, .key_base64 = true},
	 "ME Zm9v exp=90 la=5 cas=9 fetch=yes cls=1 size=2\r\n"},
	{"me YQpi b\n",
	 {HIT},
	 "ME YQpi exp=90 la=5 cas=9 fetch=yes cls=1 size=2\r\n"},
};

#define DEBUG_COUNT ((int)(sizeof(debug_cases) / sizeof(debug_cases[0])))

START_TEST(test_debug)
{
	const struct answer_case *want = &debug_cases[_i];
	char key_room[PROTO_KEY_MAX], room[PROTO_META_HEAD_MAX] = "";
	struct proto_parsed parsed;
	struct proto_slice key;
	size_t len;

	parse(want->line, &parsed);
	key = proto_meta_key(&parsed.request, key_room);
	len = proto_meta_debug(room, &parsed.request, key, &want->result);
	ck_assert_str_eq(room, want->want);
	ck_assert_uint_eq(len, strlen(want->want));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("protocol_meta_reply");
	TCase *answers = tcase_create("answers");

	tcase_add_loop_test(answers, test_answer, 0, CASE_COUNT);
	tcase_add_test(answers, test_longest_answer);
	tcase_add_loop_test(answers, test_debug, 0, DEBUG_COUNT);
	suite_add_tcase(suite, answers);
	return run_suite(suite);
}
