/*
 * test_storage_lease.c - marks: who may compute a value anew, and what ends it.
 */
#include <check.h>
#include <string.h>

#include "storage/storage.h"
#include "tests/unit/run_suite.h"
#include "tests/unit/storage_rig.h"

#define COUNT(array) (int)(sizeof(array) / sizeof((array)[0]))

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

/* A lease of "k" that makes nothing. */
static struct store_op *lease(void)
{
	struct store_op *op = rig_op(STORE_LEASE, "k", NULL);

	rig_do(&rig, op);
	return op;
}

/* Leases "k": it must be there, with these marks. */
static void expect_lease(bool stale, bool won, bool win)
{
	struct store_op *op = lease();

	ck_assert_int_eq(op->status, STORE_OK);
	ck_assert_int_eq(op->found.stale, stale);
	ck_assert_int_eq(op->found.won, won);
	ck_assert_int_eq(op->found.win, win);
	store_op_free(op);
}

/* The item "k" as a get sees it; of a big one not the value. */
static struct store_item look(void)
{
	struct store_item item;
	enum store_status status = rig_get(&rig, "k", &item);

	ck_assert(status == STORE_OK || status == STORE_GROW);
	return item;
}

/* A get sees the same marks, and gives no right. */
static void expect_marks(bool stale, bool won)
{
	struct store_item item = look();

	ck_assert_int_eq(item.stale, stale);
	ck_assert_int_eq(item.won, won);
	ck_assert(!item.win);
}

static void invalidate(void)
{
	struct store_op *op = rig_op(STORE_INVALIDATE, "k", NULL);

	op->mark_stale = true;
	rig_do(&rig, op);
	ck_assert_int_eq(op->status, STORE_OK);
	store_op_free(op);
}

START_TEST(test_a_lease_is_a_get)
{
	struct store_op *op = rig_op(STORE_SET, "k", "value");
	uint64_t id;

	op->flags = 9;
	op->expiry = rig_now(&rig) + 100;
	op->key_base64 = true;
	rig_do(&rig, op);
	id = op->cas;
	store_op_free(op);
	op = rig_op(STORE_LEASE, "k", NULL);
	op->head_room = 40;
	op->create = true; /* nothing to be made */
	rig_do(&rig, op);
	ck_assert_int_eq(op->status, STORE_OK);
	ck_assert_uint_eq(op->cas, id);
	ck_assert_uint_eq(op->found.cas, id);
	ck_assert_uint_eq(op->found.value_bytes, 5);
	ck_assert_mem_eq(op->found.value, "value", 5);
	ck_assert_uint_eq(op->found.flags, 9);
	ck_assert_int_eq(op->found.expiry, rig_now(&rig) + 100);
	ck_assert(op->found.key_base64);
	ck_assert(!op->made);
	ck_assert(!op->found.stale && !op->found.won && !op->found.win);
	memset(op->found.value - 40, 'x', 40); /* ours, as is the end */
	memcpy(op->found.value + 5, "\r\n", 2);
	store_op_free(op);
	rig_expect(&rig, "k", "value");
}
END_TEST

