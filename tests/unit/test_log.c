/*
 * test_log.c - log lines: levels, heads, bounds, escaping, pacing.
 *
 * The log writes to a file, which is read back.
 */
#include "server/log.h"

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/unit/run_suite.h"

#define TEXT_MAX (1 << 20)

static FILE *file;
static struct log sink;
static char text[TEXT_MAX];

static void set_up(void)
{
	file = tmpfile();
	ck_assert_ptr_nonnull(file);
	ck_assert_int_eq(fcntl(fileno(file), F_SETFL, O_APPEND), 0);
	ck_assert_int_eq(unsetenv("JOURNAL_STREAM"), 0);
	log_init(&sink, fileno(file), 0);
}

static void tear_down(void)
{
	fclose(file);
}

/* All that was written so far. */
static const char *written(void)
{
	ssize_t n = pread(fileno(file), text, sizeof(text) - 1, 0);

	ck_assert_int_ge(n, 0);
	text[n] = '\0';
	return text;
}

/* Lines then begin with "<N>" and not with the time. */
static void be_a_journal(void)
{
	char name[64];
	struct stat st;

	ck_assert_int_eq(fstat(fileno(file), &st), 0);
	(void)snprintf(name, sizeof(name), "%ju:%ju", (uintmax_t)st.st_dev,
		       (uintmax_t)st.st_ino);
	ck_assert_int_eq(setenv("JOURNAL_STREAM", name, 1), 0);
	log_init(&sink, fileno(file), 9);
}

START_TEST(test_write_begins_with_time_and_level)
{
	regex_t shape;

	ck_assert_int_eq(regcomp(&shape,
				 "^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}"
				 ":[0-9]{2}\\.[0-9]{3}Z warning: a 5\n$",
				 REG_EXTENDED | REG_NOSUB),
			 0);
	log_write(&sink, LOG_LEVEL_WARNING, "a %d", 5);
	ck_assert_msg(regexec(&shape, written(), 0, NULL, 0) == 0, "%s", text);
	regfree(&shape);
}
END_TEST

START_TEST(test_write_begins_with_priority_for_the_journal)
{
	be_a_journal();
	log_write(&sink, LOG_LEVEL_ERROR, "e");
	log_write(&sink, LOG_LEVEL_WARNING, "w");
	log_write(&sink, LOG_LEVEL_INFO, "i");
	log_write(&sink, LOG_LEVEL_DEBUG, "d");
	log_write(&sink, LOG_LEVEL_TRACE, "t");
	ck_assert_str_eq(written(), "<3>e\n<4>w\n<6>i\n<7>d\n<7>t\n");
}
END_TEST

/* The variable is inherited; it says nothing of a redirected stderr. */
START_TEST(test_init_of_another_file_than_the_journal)
{
	ck_assert_int_eq(setenv("JOURNAL_STREAM", "1:1", 1), 0);
	log_init(&sink, fileno(file), 0);
	ck_assert(!sink.priority);
}
END_TEST

START_TEST(test_verbosity)
{
	static const struct {
		uint32_t verbosity;
		const char *lines;
	} cases[] = {
		{0, "<3>\n<4>\n<6>\n"},
		{1, "<3>\n<4>\n<6>\n<7>debug\n"},
		{2, "<3>\n<4>\n<6>\n<7>debug\n<7>trace\n"},
		{UINT32_MAX, "<3>\n<4>\n<6>\n<7>debug\n<7>trace\n"},
	};

	be_a_journal();
	log_set_verbosity(&sink, cases[_i].verbosity);
	ck_assert_uint_eq(log_verbosity(&sink), cases[_i].verbosity);
	log_write(&sink, LOG_LEVEL_ERROR, "%s", "");
	log_write(&sink, LOG_LEVEL_WARNING, "%s", "");
	log_write(&sink, LOG_LEVEL_INFO, "%s", "");
	log_write(&sink, LOG_LEVEL_DEBUG, "debug");
	log_write(&sink, LOG_LEVEL_TRACE, "trace");
	ck_assert_str_eq(written(), cases[_i].lines);
	ck_assert_int_eq(log_wants(&sink, LOG_LEVEL_TRACE),
			 cases[_i].verbosity >= 2);
}
END_TEST

/* One message is one line, and no terminal is told anything. */
START_TEST(test_write_has_no_control_bytes)
{
	be_a_journal();
	log_write(&sink, LOG_LEVEL_INFO, "a\nb\r\tc\033[1m\x7f d\n");
	ck_assert_str_eq(written(), "<6>a b  c [1m  d \n");
}
END_TEST

START_TEST(test_write_cuts_long_lines)
{
	char big[3 * LOG_LINE_MAX];

	be_a_journal();
	memset(big, 'x', sizeof(big) - 1);
	big[sizeof(big) - 1] = '\0';
	log_write(&sink, LOG_LEVEL_INFO, "%s", big);
	ck_assert_uint_eq(strlen(written()), LOG_LINE_MAX);
	ck_assert_str_eq(text + LOG_LINE_MAX - 5, "x...\n");
}
END_TEST

/* The longest line that is not cut: everything but the LF. */
START_TEST(test_write_keeps_lines_that_just_fit)
{
	char big[LOG_LINE_MAX];
	const size_t room = LOG_LINE_MAX - strlen("<6>\n");

	be_a_journal();
	memset(big, 'x', sizeof(big));
	log_write(&sink, LOG_LEVEL_INFO, "%.*s", (int)room, big);
	ck_assert_uint_eq(strlen(written()), LOG_LINE_MAX);
	ck_assert_str_eq(text + LOG_LINE_MAX - 3, "xx\n");
}
END_TEST

