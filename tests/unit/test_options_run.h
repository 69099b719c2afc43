/*
 * test_options_run.h - runs options_parse() on a line written as in a shell.
 *
 * Words are separated by blanks; -u, which root must give, is in front. What
 * was understood is looked at through the settings, as `stats settings` shows
 * it.
 */
#ifndef TESTS_UNIT_TEST_OPTIONS_RUN_H
#define TESTS_UNIT_TEST_OPTIONS_RUN_H

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/options.h"

#define WORDS_MAX 32

/* One run of options_parse(). */
struct run {
	char line[1024];
	char *argv[WORDS_MAX];
	int argc;
	enum options_result result;
	struct options options;
	char *out, *err; /* what was printed */
};

static inline void run_line(struct run *run, const char *line)
{
	size_t out_bytes, err_bytes;
	FILE *out = open_memstream(&run->out, &out_bytes);
	FILE *err = open_memstream(&run->err, &err_bytes);
	char *at = run->line;

	ck_assert_ptr_nonnull(out);
	ck_assert_ptr_nonnull(err);
	(void)snprintf(run->line, sizeof(run->line), "memcachedb -u root %s",
		       line);
	for (run->argc = 0; *at != '\0';) {
		ck_assert_int_lt(run->argc, WORDS_MAX - 1);
		run->argv[run->argc++] = at;
		at += strcspn(at, " ");
		if (*at == ' ')
			*at++ = '\0';
	}
	run->argv[run->argc] = NULL;
	memset(&run->options, 0, sizeof(run->options));
	run->result =
		options_parse(run->argc, run->argv, out, err, &run->options);
	fclose(out);
	fclose(err);
}

static inline void run_end(struct run *run)
{
	options_free(&run->options);
	free(run->out);
	free(run->err);
}

/* Runs a line that must be taken without a word. */
static inline void run_fine(struct run *run, const char *line)
{
	run_line(run, line);
	ck_assert_msg(run->result == OPTIONS_RUN, "%s: %s", line, run->err);
	ck_assert_str_eq(run->out, "");
	ck_assert_str_eq(run->err, "");
}

struct wanted {
	const char *name;
	char value[512];
	unsigned int count;
};

static inline void find_setting(void *arg, const char *name, const char *value)
{
	struct wanted *wanted = arg;

	if (strcmp(name, wanted->name) != 0)
		return;
	(void)snprintf(wanted->value, sizeof(wanted->value), "%s", value);
	wanted->count++;
}

static inline void check_setting(const struct options *options,
				 const char *name, const char *value)
{
	struct wanted wanted = {.name = name};

	options_each_setting(options, find_setting, &wanted);
	ck_assert_msg(wanted.count == 1, "%s: shown %u times", name,
		      wanted.count);
	ck_assert_msg(strcmp(wanted.value, value) == 0, "%s is %s, not %s",
		      name, wanted.value, value);
}

#endif
