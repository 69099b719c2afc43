/*
 * test_storage_jobs.c - checkpoints and archiving, compaction, prefixes.
 */
#include <check.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "storage/purge.h"
#include "tests/unit/run_suite.h"
#include "tests/unit/storage_rig.h"

#define KEYS	  1500
#define BIG_ITEMS 300 /* of 10 KB: several log files */

static struct rig rig;

static void set_up(void)
{
	rig_init(&rig);
	rig.config.log_file_bytes = 1 << 20;
	rig.config.checkpoint_seconds = 0;
	rig.config.checkpoint_bytes = UINT64_C(1) << 40;
}

static void tear_down(void)
{
	rig_done(&rig);
}

/* Fills keys "<prefix>NNNN", submitted as one list. */
static void fill(const char *prefix, int count, uint32_t value_bytes)
{
	struct store_op *first = NULL;
	char key[32];

	for (int i = 0; i < count; i++) {
		struct store_op *op;

		(void)snprintf(key, sizeof(key), "%s%04d", prefix, i);
		op = rig_op_sized(STORE_SET, key, 'v', value_bytes);
		op->next = first;
		first = op;
	}
	store_submit(rig.client, first);
	while (count-- > 0)
		store_op_free(rig_reap(&rig));
}

/* Deletes nine of ten. */
static void delete_most(const char *prefix, int count)
{
	struct store_op *first = NULL, *op;
	int deletes = 0;
	char key[32];

	for (int i = 0; i < count; i++) {
		if (i % 10 == 0)
			continue;
		(void)snprintf(key, sizeof(key), "%s%04d", prefix, i);
		op = store_op_new(STORE_DELETE, key, strlen(key), 0, 0);
		op->next = first;
		first = op;
		deletes++;
	}
	store_submit(rig.client, first);
	while (deletes-- > 0) {
		op = rig_reap(&rig);
		ck_assert_int_eq(op->status, STORE_OK);
		store_op_free(op);
	}
}

static struct store_engine engine(void)
{
	struct store_engine ret;

	store_engine(rig.reader, &ret);
	return ret;
}

static struct store_progress progress(void)
{
	struct store_progress ret;

	store_progress(rig.store, &ret);
	return ret;
}

/* Sleeps until a wake-up comes, as a worker does. */
static enum store_job_result wait_for_job(uint64_t ticket)
{
	enum store_job_result result;
	uint64_t count;

	while ((result = store_job_result(rig.client, ticket)) ==
	       STORE_JOB_RUNNING) {
		struct pollfd fd = {.fd = rig.wake_fd, .events = POLLIN};

		ck_assert_int_eq(poll(&fd, 1, -1), 1);
		ck_assert_int_eq(read(rig.wake_fd, &count, sizeof(count)),
				 sizeof(count));
	}
	return result;
}

static enum store_job_result run_job(enum store_job job)
{
	return wait_for_job(store_job_begin(rig.client, job));
}

START_TEST(test_checkpoint_now)
{
	struct store_engine before, after;

	rig_open(&rig);
	rig_set(&rig, "a", "b");
	before = engine();
	ck_assert_int_eq(run_job(STORE_CHECKPOINT), STORE_JOB_DONE);
	after = engine();
	ck_assert_uint_eq(after.checkpoints, before.checkpoints + 1);
	ck_assert(after.checkpoint_file > before.checkpoint_file ||
		  after.checkpoint_offset > before.checkpoint_offset);
	ck_assert_uint_lt(after.log_bytes, before.log_bytes);
}
END_TEST

/* Many in a row, so that a lost wake-up would show. */
START_TEST(test_every_ticket_ends)
{
	uint64_t tickets[3];

	rig_open(&rig);
	for (int i = 0; i < 100; i++) {
		tickets[0] = store_job_begin(rig.client, STORE_ARCHIVE);
		tickets[1] = store_job_begin(rig.client, STORE_CHECKPOINT);
		tickets[2] = store_job_begin(rig.client, STORE_ARCHIVE);
		for (int t = 2; t >= 0; t--)
			ck_assert_int_eq(wait_for_job(tickets[t]),
					 STORE_JOB_DONE);
	}
}
END_TEST