START_TEST(test_the_maker_of_an_empty_item_wins)
{
	struct store_op *op = rig_op(STORE_LEASE, "k", NULL);
	struct store_item item;

	op->create = true;
	op->create_expiry = rig_now(&rig) + 30;
	op->key_base64 = true;
	op->flags = 5;
	op->head_room = 8;
	rig_do(&rig, op);
	ck_assert_int_eq(op->status, STORE_OK);
	ck_assert(op->made);
	ck_assert(op->found.win && !op->found.won && !op->found.stale);
	ck_assert_uint_eq(op->found.value_bytes, 0);
	memset(op->found.value - 8, 'x', 8 + 2);
	ck_assert_int_eq(op->found.expiry, rig_now(&rig) + 30);
	ck_assert_int_eq(rig_get(&rig, "k", &item), STORE_OK);
	ck_assert_uint_eq(item.cas, op->cas);
	ck_assert_uint_eq(item.cas, op->found.cas);
	ck_assert_uint_eq(item.flags, 0);
	ck_assert_int_eq(item.expiry, rig_now(&rig) + 30);
	ck_assert(item.key_base64);
	store_op_free(op);
	expect_marks(false, true);
	expect_lease(false, true, false);
	/* For everybody else it is an item. */
	rig_expect_items(&rig, 1);
	ck_assert_int_eq(rig_run(&rig, STORE_ADD, "k", "v"), STORE_NOT_STORED);
	ck_assert_int_eq(rig_run(&rig, STORE_APPEND, "k", "v"), STORE_OK);
	rig_expect(&rig, "k", "v");
	expect_marks(false, true);
	rig_tick(&rig, 30);
	rig_expect_missing(&rig, "k");
}
END_TEST

START_TEST(test_a_lease_says_why_nothing_was_there)
{
	struct store_op *op;

	rig_close(&rig);
	rig.no_sweep = true;
	rig_open(&rig);
	rig_set_expiry(&rig, "k", "v", rig_now(&rig) + 1);
	rig_tick(&rig, 1);
	op = lease();
	ck_assert_int_eq(op->status, STORE_NOT_FOUND);
	ck_assert(op->found.expired && !op->found.flushed);
	store_op_free(op);
	rig_set(&rig, "k", "v");
	rig_flush(&rig, 0);
	op = lease();
	ck_assert_int_eq(op->status, STORE_NOT_FOUND);
	ck_assert(op->found.flushed && !op->found.expired);
	store_op_free(op);
}
END_TEST

START_TEST(test_one_asker_wins_a_stale_item)
{
	uint64_t before, after;

	rig_set(&rig, "k", "old");
	before = look().cas;
	invalidate();
	after = look().cas;
	ck_assert_uint_gt(after, before);
	rig_expect(&rig, "k", "old");
	expect_marks(true, false);
	expect_lease(true, false, true);
	expect_lease(true, true, false);
	expect_marks(true, true);
	ck_assert_uint_eq(look().cas, after);
	invalidate(); /* the winner's work is outdated */
	expect_lease(true, false, true);
	rig_set(&rig, "k", "new");
	expect_marks(false, false);
	expect_lease(false, false, false);
	rig_expect_items(&rig, 1);
}
END_TEST

struct recache_case {
	int64_t left, recache_seconds;
	bool win;
};

static const struct recache_case recache_cases[] = {
	{100, 0, false},	{100, 100, false}, {100, 101, true},
	{100, 99, false},	{1, 2, true},	   {100, -1, false},
	{0, 1000, false}, /* 0: it never expires */
	{100, INT64_MAX, true},
};

START_TEST(test_one_asker_wins_what_expires_soon)
{
	const struct recache_case *c = &recache_cases[_i];
	struct store_op *op;

	rig_set_expiry(&rig, "k", "v",
		       c->left > 0 ? rig_now(&rig) + c->left : 0);
	for (int i = 0; i < 2; i++) {
		op = rig_op(STORE_LEASE, "k", NULL);
		op->recache_seconds = c->recache_seconds;
		rig_do(&rig, op);
		ck_assert_int_eq(op->found.win, c->win && i == 0);
		ck_assert_int_eq(op->found.won, c->win && i == 1);
		store_op_free(op);
	}
	expect_marks(false, c->win);
}
END_TEST

struct touch_case {
	int64_t left, set;   /* 0: never */
	bool by_old, by_new; /* who wins with recache_seconds of 50 */
};

static const struct touch_case touch_cases[] = {
	{10, 500, true, false},	  {500, 10, false, true}, {10, 10, true, true},
	{500, 500, false, false}, {0, 10, false, true},	  {10, 0, true, false},
};

