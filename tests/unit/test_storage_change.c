/*
 * test_storage_change.c - the table never says too little.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "storage/change.h"
#include "storage/hash.h"
#include "tests/unit/run_suite.h"

#define KEYS 5000

static struct change_table *table;

static void set_up(void)
{
	table = change_table_new();
	ck_assert_ptr_nonnull(table);
}

static void tear_down(void)
{
	change_table_free(table);
}

static size_t name_key(int n, char *key)
{
	return (size_t)snprintf(key, 64, "%d:%.*s", n, n % 40,
				"----------------------------------------");
}

START_TEST(test_nothing_is_noted_at_first)
{
	ck_assert_uint_eq(change_last(table, key_hash("k", 1)), 0);
	ck_assert_uint_eq(change_last(table, key_hash("", 0)), 0);
}
END_TEST

/* A slot may be shared: then it says more, which only makes a read wait. */
START_TEST(test_a_change_is_never_forgotten)
{
	char key[64];
	size_t bytes;
	int exact = 0;

	for (int n = 0; n < KEYS; n++) {
		bytes = name_key(n, key);
		change_note(table, key_hash(key, bytes), (uint64_t)n + 1);
	}
	for (int n = 0; n < KEYS; n++) {
		bytes = name_key(n, key);
		ck_assert_uint_ge(change_last(table, key_hash(key, bytes)),
				  (uint64_t)n + 1);
		exact += change_last(table, key_hash(key, bytes)) ==
			 (uint64_t)n + 1;
	}
	/* 5000 keys in 65536 slots: nearly all have one of their own. */
	ck_assert_int_ge(exact, KEYS * 9 / 10);
}
END_TEST

START_TEST(test_the_newest_is_that_of_any_key)
{
	ck_assert_uint_eq(change_newest(table), 0);
	change_note(table, 1, 7);
	change_note(table, 2, 8);
	change_note(table, 1, 8);
	ck_assert_uint_eq(change_newest(table), 8);
}
END_TEST

START_TEST(test_every_byte_counts)
{
	char key[250] = {0};
	int same = 0;

	change_note(table, key_hash(key, sizeof(key)), 7);
	for (size_t i = 0; i < sizeof(key); i++) {
		key[i] = 1;
		same += change_last(table, key_hash(key, sizeof(key))) == 7;
		key[i] = 0;
		same += change_last(table, key_hash(key, i)) == 7;
	}
	ck_assert_int_le(same, 5);
	ck_assert_uint_eq(change_last(table, key_hash(key, sizeof(key))), 7);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("storage change");
	TCase *tcase = tcase_create("change");

	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_add_test(tcase, test_nothing_is_noted_at_first);
	tcase_add_test(tcase, test_a_change_is_never_forgotten);
	tcase_add_test(tcase, test_the_newest_is_that_of_any_key);
	tcase_add_test(tcase, test_every_byte_counts);
	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}