START_TEST(test_archive_removes_old_logs)
{
	uint32_t files;

	rig.config.keep_logs = true;
	rig_open(&rig);
	fill("k", BIG_ITEMS, 10000);
	ck_assert_int_eq(run_job(STORE_CHECKPOINT), STORE_JOB_DONE);
	files = engine().log_files;
	ck_assert_uint_gt(files, 2); /* kept */
	ck_assert_int_eq(run_job(STORE_ARCHIVE), STORE_JOB_DONE);
	ck_assert_uint_lt(engine().log_files, files);
	ck_assert_uint_ge(engine().log_files, 1);
	rig_reopen(&rig);
	rig_expect_items(&rig, BIG_ITEMS);
}
END_TEST

/* Nothing is removed that a recovery would need. */
START_TEST(test_archive_without_checkpoint_keeps_logs)
{
	uint32_t files;

	rig.config.trickle_percent = 0;
	rig_open(&rig);
	fill("k", BIG_ITEMS, 10000);
	files = engine().log_files;
	ck_assert_int_eq(run_job(STORE_ARCHIVE), STORE_JOB_DONE);
	ck_assert_uint_eq(engine().log_files, files);
}
END_TEST

/* What is in the way of a removal: a directory with a log file's name. */
START_TEST(test_archive_says_when_it_cannot)
{
	char log[300], aside[310];

	rig.config.keep_logs = true;
	rig.quiet = true;
	rig_open(&rig);
	fill("k", BIG_ITEMS, 10000);
	ck_assert_int_eq(run_job(STORE_CHECKPOINT), STORE_JOB_DONE);
	(void)snprintf(log, sizeof(log), "%s/log.0000000001", rig.dir);
	(void)snprintf(aside, sizeof(aside), "%s.aside", log);
	ck_assert_int_eq(rename(log, aside), 0);
	ck_assert_int_eq(mkdir(log, 0700), 0);
	ck_assert_int_eq(run_job(STORE_ARCHIVE), STORE_JOB_FAILED);
	ck_assert_int_gt(atomic_load(&rig.messages), 0);
	ck_assert_int_eq(rmdir(log), 0);
	ck_assert_int_eq(run_job(STORE_ARCHIVE), STORE_JOB_DONE);
	ck_assert_int_eq(unlink(aside), 0);
}
END_TEST

/* --- compaction --------------------------------------------------------- */

static bool compacted(void *arg)
{
	(void)arg;
	return !progress().compact_running;
}

static void compact(void)
{
	ck_assert_int_eq(store_compact(rig.store), 0);
	rig_wait_for(compacted, NULL);
}

START_TEST(test_compaction_gives_pages_back)
{
	struct store_engine before, after;
	char key[32];

	rig_open(&rig);
	fill("k", KEYS, 700);
	delete_most("k", KEYS);
	before = engine();
	compact();
	after = engine();
	ck_assert_uint_eq(progress().compact_done, 1);
	ck_assert_uint_eq(progress().compact_failed, 0);
	ck_assert_uint_gt(progress().compact_freed, 0);
	ck_assert_uint_gt(progress().compact_returned, 0);
	ck_assert_uint_lt(after.data_pages, before.data_pages / 2);
	rig_expect_items(&rig, KEYS / 10);
	for (int i = 0; i < KEYS; i++) {
		(void)snprintf(key, sizeof(key), "k%04d", i);
		ck_assert_int_eq(rig_get(&rig, key, NULL),
				 i % 10 == 0 ? STORE_OK : STORE_NOT_FOUND);
	}
	rig_reopen(&rig);
	rig_expect_items(&rig, KEYS / 10);
	ck_assert_uint_eq(engine().data_pages, after.data_pages);
}
END_TEST

START_TEST(test_compaction_runs_once_at_a_time)
{
	int rc = 0;

	rig_open(&rig);
	fill("k", KEYS, 700);
	ck_assert_int_eq(store_compact(rig.store), 0);
	rc = store_compact(rig.store);
	ck_assert(rc == -EALREADY || (rc == 0 && progress().compact_done > 0));
	rig_wait_for(compacted, NULL);
	ck_assert_int_eq(store_compact(rig.store), 0);
	rig_wait_for(compacted, NULL);
}
END_TEST