/* recache_seconds looks at the expiry from before, or at the one it sets. */
START_TEST(test_a_lease_that_touches_wins)
{
	const struct touch_case *c = &touch_cases[_i];
	int64_t now = rig_now(&rig);
	struct store_op *op;

	for (int by_new = 0; by_new < 2; by_new++) {
		rig_set_expiry(&rig, "k", "v", c->left > 0 ? now + c->left : 0);
		op = rig_op(STORE_LEASE, "k", NULL);
		op->touch = true;
		op->expiry = c->set > 0 ? now + c->set : 0;
		op->recache_seconds = 50;
		op->recache_touched = by_new == 1;
		rig_do(&rig, op);
		ck_assert_int_eq(op->found.win, by_new ? c->by_new : c->by_old);
		store_op_free(op);
	}
}
END_TEST

/* The answer has the expiry from before, also for recache_seconds. */
START_TEST(test_a_lease_can_touch)
{
	struct store_op *op = rig_op(STORE_LEASE, "k", NULL);
	struct store_item item;

	rig_set_expiry(&rig, "k", "v", rig_now(&rig) + 10);
	op->touch = true;
	op->expiry = rig_now(&rig) + 500;
	op->recache_seconds = 20;
	rig_do(&rig, op);
	ck_assert_int_eq(op->found.expiry, rig_now(&rig) + 10);
	ck_assert(op->found.win);
	ck_assert_int_eq(rig_get(&rig, "k", &item), STORE_OK);
	ck_assert_int_eq(item.expiry, rig_now(&rig) + 500);
	ck_assert_uint_eq(item.cas, op->cas);
	store_op_free(op);
	expect_marks(false, true);
	op = rig_op(STORE_LEASE, "k", NULL);
	op->touch = true;
	op->expiry = rig_now(&rig);
	rig_do(&rig, op);
	ck_assert_int_eq(op->status, STORE_OK);
	ck_assert_mem_eq(op->found.value, "v", 1);
	store_op_free(op);
	rig_expect_missing(&rig, "k");
	rig_expect_items(&rig, 0);
}
END_TEST

START_TEST(test_a_lease_can_make_what_is_dead)
{
	struct store_op *op = rig_op(STORE_LEASE, "k", NULL);

	op->create = true;
	op->create_expiry = -1;
	rig_do(&rig, op);
	ck_assert_int_eq(op->status, STORE_OK);
	ck_assert(op->found.win);
	store_op_free(op);
	rig_expect_missing(&rig, "k");
	rig_expect_items(&rig, 0);
}
END_TEST

static void do_marked(enum store_op_kind kind)
{
	struct store_op *op = rig_op(kind, "k", "1");

	op->delta = 1;
	op->expiry = rig_now(&rig) + 50;
	rig_do(&rig, op);
	ck_assert_int_eq(op->status, STORE_OK);
	store_op_free(op);
}

static void set_marked(void)
{
	struct store_op *op = rig_op(STORE_SET, "k", "1");

	op->key_base64 = true;
	rig_do(&rig, op);
	store_op_free(op);
	invalidate();
	expect_lease(true, false, true);
}

START_TEST(test_changes_of_the_value_keep_the_marks)
{
	const enum store_op_kind kinds[] = {STORE_APPEND, STORE_PREPEND,
					    STORE_INCR,	  STORE_DECR,
					    STORE_TOUCH,  STORE_GET_AND_TOUCH};
	struct store_item item;

	set_marked();
	do_marked(kinds[_i]);
	expect_marks(true, true);
	ck_assert_int_eq(rig_get(&rig, "k", &item), STORE_OK);
	ck_assert(item.key_base64);
}
END_TEST

START_TEST(test_a_store_clears_the_marks)
{
	struct store_op *op;
	struct store_item item;

	set_marked();
	op = rig_op(_i == 0 ? STORE_REPLACE : STORE_SET, "k", "2");
	op->compare = _i == 2;
	op->cas = look().cas;
	rig_do(&rig, op);
	ck_assert_int_eq(op->status, STORE_OK);
	store_op_free(op);
	expect_marks(false, false);
	ck_assert_int_eq(rig_get(&rig, "k", &item), STORE_OK);
	ck_assert(!item.key_base64);
}
END_TEST

