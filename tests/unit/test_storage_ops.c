/*
 * test_storage_ops.c - every kind of op, and every answer it can give.
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
	rig.no_sweep = true;
	rig_open(&rig);
}

static void tear_down(void)
{
	rig_done(&rig);
}

enum before { NOTHING, LIVE, EXPIRED, FLUSHED };

struct status_case {
	enum store_op_kind kind;
	enum before before;
	bool compare, same_id;
	enum store_status status;
	const char *after; /* NULL: nothing there */
};

/* The item before is "5", the op's value is "7", its delta 2. */
static const struct status_case status_cases[] = {
	{STORE_SET, NOTHING, false, false, STORE_OK, "7"},
	{STORE_SET, LIVE, false, false, STORE_OK, "7"},
	{STORE_SET, EXPIRED, false, false, STORE_OK, "7"},
	{STORE_SET, FLUSHED, false, false, STORE_OK, "7"},
	{STORE_SET, NOTHING, true, false, STORE_NOT_FOUND, NULL},
	{STORE_SET, EXPIRED, true, true, STORE_NOT_FOUND, NULL},
	{STORE_SET, FLUSHED, true, true, STORE_NOT_FOUND, NULL},
	{STORE_SET, LIVE, true, false, STORE_EXISTS, "5"},
	{STORE_SET, LIVE, true, true, STORE_OK, "7"},
	{STORE_ADD, NOTHING, false, false, STORE_OK, "7"},
	{STORE_ADD, EXPIRED, false, false, STORE_OK, "7"},
	{STORE_ADD, FLUSHED, false, false, STORE_OK, "7"},
	{STORE_ADD, LIVE, false, false, STORE_NOT_STORED, "5"},
	{STORE_ADD, NOTHING, true, false, STORE_NOT_FOUND, NULL},
	{STORE_ADD, LIVE, true, false, STORE_EXISTS, "5"},
	{STORE_ADD, LIVE, true, true, STORE_NOT_STORED, "5"},
	{STORE_REPLACE, NOTHING, false, false, STORE_NOT_STORED, NULL},
	{STORE_REPLACE, EXPIRED, false, false, STORE_NOT_STORED, NULL},
	{STORE_REPLACE, FLUSHED, false, false, STORE_NOT_STORED, NULL},
	{STORE_REPLACE, NOTHING, true, false, STORE_NOT_FOUND, NULL},
	{STORE_REPLACE, LIVE, false, false, STORE_OK, "7"},
	{STORE_REPLACE, LIVE, true, false, STORE_EXISTS, "5"},
	{STORE_REPLACE, LIVE, true, true, STORE_OK, "7"},
	{STORE_APPEND, NOTHING, false, false, STORE_NOT_STORED, NULL},
	{STORE_APPEND, EXPIRED, false, false, STORE_NOT_STORED, NULL},
	{STORE_APPEND, FLUSHED, false, false, STORE_NOT_STORED, NULL},
	{STORE_APPEND, LIVE, false, false, STORE_OK, "57"},
	{STORE_APPEND, LIVE, true, false, STORE_EXISTS, "5"},
	{STORE_APPEND, LIVE, true, true, STORE_OK, "57"},
	{STORE_APPEND, NOTHING, true, false, STORE_NOT_STORED, NULL},
	{STORE_PREPEND, NOTHING, false, false, STORE_NOT_STORED, NULL},
	{STORE_PREPEND, NOTHING, true, false, STORE_NOT_STORED, NULL},
	{STORE_PREPEND, EXPIRED, false, false, STORE_NOT_STORED, NULL},
	{STORE_PREPEND, LIVE, false, false, STORE_OK, "75"},
	{STORE_PREPEND, LIVE, true, true, STORE_OK, "75"},
	{STORE_INCR, NOTHING, false, false, STORE_NOT_FOUND, NULL},
	{STORE_INCR, EXPIRED, false, false, STORE_NOT_FOUND, NULL},
	{STORE_INCR, FLUSHED, false, false, STORE_NOT_FOUND, NULL},
	{STORE_INCR, NOTHING, true, false, STORE_NOT_FOUND, NULL},
	{STORE_INCR, LIVE, false, false, STORE_OK, "7"},
	{STORE_INCR, LIVE, true, false, STORE_EXISTS, "5"},
	{STORE_INCR, LIVE, true, true, STORE_OK, "7"},
	{STORE_DECR, NOTHING, false, false, STORE_NOT_FOUND, NULL},
	{STORE_DECR, LIVE, false, false, STORE_OK, "3"},
	{STORE_TOUCH, NOTHING, false, false, STORE_NOT_FOUND, NULL},
	{STORE_TOUCH, EXPIRED, false, false, STORE_NOT_FOUND, NULL},
	{STORE_TOUCH, FLUSHED, false, false, STORE_NOT_FOUND, NULL},
	{STORE_TOUCH, NOTHING, true, false, STORE_NOT_FOUND, NULL},
	{STORE_TOUCH, LIVE, true, false, STORE_EXISTS, "5"},
	{STORE_TOUCH, LIVE, false, false, STORE_OK, "5"},
	{STORE_GET_AND_TOUCH, NOTHING, false, false, STORE_NOT_FOUND, NULL},
	{STORE_GET_AND_TOUCH, EXPIRED, false, false, STORE_NOT_FOUND, NULL},
	{STORE_GET_AND_TOUCH, LIVE, false, false, STORE_OK, "5"},
	{STORE_DELETE, NOTHING, false, false, STORE_NOT_FOUND, NULL},
	{STORE_DELETE, EXPIRED, false, false, STORE_NOT_FOUND, NULL},
	{STORE_DELETE, FLUSHED, false, false, STORE_NOT_FOUND, NULL},
	{STORE_DELETE, NOTHING, true, false, STORE_NOT_FOUND, NULL},
	{STORE_DELETE, LIVE, false, false, STORE_OK, NULL},
	{STORE_DELETE, LIVE, true, false, STORE_EXISTS, "5"},
	{STORE_DELETE, LIVE, true, true, STORE_OK, NULL},
	{STORE_LEASE, NOTHING, false, false, STORE_NOT_FOUND, NULL},
	{STORE_LEASE, EXPIRED, false, false, STORE_NOT_FOUND, NULL},
	{STORE_LEASE, FLUSHED, false, false, STORE_NOT_FOUND, NULL},
	{STORE_LEASE, LIVE, false, false, STORE_OK, "5"},
	{STORE_LEASE, LIVE, true, false, STORE_EXISTS, "5"},
	{STORE_INVALIDATE, NOTHING, false, false, STORE_NOT_FOUND, NULL},
	{STORE_INVALIDATE, NOTHING, true, false, STORE_NOT_FOUND, NULL},
	{STORE_INVALIDATE, EXPIRED, false, false, STORE_NOT_FOUND, NULL},
	{STORE_INVALIDATE, FLUSHED, false, false, STORE_NOT_FOUND, NULL},
	{STORE_INVALIDATE, LIVE, false, false, STORE_OK, "5"},
	{STORE_INVALIDATE, LIVE, true, false, STORE_EXISTS, "5"},
	{STORE_INVALIDATE, LIVE, true, true, STORE_OK, "5"},
	{STORE_RECLAIM, NOTHING, false, false, STORE_NOT_FOUND, NULL},
	{STORE_RECLAIM, LIVE, false, false, STORE_NOT_FOUND, "5"},
};

