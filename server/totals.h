/*
 * totals.h - the workers' counters added up, as `stats` shows them.
 *
 * `stats reset` does not touch the counters, which belong to the workers: it
 * remembers what they were, and that is taken off from then on.
 */
#ifndef SERVER_TOTALS_H
#define SERVER_TOTALS_H

#include <pthread.h>
#include <stdint.h>

#include "server/counters.h"

struct server;

struct totals {
	pthread_mutex_t lock; /* protects at_reset */
	uint64_t at_reset[COUNTER_COUNT];
};

/* Thread: main, before and after the others. */
void totals_init(struct totals *totals);
void totals_done(struct totals *totals);

/* What was counted since the last reset. Thread: any. Blocks: on the lock. */
void totals_read(struct server *server, uint64_t ret[COUNTER_COUNT]);

/* `stats reset`. Thread: any. Blocks: on the lock. */
void totals_reset(struct server *server);

#endif
