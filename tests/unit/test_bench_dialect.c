/*
 * test_bench_dialect.c - the load generator knows a right answer from a
 * wrong one.
 *
 * Every reply is read whole and one more byte at a time: both must see the
 * same events. Keys are k0, k1, ...; `asked` of them, from k0.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/dialect.h"
#include "tests/unit/run_suite.h"

#define EVENTS_MAX 32

struct reply_case {
	const char *dialect;
	bool is_set;
	uint32_t asked;
	const char *reply;
	/* h: hit, p: part, d: done, r: refused, b: broken, w: wait */
	const char *events;
	uint32_t last_hit; /* number of the last key that was hit */
};

static const struct reply_case cases[] = {
	{"classic", true, 1, "STORED\r\n", "d", 0},
	{"classic", true, 1, "STORED\n", "b", 0},
	{"classic", true, 1, "STORED", "w", 0},
	{"classic", true, 1, "NOT_STORED\r\n", "r", 0},
	{"classic", true, 1, "SERVER_ERROR out of memory\r\n", "r", 0},
	{"classic", true, 1, "END\r\n", "b", 0},
	{"classic", false, 1, "END\r\n", "d", 0},
	{"classic", false, 1, "STORED\r\n", "b", 0},
	{"classic", false, 1, "VALUE k0 0 3\r\nabc\r\nEND\r\n", "hd", 0},
	{"classic", false, 1, "VALUE k0 0 0\r\n\r\nEND\r\n", "hd", 0},
	{"classic", false, 1, "VALUE k0 0 5\r\na\r\nbc\r\nEND\r\n", "hd", 0},
	{"classic", false, 1, "VALUE k0 0 3\r\nabcd\nEND\r\n", "b", 0},
	{"classic", false, 1, "VALUE k1 0 3\r\nabc\r\nEND\r\n", "b", 0},
	{"classic", false, 1, "VALUE k0 0 3 7\r\nabc\r\nEND\r\n", "b", 0},
	{"classic", false, 1, "VALUE k0\r\n", "b", 0},
	{"classic", false, 1, "VALUE \r\n", "b", 0},
	{"classic", false, 1, "VALUE\r\n", "b", 0},
	{"classic", false, 1, "VALUE k0 0 x\r\n", "b", 0},
	{"classic", false, 1, "VALUE k0 0 \r\n", "b", 0},
	{"classic", false, 1, "VALUE k0 \r\n", "b", 0},
	{"classic", false, 1, "ERROR\r\n", "r", 0},
	{"classic", false, 1, "\r\n", "b", 0},
	{"classic", false, 1, "\n", "b", 0},
	{"classic", false, 3,
	 "VALUE k0 0 1\r\na\r\nVALUE k2 0 1\r\nc\r\nEND\r\n", "hhd", 2},
	{"classic", false, 3,
	 "VALUE k2 0 1\r\nc\r\nVALUE k0 0 1\r\na\r\nEND\r\n", "hb", 2},
	{"classic-quiet", true, 1, "MN\r\n", "d", 0},
	{"classic-quiet", true, 1, "M", "w", 0},
	{"classic-quiet", true, 1, "STORED\r\n", "b", 0},
	{"classic-quiet", true, 1, "SERVER_ERROR no\r\n", "b", 0},
	{"classic-quiet", false, 1, "END\r\nMN\r\n", "pd", 0},
	{"classic-quiet", false, 1, "VALUE k0 0 3\r\nabc\r\nEND\r\nMN\r\n",
	 "hpd", 0},
	{"classic-quiet", false, 1, "END\r\nEND\r\n", "pb", 0},
	{"classic-quiet", false, 1, "MN\r\n", "b", 0},
	{"meta", true, 1, "HD\r\n", "d", 0},
	{"meta", true, 1, "NS\r\n", "r", 0},
	{"meta", true, 1, "MN\r\n", "b", 0},
	{"meta", true, 1, "HD", "w", 0},
	{"meta", false, 1, "EN\r\n", "pd", 0},
	{"meta", false, 1, "VA 3\r\nabc\r\n", "hd", 0},
	{"meta", false, 1, "VA 3\r\nabcd\n", "b", 0},
	{"meta", false, 1, "VA x\r\n", "b", 0},
	{"meta", false, 1, "HD\r\n", "b", 0},
	{"meta", false, 3, "VA 1\r\na\r\nEN\r\nVA 1\r\nc\r\n", "hphd", 2},
	{"meta-quiet", true, 1, "MN\r\n", "d", 0},
	{"meta-quiet", true, 1, "NS\r\n", "b", 0},
	{"meta-quiet", false, 3, "MN\r\n", "d", 0},
	{"meta-quiet", false, 3, "VA 1 kk0\r\na\r\nVA 1 kk2\r\nc\r\nMN\r\n",
	 "hhd", 2},
	{"meta-quiet", false, 3, "VA 1 kk9\r\na\r\n", "b", 0},
	{"redis", true, 1, "+OK\r\n", "d", 0},
	{"redis", true, 1, "$-1\r\n", "b", 0},
	{"redis", true, 1, "-ERR no\r\n", "r", 0},
	{"redis", false, 1, "$3\r\nabc\r\n", "hd", 0},
	{"redis", false, 1, "$0\r\n\r\n", "hd", 0},
	{"redis", false, 1, "$-1\r\n", "pd", 0},
	{"redis", false, 1, "$3\r\nabcd\n", "b", 0},
	{"redis", false, 1, "$x\r\n", "b", 0},
	{"redis", false, 1, "*1\r\n", "b", 0},
	{"redis", false, 1, "+OK\r\n", "b", 0},
	{"redis", false, 1, "-LOADING\r\n", "r", 0},
	{"redis", false, 1, "\r\n", "b", 0},
	{"redis", false, 2, "*2\r\n$1\r\na\r\n$1\r\nb\r\n", "phhd", 1},
	{"redis", false, 2, "*2\r\n$-1\r\n$1\r\nb\r\n", "pphd", 1},
	{"redis", false, 2, "*3\r\n", "b", 0},
	{"redis", false, 2, "$1\r\na\r\n", "b", 0},
	{"redis", false, 2, "*2\r\n*2\r\n", "pb", 0},
};

