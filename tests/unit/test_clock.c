/*
 * The server's clock: it is moved, stands, and goes on; never back.
 */
#include <check.h>
#include <time.h>

#include "server/clock.h"
#include "tests/unit/run_suite.h"

#define SECOND INT64_C(1000000)

static int64_t system_now_us(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_REALTIME, &now);
	return (int64_t)now.tv_sec * SECOND + now.tv_nsec / 1000;
}

START_TEST(test_clock_is_the_systems)
{
	struct clock clock = {0};
	int64_t before = system_now_us();
	int64_t now = clock_now_us(&clock);

	ck_assert_int_ge(now, before);
	ck_assert_int_le(now, system_now_us());
}
END_TEST

START_TEST(test_clock_moves)
{
	struct clock clock = {0};
	int64_t before = system_now_us();

	clock_move(&clock, 10 * SECOND);
	clock_move(&clock, 5 * SECOND);
	ck_assert_int_ge(clock_now_us(&clock), before + 15 * SECOND);
	ck_assert_int_le(clock_now_us(&clock), system_now_us() + 15 * SECOND);
}
END_TEST

START_TEST(test_clock_stands_and_is_moved_while_it_does)
{
	struct clock clock = {0};
	int64_t stopped;

	clock_stop(&clock);
	stopped = clock_now_us(&clock);
	while (system_now_us() == stopped)
		;
	ck_assert_int_eq(clock_now_us(&clock), stopped);
	clock_stop(&clock); /* again: nothing new */
	ck_assert_int_eq(clock_now_us(&clock), stopped);
	clock_move(&clock, 7 * SECOND);
	ck_assert_int_eq(clock_now_us(&clock), stopped + 7 * SECOND);
}
END_TEST

/* It goes on from where it stood. */
START_TEST(test_clock_resumes)
{
	struct clock clock = {0};
	int64_t stopped, before;

	clock_resume(&clock); /* it runs: nothing new */
	ck_assert_int_le(clock_now_us(&clock), system_now_us());
	clock_stop(&clock);
	clock_move(&clock, 100 * SECOND);
	stopped = clock_now_us(&clock);
	before = system_now_us();
	clock_resume(&clock);
	ck_assert_int_ge(clock_now_us(&clock), stopped);
	ck_assert_int_le(clock_now_us(&clock),
			 stopped + (system_now_us() - before) + 1);
	clock_move(&clock, SECOND);
	ck_assert_int_ge(clock_now_us(&clock), stopped + SECOND);
}
END_TEST

/* Where debugtime is allowed: it shows whole seconds, resumed or not. */
START_TEST(test_clock_ticks_in_seconds)
{
	struct clock clock = {.whole_seconds = true};

	ck_assert_int_eq(clock_now_us(&clock) % SECOND, 0);
	clock_move(&clock, 3 * SECOND);
	ck_assert_int_eq(clock_now_us(&clock) % SECOND, 0);
	clock_stop(&clock);
	ck_assert_int_eq(clock_now_us(&clock) % SECOND, 0);
	clock_resume(&clock);
	ck_assert_int_eq(clock_now_us(&clock) % SECOND, 0);
}
END_TEST

START_TEST(test_clock_monotonic_only_grows)
{
	int64_t last = clock_monotonic_us();

	for (int i = 0; i < 1000; i++) {
		int64_t now = clock_monotonic_us();

		ck_assert_int_ge(now, last);
		last = now;
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("clock");
	TCase *tests = tcase_create("clock");

	tcase_add_test(tests, test_clock_is_the_systems);
	tcase_add_test(tests, test_clock_moves);
	tcase_add_test(tests, test_clock_stands_and_is_moved_while_it_does);
	tcase_add_test(tests, test_clock_resumes);
	tcase_add_test(tests, test_clock_ticks_in_seconds);
	tcase_add_test(tests, test_clock_monotonic_only_grows);
	suite_add_tcase(suite, tests);
	return run_suite(suite);
}
