/*
 * jobs.h - the thread of the long jobs that clients ask for.
 *
 * Compaction and deletes of prefixes take turns, one short step each, and
 * after every step the thread rests longer than it worked: what clients do is
 * more urgent.
 *
 * Threads: start and stop by main; one thread of its own; asking by any.
 */
#ifndef STORAGE_JOBS_H
#define STORAGE_JOBS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "storage/agent.h"
#include "storage/compact.h"
#include "storage/purge.h"

struct jobs {
	struct agent agent;
	struct compact compact;
	struct purge purge;
};

/* Returns 0 or -errno. The writer and the flusher run. */
int jobs_start(struct jobs *jobs, struct store *store);
void jobs_stop(struct jobs *jobs);

#endif
