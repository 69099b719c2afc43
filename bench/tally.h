/*
 * tally.h - what one thread has counted.
 *
 * Plain data; each thread has its own, merged when all threads have ended.
 */
#ifndef BENCH_TALLY_H
#define BENCH_TALLY_H

#include <stddef.h>
#include <stdint.h>

#include "bench/histogram.h"

struct tally {
	uint64_t hits, misses; /* keys */
	uint64_t bytes_sent, bytes_received;
	struct histogram set_ns, get_ns; /* one entry for each request */
	struct histogram hot_ns; /* those of get_ns that were hot, again */
	uint64_t errors;
	char first_error[200]; /* printable text of the first one */
};

void tally_merge(struct tally *to, const struct tally *from);

/* Counts `count` errors; keeps "<what>: <said>" if they are the first. */
void tally_error(struct tally *tally, uint64_t count, const char *what,
		 const char *said, size_t said_bytes);

#endif
