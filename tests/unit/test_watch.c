/*
 * The log that is watched: who gets which line, and what becomes of the lines
 * that a watcher does not take.
 */
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "server/watch.h"
#include "tests/unit/run_suite.h"

#define ROOM (2 * WATCH_BUFFER_BYTES)

static struct watch_hub hub;
static int woken;
static char *text;

static void wake(void *arg)
{
	(*(int *)arg)++;
}

static void set_up(void)
{
	watch_init(&hub);
	woken = 0;
	text = malloc(ROOM);
	ck_assert_ptr_nonnull(text);
}

static void tear_down(void)
{
	free(text);
	watch_done(&hub);
}

static struct watcher *watch(unsigned streams)
{
	struct watcher *watcher;

	ck_assert_int_eq(watcher_new(&hub, streams, wake, &woken, &watcher), 0);
	return watcher;
}

/* Takes all there is, in one go. */
static const char *take(struct watcher *watcher)
{
	text[watcher_take(&hub, watcher, text, ROOM - 1)] = '\0';
	return text;
}

/* Says lines until one finds no room. Returns how many found some. */
static int fill(struct watcher *watcher)
{
	int lines = 0;

	while (hub.skipped == 0) {
		watch_say(&hub, WATCH_FETCHERS, 0, "%0500d", lines);
		lines++;
	}
	ck_assert(watcher_has_lines(&hub, watcher));
	return lines - 1;
}

