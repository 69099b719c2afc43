/*
 * rng.h - small repeatable random numbers (splitmix64).
 *
 * Fast and good enough to choose keys; nothing secret hangs on it. Plain
 * data: each thread has its own, seeded differently.
 */
#ifndef BENCH_RNG_H
#define BENCH_RNG_H

#include <stdint.h>

struct rng {
	uint64_t state;
};

/* Any 64-bit number. */
static inline uint64_t rng_next(struct rng *rng)
{
	uint64_t x = rng->state += 0x9e3779b97f4a7c15u;

	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
	return x ^ (x >> 31);
}

/* A number in [0, limit), limit > 0; the bias is below limit / 2^32. */
static inline uint32_t rng_below(struct rng *rng, uint32_t limit)
{
	return (uint32_t)(((rng_next(rng) >> 32) * limit) >> 32);
}

#endif
