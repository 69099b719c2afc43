/*
 * test_bench_workload.c - which requests the load generator makes.
 */
#include <check.h>
#include <stdlib.h>

#include "bench/workload.h"
#include "tests/unit/run_suite.h"

#define KEYS 1000

static struct options make_options(void)
{
	return (struct options){.connections = 1,
				.threads = 1,
				.sets = 1,
				.gets = 9,
				.keys = KEYS,
				.keys_per_get = 1,
				.seed = 1};
}

START_TEST(test_load_stores_each_key_once)
{
	struct options options = make_options();
	bool seen[KEYS] = {false};
	uint32_t count = 0;

	options.load = _i == 0 ? LOAD_SEQUENCE : LOAD_SHUFFLED;
	options.threads = 3;
	for (uint32_t thread = 0; thread < options.threads; thread++) {
		struct workload workload;
		uint32_t id;
		struct request request = {.ids = &id};

		workload_init(&workload, &options, NULL, thread);
		while (workload_next(&workload, &request)) {
			ck_assert(request.is_set && !seen[id]);
			seen[id] = true;
			count++;
		}
	}
	ck_assert_uint_eq(count, KEYS);
}
END_TEST

/* Ranks are scattered over the keys: the hot ones are told by their rank. */
START_TEST(test_hot_keys_are_the_most_popular)
{
	struct options options = make_options();
	uint32_t counts[KEYS] = {0};
	uint32_t hot = 0, hottest = 0;
	struct workload workload;
	struct zipf *zipf;
	uint32_t id;
	struct request request = {.ids = &id};
	bool is_hot[KEYS] = {false};

	options.hot_keys = 3;
	ck_assert_int_eq(zipf_new(KEYS, 1.5, &zipf), 0);
	workload_init(&workload, &options, zipf, 0);
	for (int i = 0; i < 20000; i++) {
		ck_assert(workload_next(&workload, &request));
		counts[id]++;
		ck_assert(counts[id] == 1 || is_hot[id] == request.is_hot);
		is_hot[id] = request.is_hot;
	}
	for (uint32_t i = 0; i < KEYS; i++) {
		hot += is_hot[i];
		if (counts[i] > counts[hottest])
			hottest = i;
	}
	ck_assert_uint_eq(hot, 3);
	ck_assert(is_hot[hottest]);
	zipf_free(zipf);
}
END_TEST

START_TEST(test_uniform_keys_are_never_hot)
{
	struct options options = make_options();
	struct workload workload;
	uint32_t id;
	struct request request = {.ids = &id, .is_hot = true};

	options.hot_keys = KEYS;
	workload_init(&workload, &options, NULL, 0);
	ck_assert(workload_next(&workload, &request));
	ck_assert(!request.is_hot);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("bench/workload");
	TCase *tcase = tcase_create("workload");

	tcase_add_loop_test(tcase, test_load_stores_each_key_once, 0, 2);
	tcase_add_test(tcase, test_hot_keys_are_the_most_popular);
	tcase_add_test(tcase, test_uniform_keys_are_never_hot);
	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}