/* All that is written meanwhile is there, and nothing fails. */
START_TEST(test_compaction_beside_changes)
{
	uint64_t beside = 0;

	rig_open(&rig);
	fill("k", KEYS / 2, 300);
	delete_most("k", KEYS / 2);
	/* One may end before anything is changed: then another one runs. */
	while (beside == 0) {
		ck_assert_int_eq(store_compact(rig.store), 0);
		while (!compacted(NULL)) {
			fill("new", 50, 300);
			fill("k", 100, 500);
			beside += !compacted(NULL);
			delete_most("k", 100);
		}
	}
	ck_assert_uint_eq(progress().compact_failed, 0);
	rig_expect_items(&rig, KEYS / 20 + 50);
	ck_assert_int_eq(atomic_load(&rig.messages), 0);
}
END_TEST

START_TEST(test_closing_stops_a_compaction)
{
	rig_open(&rig);
	fill("k", KEYS, 700);
	delete_most("k", KEYS / 2);
	ck_assert_int_eq(store_compact(rig.store), 0);
	rig_reopen(&rig);
	ck_assert(!progress().compact_running);
	rig_expect_items(&rig, KEYS / 20 + KEYS / 2);
}
END_TEST

/* Berkeley DB would follow a wild pointer. */
START_TEST(test_a_hash_is_not_compacted)
{
	rig.config.hash = true;
	rig_open(&rig);
	fill("k", 10, 10);
	ck_assert_int_eq(store_compact(rig.store), -ENOTSUP);
	ck_assert(!progress().compact_running);
}
END_TEST

START_TEST(test_compaction_of_nothing)
{
	rig_open(&rig);
	compact();
	ck_assert_uint_eq(progress().compact_done, 1);
}
END_TEST

/* --- prefixes ----------------------------------------------------------- */

static bool purged(void *arg)
{
	struct store_progress now = progress();

	(void)arg;
	return now.delete_running == 0 && now.delete_queued == 0;
}

static void delete_prefix(const char *prefix)
{
	ck_assert_int_eq(store_delete_prefix(rig.store, prefix, strlen(prefix)),
			 0);
	rig_wait_for(purged, NULL);
}

START_TEST(test_prefix_is_deleted)
{
	rig.config.hash = _i == 1;
	rig_open(&rig);
	fill("a", 700, 20);
	fill("b", 700, 20);
	fill("ba", 700, 20);
	fill("c", 700, 20);
	delete_prefix("ba");
	rig_expect_items(&rig, 2100);
	rig_expect_missing(&rig, "ba0000");
	rig_expect_missing(&rig, "ba0699");
	delete_prefix("b");
	rig_expect_items(&rig, 1400);
	delete_prefix("nothing");
	rig_expect_items(&rig, 1400);
	ck_assert_uint_eq(progress().delete_done, 3);
	ck_assert_uint_eq(progress().delete_items, 1400);
	ck_assert_uint_eq(progress().delete_failed, 0);
	rig_reopen(&rig);
	rig_expect_items(&rig, 1400);
}
END_TEST

START_TEST(test_prefix_of_the_last_keys)
{
	rig_open(&rig);
	rig_set(&rig, "\xff\xff", "1");
	rig_set(&rig, "\xff\xff\xff", "2");
	rig_set(&rig, "\xff", "3");
	delete_prefix("\xff\xff");
	rig_expect_items(&rig, 1);
	rig_expect(&rig, "\xff", "3");
}
END_TEST

/* What is stored, or stored anew, after the request stays. */
START_TEST(test_prefix_spares_what_comes_later)
{
	rig.config.hash = _i == 1;
	rig_open(&rig);
	fill("p", KEYS, 20);
	ck_assert_int_eq(store_delete_prefix(rig.store, "p", 1), 0);
	fill("p", 500, 20);
	fill("pp", 10, 20);
	rig_wait_for(purged, NULL);
	rig_expect_items(&rig, 510);
	for (int i = 0; i < 500; i += 7) {
		char key[16];

		(void)snprintf(key, sizeof(key), "p%04d", i);
		ck_assert_int_eq(rig_get(&rig, key, NULL), STORE_OK);
	}
}
END_TEST

START_TEST(test_prefix_leaves_the_dead_alone)
{
	rig.config.hash = _i == 1;
	rig_open(&rig);
	fill("p", 200, 20);
	rig_flush(&rig, 0);
	fill("p", 100, 20);
	rig_set_expiry(&rig, "p-expires", "v", rig_now(&rig) + 5);
	rig_tick(&rig, 5);
	delete_prefix("p");
	ck_assert_uint_eq(progress().delete_items, 100);
	ck_assert_uint_eq(progress().delete_done, 1);
}
END_TEST