START_TEST(test_write_keeps_errno)
{
	struct log closed;

	log_init(&closed, -1, 0);
	errno = ENOENT;
	log_write(&closed, LOG_LEVEL_INFO, "lost");
	ck_assert_int_eq(errno, ENOENT);
}
END_TEST

#define THREADS 4
#define LINES	500

static void *write_many(void *arg)
{
	char fill[200];

	memset(fill, *(const char *)arg, sizeof(fill));
	for (int i = 0; i < LINES; i++)
		log_write(&sink, LOG_LEVEL_INFO, "%.*s", (int)sizeof(fill),
			  fill);
	return NULL;
}

/* Lines of several threads never mix, and none is lost. */
START_TEST(test_write_by_several_threads)
{
	static const char letters[THREADS] = {'a', 'b', 'c', 'd'};
	pthread_t threads[THREADS];
	unsigned int lines = 0;

	be_a_journal();
	for (int i = 0; i < THREADS; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, write_many,
						(void *)(uintptr_t)&letters[i]),
				 0);
	for (int i = 0; i < THREADS; i++)
		ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
	for (const char *line = written(); *line != '\0'; line += 204) {
		ck_assert_int_eq(strncmp(line, "<6>", 3), 0);
		for (int i = 4; i < 203; i++)
			ck_assert_int_eq(line[i], line[3]);
		ck_assert_int_eq(line[203], '\n');
		lines++;
	}
	ck_assert_uint_eq(lines, THREADS * LINES);
}
END_TEST

static const struct {
	const char *bytes;
	size_t len, room;
	const char *escaped;
} escapes[] = {
	{"key", 3, 10, "key"},
	{"", 0, 4, ""},
	{"a b", 3, 10, "a%20b"},
	{"\0\n\x7f\xff", 4, 20, "%00%0A%7F%FF"},
	{"100%\"x\"", 7, 20, "100%25%22x%22"},
	{"abc", 3, 4, "abc"},
	{"abcd", 4, 4, "..."},
	{"abcdef", 6, 6, "ab..."},
	{"abcde", 5, 6, "abcde"},
	{"abc\n", 4, 6, "ab..."},
	/* never half an escape */
	{"\n\n\n\n", 4, 9, "%0A..."},
	{"\n\n\n\n", 4, 12, "%0A%0A..."},
	{"\n\n\n\n", 4, 13, "%0A%0A%0A%0A"},
};

START_TEST(test_escape)
{
	size_t room = escapes[_i].room;
	char *buf = malloc(room); /* a sanitizer sees one byte too many */

	ck_assert_ptr_nonnull(buf);
	ck_assert_ptr_eq(
		log_escape(buf, room, escapes[_i].bytes, escapes[_i].len), buf);
	ck_assert_str_eq(buf, escapes[_i].escaped);
	free(buf);
}
END_TEST

START_TEST(test_pace_holds_back_and_counts)
{
	struct log_pace pace = {0};
	uint64_t held = 99;

	ck_assert(log_pace(&pace, 3600000, &held));
	ck_assert_uint_eq(held, 0);
	held = 99;
	for (int i = 0; i < 5; i++)
		ck_assert(!log_pace(&pace, 3600000, &held));
	ck_assert_uint_eq(held, 99);

	/* The hour is over. */
	atomic_store(&pace.next_ms, 0);
	ck_assert(log_pace(&pace, 3600000, &held));
	ck_assert_uint_eq(held, 5);
}
END_TEST

static void *ask_pace(void *arg)
{
	uint64_t held, passed = 0;

	for (int i = 0; i < LINES; i++)
		if (log_pace(arg, 3600000, &held))
			passed++;
	return (void *)(uintptr_t)passed;
}

START_TEST(test_pace_lets_one_of_many_threads_through)
{
	struct log_pace pace = {0};
	pthread_t threads[THREADS];
	uintptr_t passed = 0;

	for (int i = 0; i < THREADS; i++)
		ck_assert_int_eq(
			pthread_create(&threads[i], NULL, ask_pace, &pace), 0);
	for (int i = 0; i < THREADS; i++) {
		void *result;

		ck_assert_int_eq(pthread_join(threads[i], &result), 0);
		passed += (uintptr_t)result;
	}
	ck_assert_uint_eq(passed, 1);
	ck_assert_uint_eq(atomic_load(&pace.held), THREADS * LINES - 1);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("log");
	TCase *tcase = tcase_create("log");

	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_add_test(tcase, test_write_begins_with_time_and_level);
	tcase_add_test(tcase, test_write_begins_with_priority_for_the_journal);
	tcase_add_test(tcase, test_init_of_another_file_than_the_journal);
	tcase_add_loop_test(tcase, test_verbosity, 0, 4);
	tcase_add_test(tcase, test_write_has_no_control_bytes);
	tcase_add_test(tcase, test_write_cuts_long_lines);
	tcase_add_test(tcase, test_write_keeps_lines_that_just_fit);
	tcase_add_test(tcase, test_write_keeps_errno);
	tcase_add_test(tcase, test_write_by_several_threads);
	tcase_add_loop_test(tcase, test_escape, 0,
			    sizeof(escapes) / sizeof(escapes[0]));
	tcase_add_test(tcase, test_pace_holds_back_and_counts);
	tcase_add_test(tcase, test_pace_lets_one_of_many_threads_through);
	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}
