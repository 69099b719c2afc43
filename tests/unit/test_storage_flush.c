/*
 * test_storage_flush.c - flush_all: at once, later, over restarts; and how
 * dead items are found and their space is given back.
 */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "tests/unit/run_suite.h"
#include "tests/unit/storage_rig.h"

static struct rig rig;

static void set_up(void)
{
	rig_init(&rig);
	rig_open(&rig);
}

static void tear_down(void)
{
	rig_done(&rig);
}

static struct store_counts counts(void)
{
	struct store_counts counts;

	store_counts(rig.store, &counts);
	return counts;
}

static void set_many(const char *prefix, int n, int64_t expiry)
{
	struct store_op *first = NULL, *op;
	char key[32];

	for (int i = 0; i < n; i++) {
		(void)snprintf(key, sizeof(key), "%s%d", prefix, i);
		op = rig_op(STORE_SET, key, "value");
		op->expiry = expiry;
		op->next = first;
		first = op;
	}
	store_submit(rig.client, first);
	for (int i = 0; i < n; i++) {
		op = rig_reap(&rig);
		ck_assert_int_eq(op->status, STORE_OK);
		store_op_free(op);
	}
}

/* In one batch: what was before is hidden, what is behind it survives. */
START_TEST(test_flush_cuts_between_two_sets)
{
	struct store_op *before = rig_op(STORE_SET, "before", "v");
	struct store_op *flush = rig_op(STORE_FLUSH, NULL, NULL);
	struct store_op *after = rig_op(STORE_SET, "after", "v");

	before->next = flush;
	flush->next = after;
	store_submit(rig.client, before);
	ck_assert_ptr_eq(rig_reap(&rig), before);
	ck_assert_ptr_eq(rig_reap(&rig), flush);
	ck_assert_ptr_eq(rig_reap(&rig), after);
	store_op_free(before);
	store_op_free(flush);
	store_op_free(after);
	rig_expect_missing(&rig, "before");
	rig_expect(&rig, "after", "v");
	rig_expect_items(&rig, 1);
	rig_reopen(&rig);
	rig_expect_missing(&rig, "before");
	rig_expect(&rig, "after", "v");
	rig_expect_items(&rig, 1);
}
END_TEST

START_TEST(test_delayed_flush_hides_when_its_time_has_come)
{
	rig_set(&rig, "a", "v");
	rig_flush(&rig, rig_now(&rig) + 10);
	rig_set(&rig, "b", "v");
	rig_tick(&rig, 9);
	rig_expect(&rig, "a", "v");
	rig_expect(&rig, "b", "v");
	rig_tick(&rig, 1);
	/* The next change comes after it. */
	rig_set(&rig, "c", "v");
	rig_expect_missing(&rig, "a");
	rig_expect_missing(&rig, "b");
	rig_expect(&rig, "c", "v");
	rig_expect_items(&rig, 1);
}
END_TEST

static bool a_is_gone(void *arg)
{
	(void)arg;
	return rig_get(&rig, "a", NULL) == STORE_NOT_FOUND;
}

START_TEST(test_delayed_flush_fires_without_traffic)
{
	rig_set(&rig, "a", "v");
	rig_flush(&rig, rig_now(&rig) + 10);
	rig_tick(&rig, 10);
	rig_wait_for(a_is_gone, NULL);
	rig_expect_items(&rig, 0);
}
END_TEST

START_TEST(test_delayed_flush_survives_a_restart)
{
	rig_set(&rig, "a", "v");
	rig_flush(&rig, rig_now(&rig) + 10);
	rig_reopen(&rig);
	rig_expect(&rig, "a", "v");
	rig_close(&rig);
	rig_tick(&rig, 10);
	rig_open(&rig);
	/* Due while it was down: before anything is served. */
	rig_expect_missing(&rig, "a");
	rig_expect_items(&rig, 0);
	rig_set(&rig, "b", "v");
	rig_reopen(&rig);
	rig_expect(&rig, "b", "v");
}
END_TEST

START_TEST(test_a_later_flush_replaces_a_waiting_one)
{
	rig_set(&rig, "a", "v");
	rig_flush(&rig, rig_now(&rig) + 10);
	rig_flush(&rig, rig_now(&rig) + 100);
	rig_tick(&rig, 50);
	rig_set(&rig, "b", "v");
	rig_expect(&rig, "a", "v");
	rig_flush(&rig, 0); /* instead of the one that waits */
	rig_set(&rig, "c", "v");
	rig_tick(&rig, 100);
	rig_set(&rig, "d", "v");
	rig_expect_missing(&rig, "a");
	rig_expect(&rig, "c", "v");
	rig_expect_items(&rig, 2);
}
END_TEST

