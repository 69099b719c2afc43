/*
 * test_storage_pace.c - the pauses of a checkpoint, and their end when the log
 * outgrows it.
 *
 * nanosleep() is this program's own: Berkeley DB pauses by it through the
 * store's hooks.
 */
#include <check.h>
#include <db.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "storage/disk.h"
#include "storage/store_priv.h"
#include "tests/unit/run_suite.h"
#include "tests/unit/storage_rig.h"

#define LOG_BYTES	  (1U << 20)
#define LOGS_A_CHECKPOINT 4
/* The fewest, if it makes them all: 32 pages of 4 KB of 4 MB between two. */
#define PAUSES_MIN 5

int nanosleep(const struct timespec *time, struct timespec *left);
/* How Berkeley DB pauses, in any thread. */
void db_pause(DB_ENV *db_env, u_long seconds, u_long us) __asm__("__os_yield");

static struct rig rig;
static atomic_bool hold;
static atomic_uint pauses;     /* of the first checkpoint */
static atomic_uint own_pauses; /* of the test's thread */
static pthread_t own_thread;

int nanosleep(const struct timespec *time, struct timespec *left)
{
	if (rig_in_thread("maint")) {
		if (atomic_load(&rig.store->maint.checkpoints) == 0)
			atomic_fetch_add(&pauses, 1);
		while (atomic_load(&hold))
			(void)usleep(1000);
	} else if (pthread_equal(pthread_self(), own_thread)) {
		atomic_fetch_add(&own_pauses, 1);
	}
	return (int)syscall(SYS_nanosleep, time, left);
}

static void set_up(void)
{
	rig_init(&rig);
	rig.config.sync = STORE_SYNC_WRITE;
	rig.config.trickle_percent = 0; /* it pauses, too */
	rig.config.cache_bytes = 32 << 20;
	rig.config.log_file_bytes = LOG_BYTES;
	rig.config.log_buffer_bytes = 64 << 10;
	rig.config.checkpoint_bytes = LOGS_A_CHECKPOINT * LOG_BYTES;
	rig.config.checkpoint_seconds = 0;
	atomic_store(&hold, true);
	rig_open(&rig);
}

static void tear_down(void)
{
	atomic_store(&hold, false);
	rig_done(&rig);
}

static void set_next(void)
{
	static unsigned number;
	char key[16], value[1001];

	(void)snprintf(key, sizeof(key), "k%u", number++);
	memset(value, 'v', sizeof(value) - 1);
	value[sizeof(value) - 1] = '\0';
	ck_assert_int_eq(rig_set(&rig, key, value), STORE_OK);
}

static bool is_pausing(void *arg)
{
	(void)arg;
	return atomic_load(&pauses) > 0;
}

/*
 * The first checkpoint begins by itself, and pauses. What is written makes it
 * due, but not late, however long the thread takes to begin.
 */
static void write_until_it_pauses(void)
{
	unsigned long made = disk_logs_made();

	while (disk_logs_made() <= made + LOGS_A_CHECKPOINT)
		set_next();
	rig_wait_for(is_pausing, NULL);
}

static bool has_ended(void *arg)
{
	(void)arg;
	return atomic_load(&rig.store->maint.checkpoints) > 0;
}

START_TEST(test_a_checkpoint_in_time_pauses_all_along)
{
	write_until_it_pauses();
	atomic_store(&hold, false);
	rig_wait_for(has_ended, NULL);
	ck_assert_uint_ge(atomic_load(&pauses), PAUSES_MIN);
}
END_TEST

static void write_until_it_is_late(void)
{
	unsigned long made = disk_logs_made();

	while (disk_logs_made() < made + LOGS_A_CHECKPOINT)
		set_next();
}

START_TEST(test_a_late_checkpoint_goes_on_without_pauses)
{
	write_until_it_pauses();
	write_until_it_is_late();
	atomic_store(&hold, false);
	rig_wait_for(has_ended, NULL);
	ck_assert_uint_eq(atomic_load(&pauses), 1);
}
END_TEST

/* Who waits for memory gives up after so many pauses, so they must be some. */
START_TEST(test_others_pause_while_a_checkpoint_is_late)
{
	unsigned before;

	own_thread = pthread_self();
	write_until_it_pauses();
	write_until_it_is_late();
	before = atomic_load(&own_pauses);
	db_pause(NULL, 0, 1000);
	ck_assert_uint_eq(atomic_load(&own_pauses), before + 1);
}
END_TEST

static Suite *pace_suite(void)
{
	Suite *suite = suite_create("storage pace");
	TCase *pace = tcase_create("pace");

	tcase_add_checked_fixture(pace, set_up, tear_down);
	tcase_add_test(pace, test_a_checkpoint_in_time_pauses_all_along);
	tcase_add_test(pace, test_a_late_checkpoint_goes_on_without_pauses);
	tcase_add_test(pace, test_others_pause_while_a_checkpoint_is_late);
	suite_add_tcase(suite, pace);
	return suite;
}

int main(void)
{
	return run_suite(pace_suite());
}
