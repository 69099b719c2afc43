/*
 * test_storage_create.c - changes that make what is missing, and given ids.
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

static struct store_op *creating_op(enum store_op_kind kind)
{
	struct store_op *op = rig_op(kind, "k", "7");

	op->create = true;
	op->create_expiry = rig_now(&rig) + 60;
	op->initial = 500;
	op->delta = 2;
	op->flags = 9;
	op->expiry = rig_now(&rig) + 5; /* not of what is made */
	op->touch = true;
	op->key_base64 = true;
	return op;
}

struct create_case {
	enum store_op_kind kind;
	const char *made;
	uint32_t flags;
	const char *changed; /* of "5" */
};

static const struct create_case create_cases[] = {
	{STORE_APPEND, "7", 9, "57"},
	{STORE_PREPEND, "7", 9, "75"},
	{STORE_INCR, "500", 0, "7"},
	{STORE_DECR, "500", 0, "3"},
};

START_TEST(test_what_is_missing_is_made)
{
	const struct create_case *c = &create_cases[_i];
	struct store_op *op = creating_op(c->kind);
	struct store_counts counts;
	struct store_item item;

	op->compare = true; /* for an item that is there */
	op->cas = 12345;
	rig_do(&rig, op);
	ck_assert_int_eq(op->status, STORE_OK);
	rig_expect(&rig, "k", c->made);
	ck_assert_int_eq(rig_get(&rig, "k", &item), STORE_OK);
	ck_assert_uint_eq(item.flags, c->flags);
	ck_assert_int_eq(item.expiry, rig_now(&rig) + 60);
	ck_assert_uint_eq(item.cas, op->cas);
	ck_assert(item.key_base64 && !item.stale && !item.won);
	ck_assert(op->made);
	ck_assert_uint_eq(op->number, c->flags == 0 ? 500 : strlen(c->made));
	if (c->flags == 0)
		ck_assert_int_eq(op->found.expiry, rig_now(&rig) + 60);
	store_op_free(op);
	store_counts(rig.store, &counts);
	ck_assert_uint_eq(counts.items, 1);
	ck_assert_uint_eq(counts.bytes, 1 + 9 + (c->flags != 0 ? 4 : 0) + 8 +
						strlen(c->made));
	ck_assert_uint_eq(counts.total_items, 1);
}
END_TEST

START_TEST(test_what_is_dead_is_made_anew)
{
	const struct create_case *c = &create_cases[_i];
	struct store_op *op;

	rig_set_expiry(&rig, "k", "5", rig_now(&rig) + 1);
	rig_tick(&rig, 1);
	op = creating_op(c->kind);
	rig_do(&rig, op);
	ck_assert_int_eq(op->status, STORE_OK);
	store_op_free(op);
	rig_expect(&rig, "k", c->made);
	rig_expect_items(&rig, 1);
	op = creating_op(c->kind);
	op->create_expiry = -1;
	rig_delete(&rig, "k");
	rig_do(&rig, op);
	ck_assert_int_eq(op->status, STORE_OK); /* dead on arrival */
	store_op_free(op);
	rig_expect_missing(&rig, "k");
	rig_expect_items(&rig, 0);
}
END_TEST

START_TEST(test_what_is_there_is_changed)
{
	const struct create_case *c = &create_cases[_i];
	struct store_op *op = creating_op(c->kind);
	struct store_item item;

	rig_set(&rig, "k", "5");
	rig_do(&rig, op);
	ck_assert_int_eq(op->status, STORE_OK);
	rig_expect(&rig, "k", c->changed);
	ck_assert_int_eq(rig_get(&rig, "k", &item), STORE_OK);
	ck_assert_uint_eq(item.flags, 0);
	ck_assert(!item.key_base64 && !op->made);
	ck_assert_uint_eq(op->number, c->flags == 0 ? c->changed[0] - '0' : 2);
	store_op_free(op);
	op = creating_op(c->kind);
	op->compare = true;
	op->cas = item.cas + 1;
	rig_do(&rig, op);
	ck_assert_int_eq(op->status, STORE_EXISTS);
	store_op_free(op);
	rig_expect(&rig, "k", c->changed);
}
END_TEST

