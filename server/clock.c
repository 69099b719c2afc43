/*
 * clock.c - see clock.h.
 */
#include "server/clock.h"

#include <time.h>

static int64_t read_us(clockid_t id)
{
	struct timespec now;

	(void)clock_gettime(id, &now);
	return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static int64_t system_us(const struct clock *clock)
{
	int64_t now = read_us(CLOCK_REALTIME);

	return clock->whole_seconds ? now - now % 1000000 : now;
}

int64_t clock_now_us(const struct clock *clock)
{
	int64_t stopped =
		atomic_load_explicit(&clock->stopped_us, memory_order_relaxed);

	if (stopped != 0)
		return stopped;
	return system_us(clock) +
	       atomic_load_explicit(&clock->shift_us, memory_order_relaxed);
}

int64_t clock_now_seconds(const struct clock *clock)
{
	return clock_now_us(clock) / 1000000;
}

int64_t clock_next_second(const struct clock *clock)
{
	return (clock_now_us(clock) + 999999) / 1000000;
}

int64_t clock_monotonic_us(void)
{
	return read_us(CLOCK_MONOTONIC);
}

void clock_move(struct clock *clock, int64_t us)
{
	if (atomic_load(&clock->stopped_us) != 0)
		atomic_fetch_add(&clock->stopped_us, us);
	else
		atomic_fetch_add(&clock->shift_us, us);
}

void clock_stop(struct clock *clock)
{
	atomic_store(&clock->stopped_us, clock_now_us(clock));
}

void clock_resume(struct clock *clock)
{
	int64_t stopped = atomic_load(&clock->stopped_us);

	if (stopped == 0)
		return;
	atomic_store(&clock->shift_us, stopped - system_us(clock));
	atomic_store(&clock->stopped_us, 0);
}
