/*
 * test_bench_zipf.c - what is drawn follows Zipf's law.
 *
 * Many draws from a fixed seed: the counts are always the same, and far
 * inside the bounds if the table is right.
 */
#include <check.h>
#include <math.h>
#include <stdlib.h>

#include "bench/zipf.h"
#include "tests/unit/run_suite.h"

#define DRAWS 300000

struct law {
	uint32_t ranks;
	double exponent;
};

static const struct law laws[] = {
	{1, 1.0},    {2, 1.0},	 {10, 0.0},    {10, 0.99}, {1000, 0.5},
	{1000, 1.2}, {1000, 10}, {1000, 0.99}, {7, 2.0},
};

/* Draws, and counts each rank. The caller frees the counts. */
static uint32_t *count_draws(const struct law *law)
{
	uint32_t *counts = calloc(law->ranks, sizeof(*counts));
	struct rng rng = {42};
	struct zipf *zipf;

	ck_assert_ptr_nonnull(counts);
	ck_assert_int_eq(zipf_new(law->ranks, law->exponent, &zipf), 0);
	for (int i = 0; i < DRAWS; i++) {
		uint32_t rank = zipf_draw(zipf, &rng);

		if (rank >= law->ranks)
			ck_abort_msg("there is no rank %u", rank);
		counts[rank]++;
	}
	zipf_free(zipf);
	return counts;
}

START_TEST(test_zipf_draw_follows_the_law)
{
	const struct law *law = &laws[_i];
	uint32_t *counts = count_draws(law);
	double sum = 0;

	for (uint32_t i = 0; i < law->ranks; i++)
		sum += pow(i + 1.0, -law->exponent);
	for (uint32_t i = 0; i < law->ranks; i++) {
		double expected = DRAWS * pow(i + 1.0, -law->exponent) / sum;

		/* Six standard deviations, and some for the rare ones. */
		ck_assert_double_le(fabs(counts[i] - expected),
				    6 * sqrt(expected) + 6);
	}
	free(counts);
}
END_TEST

START_TEST(test_zipf_draw_is_repeatable)
{
	uint32_t *first = count_draws(&laws[3]);
	uint32_t *second = count_draws(&laws[3]);

	ck_assert_mem_eq(first, second, laws[3].ranks * sizeof(*first));
	free(first);
	free(second);
}
END_TEST

START_TEST(test_zipf_free_of_nothing)
{
	zipf_free(NULL);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("bench/zipf");
	TCase *tcase = tcase_create("zipf");

	tcase_add_loop_test(tcase, test_zipf_draw_follows_the_law, 0,
			    (int)(sizeof(laws) / sizeof(laws[0])));
	tcase_add_test(tcase, test_zipf_draw_is_repeatable);
	tcase_add_test(tcase, test_zipf_free_of_nothing);
	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}
