/*
 * What was fetched, and when: told as long as the table knows it, and never
 * of an item that was stored anew.
 */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "server/access.h"
#include "tests/unit/run_suite.h"

#define STARTED 1000000
#define KEYS	1000

static struct access_table *table;

static void set_up(void)
{
	table = access_new(STARTED);
	ck_assert_ptr_nonnull(table);
}

static void tear_down(void)
{
	access_free(table);
}

static void expect(const char *key, bool fetched, int64_t last)
{
	struct access access = access_look(table, key, strlen(key));

	ck_assert_int_eq(access.fetched, fetched);
	ck_assert_int_eq(access.last, last);
}

START_TEST(test_access_unknown_was_seen_at_the_start)
{
	expect("k", false, STARTED);
}
END_TEST

START_TEST(test_access_fetched_until_stored_anew)
{
	access_stored(table, "k", 1, STARTED + 5);
	expect("k", false, STARTED + 5);
	access_fetched(table, "k", 1, STARTED + 7);
	expect("k", true, STARTED + 7);
	access_fetched(table, "k", 1, STARTED + 9);
	expect("k", true, STARTED + 9);
	access_stored(table, "k", 1, STARTED + 9);
	expect("k", false, STARTED + 9);
}
END_TEST

/* Keys by the thousand do not push each other out, in the first second too. */
START_TEST(test_access_remembers_many)
{
	char key[16];

	for (int i = 0; i < KEYS; i++) {
		(void)snprintf(key, sizeof(key), "key%d", i);
		access_fetched(table, key, strlen(key), STARTED + _i);
	}
	for (int i = 0; i < KEYS; i++) {
		(void)snprintf(key, sizeof(key), "key%d", i);
		expect(key, true, STARTED + _i);
	}
}
END_TEST

static int count_known(int first, int last)
{
	int known = 0;
	char key[16];

	for (int i = first; i < last; i++) {
		(void)snprintf(key, sizeof(key), "key%d", i);
		known += access_look(table, key, strlen(key)).fetched;
	}
	return known;
}

/* Too many for the table: those that were used last are known. */
START_TEST(test_access_forgets_the_oldest)
{
	char key[16];

	for (int i = 0; i < 600000; i++) {
		(void)snprintf(key, sizeof(key), "key%d", i);
		access_fetched(table, key, strlen(key), STARTED + i / 1000);
	}
	ck_assert_int_gt(count_known(590000, 600000), 9900);
	ck_assert_int_lt(count_known(0, 10000), 1000);
}
END_TEST

/* The system's clock may be set back behind the server's start. */
START_TEST(test_access_before_the_start_is_the_start)
{
	access_stored(table, "k", 1, STARTED - 10);
	expect("k", false, STARTED);
	access_fetched(table, "k", 1, STARTED - 3600);
	expect("k", true, STARTED);
}
END_TEST

START_TEST(test_access_keys_may_hold_any_byte)
{
	access_fetched(table, "a\0b", 3, STARTED + 1);
	access_fetched(table, "a\0c", 3, STARTED + 2);
	ck_assert_int_eq(access_look(table, "a\0b", 3).last, STARTED + 1);
	ck_assert_int_eq(access_look(table, "a\0c", 3).last, STARTED + 2);
	expect("a", false, STARTED);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("access");
	TCase *tests = tcase_create("access");

	tcase_add_checked_fixture(tests, set_up, tear_down);
	tcase_add_test(tests, test_access_unknown_was_seen_at_the_start);
	tcase_add_test(tests, test_access_fetched_until_stored_anew);
	tcase_add_loop_test(tests, test_access_remembers_many, 0, 3);
	tcase_add_test(tests, test_access_forgets_the_oldest);
	tcase_add_test(tests, test_access_before_the_start_is_the_start);
	tcase_add_test(tests, test_access_keys_may_hold_any_byte);
	suite_add_tcase(suite, tests);
	return run_suite(suite);
}