START_TEST(test_a_number_can_be_touched)
{
	struct store_op *op = rig_op(STORE_INCR, "k", NULL);
	struct store_item item, found;

	rig_set(&rig, "k", "5");
	op->expiry = rig_now(&rig) + 5; /* without `touch`: nothing */
	rig_do(&rig, op);
	store_op_free(op);
	ck_assert_int_eq(rig_get(&rig, "k", &item), STORE_OK);
	ck_assert_int_eq(item.expiry, 0);
	op = rig_op(STORE_DECR, "k", NULL);
	op->touch = true;
	op->expiry = rig_now(&rig) + 5;
	rig_do(&rig, op);
	found = op->found;
	store_op_free(op);
	ck_assert_int_eq(rig_get(&rig, "k", &item), STORE_OK);
	ck_assert_int_eq(item.expiry, rig_now(&rig) + 5);
	ck_assert_uint_eq(found.flags, item.flags);
	ck_assert_int_eq(found.expiry, 0); /* from before */
	op = rig_op(STORE_INCR, "k", NULL);
	op->delta = 1;
	op->touch = true;
	op->expiry = -1;
	rig_do(&rig, op);
	ck_assert_int_eq(op->status, STORE_OK);
	ck_assert_uint_eq(op->number, 6);
	store_op_free(op);
	rig_expect_missing(&rig, "k");
	rig_expect_items(&rig, 0);
}
END_TEST

START_TEST(test_what_is_no_number_is_not_touched)
{
	struct store_op *op = rig_op(STORE_INCR, "k", NULL);
	struct store_item item;

	rig_set(&rig, "k", "five");
	op->touch = true;
	op->create = true;
	op->expiry = -1;
	rig_do(&rig, op);
	ck_assert_int_eq(op->status, STORE_NOT_NUMBER);
	store_op_free(op);
	ck_assert_int_eq(rig_get(&rig, "k", &item), STORE_OK);
	ck_assert_int_eq(item.expiry, 0);
}
END_TEST

struct assign_case {
	enum store_op_kind kind;
	bool there;
};

static const struct assign_case assign_cases[] = {
	{STORE_SET, false},    {STORE_SET, true},    {STORE_ADD, false},
	{STORE_REPLACE, true}, {STORE_APPEND, true}, {STORE_APPEND, false},
	{STORE_PREPEND, true}, {STORE_INCR, true},   {STORE_INCR, false},
	{STORE_DECR, true},    {STORE_LEASE, false}, {STORE_INVALIDATE, true},
};

/* A given id goes with the change; the next one is higher. */
START_TEST(test_every_change_can_have_a_given_id)
{
	const struct assign_case *c = &assign_cases[_i];
	struct store_op *op = creating_op(c->kind);
	struct store_item item;

	if (c->there)
		rig_set(&rig, "k", "5");
	op->assign = 1000000;
	rig_do(&rig, op);
	ck_assert_int_eq(op->status, STORE_OK);
	ck_assert_uint_eq(op->cas, 1000000);
	store_op_free(op);
	ck_assert_int_eq(rig_get(&rig, "k", &item), STORE_OK);
	ck_assert_uint_eq(item.cas, 1000000);
	rig_set(&rig, "k", "6");
	ck_assert_int_eq(rig_get(&rig, "k", &item), STORE_OK);
	ck_assert_uint_gt(item.cas, 1000000);
	rig_flush(&rig, 0);
	rig_expect_missing(&rig, "k");
}
END_TEST

/* An item that is there keeps its id in a lease. */
START_TEST(test_a_lease_gives_no_new_id)
{
	struct store_op *op = creating_op(STORE_LEASE);
	struct store_item before, after;

	rig_set(&rig, "k", "5");
	ck_assert_int_eq(rig_get(&rig, "k", &before), STORE_OK);
	op->assign = 1000000;
	op->recache_seconds = 60;
	rig_do(&rig, op);
	ck_assert_uint_eq(op->cas, before.cas);
	store_op_free(op);
	ck_assert_int_eq(rig_get(&rig, "k", &after), STORE_OK);
	ck_assert_uint_eq(after.cas, before.cas);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("storage create");
	TCase *tcase = tcase_create("create");

	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_add_loop_test(tcase, test_what_is_missing_is_made, 0,
			    COUNT(create_cases));
	tcase_add_loop_test(tcase, test_what_is_dead_is_made_anew, 0,
			    COUNT(create_cases));
	tcase_add_loop_test(tcase, test_what_is_there_is_changed, 0,
			    COUNT(create_cases));
	tcase_add_test(tcase, test_a_number_can_be_touched);
	tcase_add_test(tcase, test_what_is_no_number_is_not_touched);
	tcase_add_loop_test(tcase, test_every_change_can_have_a_given_id, 0,
			    COUNT(assign_cases));
	tcase_add_test(tcase, test_a_lease_gives_no_new_id);
	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}
