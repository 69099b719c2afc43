/*
 * What was fetched, and when: told as long as the table knows it, and never
 * of an item that was stored anew.
 */
#include <check.h>

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

/* Spreads numbers as the hash of a key is spread. */
static uint64_t hash_of(uint64_t number)
{
	number = (number + 1) * UINT64_C(0x9e3779b97f4a7c15);
	number = (number ^ number >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	number = (number ^ number >> 27) * UINT64_C(0x94d049bb133111eb);
	return number ^ number >> 31;
}

static void expect(uint64_t hash, bool fetched, int64_t last)
{
	struct access access = access_look(table, hash);

	ck_assert_int_eq(access.fetched, fetched);
	ck_assert_int_eq(access.last, last);
}

START_TEST(test_access_unknown_was_seen_at_the_start)
{
	expect(hash_of(1), false, STARTED);
}
END_TEST

START_TEST(test_access_fetched_until_stored_anew)
{
	uint64_t hash = hash_of(1);

	access_stored(table, hash, STARTED + 5);
	expect(hash, false, STARTED + 5);
	access_fetched(table, hash, STARTED + 7);
	expect(hash, true, STARTED + 7);
	access_fetched(table, hash, STARTED + 9);
	expect(hash, true, STARTED + 9);
	access_stored(table, hash, STARTED + 9);
	expect(hash, false, STARTED + 9);
}
END_TEST

/* Keys by the thousand do not push each other out, in the first second too. */
START_TEST(test_access_remembers_many)
{
	for (uint64_t i = 0; i < KEYS; i++)
		access_fetched(table, hash_of(i), STARTED + _i);
	for (uint64_t i = 0; i < KEYS; i++)
		expect(hash_of(i), true, STARTED + _i);
}
END_TEST

static int count_known(uint64_t first, uint64_t last)
{
	int known = 0;

	for (uint64_t i = first; i < last; i++)
		known += access_look(table, hash_of(i)).fetched;
	return known;
}

/* Too many for the table: those that were used last are known. */
START_TEST(test_access_forgets_the_oldest)
{
	for (int i = 0; i < 600000; i++)
		access_fetched(table, hash_of((uint64_t)i), STARTED + i / 1000);
	ck_assert_int_gt(count_known(590000, 600000), 9900);
	ck_assert_int_lt(count_known(0, 10000), 1000);
}
END_TEST

/* The system's clock may be set back behind the server's start. */
START_TEST(test_access_before_the_start_is_the_start)
{
	uint64_t hash = hash_of(1);

	access_stored(table, hash, STARTED - 10);
	expect(hash, false, STARTED);
	access_fetched(table, hash, STARTED - 3600);
	expect(hash, true, STARTED);
}
END_TEST

START_TEST(test_access_prefetch_changes_nothing)
{
	uint64_t hash = hash_of(1);

	access_fetched(table, hash, STARTED + 3);
	access_prefetch(table, hash);
	access_prefetch(table, hash_of(2));
	expect(hash, true, STARTED + 3);
	expect(hash_of(2), false, STARTED);
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
	tcase_add_test(tests, test_access_prefetch_changes_nothing);
	suite_add_tcase(suite, tests);
	return run_suite(suite);
}