static void make_before(enum before before)
{
	switch (before) {
	case NOTHING:
		break;
	case LIVE:
		rig_set(&rig, "k", "5");
		break;
	case EXPIRED:
		rig_set_expiry(&rig, "k", "5", rig_now(&rig) + 1);
		rig_tick(&rig, 1);
		break;
	case FLUSHED:
		rig_set(&rig, "k", "5");
		rig_flush(&rig, 0);
		break;
	}
}

/* A refused op changes nothing, an op that is done does it all. */
static void check_status(const struct status_case *c, int row)
{
	struct store_item item = {.cas = 0};
	struct store_op *op;

	make_before(c->before);
	(void)rig_get(&rig, "k", &item); /* a dead one's id, too */
	op = rig_op(c->kind, "k", "7");
	op->delta = 2;
	op->compare = c->compare;
	op->cas = 12345;
	if (c->same_id)
		op->cas = item.cas;
	rig_do(&rig, op);
	ck_assert_msg(op->status == c->status, "row %d: status %d, not %d", row,
		      (int)op->status, (int)c->status);
	store_op_free(op);
	if (c->after != NULL)
		rig_expect(&rig, "k", c->after);
	else
		rig_expect_missing(&rig, "k");
	rig_expect_items(&rig, c->after != NULL || c->before == EXPIRED);
	/* The next row finds nothing. */
	rig_delete(&rig, "k");
	rig_tick(&rig, 1);
}

