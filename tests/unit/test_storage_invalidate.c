/*
 * test_storage_invalidate.c - invalidations, and stores that come too late.
 */
#include <check.h>
#include <string.h>

#include "storage/storage.h"
#include "tests/unit/run_suite.h"
#include "tests/unit/storage_rig.h"

#define COUNT(array) (int)(sizeof(array) / sizeof((array)[0]))
#define KEPT	     -1 /* an expiry that stays as it was */

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

/* An item "k" with flags 7 that is stale and won. Returns its id. */
static uint64_t make_marked(const char *value, int64_t expiry)
{
	struct store_op *op = rig_op(STORE_SET, "k", value);
	uint64_t id;

	op->flags = 7;
	op->expiry = expiry;
	op->key_base64 = true;
	rig_do(&rig, op);
	store_op_free(op);
	op = rig_op(STORE_INVALIDATE, "k", NULL);
	op->mark_stale = true;
	rig_do(&rig, op);
	id = op->cas;
	store_op_free(op);
	op = rig_op(STORE_LEASE, "k", NULL);
	rig_do(&rig, op);
	ck_assert(op->found.win);
	store_op_free(op);
	return id;
}

struct invalidate_case {
	bool mark_stale, drop_value, touch, new_id, stale, won;
	const char *value;
	uint32_t flags;
	int64_t expiry; /* seconds from now, 0 never, KEPT */
};

/* On an item that is stale and won. */
static const struct invalidate_case invalidate_cases[] = {
	{true, false, false, true, true, false, "value", 7, KEPT},
	{true, false, true, true, true, false, "value", 7, 30},
	{false, true, false, false, false, false, "", 0, 0},
	{false, true, true, false, false, false, "", 0, 30},
	{true, true, false, true, true, false, "", 0, 0},
	{true, true, true, true, true, false, "", 0, 30},
};

static void check_invalidate(const struct invalidate_case *c, uint64_t assign)
{
	int64_t now = rig_now(&rig);
	int64_t expiry = c->expiry == KEPT ? now + 100
			 : c->expiry > 0   ? now + c->expiry
					   : 0;
	struct store_op *op = rig_op(STORE_INVALIDATE, "k", NULL);
	struct store_counts counts;
	struct store_item item;
	uint64_t id;

	id = make_marked("value", now + 100);
	op->mark_stale = c->mark_stale;
	op->drop_value = c->drop_value;
	op->touch = c->touch;
	op->expiry = now + 30;
	op->assign = assign;
	rig_do(&rig, op);
	ck_assert_int_eq(op->status, STORE_OK);
	rig_expect(&rig, "k", c->value);
	ck_assert_int_eq(rig_get(&rig, "k", &item), STORE_OK);
	ck_assert_uint_eq(op->cas, item.cas);
	if (assign != 0)
		ck_assert_uint_eq(item.cas, assign);
	else
		ck_assert_int_eq(item.cas != id, c->new_id);
	ck_assert_uint_eq(item.flags, c->flags);
	ck_assert_int_eq(item.expiry, expiry);
	ck_assert(item.key_base64);
	ck_assert_int_eq(item.stale, c->stale);
	ck_assert_int_eq(item.won, c->won);
	store_counts(rig.store, &counts);
	ck_assert_uint_eq(counts.items, 1);
	ck_assert_uint_eq(counts.bytes, 1 + 9 + (c->flags != 0 ? 4 : 0) +
						(expiry != 0 ? 8 : 0) +
						(assign == UINT64_MAX ? 8 : 0) +
						(c->won ? 2 : 0) +
						strlen(c->value));
	store_op_free(op);
}

START_TEST(test_invalidate)
{
	check_invalidate(&invalidate_cases[_i], 0);
	check_invalidate(&invalidate_cases[_i], UINT64_MAX);
	check_invalidate(&invalidate_cases[_i], 5000);
	check_invalidate(&invalidate_cases[_i], 0);
}
END_TEST

START_TEST(test_invalidate_into_the_past)
{
	struct store_op *op = rig_op(STORE_INVALIDATE, "k", NULL);

	rig_set(&rig, "k", "value");
	op->mark_stale = _i == 0;
	op->drop_value = _i == 1;
	op->touch = true;
	op->expiry = -1;
	rig_do(&rig, op);
	ck_assert_int_eq(op->status, STORE_OK);
	store_op_free(op);
	rig_expect_missing(&rig, "k");
	rig_expect_items(&rig, 0);
}
END_TEST

