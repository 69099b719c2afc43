/*
 * workload.h - which request comes next.
 *
 * Thread: each has a workload of its own; they share the zipf table.
 */
#ifndef BENCH_WORKLOAD_H
#define BENCH_WORKLOAD_H

#include <stdbool.h>
#include <stdint.h>

#include "bench/dialect.h"
#include "bench/options.h"
#include "bench/rng.h"
#include "bench/zipf.h"

struct workload {
	const struct options *options;
	const struct zipf *zipf; /* NULL: uniform */
	struct rng rng;
	uint32_t next_key; /* when loading: the next of this thread's share */
	uint64_t left;	   /* requests still to be made */
};

/* The share of one thread, by its number. options and zipf are borrowed. */
void workload_init(struct workload *workload, const struct options *options,
		   const struct zipf *zipf, uint32_t thread);

/* Fills the next request but for its time. False: there are no more. */
bool workload_next(struct workload *workload, struct request *request);

#endif
