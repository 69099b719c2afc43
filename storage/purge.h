/*
 * purge.h - deletes all items whose keys begin with a prefix.
 *
 * A request notes the next stamp, so that only what was stored before it is
 * deleted. A step walks over some records and submits a delete for each that
 * is meant; the writer looks again at the stamp. Requests wait in a short
 * queue.
 *
 * Threads: asking by any, stepping by the jobs thread; `lock` guards the queue.
 */
#ifndef STORAGE_PURGE_H
#define STORAGE_PURGE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "storage/agent.h"
#include "storage/storage.h"

struct purge_request {
	char prefix[STORE_KEY_MAX];
	size_t prefix_bytes;
	uint64_t cutoff; /* stamps below are meant */
};

struct purge {
	pthread_mutex_t lock;
	struct purge_request queue[STORE_PREFIX_DELETES_MAX]; /* a ring */
	size_t first, count;
	/* the jobs thread's */
	struct purge_request request; /* under way */
	struct store_cursor place;
	int failures; /* in a row */
	/* progress */
	atomic_uint running, queued;
	_Atomic uint64_t done, failed, items;
};

void purge_init(struct purge *purge);
void purge_done(struct purge *purge);

/* Queues a request. 0 or -EBUSY. Thread: any. */
int purge_ask(struct purge *purge, const struct purge_request *request);

/*
 * Does a step of the request under way, or begins the next one. Returns false
 * if there is none. Thread: the jobs thread. Blocks: until it is durable.
 */
bool purge_step(struct purge *purge, struct agent *agent);

#endif