/* A value outside its page keeps all its bytes while its head changes. */
START_TEST(test_marks_on_a_big_value)
{
	static char value[100000];
	struct store_op *op;

	memset(value, 'v', sizeof(value) - 1);
	rig_set(&rig, "k", value);
	op = rig_op(STORE_INVALIDATE, "k", NULL);
	op->mark_stale = true;
	op->assign = UINT64_MAX; /* a longer head */
	rig_do(&rig, op);
	store_op_free(op);
	expect_lease(true, false, true);
	invalidate(); /* a shorter one again */
	op = lease();
	ck_assert(op->found.stale && op->found.win);
	ck_assert_uint_eq(op->found.value_bytes, sizeof(value) - 1);
	ck_assert_mem_eq(op->found.value, value, sizeof(value) - 1);
	store_op_free(op);
	rig_delete(&rig, "k");
	rig_expect_items(&rig, 0);
}
END_TEST

/* By the place in the order, which a lease and an assigned id do not move. */
START_TEST(test_a_flush_hides_marked_items)
{
	struct store_op *op;

	set_marked();
	op = rig_op(STORE_INVALIDATE, "k", NULL);
	op->mark_stale = true;
	op->assign = UINT64_MAX;
	rig_do(&rig, op);
	store_op_free(op);
	expect_lease(true, false, true);
	rig_flush(&rig, 0);
	rig_expect_missing(&rig, "k");
	rig_expect_items(&rig, 0);
	op = rig_op(STORE_LEASE, "k", NULL);
	op->create = true;
	rig_do(&rig, op);
	ck_assert(op->found.win && !op->found.stale && op->found.flushed);
	store_op_free(op);
	rig_expect_items(&rig, 1);
}
END_TEST

static bool is_swept(void *arg)
{
	struct store_counts counts;

	(void)arg;
	store_counts(rig.store, &counts);
	return counts.items == 0 && counts.bytes == 0 && counts.expired == 2;
}

START_TEST(test_the_sweep_finds_marked_items)
{
	struct store_op *op = rig_op(STORE_LEASE, "made", NULL);

	op->create = true;
	op->create_expiry = rig_now(&rig) + 5;
	rig_do(&rig, op);
	store_op_free(op);
	rig_set(&rig, "k", "v");
	op = rig_op(STORE_LEASE, "k", NULL);
	op->touch = true;
	op->expiry = rig_now(&rig) + 5;
	rig_do(&rig, op);
	store_op_free(op);
	rig_tick(&rig, 5);
	rig_wait_for(is_swept, NULL);
}
END_TEST

static bool see_marks(void *arg, const char *key, size_t key_bytes,
		      const struct store_item *item)
{
	(void)key;
	(void)key_bytes;
	ck_assert(item->stale && item->won && !item->win && item->key_base64);
	++*(int *)arg;
	return true;
}

START_TEST(test_a_walk_shows_the_marks)
{
	struct store_cursor cursor = {.key_bytes = 0};
	int seen = 0;

	set_marked();
	ck_assert_int_eq(store_walk(rig.reader, &cursor, 10, see_marks, &seen),
			 STORE_OK);
	ck_assert_int_eq(seen, 1);
}
END_TEST

/* Who had won may be gone; that the value is stale is still true. */
START_TEST(test_a_restart_ends_won_but_not_stale)
{
	set_marked();
	rig_reopen(&rig);
	expect_marks(true, false);
	do_marked(STORE_APPEND); /* carries the old mark along */
	expect_marks(true, false);
	expect_lease(true, false, true);
	expect_lease(true, true, false);
	rig_reopen(&rig);
	rig_reopen(&rig);
	expect_lease(true, false, true);
}
END_TEST