enum which_id { LOWER, SAME, HIGHER };

struct older_case {
	enum store_op_kind kind;
	enum which_id id;
	enum store_status status;
	bool stale;
};

static const struct older_case older_cases[] = {
	{STORE_SET, LOWER, STORE_OK, true},
	{STORE_SET, SAME, STORE_OK, false},
	{STORE_SET, HIGHER, STORE_EXISTS, true},
	{STORE_REPLACE, LOWER, STORE_OK, true},
	{STORE_REPLACE, SAME, STORE_OK, false},
	{STORE_REPLACE, HIGHER, STORE_EXISTS, true},
	{STORE_ADD, LOWER, STORE_NOT_STORED, true},
	{STORE_ADD, SAME, STORE_NOT_STORED, true},
	{STORE_ADD, HIGHER, STORE_EXISTS, true},
	{STORE_APPEND, LOWER, STORE_EXISTS, true},
	{STORE_DELETE, LOWER, STORE_EXISTS, true},
	{STORE_INVALIDATE, LOWER, STORE_EXISTS, true},
};

START_TEST(test_an_older_id_stores_a_stale_item)
{
	const struct older_case *c = &older_cases[_i];
	struct store_op *op = rig_op(c->kind, "k", "new");
	int64_t expiry = rig_now(&rig) + 100;
	struct store_item item;
	uint64_t id;

	rig_set(&rig, "k", "old");
	id = make_marked("old", expiry);
	op->flags = 8;
	op->expiry = rig_now(&rig) + 5;
	op->compare = true;
	op->accept_older = true;
	op->cas = c->id == SAME ? id : c->id == LOWER ? id - 1 : id + 1;
	rig_do(&rig, op);
	ck_assert_int_eq(op->status, c->status);
	ck_assert_int_eq(rig_get(&rig, "k", &item), STORE_OK);
	ck_assert_int_eq(item.stale, c->stale);
	ck_assert_int_eq(item.won, c->status != STORE_OK || c->id == LOWER);
	ck_assert_int_eq(item.key_base64, c->status != STORE_OK);
	ck_assert_uint_eq(item.flags, c->status == STORE_OK ? 8 : 7);
	ck_assert_int_eq(item.expiry, c->status == STORE_OK && c->id == SAME
					      ? op->expiry
					      : expiry);
	rig_expect(&rig, "k", c->status == STORE_OK ? "new" : "old");
	if (c->status == STORE_OK)
		ck_assert(item.cas == op->cas && item.cas > id);
	else
		ck_assert_uint_eq(item.cas, id);
	store_op_free(op);
}
END_TEST

START_TEST(test_an_older_id_means_nothing_without_an_item)
{
	struct store_op *op = rig_op(STORE_SET, "k", "new");

	op->compare = true;
	op->accept_older = true;
	op->cas = 1;
	rig_do(&rig, op);
	ck_assert_int_eq(op->status, STORE_NOT_FOUND);
	store_op_free(op);
	rig_expect_missing(&rig, "k");
}
END_TEST

/* The stale item that an older store leaves is for one asker to renew. */
START_TEST(test_an_older_store_with_a_given_id)
{
	struct store_op *op;
	struct store_item item;

	rig_set(&rig, "k", "old");
	op = rig_op(STORE_SET, "k", "new");
	op->compare = true;
	op->accept_older = true;
	op->cas = 0;
	op->assign = 3;
	rig_do(&rig, op);
	ck_assert_int_eq(op->status, STORE_OK);
	ck_assert_uint_eq(op->cas, 3);
	store_op_free(op);
	ck_assert_int_eq(rig_get(&rig, "k", &item), STORE_OK);
	ck_assert_uint_eq(item.cas, 3);
	ck_assert(item.stale && !item.won);
	op = rig_op(STORE_LEASE, "k", NULL);
	rig_do(&rig, op);
	ck_assert(op->found.win && op->found.stale);
	store_op_free(op);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("storage invalidate");
	TCase *tcase = tcase_create("invalidate");

	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_add_loop_test(tcase, test_invalidate, 0, COUNT(invalidate_cases));
	tcase_add_loop_test(tcase, test_invalidate_into_the_past, 0, 2);
	tcase_add_loop_test(tcase, test_an_older_id_stores_a_stale_item, 0,
			    COUNT(older_cases));
	tcase_add_test(tcase, test_an_older_id_means_nothing_without_an_item);
	tcase_add_test(tcase, test_an_older_store_with_a_given_id);
	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}
