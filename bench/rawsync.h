/*
 * rawsync.h - what the disk itself takes to make a small write durable.
 *
 * The yardstick for a durable set of one connection: nothing that waits for
 * the disk can be faster.
 *
 * Thread: main.
 */
#ifndef BENCH_RAWSYNC_H
#define BENCH_RAWSYNC_H

#include <stdint.h>

#include "bench/histogram.h"

struct rawsync {
	struct histogram append_ns;    /* the file grows with every write */
	struct histogram overwrite_ns; /* of blocks that are there already */
};

/*
 * Times `rounds` pairs of pwrite() and fdatasync(), `bytes` each, in a
 * nameless file in dir. Returns 0 or -errno. Blocks: on the disk.
 */
int rawsync_measure(const char *dir, uint32_t rounds, uint32_t bytes,
		    struct rawsync *ret);

#endif
