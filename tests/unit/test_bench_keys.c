/*
 * test_bench_keys.c - a value that is not the key's own is noticed.
 */
#include <check.h>
#include <string.h>

#include "bench/keys.h"
#include "tests/unit/run_suite.h"

#define VALUE_BYTES 100

static struct items items;
static char value[VALUE_BYTES];

static void set_up(void)
{
	ck_assert_int_eq(items_init(&items, "key-", 20, VALUE_BYTES, 1000000),
			 0);
	ck_assert_ptr_eq(item_put_value(value, &items, 7, 12345),
			 value + VALUE_BYTES);
}

static void tear_down(void)
{
	items_done(&items);
}

START_TEST(test_put_key)
{
	char key[20];

	ck_assert_ptr_eq(item_put_key(key, &items, 907), key + 20);
	ck_assert_mem_eq(key, "key-0000000000000907", 20);
	ck_assert(item_is_key(&items, key, 20, 907));
	ck_assert(!item_is_key(&items, key, 20, 908));
	ck_assert(!item_is_key(&items, key, 19, 907));
}
END_TEST

START_TEST(test_init_refuses_keys_that_do_not_fit)
{
	struct items small;

	ck_assert_int_lt(items_init(&small, "key-", 7, 1, 1001), 0);
	ck_assert_int_lt(items_init(&small, "key-", ITEM_KEY_MAX + 1, 1, 1), 0);
	ck_assert_int_eq(items_init(&small, "key-", 7, 1, 1000), 0);
	items_done(&small);
}
END_TEST

START_TEST(test_is_value_of_what_was_put)
{
	ck_assert(item_is_value(&items, value, VALUE_BYTES, 7));
}
END_TEST

START_TEST(test_is_value_of_another_key)
{
	ck_assert(!item_is_value(&items, value, VALUE_BYTES, 8));
}
END_TEST

START_TEST(test_is_value_of_a_piece)
{
	ck_assert(!item_is_value(&items, value, VALUE_BYTES - 1, 7));
	ck_assert(!item_is_value(&items, value, 0, 7));
}
END_TEST

START_TEST(test_is_value_with_one_byte_changed)
{
	for (int i = 0; i < VALUE_BYTES; i++) {
		value[i] ^= 1;
		ck_assert_msg(!item_is_value(&items, value, VALUE_BYTES, 7),
			      "byte %d", i);
		value[i] ^= 1;
	}
}
END_TEST

START_TEST(test_is_value_of_two_versions_mixed)
{
	char other[VALUE_BYTES];

	item_put_value(other, &items, 7, 54321);
	memcpy(value + VALUE_BYTES / 2, other + VALUE_BYTES / 2,
	       VALUE_BYTES / 2);
	ck_assert(!item_is_value(&items, value, VALUE_BYTES, 7));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("bench/keys");
	TCase *tcase = tcase_create("keys");

	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_add_test(tcase, test_put_key);
	tcase_add_test(tcase, test_init_refuses_keys_that_do_not_fit);
	tcase_add_test(tcase, test_is_value_of_what_was_put);
	tcase_add_test(tcase, test_is_value_of_another_key);
	tcase_add_test(tcase, test_is_value_of_a_piece);
	tcase_add_test(tcase, test_is_value_with_one_byte_changed);
	tcase_add_test(tcase, test_is_value_of_two_versions_mixed);
	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}
