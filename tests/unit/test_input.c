/*
 * Input keeps every byte, in order, through growing, moving and using up.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "server/input.h"
#include "tests/unit/run_suite.h"

#define LIMIT (4 * POOL_BLOCK_BYTES)

static struct pool pool;
static struct input in;

static void set_up(void)
{
	memset(&pool, 0, sizeof(pool));
	memset(&in, 0, sizeof(in));
}

static void tear_down(void)
{
	input_clear(&in, &pool);
	ck_assert_uint_eq(pool.taken, 0);
	pool_done(&pool);
}

/* Arrives as from a socket: as much as there is room for. Returns bytes. */
static size_t arrive(size_t bytes, unsigned *next)
{
	size_t room = input_reserve(&in, &pool, LIMIT);
	size_t i;

	if (bytes > room)
		bytes = room;
	for (i = 0; i < bytes; i++)
		in.memory[in.end++] = (char)(*next)++;
	return bytes;
}

/* Uses bytes up, looking at each. */
static void use(size_t bytes, unsigned *next)
{
	const char *data = input_data(&in);
	size_t i, wrong = 0;

	for (i = 0; i < bytes; i++)
		wrong += data[i] != (char)(*next)++;
	ck_assert_uint_eq(wrong, 0);
	input_consume(&in, bytes);
}

START_TEST(test_input_idle_has_no_memory)
{
	unsigned put = 0, got = 0;

	ck_assert_uint_eq(arrive(10, &put), 10);
	ck_assert_uint_eq(pool.taken, 1);
	use(10, &got);
	input_trim(&in, &pool);
	ck_assert_uint_eq(pool.taken, 0);
	ck_assert_ptr_null(in.memory);
}
END_TEST

START_TEST(test_input_trim_keeps_what_is_not_used)
{
	unsigned put = 0, got = 0;

	arrive(10, &put);
	use(9, &got);
	input_trim(&in, &pool);
	ck_assert_uint_eq(input_bytes(&in), 1);
	use(1, &got);
}
END_TEST

START_TEST(test_input_grows_up_to_the_limit)
{
	unsigned put = 0, got = 0;
	size_t held = 0, n;

	while ((n = arrive(1000, &put)) > 0)
		held += n;
	ck_assert_uint_ge(held, LIMIT);
	ck_assert_uint_eq(input_bytes(&in), held);
	use(held, &got);
	ck_assert_uint_gt(arrive(1, &put), 0);
}
END_TEST

START_TEST(test_input_random_steps_lose_nothing)
{
	unsigned put = 0, got = 0;
	int i;

	srand(1);
	for (i = 0; i < 5000; i++) {
		arrive((size_t)rand() % 3000, &put);
		use((size_t)rand() % (input_bytes(&in) + 1), &got);
		if (i % 7 == 0)
			input_trim(&in, &pool);
	}
	use(input_bytes(&in), &got);
	ck_assert_uint_eq(put, got);
}
END_TEST

START_TEST(test_input_consume_forgets_what_was_scanned)
{
	unsigned put = 0, got = 0;

	arrive(100, &put);
	in.scanned = 100;
	use(50, &got);
	ck_assert_uint_eq(in.scanned, 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("input");
	TCase *tests = tcase_create("input");

	tcase_add_checked_fixture(tests, set_up, tear_down);
	tcase_add_test(tests, test_input_idle_has_no_memory);
	tcase_add_test(tests, test_input_trim_keeps_what_is_not_used);
	tcase_add_test(tests, test_input_grows_up_to_the_limit);
	tcase_add_test(tests, test_input_random_steps_lose_nothing);
	tcase_add_test(tests, test_input_consume_forgets_what_was_scanned);
	suite_add_tcase(suite, tests);
	return run_suite(suite);
}
