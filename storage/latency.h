/*
 * latency.h - how long something took: counts in classes, and what they tell.
 *
 * A class is a quarter of a power of two wide, so a percentile is exact to
 * about a fifth. Plain functions on atomics: no lock, nothing is lost.
 * Threads: any.
 */
#ifndef STORAGE_LATENCY_H
#define STORAGE_LATENCY_H

#include <stdatomic.h>
#include <stdint.h>

#define LATENCY_CLASSES 128 /* up to hours */

struct latency {
	_Atomic uint64_t counts[LATENCY_CLASSES];
	_Atomic uint64_t max_us;
};

void latency_add(struct latency *latency, uint64_t us);

/* What `permille` of all took at most, in microseconds; 0 if there were none.
 */
uint64_t latency_at(const struct latency *latency, unsigned permille);

#endif
