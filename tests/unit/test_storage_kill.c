/*
 * test_storage_kill.c - the process is killed, the next one recovers.
 */
#include <check.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "storage/store_priv.h"
#include "tests/unit/run_suite.h"
#include "tests/unit/storage_rig.h"

static struct rig rig;

static void set_up(void)
{
	rig_init(&rig);
}

static void tear_down(void)
{
	rig_done(&rig);
}

/* Stores numbers in order, writes each to the pipe when it is durable. */
static void serve_until_killed(int out)
{
	char key[32];

	rig_open(&rig);
	for (uint32_t i = 0;; i++) {
		(void)snprintf(key, sizeof(key), "n%u", i);
		rig_set(&rig, key, key);
		if (i % 10 == 9)
			rig_delete(&rig, "n0");
		if (write(out, &i, sizeof(i)) != sizeof(i))
			_exit(1);
	}
}

/* Leaves one item that is stale, and that somebody has won. */
static void mark_until_killed(int out)
{
	struct store_op *op = rig_op(STORE_INVALIDATE, "k", NULL);
	uint32_t done = 1;

	rig_open(&rig);
	rig_set(&rig, "k", "v");
	op->mark_stale = true;
	rig_do(&rig, op);
	store_op_free(op);
	op = rig_op(STORE_LEASE, "k", NULL);
	rig_do(&rig, op);
	if (!op->found.win || write(out, &done, sizeof(done)) != sizeof(done))
		_exit(1);
	for (;;)
		(void)pause();
}

/* Kills it after so many; returns the last number that was durable. */
static uint32_t run_and_kill(void (*serve)(int out), uint32_t stop_at)
{
	uint32_t last = 0, number;
	int fds[2], status;
	pid_t child;

	ck_assert_int_eq(pipe(fds), 0);
	child = fork();
	ck_assert_int_ge(child, 0);
	if (child == 0) {
		(void)close(fds[0]);
		serve(fds[1]);
	}
	(void)close(fds[1]);
	while (last < stop_at &&
	       read(fds[0], &number, sizeof(number)) == sizeof(number))
		last = number;
	ck_assert_int_eq(kill(child, SIGKILL), 0);
	while (read(fds[0], &number, sizeof(number)) == sizeof(number))
		last = number;
	(void)close(fds[0]);
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert(WIFSIGNALED(status));
	return last;
}

START_TEST(test_kill_loses_nothing_that_was_durable)
{
	uint32_t last = run_and_kill(serve_until_killed, (uint32_t)_i);
	struct store_counts counts;
	char key[32];

	ck_assert_uint_ge(last, (uint32_t)_i);
	rig_open(&rig);
	for (uint32_t i = 1; i <= last; i++) {
		(void)snprintf(key, sizeof(key), "n%u", i);
		rig_expect(&rig, key, key);
	}
	if (last >= 9)
		rig_expect_missing(&rig, "n0");
	store_counts(rig.store, &counts);
	ck_assert_uint_ge(counts.items, last);
	ck_assert_uint_le(counts.items, last + 2);
}
END_TEST

/* Ids that were shown before they were on disk are not given again. */
START_TEST(test_ids_do_not_repeat_after_a_loose_run)
{
	uint64_t last, first;
	struct store_op *op;

	rig.config.sync = STORE_SYNC_INTERVAL;
	rig.config.sync_interval_ms = 3600000;
	last = run_and_kill(serve_until_killed, 50);
	rig_open(&rig);
	op = rig_op(STORE_SET, "k", "v");
	rig_do(&rig, op);
	first = op->cas;
	ck_assert_uint_gt(first, last + 1);
	store_op_free(op);
	rig_reopen(&rig); /* a clean end leaves no gap */
	op = rig_op(STORE_SET, "k", "v");
	rig_do(&rig, op);
	ck_assert_uint_eq(op->cas, first + 1);
	store_op_free(op);
}
END_TEST

START_TEST(test_a_kill_ends_won_but_not_stale)
{
	struct store_item item;

	ck_assert_uint_eq(run_and_kill(mark_until_killed, 1), 1);
	rig_open(&rig);
	ck_assert_int_eq(rig_get(&rig, "k", &item), STORE_OK);
	ck_assert(item.stale && !item.won);
}
END_TEST

static int said; /* the percentage of the last message; -1: another one */

static void note_percent(void *arg, enum store_severity severity,
			 const char *text)
{
	(void)arg;
	(void)severity;
	if (sscanf(text, "recovery: %d %% done", &said) != 1)
		said = -1;
}

/*
 * Berkeley DB reckons with log files of one size. Of those before the size was
 * changed it makes thousands per cent.
 */
START_TEST(test_recovery_says_only_what_can_be)
{
	void (*feedback)(DB_ENV * db_env, int opcode, int percent);
	DB_ENV *db_env;

	rig.config.on_message = note_percent;
	rig_open(&rig);
	db_env = rig.store->env.db_env;
	ck_assert_int_eq(db_env->get_feedback(db_env, &feedback), 0);
	said = 0;
	feedback(db_env, DB_RECOVER, 51267);
	feedback(db_env, DB_RECOVER, -2147483647);
	ck_assert_int_eq(said, 0);
	feedback(db_env, DB_RECOVER, 50);
	ck_assert_int_eq(said, 50);
	feedback(db_env, DB_RECOVER, 101);
	ck_assert_int_eq(said, 50);
	feedback(db_env, DB_RECOVER, 100);
	ck_assert_int_eq(said, 100);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("storage kill");
	TCase *tcase = tcase_create("kill");

	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_add_loop_test(tcase, test_kill_loses_nothing_that_was_durable, 20,
			    25);
	tcase_add_test(tcase, test_ids_do_not_repeat_after_a_loose_run);
	tcase_add_test(tcase, test_a_kill_ends_won_but_not_stale);
	tcase_add_test(tcase, test_recovery_says_only_what_can_be);
	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}