START_TEST(test_status)
{
	for (int row = 0; row < COUNT(status_cases); row++)
		check_status(&status_cases[row], row);
}
END_TEST

START_TEST(test_flags_expiry_and_id_come_back)
{
	struct store_op *op = rig_op(STORE_SET, "k", "v");
	struct store_item item;

	op->flags = UINT32_MAX;
	op->expiry = rig_now(&rig) + 1000;
	rig_do(&rig, op);
	ck_assert_int_eq(rig_get(&rig, "k", &item), STORE_OK);
	ck_assert_uint_eq(item.flags, UINT32_MAX);
	ck_assert_int_eq(item.expiry, rig_now(&rig) + 1000);
	ck_assert_uint_eq(item.cas, op->cas);
	ck_assert_uint_ne(item.cas, 0);
	store_op_free(op);
}
END_TEST

START_TEST(test_changes_keep_flags_and_expiry_but_not_the_id)
{
	const enum store_op_kind kinds[] = {STORE_APPEND, STORE_PREPEND,
					    STORE_INCR, STORE_DECR};
	struct store_op *op = rig_op(STORE_SET, "k", "1");
	int64_t expiry = rig_now(&rig) + 1000;
	struct store_item item;
	uint64_t id;

	op->flags = 77;
	op->expiry = expiry;
	rig_do(&rig, op);
	id = op->cas;
	store_op_free(op);
	op = rig_op(kinds[_i], "k", "1");
	op->flags = 1;
	op->expiry = 1;
	op->delta = 1;
	rig_do(&rig, op);
	ck_assert_int_eq(rig_get(&rig, "k", &item), STORE_OK);
	ck_assert_uint_eq(item.flags, 77);
	ck_assert_int_eq(item.expiry, expiry);
	ck_assert_uint_gt(item.cas, id);
	ck_assert_uint_eq(item.cas, op->cas);
	store_op_free(op);
}
END_TEST

START_TEST(test_touch_changes_the_expiry_and_nothing_else)
{
	struct store_op *op = rig_op(STORE_SET, "k", "v");
	struct store_item before, after;

	op->flags = 9;
	rig_do(&rig, op);
	store_op_free(op);
	ck_assert_int_eq(rig_get(&rig, "k", &before), STORE_OK);
	op = rig_op(STORE_TOUCH, "k", NULL);
	op->expiry = rig_now(&rig) + 5;
	rig_do(&rig, op);
	ck_assert_uint_eq(op->cas, before.cas);
	ck_assert_uint_eq(op->flags, 9);
	store_op_free(op);
	ck_assert_int_eq(rig_get(&rig, "k", &after), STORE_OK);
	ck_assert_uint_eq(after.cas, before.cas);
	ck_assert_int_eq(after.expiry, rig_now(&rig) + 5);
	rig_tick(&rig, 4);
	rig_expect(&rig, "k", "v");
	rig_tick(&rig, 1);
	rig_expect_missing(&rig, "k");
}
END_TEST

START_TEST(test_get_and_touch_finds_and_touches)
{
	struct store_op *op = rig_op(STORE_SET, "k", "value");
	struct store_item item;

	op->flags = 9;
	rig_do(&rig, op);
	store_op_free(op);
	op = rig_op(STORE_GET_AND_TOUCH, "k", NULL);
	op->head_room = 40;
	op->expiry = rig_now(&rig) + 5;
	rig_do(&rig, op);
	ck_assert_int_eq(op->status, STORE_OK);
	ck_assert_uint_eq(op->found.value_bytes, 5);
	ck_assert_mem_eq(op->found.value, "value", 5);
	ck_assert_uint_eq(op->found.flags, 9);
	memset(op->found.value - 40, 'x', 40); /* it is ours to write */
	ck_assert_int_eq(rig_get(&rig, "k", &item), STORE_OK);
	ck_assert_uint_eq(op->found.cas, item.cas);
	ck_assert_int_eq(item.expiry, rig_now(&rig) + 5);
	store_op_free(op);
}
END_TEST

