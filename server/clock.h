/*
 * clock.h - what time it is.
 *
 * Expiry goes by a server's clock, which is the system's unless the hidden
 * command `debugtime` has moved or stopped it. Everything else goes by the
 * monotonic clock. Thread: any. Blocks: never.
 *
 * Where debugtime is allowed the clock ticks once a second, as memcached's
 * does: whoever moves it by a TTL finds the item expired.
 */
#ifndef SERVER_CLOCK_H
#define SERVER_CLOCK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Zeroed: the system's time. */
struct clock {
	bool whole_seconds; /* set before others look at it */
	_Atomic int64_t shift_us;
	_Atomic int64_t stopped_us; /* it stands at; 0: it runs */
};

/* Microseconds since 1970. */
int64_t clock_now_us(const struct clock *clock);

/*
 * Seconds since 1970, rounded down: what is compared with an expiry. Rounded
 * up: what a time to live counts from, so that it never ends early.
 */
int64_t clock_now_seconds(const struct clock *clock);
int64_t clock_next_second(const struct clock *clock);

/* Microseconds that only grow. */
int64_t clock_monotonic_us(void);

/* Moves it forward; stops it; lets it run from where it stands. */
void clock_move(struct clock *clock, int64_t us);
void clock_stop(struct clock *clock);
void clock_resume(struct clock *clock);

#endif
