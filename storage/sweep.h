/*
 * sweep.h - gives back the space of dead items nobody asks for.
 *
 * A pass walks over all records in short steps, no lock held in between, and
 * submits a reclaim for every dead one; the writer looks again before it
 * deletes. How much is looked at, and how much deleted, per second is
 * limited. A pass is started only if there can be something to find: the
 * soonest expiry of all records is known from the last pass and from what was
 * written since, and flushes tell by their cut-off.
 *
 * After the wall clock has jumped ahead nothing is reclaimed for a while: the
 * clock may be wrong, and what a wrong clock hides must not be lost. So a step
 * goes by the time at which the clock was last looked at for jumps, and so do
 * the reclaims that it submits.
 *
 * The thread also wakes the writer when a delayed flush is due.
 *
 * Threads: start and stop by main; one thread of its own.
 */
#ifndef STORAGE_SWEEP_H
#define STORAGE_SWEEP_H

#include <stdbool.h>
#include <stdint.h>

#include "storage/agent.h"
#include "storage/storage.h"

struct sweep {
	struct store *store;
	struct agent agent;
	/* the thread's own */
	struct store_cursor place;
	bool in_pass;
	int64_t not_before_ms; /* monotonic */
	int64_t pass_soonest;  /* the soonest expiry seen in this pass */
	int64_t known_soonest; /* of all that the last pass saw */
	uint64_t pass_cutoff;  /* reclaim cut-off when it began */
	uint64_t swept_cutoff; /* all below is reclaimed */
	int64_t last_wall_us, last_ms; /* of the clocks, to see jumps */
	/* What a step goes by, from the last look at the clock. */
	int64_t now_seconds;
	uint64_t reclaim_cutoff;
};

/* Returns 0 or -errno. The writer and the flusher run. */
int sweep_start(struct sweep *sweep, struct store *store);
void sweep_stop(struct sweep *sweep);

#endif
