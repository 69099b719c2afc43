/*
 * totals.c - see totals.h.
 */
#include "server/totals.h"

#include <string.h>

#include "server/shared.h"
#include "server/worker.h"

void totals_init(struct totals *totals)
{
	memset(totals, 0, sizeof(*totals));
	(void)pthread_mutex_init(&totals->lock, NULL);
}

void totals_done(struct totals *totals)
{
	(void)pthread_mutex_destroy(&totals->lock);
}

static void totals_sum(struct server *server, uint64_t sums[COUNTER_COUNT])
{
	memset(sums, 0, COUNTER_COUNT * sizeof(sums[0]));
	for (unsigned i = 0; i < server->worker_count; i++)
		counters_sum(&server->workers[i]->counters, sums);
}

void totals_read(struct server *server, uint64_t ret[COUNTER_COUNT])
{
	/* Under the lock: a reset must not come between the two. */
	(void)pthread_mutex_lock(&server->totals.lock);
	totals_sum(server, ret);
	for (int i = 0; i < COUNTER_COUNT; i++)
		ret[i] -= server->totals.at_reset[i];
	(void)pthread_mutex_unlock(&server->totals.lock);
}

void totals_reset(struct server *server)
{
	uint64_t sums[COUNTER_COUNT];

	(void)pthread_mutex_lock(&server->totals.lock);
	totals_sum(server, sums);
	memcpy(server->totals.at_reset, sums, sizeof(sums));
	(void)pthread_mutex_unlock(&server->totals.lock);
	atomic_store(&server->rejected_connections, 0);
	atomic_store(&server->listen_disabled, 0);
	atomic_store(&server->listen_disabled_us, 0);
}
