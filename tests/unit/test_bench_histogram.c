/*
 * test_bench_histogram.c - quantiles are exact to one part in 128.
 */
#include <check.h>
#include <stdlib.h>

#include "bench/histogram.h"
#include "tests/unit/run_suite.h"

static struct histogram *histogram;

static void set_up(void)
{
	histogram = calloc(1, sizeof(*histogram));
	ck_assert_ptr_nonnull(histogram);
}

static void tear_down(void)
{
	free(histogram);
}

START_TEST(test_quantile_of_nothing)
{
	ck_assert_uint_eq(histogram_quantile(histogram, 0.5), 0);
	ck_assert_uint_eq(histogram_quantile(histogram, 1), 0);
}
END_TEST

START_TEST(test_quantile_of_small_values_is_exact)
{
	for (uint64_t value = 1; value <= 100; value++)
		histogram_record(histogram, value);
	ck_assert_uint_eq(histogram_quantile(histogram, 0), 1);
	ck_assert_uint_eq(histogram_quantile(histogram, 0.5), 50);
	ck_assert_uint_eq(histogram_quantile(histogram, 0.99), 99);
	ck_assert_uint_eq(histogram_quantile(histogram, 1), 100);
}
END_TEST

/* Around every power of two, alone and with a larger one above it. */
START_TEST(test_quantile_of_any_value_is_close)
{
	for (unsigned bits = 1; bits < HISTOGRAM_VALUE_BITS; bits++) {
		for (int off = -1; off <= 1; off++) {
			uint64_t value = (UINT64_C(1) << bits) + (uint64_t)off;
			uint64_t seen;

			*histogram = (struct histogram){0};
			histogram_record(histogram, value);
			ck_assert_uint_eq(histogram_quantile(histogram, 1),
					  value);
			histogram_record(histogram, value * 2);
			seen = histogram_quantile(histogram, 0.5);
			ck_assert_uint_ge(seen, value);
			ck_assert_uint_le(seen - value, value / 128);
		}
	}
}
END_TEST

START_TEST(test_quantile_of_huge_value_is_the_maximum)
{
	histogram_record(histogram, 1);
	histogram_record(histogram, UINT64_MAX);
	ck_assert_uint_eq(histogram_quantile(histogram, 0.5), 1);
	ck_assert_uint_eq(histogram_quantile(histogram, 0.99), UINT64_MAX);
}
END_TEST

START_TEST(test_merge_adds_both)
{
	struct histogram *other = calloc(1, sizeof(*other));

	ck_assert_ptr_nonnull(other);
	for (int i = 0; i < 90; i++)
		histogram_record(histogram, 10);
	for (int i = 0; i < 10; i++)
		histogram_record(other, 1000000);
	histogram_merge(histogram, other);
	free(other);
	ck_assert_uint_eq(histogram->total, 100);
	ck_assert_uint_eq(histogram_quantile(histogram, 0.9), 10);
	ck_assert_uint_eq(histogram_quantile(histogram, 0.91), 1000000);
	ck_assert_uint_eq(histogram->max, 1000000);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("bench/histogram");
	TCase *tcase = tcase_create("histogram");

	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_add_test(tcase, test_quantile_of_nothing);
	tcase_add_test(tcase, test_quantile_of_small_values_is_exact);
	tcase_add_test(tcase, test_quantile_of_any_value_is_close);
	tcase_add_test(tcase, test_quantile_of_huge_value_is_the_maximum);
	tcase_add_test(tcase, test_merge_adds_both);
	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}
