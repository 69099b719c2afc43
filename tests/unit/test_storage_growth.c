/*
 * test_storage_growth.c - walks through a hash that grows between their steps.
 *
 * The clock is asked before each step of a sweep or of a purge: there the hash
 * grows, so that splits come between the steps every time.
 */

#include <check.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "tests/unit/run_suite.h"
#include "tests/unit/storage_rig.h"

#define STAY	  1500
#define COME_MAX  6000
#define STEPS_MAX 100000

static struct rig rig;

/* What grows the hash from inside a thread of the store. */
static struct growth {
	pthread_mutex_t lock;	    /* of client and come */
	const char *_Atomic thread; /* NULL: nothing grows */
	struct store_client *client;
	int come;
} growth = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void no_wake(void *arg)
{
	(void)arg;
}

static struct store_op *list_of(const char *prefix, int from, int count,
				int64_t expiry)
{
	struct store_op *first = NULL;
	char key[24];

	for (int i = from; i < from + count; i++) {
		struct store_op *op;

		(void)snprintf(key, sizeof(key), "%s%05d", prefix, i);
		op = rig_op(STORE_SET, key, "value");
		op->expiry = expiry;
		op->next = first;
		first = op;
	}
	return first;
}

static void fill(const char *prefix, int from, int count, int64_t expiry)
{
	store_submit(rig.client, list_of(prefix, from, count, expiry));
	while (count-- > 0)
		store_op_free(rig_reap(&rig));
}

static void grow(void)
{
	const struct timespec pause = {.tv_nsec = 100000};
	int count = growth.come < COME_MAX ? 250 : 0;
	struct store_op *op;

	if (count == 0)
		return;
	store_submit(growth.client, list_of("come", growth.come, count, 0));
	growth.come += count;
	while (count > 0) {
		op = store_reap(growth.client);
		if (op == NULL) {
			(void)nanosleep(&pause, NULL);
			continue;
		}
		store_op_free(op);
		count--;
	}
}

static int64_t now_us(void *arg)
{
	const char *thread = atomic_load(&growth.thread);

	(void)arg;
	if (thread == NULL || !rig_in_thread(thread))
		return atomic_load(&rig.now_us);
	(void)pthread_mutex_lock(&growth.lock);
	if (atomic_load(&growth.thread) != NULL)
		grow();
	(void)pthread_mutex_unlock(&growth.lock);
	return atomic_load(&rig.now_us);
}

static void grow_in(const char *thread)
{
	(void)pthread_mutex_lock(&growth.lock);
	atomic_store(&growth.thread, thread);
	(void)pthread_mutex_unlock(&growth.lock);
}

static void set_up(void)
{
	rig_init(&rig);
	rig.config.hash = true;
	rig.config.sync = STORE_SYNC_WRITE;
	rig.config.now_us = now_us;
	rig_open(&rig);
	ck_assert_int_eq(
		store_client_new(rig.store, no_wake, NULL, &growth.client), 0);
	growth.come = 0;
	fill("stay", 0, STAY, 0);
}

static void tear_down(void)
{
	grow_in(NULL);
	store_client_free(growth.client);
	rig_done(&rig);
}

/* ---- a walk ------------------------------------------------------------- */

struct seen {
	int times[STAY];
	int count; /* of all, again and again */
	char last[24], before[24];
};

static bool see(void *arg, const char *key, size_t key_bytes,
		const struct store_item *item)
{
	struct seen *seen = arg;
	int number;

	(void)item;
	ck_assert_uint_lt(key_bytes, sizeof(seen->last));
	memcpy(seen->before, seen->last, sizeof(seen->before));
	memcpy(seen->last, key, key_bytes);
	seen->last[key_bytes] = '\0';
	seen->count++;
	if (sscanf(seen->last, "stay%d", &number) == 1) {
		ck_assert_int_lt(number, STAY);
		seen->times[number]++;
	}
	return true;
}

/* Walks to the end; calls `meanwhile` between the steps. */
static void walk(size_t rows, struct seen *seen,
		 void (*meanwhile)(const struct seen *seen, int step))
{
	struct store_cursor cursor = {.key_bytes = 0};
	int steps = 0;

	memset(seen, 0, sizeof(*seen));
	while (!cursor.done) {
		ck_assert_int_lt(steps, STEPS_MAX);
		ck_assert_int_eq(
			store_walk(rig.reader, &cursor, rows, see, seen),
			STORE_OK);
		meanwhile(seen, steps++);
	}
}

static void expect_all(const struct seen *seen)
{
	int missed = 0;

	for (int i = 0; i < STAY; i++)
		missed += seen->times[i] == 0;
	ck_assert_msg(missed == 0, "%d are missed", missed);
}

static const int rows_of_steps[] = {1, 5, 64, 256, 512};

static void nothing(const struct seen *seen, int step)
{
	(void)seen;
	(void)step;
}

START_TEST(test_all_once_while_nothing_changes)
{
	struct seen seen;

	walk((size_t)rows_of_steps[_i], &seen, nothing);
	expect_all(&seen);
	ck_assert_int_eq(seen.count, STAY);
}
END_TEST

/* So that there is a split at least in each hundredth row or so. */
static void let_come(const struct seen *seen, int step)
{
	int count = 50;

	(void)seen;
	if (growth.come >= COME_MAX || step % 8 != 0)
		return;
	fill("come", growth.come, count, 0);
	growth.come += count;
}