START_TEST(test_overwriting_hidden_items_counts_right)
{
	set_many("k", 10, 0);
	rig_flush(&rig, 0);
	rig_expect_items(&rig, 0);
	ck_assert_uint_eq(counts().bytes, 0);
	set_many("k", 5, 0);
	rig_expect_items(&rig, 5);
	ck_assert_uint_eq(counts().bytes, 5 * (2 + 9 + 5));
	for (int i = 0; i < 10; i++) {
		char key[16];

		(void)snprintf(key, sizeof(key), "k%d", i);
		ck_assert_int_eq(rig_delete(&rig, key),
				 i < 5 ? STORE_OK : STORE_NOT_FOUND);
	}
	rig_expect_items(&rig, 0);
	ck_assert_uint_eq(counts().bytes, 0);
}
END_TEST

static bool flushed_reached(void *arg)
{
	return counts().flushed >= *(uint64_t *)arg;
}

START_TEST(test_flushed_items_are_reclaimed_after_the_grace)
{
	uint64_t wanted = 300;
	struct store_item item;

	set_many("k", 300, 0);
	rig_flush(&rig, 0);
	set_many("new", 10, 0);
	rig_tick(&rig, 59);
	rig_set(&rig, "kick", "v");
	ck_assert_int_eq(rig_get(&rig, "k7", &item), STORE_NOT_FOUND);
	ck_assert(item.flushed); /* still there */
	ck_assert_uint_eq(counts().flushed, 0);
	rig_tick(&rig, 1);
	rig_wait_for(flushed_reached, &wanted);
	ck_assert_int_eq(rig_get(&rig, "k7", &item), STORE_NOT_FOUND);
	ck_assert(!item.flushed);
	rig_expect_items(&rig, 11);
	ck_assert_uint_eq(counts().flushed, 300);
}
END_TEST

/* A flush every while does not put reclaiming off for ever. */
START_TEST(test_flushes_during_a_grace_do_not_prolong_it)
{
	uint64_t wanted = 10;

	set_many("k", 10, 0);
	rig_flush(&rig, 0);
	rig_tick(&rig, 40);
	set_many("l", 10, 0);
	rig_flush(&rig, 0);
	rig_tick(&rig, 20);
	rig_wait_for(flushed_reached, &wanted);
	ck_assert_uint_eq(counts().flushed, 10);
	rig_tick(&rig, 60);
	wanted = 20;
	rig_wait_for(flushed_reached, &wanted);
}
END_TEST

static bool expired_reached(void *arg)
{
	return counts().expired >= *(uint64_t *)arg;
}

START_TEST(test_expired_items_are_reclaimed_unasked)
{
	uint64_t wanted = 1000;

	set_many("dead", 1000, rig_now(&rig) + 10);
	set_many("live", 100, 0);
	set_many("later", 100, rig_now(&rig) + 50);
	rig_tick(&rig, 10);
	rig_wait_for(expired_reached, &wanted);
	rig_wait_for_items(&rig, 200);
	rig_expect(&rig, "live7", "value");
	rig_expect(&rig, "later7", "value");
	rig_tick(&rig, 40);
	wanted = 1100;
	rig_wait_for(expired_reached, &wanted);
	rig_wait_for_items(&rig, 100);
	ck_assert_uint_eq(counts().bytes > 0, 1);
}
END_TEST

/* Nothing tells that there are any: the first sweep looks at all. */
START_TEST(test_expired_items_are_reclaimed_after_a_restart)
{
	uint64_t wanted = 20;

	set_many("dead", 20, rig_now(&rig) + 10);
	rig_close(&rig);
	rig_tick(&rig, 10);
	rig_open(&rig);
	rig_wait_for(expired_reached, &wanted);
	rig_wait_for_items(&rig, 0);
}
END_TEST

START_TEST(test_touched_items_are_swept_by_their_new_expiry)
{
	struct store_op *op;
	uint64_t wanted = 1;

	rig_set(&rig, "a", "v");
	op = rig_op(STORE_TOUCH, "a", NULL);
	op->expiry = rig_now(&rig) + 10;
	rig_do(&rig, op);
	store_op_free(op);
	rig_tick(&rig, 10);
	rig_wait_for(expired_reached, &wanted);
	rig_wait_for_items(&rig, 0);
}
END_TEST

static bool warned(void *arg)
{
	(void)arg;
	return atomic_load(&rig.messages) > 0;
}