/* The value is still given, the item is gone. */
START_TEST(test_get_and_touch_into_the_past)
{
	struct store_op *op;

	rig_set(&rig, "k", "value");
	op = rig_op(STORE_GET_AND_TOUCH, "k", NULL);
	op->expiry = -1;
	rig_do(&rig, op);
	ck_assert_int_eq(op->status, STORE_OK);
	ck_assert_mem_eq(op->found.value, "value", 5);
	store_op_free(op);
	rig_expect_missing(&rig, "k");
	rig_expect_items(&rig, 0);
}
END_TEST

START_TEST(test_dead_on_arrival_deletes_what_was_there)
{
	const int64_t past[] = {-1, 1, RIG_START_SECONDS};

	rig_set(&rig, "k", "v");
	ck_assert_int_eq(rig_set_expiry(&rig, "k", "new", past[_i]), STORE_OK);
	rig_expect_missing(&rig, "k");
	rig_expect_items(&rig, 0);
	ck_assert_int_eq(rig_set_expiry(&rig, "k2", "new", past[_i]), STORE_OK);
	rig_expect_missing(&rig, "k2");
	ck_assert_int_eq(rig_run(&rig, STORE_ADD, "k2", "v"), STORE_OK);
}
END_TEST

START_TEST(test_ids_grow_and_never_repeat)
{
	uint64_t last = 0;

	for (int i = 0; i < 20; i++) {
		struct store_op *op = rig_op(STORE_SET, "k", "v");

		rig_do(&rig, op);
		ck_assert_uint_gt(op->cas, last);
		last = op->cas;
		store_op_free(op);
		if (i % 3 == 0)
			rig_delete(&rig, "k");
		if (i % 7 == 0)
			rig_reopen(&rig);
	}
}
END_TEST

/* Stores with this id, or with the next one. Returns the id. */
static uint64_t store_as(const char *key, uint64_t assign)
{
	struct store_op *op = rig_op(STORE_SET, key, "v");
	struct store_item item;
	uint64_t cas;

	op->assign = assign;
	rig_do(&rig, op);
	ck_assert_int_eq(op->status, STORE_OK);
	cas = op->cas;
	store_op_free(op);
	ck_assert_int_eq(rig_get(&rig, key, &item), STORE_OK);
	ck_assert_uint_eq(item.cas, cas);
	return cas;
}

START_TEST(test_a_given_id_is_kept_and_not_given_again)
{
	ck_assert_uint_eq(store_as("k", 1000), 1000);
	rig_delete(&rig, "k");
	ck_assert_uint_eq(store_as("k", 0), 1001);
	ck_assert_uint_eq(store_as("k", 1500), 1500);
	rig_delete(&rig, "k");
	rig_reopen(&rig);
	ck_assert_uint_eq(store_as("k", 0), 1501);
	/* A lower one moves nothing. */
	ck_assert_uint_eq(store_as("k", 7), 7);
	ck_assert_uint_eq(store_as("k", 0), 1503);
	/* This is the next one as it is. */
	ck_assert_uint_eq(store_as("k", 1504), 1504);
	ck_assert_uint_eq(store_as("k", 0), 1505);
}
END_TEST

/* No client can use the counter up, or take it where it is negative. */
START_TEST(test_a_huge_given_id_does_not_move_the_counter)
{
	const uint64_t most = UINT64_C(1) << 62;

	ck_assert_uint_eq(store_as("k", UINT64_MAX), UINT64_MAX);
	ck_assert_uint_eq(store_as("k", most), most);
	ck_assert_uint_eq(store_as("k", 0), 3);
	ck_assert_uint_eq(store_as("k", most - 1), most - 1);
	ck_assert_uint_eq(store_as("k", most + 1), most + 1);
	/* Its own id would be next. */
	ck_assert_uint_eq(store_as("k", 0), most + 2);
}
END_TEST