START_TEST(test_watch_names)
{
	static const char *const names[] = {
		"fetchers",    "mutations", "deletions", "connevents",
		"evictions",   "rawcmds",   "sysevents", "proxyreqs",
		"proxyevents", "proxyuser"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		ck_assert_uint_ne(
			watch_stream_named(names[i], strlen(names[i])), 0);
	ck_assert_uint_eq(watch_stream_named("fetchers", 8), WATCH_FETCHERS);
	ck_assert_uint_eq(watch_stream_named("fetchersx", 8), WATCH_FETCHERS);
	ck_assert_uint_eq(watch_stream_named("fetcher", 7), 0);
	ck_assert_uint_eq(watch_stream_named("", 0), 0);
}
END_TEST

START_TEST(test_watch_line)
{
	struct watcher *watcher = watch(WATCH_FETCHERS);

	ck_assert(!watcher_has_lines(&hub, watcher));
	watch_say(&hub, WATCH_FETCHERS, 12000345, "item_get key=%s", "k");
	ck_assert_str_eq(take(watcher),
			 "ts=12.000345 gid=1 type=item_get key=k\n");
	ck_assert(!watcher_has_lines(&hub, watcher));
	watcher_free(&hub, watcher);
}
END_TEST

START_TEST(test_watch_each_gets_its_streams)
{
	struct watcher *one = watch(WATCH_FETCHERS | WATCH_DELETIONS);
	struct watcher *other = watch(WATCH_MUTATIONS);

	watch_say(&hub, WATCH_MUTATIONS, 0, "a");
	watch_say(&hub, WATCH_DELETIONS, 0, "b");
	watch_say(&hub, WATCH_CONNEVENTS, 0, "c");
	watch_say(&hub, WATCH_FETCHERS, 0, "d");
	ck_assert_str_eq(take(one), "ts=0.000000 gid=2 type=b\n"
				    "ts=0.000000 gid=4 type=d\n");
	ck_assert_str_eq(take(other), "ts=0.000000 gid=1 type=a\n");
	watcher_free(&hub, one);
	watcher_free(&hub, other);
}
END_TEST

START_TEST(test_watch_wants_what_somebody_watches)
{
	struct watcher *one, *other;

	ck_assert(!watch_wants(&hub, WATCH_FETCHERS));
	one = watch(WATCH_FETCHERS);
	other = watch(WATCH_FETCHERS | WATCH_MUTATIONS);
	ck_assert(watch_wants(&hub, WATCH_FETCHERS));
	ck_assert(!watch_wants(&hub, WATCH_DELETIONS));
	watcher_free(&hub, other);
	ck_assert(watch_wants(&hub, WATCH_FETCHERS));
	ck_assert(!watch_wants(&hub, WATCH_MUTATIONS));
	watcher_free(&hub, one);
	ck_assert(!watch_wants(&hub, WATCH_FETCHERS));
}
END_TEST

/* One wake-up for all lines until they are taken. */
START_TEST(test_watch_wakes_once)
{
	struct watcher *watcher = watch(WATCH_FETCHERS);

	watch_say(&hub, WATCH_FETCHERS, 0, "a");
	watch_say(&hub, WATCH_FETCHERS, 0, "b");
	ck_assert_int_eq(woken, 1);
	(void)take(watcher);
	watch_say(&hub, WATCH_FETCHERS, 0, "c");
	ck_assert_int_eq(woken, 2);
	watcher_free(&hub, watcher);
}
END_TEST

START_TEST(test_watch_takes_in_pieces)
{
	struct watcher *watcher = watch(WATCH_FETCHERS);
	size_t bytes = 0;

	for (int i = 0; i < 10; i++)
		watch_say(&hub, WATCH_FETCHERS, 0, "%d", i);
	while (watcher_has_lines(&hub, watcher))
		bytes += watcher_take(&hub, watcher, text + bytes, 7);
	text[bytes] = '\0';
	for (int i = 0; i < 10; i++) {
		char line[] = "type=0\n";

		line[5] = (char)('0' + i);
		ck_assert_ptr_nonnull(strstr(text, line));
	}
	watcher_free(&hub, watcher);
}
END_TEST

/* The first line behind a gap says how many were lost, and nobody else's. */
START_TEST(test_watch_skips_what_finds_no_room)
{
	struct watcher *slow = watch(WATCH_FETCHERS);
	struct watcher *other;
	int kept = fill(slow);

	other = watch(WATCH_FETCHERS);
	for (int i = 0; i < 9; i++)
		watch_say(&hub, WATCH_FETCHERS, 0, "%0500d", 0);
	ck_assert_uint_eq(hub.skipped, 10);
	ck_assert_ptr_null(strstr(take(other), "skipped="));
	ck_assert_ptr_null(strstr(take(slow), "skipped="));
	watch_say(&hub, WATCH_FETCHERS, 0, "next");
	watch_say(&hub, WATCH_FETCHERS, 0, "last");
	ck_assert_int_eq(strncmp(take(slow), "skipped=10 ts=", 14), 0);
	ck_assert_ptr_nonnull(strstr(text, "type=next\nts="));
	ck_assert_uint_eq(hub.skipped, 10);
	ck_assert_uint_eq(hub.written, (uint64_t)kept + 9 + 4);
	watcher_free(&hub, slow);
	watcher_free(&hub, other);
}
END_TEST

/* A short line may not slip in where a long one was lost, without a word. */
START_TEST(test_watch_says_skipped_whatever_fits_next)
{
	struct watcher *watcher = watch(WATCH_FETCHERS);

	(void)fill(watcher);
	watch_say(&hub, WATCH_FETCHERS, 0, "s");
	(void)take(watcher);
	if (hub.skipped == 1) /* it did fit */
		ck_assert_ptr_nonnull(strstr(text, "skipped=1 ts="));
	watcher_free(&hub, watcher);
}
END_TEST

/* Lines are counted, as memcached does, not bytes. */
START_TEST(test_watch_counts_lines)
{
	struct watcher *one = watch(WATCH_FETCHERS);
	struct watcher *other = watch(WATCH_FETCHERS);

	watch_say(&hub, WATCH_FETCHERS, 0, "a");
	watch_say(&hub, WATCH_FETCHERS, 0, "b");
	watch_say(&hub, WATCH_MUTATIONS, 0, "c");
	ck_assert_uint_eq(hub.sent, 0);
	(void)take(one);
	ck_assert_uint_eq(hub.sent, 2);
	(void)watcher_take(&hub, other, text, 5);
	(void)take(other);
	ck_assert_uint_eq(hub.sent, 4);
	ck_assert_uint_eq(hub.written, 4);
	ck_assert_uint_eq(hub.skipped, 0);
	watcher_free(&hub, one);
	watcher_free(&hub, other);
}
END_TEST

START_TEST(test_watch_cuts_long_texts)
{
	struct watcher *watcher = watch(WATCH_FETCHERS);
	char longest[5000];

	memset(longest, 'x', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	watch_say(&hub, WATCH_FETCHERS, INT64_MAX, "%s", longest);
	watch_say(&hub, WATCH_FETCHERS, 0, "next");
	(void)take(watcher);
	ck_assert_uint_lt(strlen(text), 1400);
	ck_assert_ptr_nonnull(
		strstr(text, "xxx\nts=0.000000 gid=2 type=next\n"));
	watcher_free(&hub, watcher);
}
END_TEST

START_TEST(test_watch_limit)
{
	struct watcher *watchers[WATCHERS_MAX], *more = NULL;

	for (int i = 0; i < WATCHERS_MAX; i++)
		watchers[i] = watch(WATCH_SILENT);
	ck_assert_int_eq(watcher_new(&hub, 1, wake, &woken, &more), -EUSERS);
	ck_assert_ptr_null(more);
	watcher_free(&hub, watchers[7]);
	watchers[7] = watch(WATCH_SILENT);
	ck_assert_uint_eq(hub.count, WATCHERS_MAX);
	for (int i = 0; i < WATCHERS_MAX; i++)
		watcher_free(&hub, watchers[i]);
	watcher_free(&hub, NULL);
	ck_assert_uint_eq(hub.count, 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("watch");
	TCase *tests = tcase_create("watch");

	tcase_add_checked_fixture(tests, set_up, tear_down);
	tcase_add_test(tests, test_watch_names);
	tcase_add_test(tests, test_watch_line);
	tcase_add_test(tests, test_watch_each_gets_its_streams);
	tcase_add_test(tests, test_watch_wants_what_somebody_watches);
	tcase_add_test(tests, test_watch_wakes_once);
	tcase_add_test(tests, test_watch_takes_in_pieces);
	tcase_add_test(tests, test_watch_skips_what_finds_no_room);
	tcase_add_test(tests, test_watch_says_skipped_whatever_fits_next);
	tcase_add_test(tests, test_watch_counts_lines);
	tcase_add_test(tests, test_watch_cuts_long_texts);
	tcase_add_test(tests, test_watch_limit);
	suite_add_tcase(suite, tests);
	return run_suite(suite);
}