START_TEST(test_all_while_it_grows)
{
	struct seen seen;

	walk((size_t)rows_of_steps[_i], &seen, let_come);
	expect_all(&seen);
}
END_TEST

/* By the time it goes on there are many times more buckets. */
static void let_many_come(const struct seen *seen, int step)
{
	(void)seen;
	if (step % 4 == 1 && growth.come < 4 * COME_MAX) {
		fill("come", growth.come, COME_MAX / 2, 0);
		growth.come += COME_MAX / 2;
	}
}

START_TEST(test_all_while_it_grows_many_times_over)
{
	struct seen seen;

	walk((size_t)rows_of_steps[_i], &seen, let_many_come);
	expect_all(&seen);
}
END_TEST

static void store_longer(const char *key)
{
	static char value[301];

	memset(value, 'v', sizeof(value) - 1);
	ck_assert_int_eq(rig_delete(&rig, key), STORE_OK);
	ck_assert_int_eq(rig_set(&rig, key, value), STORE_OK);
}

/* What was seen last goes to where there is room in its bucket. */
static void store_last(const struct seen *seen, int step)
{
	let_come(seen, step);
	if (step < 400)
		store_longer(seen->last);
}

START_TEST(test_all_while_the_place_is_stored_anew)
{
	struct seen seen;

	walk((size_t)rows_of_steps[_i], &seen, store_last);
	expect_all(&seen);
}
END_TEST

static void delete_last(const struct seen *seen, int step)
{
	let_come(seen, step);
	if (step >= 400)
		return;
	(void)rig_delete(&rig, seen->last);
	if (step % 2 == 0 && seen->before[0] != '\0')
		(void)rig_delete(&rig, seen->before);
}

START_TEST(test_all_while_the_place_and_the_one_before_are_deleted)
{
	struct seen seen;

	walk((size_t)rows_of_steps[_i], &seen, delete_last);
	expect_all(&seen);
}
END_TEST

/* Everything seen is stored anew, all the time: there is an end all the same.
 */
static void store_all(const struct seen *seen, int step)
{
	(void)seen;
	if (step < 200)
		fill("stay", 0, STAY, 0);
}

START_TEST(test_comes_to_its_end_while_all_is_stored_anew)
{
	struct seen seen;

	walk((size_t)rows_of_steps[_i], &seen, store_all);
	expect_all(&seen);
	ck_assert_int_lt(seen.count, 4 * STAY);
}
END_TEST

/* ---- a sweep, a purge --------------------------------------------------- */

static const int dead[] = {1500, 5000}; /* so many */

static bool all_swept(void *arg)
{
	struct store_counts counts;

	store_counts(rig.store, &counts);
	return counts.expired == (uint64_t) * (const int *)arg;
}

START_TEST(test_a_sweep_finds_all_that_are_dead)
{
	int count = dead[_i];

	fill("dead", 0, count, rig_now(&rig) + 5);
	grow_in("sweep");
	rig_tick(&rig, 5);
	rig_wait_for(all_swept, &count);
	grow_in(NULL);
	ck_assert_int_gt(growth.come, 0);
}
END_TEST

static bool purge_is_done(void *arg)
{
	struct store_progress progress;

	(void)arg;
	store_progress(rig.store, &progress);
	return progress.delete_done == 1;
}

START_TEST(test_a_purge_deletes_all_with_the_prefix)
{
	struct store_progress progress;
	char key[24];

	fill("dead", 0, dead[_i], 0);
	grow_in("jobs");
	ck_assert_int_eq(store_delete_prefix(rig.store, "dead", 4), 0);
	rig_wait_for(purge_is_done, NULL);
	grow_in(NULL);
	ck_assert_int_gt(growth.come, 0);
	store_progress(rig.store, &progress);
	ck_assert_uint_eq(progress.delete_items, dead[_i]);
	for (int i = 0; i < dead[_i]; i++) {
		(void)snprintf(key, sizeof(key), "dead%05d", i);
		rig_expect_missing(&rig, key);
	}
}
END_TEST

int main(void)
{
	const int loops = sizeof(rows_of_steps) / sizeof(rows_of_steps[0]);
	Suite *suite = suite_create("storage growth");
	TCase *walks = tcase_create("walks");
	TCase *jobs = tcase_create("jobs");

	tcase_add_checked_fixture(walks, set_up, tear_down);
	tcase_add_loop_test(walks, test_all_once_while_nothing_changes, 0,
			    loops);
	tcase_add_loop_test(walks, test_all_while_it_grows, 0, loops);
	tcase_add_loop_test(walks, test_all_while_it_grows_many_times_over, 0,
			    loops);
	tcase_add_loop_test(walks, test_all_while_the_place_is_stored_anew, 0,
			    loops);
	tcase_add_loop_test(
		walks, test_all_while_the_place_and_the_one_before_are_deleted,
		0, loops);
	tcase_add_loop_test(walks,
			    test_comes_to_its_end_while_all_is_stored_anew, 0,
			    loops);
	suite_add_tcase(suite, walks);
	tcase_add_checked_fixture(jobs, set_up, tear_down);
	tcase_add_loop_test(jobs, test_a_sweep_finds_all_that_are_dead, 0, 2);
	tcase_add_loop_test(jobs, test_a_purge_deletes_all_with_the_prefix, 0,
			    2);
	suite_add_tcase(suite, jobs);
	return run_suite(suite);
}