static void open_with_reserve(uint64_t bytes)
{
	rig_close(&rig);
	rig.quiet = true;
	rig.config.reserve_bytes = bytes;
	rig_open(&rig);
}

static void set_big_stale(void)
{
	static char value[20000];

	memset(value, 'v', sizeof(value) - 1);
	rig_set(&rig, "k", value);
	invalidate();
}

static enum store_status run_lease(const char *key, bool create, bool touch)
{
	struct store_op *op = rig_op(STORE_LEASE, key, NULL);
	enum store_status status;

	op->create = create;
	op->touch = touch;
	op->expiry = rig_now(&rig) + 9;
	rig_do(&rig, op);
	status = op->status;
	if (status != STORE_OK)
		ck_assert(!op->found.win);
	store_op_free(op);
	return status;
}

START_TEST(test_low_space_refuses_growth_but_no_mark)
{
	set_marked();
	open_with_reserve(RIG_FREE_BYTES / 2 * 3);
	expect_lease(true, false, true);
	ck_assert_int_eq(run_lease("k", false, true), STORE_OK);
	ck_assert_int_eq(run_lease("new", true, false), STORE_NO_SPACE);
	rig_expect_items(&rig, 1);
	invalidate();
	expect_marks(true, false);
	ck_assert_int_eq(rig_run(&rig, STORE_INVALIDATE, "k", NULL), STORE_OK);
	open_with_reserve(0);
	set_big_stale();
	open_with_reserve(RIG_FREE_BYTES / 2 * 3);
	expect_lease(true, false, false); /* still a get */
	ck_assert_int_eq(run_lease("k", false, true), STORE_NO_SPACE);
	ck_assert_int_eq(rig_run(&rig, STORE_INVALIDATE, "k", NULL),
			 STORE_NO_SPACE);
	expect_marks(true, false);
}
END_TEST

START_TEST(test_exhausted_space_refuses_every_mark)
{
	uint64_t id;

	set_marked();
	open_with_reserve(UINT64_MAX);
	id = look().cas;
	expect_lease(true, false, false);
	ck_assert_int_eq(run_lease("k", false, true), STORE_NO_SPACE);
	ck_assert_int_eq(rig_run(&rig, STORE_INVALIDATE, "k", NULL),
			 STORE_NO_SPACE);
	ck_assert_uint_eq(look().cas, id);
	rig_expect(&rig, "k", "1");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("storage lease");
	TCase *tcase = tcase_create("lease");

	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_add_test(tcase, test_a_lease_is_a_get);
	tcase_add_test(tcase, test_the_maker_of_an_empty_item_wins);
	tcase_add_test(tcase, test_a_lease_says_why_nothing_was_there);
	tcase_add_test(tcase, test_one_asker_wins_a_stale_item);
	tcase_add_loop_test(tcase, test_one_asker_wins_what_expires_soon, 0,
			    COUNT(recache_cases));
	tcase_add_test(tcase, test_a_lease_can_touch);
	tcase_add_loop_test(tcase, test_a_lease_that_touches_wins, 0,
			    COUNT(touch_cases));
	tcase_add_test(tcase, test_a_lease_can_make_what_is_dead);
	tcase_add_loop_test(tcase, test_changes_of_the_value_keep_the_marks, 0,
			    6);
	tcase_add_loop_test(tcase, test_a_store_clears_the_marks, 0, 3);
	tcase_add_test(tcase, test_marks_on_a_big_value);
	tcase_add_test(tcase, test_a_flush_hides_marked_items);
	tcase_add_test(tcase, test_the_sweep_finds_marked_items);
	tcase_add_test(tcase, test_a_walk_shows_the_marks);
	tcase_add_test(tcase, test_a_restart_ends_won_but_not_stale);
	tcase_add_test(tcase, test_low_space_refuses_growth_but_no_mark);
	tcase_add_test(tcase, test_exhausted_space_refuses_every_mark);
	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}
