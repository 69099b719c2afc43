/*
 * latency.c - see latency.h.
 */
#include "storage/latency.h"

#include <stddef.h>

/* Below 4 each number is a class; then four for every power of two. */
static size_t class_of(uint64_t us)
{
	unsigned power = 0;
	size_t class;

	if (us < 4)
		return (size_t)us;
	while (us >> power >= 8)
		power++;
	class = 4 * (size_t)(power + 1) + (size_t)(us >> power) - 4;
	return class < LATENCY_CLASSES ? class : LATENCY_CLASSES - 1;
}

/* The largest number of a class. */
static uint64_t class_end(size_t class)
{
	size_t power = class / 4;

	if (class < 4)
		return class;
	if (class == LATENCY_CLASSES - 1)
		return UINT64_MAX;
	return ((uint64_t)(class % 4 + 5) << (power - 1)) - 1;
}

void latency_add(struct latency *latency, uint64_t us)
{
	uint64_t max =
		atomic_load_explicit(&latency->max_us, memory_order_relaxed);

	atomic_fetch_add_explicit(&latency->counts[class_of(us)], 1,
				  memory_order_relaxed);
	while (us > max && !atomic_compare_exchange_weak_explicit(
				   &latency->max_us, &max, us,
				   memory_order_relaxed, memory_order_relaxed))
		;
}

uint64_t latency_at(const struct latency *latency, unsigned permille)
{
	uint64_t counts[LATENCY_CLASSES], total = 0, seen = 0, end, max;
	size_t class = 0;

	for (size_t i = 0; i < LATENCY_CLASSES; i++) {
		counts[i] = atomic_load_explicit(&latency->counts[i],
						 memory_order_relaxed);
		total += counts[i];
	}
	if (total == 0)
		return 0;
	for (; class < LATENCY_CLASSES - 1; class ++) {
		seen += counts[class];
		if (seen * 1000 >= total * permille)
			break;
	}
	end = class_end(class);
	max = atomic_load_explicit(&latency->max_us, memory_order_relaxed);
	return end < max ? end : max;
}
