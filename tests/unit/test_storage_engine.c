/*
 * test_storage_engine.c - what is measured, and the end that is bounded.
 */
#include <check.h>
#include <string.h>

#include "storage/latency.h"
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

static struct store_engine engine(void)
{
	struct store_engine ret;

	store_engine(rig.reader, &ret);
	return ret;
}

/* Each number is in a class that ends at it or at most a quarter above. */
START_TEST(test_percentile_of_one)
{
	for (uint64_t us = 0; us < 5000000; us = us * 5 / 4 + 1) {
		struct latency latency = {0};

		latency_add(&latency, us);
		ck_assert_uint_eq(latency_at(&latency, 500), us);
		latency_add(&latency, us * 4 + 4); /* no longer the maximum */
		ck_assert_uint_ge(latency_at(&latency, 500), us);
		ck_assert_uint_le(latency_at(&latency, 500), us + us / 4);
		ck_assert_uint_eq(latency_at(&latency, 1000), us * 4 + 4);
	}
}
END_TEST

START_TEST(test_percentiles_of_many)
{
	struct latency latency = {0};

	ck_assert_uint_eq(latency_at(&latency, 500), 0);
	for (uint64_t us = 1; us <= 1000; us++)
		latency_add(&latency, us);
	ck_assert_uint_ge(latency_at(&latency, 500), 500);
	ck_assert_uint_le(latency_at(&latency, 500), 625);
	ck_assert_uint_ge(latency_at(&latency, 990), 990);
	ck_assert_uint_le(latency_at(&latency, 990), 1000);
	latency_add(&latency, UINT64_MAX);
	ck_assert_uint_eq(latency_at(&latency, 1000), UINT64_MAX);
}
END_TEST

static bool cache_was_counted(void *arg)
{
	(void)arg;
	return engine().pages_clean + engine().pages_dirty > 0;
}

START_TEST(test_numbers_of_a_store)
{
	struct store_engine now;

	rig.config.trickle_percent = 0;
	rig.config.hash = _i == 1;
	rig_open(&rig);
	for (int i = 0; i < 20; i++)
		rig_set(&rig, i % 2 ? "odd" : "even", "value");
	rig_wait_for(cache_was_counted, NULL);
	now = engine();
	ck_assert_int_eq(now.hash, _i == 1);
	ck_assert_uint_eq(now.page_bytes, 4096);
	ck_assert_uint_ge(now.data_pages, 2);
	ck_assert_uint_ge(now.data_file_bytes, 4096);
	ck_assert_uint_ge(now.cache_bytes, 6 << 20);
	ck_assert_uint_gt(now.cache_hits, 0);
	ck_assert_uint_ge(now.log_file, 1);
	ck_assert_uint_gt(now.log_offset, 0);
	ck_assert_uint_eq(now.log_files, 1);
	ck_assert_uint_gt(now.log_files_bytes, 0);
	ck_assert_uint_gt(now.log_bytes, 0);
	ck_assert_uint_ge(now.checkpoint_file, 1);
	ck_assert_uint_gt(now.locks_max, 0);
	ck_assert_uint_gt(now.lock_requests, 0);
	ck_assert_uint_eq(now.txns_active, 0);
	ck_assert_uint_ge(now.txns_committed, 20);
	ck_assert_uint_eq(now.queued, 0);
	ck_assert_uint_eq(now.batches, 20);
	ck_assert_uint_eq(now.batched_ops, 20);
	ck_assert_uint_eq(now.batch_last, 1);
	ck_assert_uint_eq(now.batch_max, 1);
	ck_assert_uint_eq(now.flushes, 20);
	ck_assert_uint_gt(now.flush_p50_us, 0);
	ck_assert_uint_le(now.flush_p50_us, now.flush_p99_us);
	ck_assert_uint_le(now.flush_p99_us, now.flush_max_us);
	ck_assert_uint_eq(now.next_cas, 21);
}
END_TEST

/* With no time to write pages, the log has what is needed. */
START_TEST(test_end_without_checkpoint)
{
	struct store_op *first = NULL, *op;
	const uint32_t bytes = 3000;
	const int count = 4000;
	static const uint32_t close_ms[] = {0, 1, 86400000};

	rig.config.cache_bytes = 64 << 20;
	rig.config.trickle_percent = 0;
	rig.config.checkpoint_seconds = 0;
	rig.config.checkpoint_bytes = UINT64_C(1) << 40;
	rig.config.close_ms = close_ms[_i];
	rig.quiet = true;
	rig_open(&rig);
	for (int i = 0; i < count; i++) {
		op = store_op_new(STORE_SET, (const char *)&i, sizeof(i), bytes,
				  0);
		memset(op->value, i, bytes);
		op->next = first;
		first = op;
	}
	store_submit(rig.client, first);
	for (int i = 0; i < count; i++)
		store_op_free(rig_reap(&rig));
	rig_close(&rig);
	/* 1 ms is not enough for 12 MB; 0 is no limit, and a day plenty. */
	ck_assert_int_eq(atomic_load(&rig.messages), _i == 1);
	rig_open(&rig);
	rig_expect_items(&rig, (uint64_t)count);
	if (_i != 1)
		ck_assert_uint_eq(engine().log_files, 1);
	else
		ck_assert_uint_gt(engine().log_files, 1);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("storage engine");
	TCase *tcase = tcase_create("engine");

	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_add_test(tcase, test_percentile_of_one);
	tcase_add_test(tcase, test_percentiles_of_many);
	tcase_add_loop_test(tcase, test_numbers_of_a_store, 0, 2);
	tcase_add_loop_test(tcase, test_end_without_checkpoint, 0, 3);
	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}
