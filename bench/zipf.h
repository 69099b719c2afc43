/*
 * zipf.h - draws ranks by Zipf's law: rank k with weight 1 / (k + 1)^s.
 *
 * The idea: Vose's alias table. Building it takes time and memory in
 * proportion to the number of ranks, once; a draw is one random number and
 * one look-up, so that the law of the keys costs the generator nothing.
 *
 * Never changed after zipf_new(): all threads share one.
 */
#ifndef BENCH_ZIPF_H
#define BENCH_ZIPF_H

#include <stdint.h>

#include "bench/rng.h"

struct zipf;

/*
 * Builds the table of `ranks` > 0 ranks for an exponent >= 0 (0: all alike).
 * Returns 0 or -ENOMEM. Owner: *ret_zipf is freed by zipf_free().
 */
int zipf_new(uint32_t ranks, double exponent, struct zipf **ret_zipf);
void zipf_free(struct zipf *zipf); /* NULL is fine */

/* A rank in [0, ranks); 0 is the likeliest. */
uint32_t zipf_draw(const struct zipf *zipf, struct rng *rng);

#endif