/* The order of stores, not the id, decides what a flush hides. */
START_TEST(test_a_given_id_does_not_disturb_a_flush)
{
	struct store_op *op = rig_op(STORE_SET, "before", "v");

	op->assign = UINT64_MAX;
	rig_do(&rig, op);
	store_op_free(op);
	rig_flush(&rig, 0);
	op = rig_op(STORE_SET, "after", "v");
	op->assign = 1;
	rig_do(&rig, op);
	store_op_free(op);
	rig_expect_missing(&rig, "before");
	rig_expect(&rig, "after", "v");
	rig_expect_items(&rig, 1);
}
END_TEST

START_TEST(test_keys_are_opaque_and_up_to_250_bytes)
{
	static const size_t lengths[] = {1, 2, 249, 250};
	char key[250];
	struct store_op *op;
	struct store_item item;
	char buffer[100];

	for (size_t i = 0; i < sizeof(key); i++)
		key[i] = (char)(i * 7); /* NUL, CR, blanks and all */
	for (size_t i = 0; i < 4; i++) {
		op = store_op_new(STORE_SET, key, lengths[i], 1, 0);
		op->value[0] = (char)('0' + i);
		rig_do(&rig, op);
		ck_assert_int_eq(op->status, STORE_OK);
		store_op_free(op);
	}
	rig_reopen(&rig);
	rig_expect_items(&rig, 4);
	for (size_t i = 0; i < 4; i++) {
		ck_assert_int_eq(store_get(rig.reader, key, lengths[i], buffer,
					   sizeof(buffer), 0, &item),
				 STORE_OK);
		ck_assert_int_eq(item.value[0], (char)('0' + i));
	}
}
END_TEST

START_TEST(test_an_op_carries_the_callers_bytes)
{
	struct store_op *op = store_op_new(STORE_SET, "key", 3, 5, 100);

	ck_assert_ptr_nonnull(op);
	ck_assert_uint_eq((uintptr_t)op->user % _Alignof(max_align_t), 0);
	for (int i = 0; i < 100; i++)
		ck_assert_int_eq(((char *)op->user)[i], 0);
	memset(op->user, 0xff, 100);
	ck_assert_mem_eq(op->key, "key", 3);
	memcpy(op->value, "value", 5);
	op->value_bytes = 3; /* lowered */
	rig_do(&rig, op);
	ck_assert_int_eq(((unsigned char *)op->user)[99], 0xff);
	store_op_free(op);
	rig_expect(&rig, "key", "val");
	store_op_free(NULL);
}
END_TEST

START_TEST(test_expired_counts_as_such)
{
	struct store_item item;

	rig_set_expiry(&rig, "e", "v", rig_now(&rig) + 1);
	rig_set(&rig, "f", "v");
	rig_tick(&rig, 1);
	ck_assert_int_eq(rig_get(&rig, "e", &item), STORE_NOT_FOUND);
	ck_assert(item.expired && !item.flushed);
	rig_flush(&rig, 0);
	ck_assert_int_eq(rig_get(&rig, "f", &item), STORE_NOT_FOUND);
	ck_assert(item.flushed && !item.expired);
	ck_assert_int_eq(rig_get(&rig, "none", &item), STORE_NOT_FOUND);
	ck_assert(!item.flushed && !item.expired);
}
END_TEST

START_TEST(test_total_items_counts_stores)
{
	struct store_counts counts;

	rig_set(&rig, "a", "1");
	rig_set(&rig, "a", "1");
	rig_run(&rig, STORE_ADD, "a", "1");
	rig_run(&rig, STORE_APPEND, "a", "1");
	rig_run(&rig, STORE_INCR, "a", NULL);
	rig_delete(&rig, "a");
	store_counts(rig.store, &counts);
	ck_assert_uint_eq(counts.total_items, 3);
	ck_assert_uint_eq(counts.ops, 6);
	ck_assert_uint_ge(counts.commits, 1);
	ck_assert_uint_le(counts.syncs, counts.commits);
}
END_TEST