static char letter_of(enum reply_event event)
{
	switch (event) {
	case REPLY_WAIT:
		return 'w';
	case REPLY_PART:
		return 'p';
	case REPLY_HIT:
		return 'h';
	case REPLY_DONE:
		return 'd';
	case REPLY_REFUSED:
		return 'r';
	case REPLY_BROKEN:
		return 'b';
	}
	ck_abort_msg("not an event: %d", (int)event);
}

/*
 * Reads the reply, of which at first only `seen` bytes are there; waiting
 * makes one more byte appear. Every call gets memory of the exact size, so
 * that a sanitizer sees a byte read too far.
 */
static void read_all(const struct reply_case *c, size_t seen, char *events,
		     uint32_t *ret_last_hit)
{
	const struct dialect *dialect = dialect_find(c->dialect);
	uint32_t ids[] = {0, 1, 2};
	struct request request = {.is_set = c->is_set,
				  .ends_batch = true,
				  .key_count = c->asked,
				  .ids = ids};
	struct items items;
	size_t at = 0;
	char letter;

	ck_assert_int_eq(items_init(&items, "k", 2, 3, 3), 0);
	do {
		struct reply_part part = {0};
		char *copy = malloc(seen > at ? seen - at : 1);

		ck_assert_ptr_nonnull(copy);
		memcpy(copy, c->reply + at, seen - at);
		letter = letter_of(dialect->read_reply(copy, seen - at, &items,
						       &request, &part));
		free(copy);
		if (letter == 'w' && seen++ < strlen(c->reply))
			continue;
		*events++ = letter;
		if (letter == 'h')
			*ret_last_hit = part.id;
		if (letter != 'b')
			at += part.consumed;
	} while (strchr("drb", letter) == NULL && seen <= strlen(c->reply));
	*events = '\0';
	if (letter == 'd' || letter == 'r')
		ck_assert_uint_eq(at, strlen(c->reply));
	items_done(&items);
}

START_TEST(test_read_reply_split_anywhere)
{
	const struct reply_case *c = &cases[_i];

	for (size_t seen = 0; seen <= strlen(c->reply); seen++) {
		char events[EVENTS_MAX];
		uint32_t last_hit = 0;

		read_all(c, seen, events, &last_hit);
		ck_assert_msg(strcmp(events, c->events) == 0,
			      "%s, %zu bytes at first: %s, not %s", c->reply,
			      seen, events, c->events);
		ck_assert_uint_eq(last_hit, c->last_hit);
	}
}
END_TEST

struct request_case {
	const char *dialect;
	bool is_set;
	uint32_t asked;
	const char *bytes;
};

static const struct request_case request_cases[] = {
	{"classic", true, 1, "set k0 0 0 3\r\n000\r\n"},
	{"classic", false, 1, "get k0\r\n"},
	{"classic", false, 3, "get k0 k1 k2\r\n"},
	{"classic-quiet", true, 1, "set k0 0 0 3 noreply\r\n000\r\n"},
	{"classic-quiet", false, 1, "get k0\r\n"},
	{"redis", true, 1, "*3\r\n$3\r\nSET\r\n$2\r\nk0\r\n$3\r\n000\r\n"},
	{"redis", false, 1, "*2\r\n$3\r\nGET\r\n$2\r\nk0\r\n"},
	{"redis", false, 2, "*3\r\n$4\r\nMGET\r\n$2\r\nk0\r\n$2\r\nk1\r\n"},
};

START_TEST(test_put_request)
{
	const struct request_case *c = &request_cases[_i];
	const struct dialect *dialect = dialect_find(c->dialect);
	uint32_t ids[] = {0, 1, 2};
	struct request request = {
		.is_set = c->is_set, .key_count = c->asked, .ids = ids};
	size_t room = c->is_set
			      ? dialect->set_extra + 2 + 3
			      : dialect->get_extra +
					c->asked * (dialect->get_key_extra + 2);
	char *buf = malloc(room);
	struct items items;
	char *end;

	ck_assert_int_eq(items_init(&items, "k", 2, 3, 3), 0);
	end = c->is_set ? dialect->put_set(buf, &items, &request)
			: dialect->put_get(buf, &items, &request);
	ck_assert_uint_le((size_t)(end - buf), room);
	ck_assert_uint_eq((size_t)(end - buf), strlen(c->bytes));
	ck_assert_mem_eq(buf, c->bytes, strlen(c->bytes));
	items_done(&items);
	free(buf);
}
END_TEST

START_TEST(test_dialect_find_unknown)
{
	ck_assert_ptr_null(dialect_find("gopher"));
}
END_TEST

#define COUNT(table) (int)(sizeof(table) / sizeof((table)[0]))

int main(void)
{
	Suite *suite = suite_create("bench/dialect");
	TCase *tcase = tcase_create("dialect");

	tcase_add_loop_test(tcase, test_read_reply_split_anywhere, 0,
			    COUNT(cases));
	tcase_add_loop_test(tcase, test_put_request, 0, COUNT(request_cases));
	tcase_add_test(tcase, test_dialect_find_unknown);
	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}
