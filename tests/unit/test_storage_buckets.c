/*
 * test_storage_buckets.c - which bucket a key is in, against Berkeley DB.
 */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "storage/buckets.h"
#include "tests/unit/run_suite.h"

#define KEYS	    1200
#define HASHES	    512
#define BUCKETS_MAX 70

static void put(DB *db, int number)
{
	char key[16], value[60];
	DBT key_dbt = {.data = key}, value_dbt = {.data = value};

	memset(value, 'v', sizeof(value));
	key_dbt.size = (uint32_t)snprintf(key, sizeof(key), "key%d", number);
	value_dbt.size = (uint32_t)(number % (int)sizeof(value));
	ck_assert_int_eq(db->put(db, NULL, &key_dbt, &value_dbt, 0), 0);
}

static uint32_t count_of(DB *db)
{
	uint32_t count = 0;

	ck_assert_int_eq(buckets_count(db, &count), 0);
	return count;
}

/* A cursor goes from bucket to bucket, as we say they are. */
static void expect_order(DB *db, uint32_t count, int keys)
{
	DBT key = {.data = NULL}, value = {.data = NULL};
	uint32_t last = 0, bucket;
	DBC *cursor;

	ck_assert_int_eq(db->cursor(db, NULL, &cursor, 0), 0);
	while (cursor->get(cursor, &key, &value, DB_NEXT) == 0) {
		bucket =
			buckets_of(buckets_hash(db, key.data, key.size), count);
		ck_assert_uint_ge(bucket, last);
		ck_assert_uint_lt(bucket, count);
		last = bucket;
		keys--;
	}
	ck_assert_int_eq(keys, 0);
	ck_assert_int_eq(cursor->close(cursor), 0);
}

/* One more at a time, and none less when all keys are gone. */
START_TEST(test_as_berkeley_db_has_them)
{
	uint32_t count, last;
	uint32_t deleted = 0;
	DB *db;

	ck_assert_int_eq(db_create(&db, NULL, 0), 0);
	ck_assert_int_eq(db->set_pagesize(db, 1024), 0);
	ck_assert_int_eq(db->open(db, NULL, NULL, NULL, DB_HASH, DB_CREATE, 0),
			 0);
	last = count_of(db);
	for (int i = 0; i < KEYS; i++) {
		put(db, i);
		count = count_of(db);
		ck_assert_uint_le(count - last, 1);
		if (count != last || i == KEYS - 1)
			expect_order(db, count, i + 1);
		last = count;
	}
	ck_assert_uint_gt(last, 32);
	ck_assert_int_eq(db->truncate(db, NULL, &deleted, 0), 0);
	ck_assert_uint_eq(deleted, KEYS);
	ck_assert_uint_eq(count_of(db), last);
	ck_assert_int_eq(db->close(db, 0), 0);
}
END_TEST

static bool any_moves(uint32_t bucket, uint32_t then, uint32_t now)
{
	for (uint32_t hash = 0; hash < HASHES; hash++)
		if (buckets_of(hash, then) == bucket &&
		    buckets_of(hash, now) != bucket)
			return true;
	return false;
}

START_TEST(test_a_bucket_that_was_split)
{
	for (uint32_t then = 1; then < BUCKETS_MAX; then++)
		for (uint32_t now = then; now < BUCKETS_MAX; now++)
			for (uint32_t bucket = 0; bucket < then; bucket++)
				ck_assert_int_eq(
					buckets_split(bucket, then, now),
					any_moves(bucket, then, now));
}
END_TEST

START_TEST(test_a_key_that_stays)
{
	uint32_t bucket, now;

	for (uint32_t count = 1; count < BUCKETS_MAX; count++) {
		for (uint32_t hash = 0; hash < HASHES; hash++) {
			bucket = buckets_of(hash, count);
			now = count;
			while (!buckets_split(bucket, count, now))
				now++;
			ck_assert_int_eq(buckets_stays(hash, count),
					 buckets_of(hash, now) == bucket);
		}
	}
}
END_TEST

START_TEST(test_of_very_many)
{
	ck_assert_uint_eq(buckets_of(UINT32_MAX, UINT32_MAX), 0x7fffffff);
	ck_assert_uint_eq(buckets_of(5, UINT32_MAX), 5);
	ck_assert(!buckets_split(5, UINT32_MAX - 1, UINT32_MAX));
	ck_assert(buckets_stays(UINT32_MAX - 1, UINT32_MAX));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("storage buckets");
	TCase *tcase = tcase_create("buckets");

	tcase_add_test(tcase, test_as_berkeley_db_has_them);
	tcase_add_test(tcase, test_a_bucket_that_was_split);
	tcase_add_test(tcase, test_a_key_that_stays);
	tcase_add_test(tcase, test_of_very_many);
	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}