/* Hidden, but kept: the clock may be wrong and come back. */
START_TEST(test_a_clock_that_jumps_ahead_destroys_nothing)
{
	rig.quiet = true;
	set_many("k", 50, rig_now(&rig) + 3600);
	rig_tick(&rig, 7200);
	rig_wait_for(warned, NULL);
	ck_assert_ptr_nonnull(strstr(rig.last_message, "clock"));
	rig_expect_missing(&rig, "k1");
	rig_set(&rig, "x", "v");
	rig_tick(&rig, -7200);
	rig_expect(&rig, "k1", "value");
	ck_assert_uint_eq(counts().expired, 0);
	rig_expect_items(&rig, 51);
	ck_assert_int_eq(atomic_load(&rig.messages), 1);
}
END_TEST

static atomic_int asks_left; /* until the clock jumps */

/* A clock that jumps when the sweep asks for the n-th time. */
static int64_t jumping_now_us(void *arg)
{
	(void)arg;
	if (rig_in_thread("sweep") && atomic_fetch_sub(&asks_left, 1) == 1)
		rig_tick(&rig, 7200);
	return atomic_load(&rig.now_us);
}

/* Nor does one that jumps during a sweep, when that asks for the _i-th time. */
START_TEST(test_a_clock_that_jumps_during_a_sweep_destroys_nothing)
{
	rig.quiet = true;
	set_many("k", 50, rig_now(&rig) + 3600);
	rig_close(&rig);
	rig.config.now_us = jumping_now_us;
	atomic_store(&asks_left, _i);
	rig_open(&rig);
	rig_wait_for(warned, NULL);
	rig_expect_missing(&rig, "k1");
	rig_tick(&rig, -7200);
	rig_expect(&rig, "k1", "value");
	ck_assert_uint_eq(counts().expired, 0);
	rig_expect_items(&rig, 50);
}
END_TEST

/* Of an item that was stored anew between the sweep's look and its delete. */
static void expect_not_reclaimed(const char *key, int64_t looked_at)
{
	struct store_op *op = rig_op(STORE_RECLAIM, key, NULL);

	op->expiry = looked_at;
	op->cas = 0; /* nothing could be reclaimed then */
	rig_do(&rig, op);
	ck_assert_int_eq(op->status, STORE_NOT_FOUND);
	store_op_free(op);
}

START_TEST(test_a_clock_that_jumps_behind_a_sweep_destroys_nothing)
{
	int64_t looked_at = rig_now(&rig);

	rig.no_sweep = true;
	rig_reopen(&rig);
	rig_set(&rig, "flushed", "v");
	rig_flush(&rig, 0);
	rig_set_expiry(&rig, "k", "value", looked_at + 3600);
	rig_tick(&rig, 7200);
	expect_not_reclaimed("k", looked_at);
	expect_not_reclaimed("flushed", looked_at);
	rig_tick(&rig, -7200);
	rig_expect(&rig, "k", "value");
	ck_assert_uint_eq(counts().flushed, 0);
}
END_TEST

static void set_up_hash(void)
{
	rig_init(&rig);
	rig.config.hash = true;
	rig_open(&rig);
}

int main(void)
{
	Suite *suite = suite_create("storage flush");
	TCase *tcase = tcase_create("flush");
	TCase *hash = tcase_create("hash");

	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_add_test(tcase, test_flush_cuts_between_two_sets);
	tcase_add_test(tcase, test_delayed_flush_hides_when_its_time_has_come);
	tcase_add_test(tcase, test_delayed_flush_fires_without_traffic);
	tcase_add_test(tcase, test_delayed_flush_survives_a_restart);
	tcase_add_test(tcase, test_a_later_flush_replaces_a_waiting_one);
	tcase_add_test(tcase, test_overwriting_hidden_items_counts_right);
	tcase_add_test(tcase, test_flushed_items_are_reclaimed_after_the_grace);
	tcase_add_test(tcase, test_flushes_during_a_grace_do_not_prolong_it);
	tcase_add_test(tcase, test_expired_items_are_reclaimed_unasked);
	tcase_add_test(tcase, test_expired_items_are_reclaimed_after_a_restart);
	tcase_add_test(tcase, test_touched_items_are_swept_by_their_new_expiry);
	tcase_add_test(tcase, test_a_clock_that_jumps_ahead_destroys_nothing);
	tcase_add_loop_test(
		tcase, test_a_clock_that_jumps_during_a_sweep_destroys_nothing,
		1, 8);
	tcase_add_test(tcase,
		       test_a_clock_that_jumps_behind_a_sweep_destroys_nothing);
	tcase_add_checked_fixture(hash, set_up_hash, tear_down);
	tcase_add_test(hash, test_expired_items_are_reclaimed_unasked);
	tcase_add_test(hash, test_flushed_items_are_reclaimed_after_the_grace);
	suite_add_tcase(suite, tcase);
	suite_add_tcase(suite, hash);
	return run_suite(suite);
}