/* Below the reserve: what does not need room is done, and answers are right. */
START_TEST(test_low_space_refuses_growth_only)
{
	static const enum store_op_kind growing[] = {
		STORE_SET,     STORE_REPLACE, STORE_APPEND,
		STORE_PREPEND, STORE_INCR,    STORE_DECR};

	rig_set(&rig, "k", "5");
	rig_set(&rig, "l", "5");
	rig_close(&rig);
	rig.quiet = true;
	rig.config.reserve_bytes = RIG_FREE_BYTES / 2 * 3;
	rig_open(&rig);
	for (int i = 0; i < COUNT(growing); i++)
		ck_assert_int_eq(rig_run(&rig, growing[i], "k", "7"),
				 STORE_NO_SPACE);
	ck_assert_int_eq(rig_run(&rig, STORE_ADD, "new", "7"), STORE_NO_SPACE);
	ck_assert_int_eq(rig_run(&rig, STORE_ADD, "k", "7"), STORE_NOT_STORED);
	ck_assert_int_eq(rig_run(&rig, STORE_INCR, "none", "7"),
			 STORE_NOT_FOUND);
	rig_expect(&rig, "k", "5");
	ck_assert_int_eq(rig_run(&rig, STORE_TOUCH, "k", NULL), STORE_OK);
	ck_assert_int_eq(rig_run(&rig, STORE_GET_AND_TOUCH, "k", NULL),
			 STORE_OK);
	ck_assert_int_eq(rig_set_expiry(&rig, "l", "dead", -1), STORE_OK);
	rig_expect_items(&rig, 1);
	ck_assert_int_eq(rig_delete(&rig, "k"), STORE_OK);
	rig_flush(&rig, 0);
	rig_expect_items(&rig, 0);
	ck_assert_int_ge(atomic_load(&rig.messages), 1);
	rig_close(&rig);
	rig.config.reserve_bytes = 0;
	rig_open(&rig);
	ck_assert_int_eq(rig_set(&rig, "k", "7"), STORE_OK);
}
END_TEST

/* Far below it no change can be trusted to get into the log. */
START_TEST(test_exhausted_space_refuses_every_change)
{
	static const enum store_op_kind kinds[] = {
		STORE_SET, STORE_APPEND, STORE_INCR, STORE_TOUCH, STORE_DELETE};

	rig_set(&rig, "k", "5");
	rig_close(&rig);
	rig.quiet = true;
	rig.config.reserve_bytes = UINT64_MAX;
	rig_open(&rig);
	for (int i = 0; i < COUNT(kinds); i++)
		ck_assert_int_eq(rig_run(&rig, kinds[i], "k", "7"),
				 STORE_NO_SPACE);
	ck_assert_int_eq(rig_run(&rig, STORE_DELETE, "none", NULL),
			 STORE_NOT_FOUND);
	rig_expect(&rig, "k", "5");
	rig_expect_items(&rig, 1);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("storage ops");
	TCase *tcase = tcase_create("ops");

	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_add_test(tcase, test_status);
	tcase_add_test(tcase, test_flags_expiry_and_id_come_back);
	tcase_add_loop_test(
		tcase, test_changes_keep_flags_and_expiry_but_not_the_id, 0, 4);
	tcase_add_test(tcase, test_touch_changes_the_expiry_and_nothing_else);
	tcase_add_test(tcase, test_get_and_touch_finds_and_touches);
	tcase_add_test(tcase, test_get_and_touch_into_the_past);
	tcase_add_loop_test(tcase, test_dead_on_arrival_deletes_what_was_there,
			    0, 3);
	tcase_add_test(tcase, test_ids_grow_and_never_repeat);
	tcase_add_test(tcase, test_a_given_id_is_kept_and_not_given_again);
	tcase_add_test(tcase, test_a_huge_given_id_does_not_move_the_counter);
	tcase_add_test(tcase, test_a_given_id_does_not_disturb_a_flush);
	tcase_add_test(tcase, test_keys_are_opaque_and_up_to_250_bytes);
	tcase_add_test(tcase, test_an_op_carries_the_callers_bytes);
	tcase_add_test(tcase, test_expired_counts_as_such);
	tcase_add_test(tcase, test_total_items_counts_stores);
	tcase_add_test(tcase, test_low_space_refuses_growth_only);
	tcase_add_test(tcase, test_exhausted_space_refuses_every_change);
	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}
