/*
 * test_storage_format.c - stores that an older version has left.
 */
#include <check.h>
#include <db.h>
#include <stdio.h>

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

static DB *open_raw(const char *name)
{
	DB *db;

	ck_assert_int_eq(db_create(&db, NULL, 0), 0);
	ck_assert_int_eq(
		db->open(db, NULL, rig_path(&rig, name), NULL, DB_BTREE, 0, 0),
		0);
	return db;
}

/* Reads, or first changes, the format version as it is on the disk. */
static uint32_t format_on_disk(uint32_t change_to)
{
	uint32_t version = change_to;
	DBT key = {.data = (char[]){"format"}, .size = 6};
	DBT data = {.data = &version,
		    .size = 4,
		    .ulen = 4,
		    .dlen = 4,
		    .flags = DB_DBT_PARTIAL | DB_DBT_USERMEM};
	DB *db = open_raw("meta.db");

	if (change_to != 0)
		ck_assert_int_eq(db->put(db, NULL, &key, &data, 0), 0);
	ck_assert_int_eq(db->get(db, NULL, &key, &data, 0), 0);
	ck_assert_int_eq(db->close(db, 0), 0);
	return version;
}

/* A closed store as version 1 has left it, with one item of flags 5, cas 1. */
static void make_old_store(void)
{
	static char record[] = "\1\0\0\0\5\0\0\0\0\0\0\0\0\0\0\0"
			       "\1\0\0\0\0\0\0\0value";
	DBT key = {.data = (char[]){"k"}, .size = 1};
	DBT data = {.data = record, .size = sizeof(record) - 1};
	DB *db;

	rig_open(&rig);
	/* As long as the other, with its head: so it is counted right. */
	rig_set(&rig, "k", "value and 15 bytes..");
	rig_close(&rig);
	db = open_raw("data.db");
	ck_assert_int_eq(db->put(db, NULL, &key, &data, 0), 0);
	ck_assert_int_eq(db->close(db, 0), 0);
	ck_assert_uint_eq(format_on_disk(1), 1);
}

/* It is served and changed, and counted right. */
START_TEST(test_a_store_of_format_1)
{
	struct store_item item;
	struct store_counts counts;

	make_old_store();
	rig_open(&rig);
	ck_assert_int_eq(rig_get(&rig, "k", &item), STORE_OK);
	ck_assert_uint_eq(item.flags, 5);
	ck_assert_int_eq(item.expiry, 0);
	ck_assert_uint_eq(item.cas, 1);
	rig_expect(&rig, "k", "value");
	store_counts(rig.store, &counts);
	ck_assert_uint_eq(counts.bytes, 1 + 24 + 5);
	ck_assert_int_eq(rig_run(&rig, STORE_APPEND, "k", "+"), STORE_OK);
	rig_expect(&rig, "k", "value+");
	ck_assert_int_eq(rig_get(&rig, "k", &item), STORE_OK);
	ck_assert_uint_eq(item.flags, 5);
	store_counts(rig.store, &counts);
	ck_assert_uint_eq(counts.bytes, 1 + 13 + 6);
	rig_close(&rig);
	ck_assert_uint_eq(format_on_disk(0), 2);
	rig_open(&rig);
	rig_expect(&rig, "k", "value+");
}
END_TEST

/* The same with only its head changed. */
START_TEST(test_a_touch_makes_an_old_record_new)
{
	struct store_item item;
	struct store_counts counts;
	struct store_op *op = store_op_new(STORE_TOUCH, "k", 1, 0, 0);

	make_old_store();
	rig_open(&rig);
	op->expiry = rig_now(&rig) + 100;
	rig_do(&rig, op);
	ck_assert_int_eq(op->status, STORE_OK);
	store_op_free(op);
	ck_assert_int_eq(rig_get(&rig, "k", &item), STORE_OK);
	ck_assert_uint_eq(item.flags, 5);
	ck_assert_uint_eq(item.cas, 1);
	rig_expect(&rig, "k", "value");
	store_counts(rig.store, &counts);
	ck_assert_uint_eq(counts.bytes, 1 + 9 + 4 + 8 + 5);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("storage format");
	TCase *tcase = tcase_create("format");

	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_add_test(tcase, test_a_store_of_format_1);
	tcase_add_test(tcase, test_a_touch_makes_an_old_record_new);
	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}
