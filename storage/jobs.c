/*
 * jobs.c - see jobs.h; what the public face says of its jobs.
 */
#include "storage/jobs.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "storage/store_priv.h"

#define IDLE_MS 200
/* A rest is so many times as long as the step before it, and a little. */
#define REST_FACTOR 2
#define REST_MIN_MS 1

/* Does a step of everything. Returns how long to rest, in ms. */
static int64_t take_turn(struct jobs *jobs)
{
	int64_t began = thread_now_ms();
	bool purged, compacted;

	if (env_failed(&jobs->agent.store->env))
		return IDLE_MS;
	purged = purge_step(&jobs->purge, &jobs->agent);
	compacted = compact_step(&jobs->compact, &jobs->agent);
	if (!purged && !compacted)
		return IDLE_MS;
	return (thread_now_ms() - began) * REST_FACTOR + REST_MIN_MS;
}

static void *jobs_main(void *arg)
{
	struct jobs *jobs = arg;

	while (agent_rest(&jobs->agent, take_turn(jobs)))
		;
	return NULL;
}

int jobs_start(struct jobs *jobs, struct store *store)
{
	int rc;

	memset(jobs, 0, sizeof(*jobs));
	purge_init(&jobs->purge);
	rc = agent_start(&jobs->agent, store, "jobs", jobs_main, jobs);
	if (rc != 0)
		purge_done(&jobs->purge);
	return rc;
}

void jobs_stop(struct jobs *jobs)
{
	agent_stop(&jobs->agent);
	compact_done(&jobs->compact);
	purge_done(&jobs->purge);
}

int store_compact(struct store *store)
{
	DB *data = store->writer.data;
	DBTYPE type;
	int rc;

	if (data->get_type(data, &type) != 0 || type == DB_HASH)
		return -ENOTSUP;
	rc = compact_ask(&store->jobs.compact);
	if (rc == 0)
		agent_call(&store->jobs.agent);
	return rc;
}

int store_delete_prefix(struct store *store, const char *prefix,
			size_t prefix_bytes)
{
	struct purge_request request = {.prefix_bytes = prefix_bytes};
	int rc;

	assert(prefix_bytes > 0 && prefix_bytes <= STORE_KEY_MAX);
	memcpy(request.prefix, prefix, prefix_bytes);
	request.cutoff = atomic_load(&store->writer.published.next_stamp);
	rc = purge_ask(&store->jobs.purge, &request);
	if (rc == 0)
		agent_call(&store->jobs.agent);
	return rc;
}

void store_progress(const struct store *store, struct store_progress *ret)
{
	const struct compact *compact = &store->jobs.compact;
	const struct purge *purge = &store->jobs.purge;

	ret->compact_running = atomic_load(&compact->running);
	ret->compact_done = atomic_load(&compact->done);
	ret->compact_failed = atomic_load(&compact->failed);
	ret->compact_examined = atomic_load(&compact->examined);
	ret->compact_freed = atomic_load(&compact->freed);
	ret->compact_returned = atomic_load(&compact->given);
	/* First: a prefix is running before it leaves the queue. */
	ret->delete_queued = atomic_load(&purge->queued);
	ret->delete_running = atomic_load(&purge->running);
	ret->delete_done = atomic_load(&purge->done);
	ret->delete_failed = atomic_load(&purge->failed);
	ret->delete_items = atomic_load(&purge->items);
}