/* Items with ids of their own have their place in the order, too. */
START_TEST(test_prefix_goes_by_the_order_of_stores)
{
	struct store_op *op = rig_op(STORE_SET, "p1", "v");

	rig_open(&rig);
	op->assign = 1000000;
	rig_do(&rig, op);
	store_op_free(op);
	delete_prefix("p");
	rig_expect_missing(&rig, "p1");
	op = rig_op(STORE_SET, "p2", "v");
	op->assign = 1;
	ck_assert_int_eq(store_delete_prefix(rig.store, "p", 1), 0);
	rig_do(&rig, op);
	store_op_free(op);
	rig_wait_for(purged, NULL);
	rig_expect(&rig, "p2", "v");
}
END_TEST

START_TEST(test_prefix_queue_is_bounded)
{
	struct purge purge;
	struct purge_request request = {.prefix = "p", .prefix_bytes = 1};

	purge_init(&purge);
	for (int i = 0; i < STORE_PREFIX_DELETES_MAX; i++)
		ck_assert_int_eq(purge_ask(&purge, &request), 0);
	ck_assert_int_eq(purge_ask(&purge, &request), -EBUSY);
	ck_assert_uint_eq(atomic_load(&purge.queued), STORE_PREFIX_DELETES_MAX);
	purge_done(&purge);
}
END_TEST

START_TEST(test_prefixes_wait_for_each_other)
{
	static const char *const prefixes[] = {"a", "b", "c", "d", "e", "f"};

	rig_open(&rig);
	for (int i = 0; i < 6; i++)
		fill(prefixes[i], 300, 10);
	ck_assert_int_eq(store_compact(rig.store), 0);
	for (int i = 0; i < 5; i++)
		ck_assert_int_eq(store_delete_prefix(rig.store, prefixes[i], 1),
				 0);
	rig_wait_for(purged, NULL);
	rig_wait_for(compacted, NULL);
	ck_assert_uint_eq(progress().delete_done, 5);
	ck_assert_uint_eq(progress().compact_done, 1);
	rig_expect_items(&rig, 300);
}
END_TEST

START_TEST(test_closing_stops_a_delete)
{
	rig_open(&rig);
	fill("p", KEYS, 20);
	ck_assert_int_eq(store_delete_prefix(rig.store, "p", 1), 0);
	ck_assert_int_eq(store_delete_prefix(rig.store, "q", 1), 0);
	rig_reopen(&rig);
	ck_assert_uint_eq(progress().delete_queued, 0);
	ck_assert_uint_eq(progress().delete_running, 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("storage jobs");
	TCase *tcase = tcase_create("jobs");

	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_add_test(tcase, test_checkpoint_now);
	tcase_add_test(tcase, test_every_ticket_ends);
	tcase_add_test(tcase, test_archive_removes_old_logs);
	tcase_add_test(tcase, test_archive_without_checkpoint_keeps_logs);
	tcase_add_test(tcase, test_archive_says_when_it_cannot);
	tcase_add_test(tcase, test_compaction_gives_pages_back);
	tcase_add_test(tcase, test_compaction_runs_once_at_a_time);
	tcase_add_test(tcase, test_compaction_beside_changes);
	tcase_add_test(tcase, test_a_hash_is_not_compacted);
	tcase_add_test(tcase, test_closing_stops_a_compaction);
	tcase_add_test(tcase, test_compaction_of_nothing);
	tcase_add_loop_test(tcase, test_prefix_is_deleted, 0, 2);
	tcase_add_test(tcase, test_prefix_of_the_last_keys);
	tcase_add_loop_test(tcase, test_prefix_spares_what_comes_later, 0, 2);
	tcase_add_loop_test(tcase, test_prefix_leaves_the_dead_alone, 0, 2);
	tcase_add_test(tcase, test_prefix_goes_by_the_order_of_stores);
	tcase_add_test(tcase, test_prefix_queue_is_bounded);
	tcase_add_test(tcase, test_prefixes_wait_for_each_other);
	tcase_add_test(tcase, test_closing_stops_a_delete);
	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}
