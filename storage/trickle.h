/*
 * trickle.h - writes changed pages of the cache to the databases bit by bit.
 *
 * So that who needs room in a full cache finds clean pages, and the end of the
 * store takes a time that is known. Each look at the cache costs time in
 * proportion to its size: what it counts is kept for those who want to know.
 *
 * Threads: maint, and main when all others have ended; the counts by any.
 */
#ifndef STORAGE_TRICKLE_H
#define STORAGE_TRICKLE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "storage/env.h"

/* What the cache counted at the last look, in pages. */
struct trickle_counts {
	_Atomic uint64_t hits, misses, clean, dirty, read, written;
	/* the thread's own */
	uint64_t evicted;
	int64_t next_look_us; /* not before */
};

/*
 * Looks, and if pages had to give way since the last look, makes a step
 * towards config.trickle_percent of clean pages. How fast it writes is set
 * elsewhere (set_mp_max_write). Does nothing if the last look was not long ago
 * for what it has cost.
 */
void trickle_step(struct env *env, struct trickle_counts *counts);

/*
 * Writes all changed pages, for about so many milliseconds, and syncs the
 * file meanwhile. Returns true if so few are left that what is to come will not
 * take long.
 */
bool trickle_out(struct env *env, const char *data_path, int64_t ms);

#endif
