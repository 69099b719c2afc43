/*
 * purge.c - see purge.h.
 */
#include "storage/purge.h"

#include <errno.h>
#include <string.h>

#include "storage/store_priv.h"
#include "storage/walk.h"

#define ROWS_PER_STEP 512
/* Clients' changes wait behind them: so few at once. */
#define DELETES_PER_STEP 64
/* A step that fails is tried again, a second later. */
#define FAILURES_MAX	10
#define FAILED_PAUSE_MS 1000

/* One step's harvest. */
struct step {
	const struct purge_request *request;
	bool order; /* keys with the prefix are neighbours */
	int64_t now_seconds;
	uint64_t flush_cutoff;
	struct store_op *first;
	size_t count;
	bool no_memory;
};

void purge_init(struct purge *purge)
{
	memset(purge, 0, sizeof(*purge));
	(void)pthread_mutex_init(&purge->lock, NULL);
}

void purge_done(struct purge *purge)
{
	(void)pthread_mutex_destroy(&purge->lock);
}

int purge_ask(struct purge *purge, const struct purge_request *request)
{
	size_t last;
	int rc = -EBUSY;

	(void)pthread_mutex_lock(&purge->lock);
	if (purge->count < STORE_PREFIX_DELETES_MAX) {
		last = (purge->first + purge->count) % STORE_PREFIX_DELETES_MAX;
		purge->queue[last] = *request;
		purge->count++;
		atomic_store(&purge->queued, (unsigned)purge->count);
		rc = 0;
	}
	(void)pthread_mutex_unlock(&purge->lock);
	return rc;
}

/* Takes the next request off the queue. Returns false if there is none. */
static bool take_request(struct purge *purge)
{
	bool taken = false;

	(void)pthread_mutex_lock(&purge->lock);
	if (purge->count > 0) {
		purge->request = purge->queue[purge->first];
		purge->first = (purge->first + 1) % STORE_PREFIX_DELETES_MAX;
		purge->count--;
		atomic_store(&purge->running, 1);
		atomic_store(&purge->queued, (unsigned)purge->count);
		taken = true;
	}
	(void)pthread_mutex_unlock(&purge->lock);
	return taken;
}

static void begin(struct purge *purge, bool order)
{
	const struct purge_request *request = &purge->request;

	memset(&purge->place, 0, sizeof(purge->place));
	purge->failures = 0;
	if (!order)
		return;
	memcpy(purge->place.key, request->prefix, request->prefix_bytes);
	purge->place.key_bytes = request->prefix_bytes;
}

static void end(struct purge *purge, _Atomic uint64_t *count)
{
	atomic_fetch_add(count, 1);
	atomic_store(&purge->running, 0);
}

static bool has_prefix(const struct walk_row *row,
		       const struct purge_request *request)
{
	return row->key_bytes >= request->prefix_bytes &&
	       memcmp(row->key, request->prefix, request->prefix_bytes) == 0;
}

/* The dead are the sweep's. */
static bool is_meant(const struct step *step, const struct record *record)
{
	return record->stamp < step->request->cutoff &&
	       !record_expired(record, step->now_seconds) &&
	       !record_flushed(record, step->flush_cutoff);
}

static enum walk_verdict collect(void *arg, const struct walk_row *row)
{
	struct step *step = arg;
	struct store_op *op;

	if (!has_prefix(row, step->request))
		return step->order ? WALK_END : WALK_ON;
	if (!is_meant(step, &row->record))
		return WALK_ON;
	op = store_op_new(STORE_DELETE_OLDER, row->key, row->key_bytes, 0, 0);
	if (op == NULL) {
		step->no_memory = true;
		return WALK_END;
	}
	op->cas = step->request->cutoff;
	op->next = step->first;
	step->first = op;
	step->count++;
	return step->count < DELETES_PER_STEP ? WALK_ON_GOING : WALK_STOP_GOING;
}

/* Returns false if it did not succeed; it may be tried again. */
static bool run_step(struct purge *purge, struct agent *agent, bool order)
{
	const struct published *published = &agent->store->writer.published;
	struct step step = {
		.request = &purge->request,
		.order = order,
		.now_seconds = store_now_seconds(agent->store),
		.flush_cutoff = atomic_load(&published->flush_cutoff),
	};
	struct store_cursor place = purge->place;
	struct agent_harvest harvest;
	enum store_status status = walk_records(
		agent->reader, &place, ROWS_PER_STEP, false, collect, &step);

	harvest = agent_run(agent, step.first);
	atomic_fetch_add(&purge->items, harvest.done);
	if (status != STORE_OK || step.no_memory || harvest.failed > 0)
		return false;
	purge->place = place;
	return true;
}

bool purge_step(struct purge *purge, struct agent *agent)
{
	bool order = store_has_order(agent->reader);

	if (atomic_load(&purge->running) == 0) {
		if (!take_request(purge))
			return false;
		begin(purge, order);
	}
	if (run_step(purge, agent, order)) {
		purge->failures = 0;
		if (purge->place.done)
			end(purge, &purge->done);
	} else if (++purge->failures == FAILURES_MAX) {
		end(purge, &purge->failed);
	} else {
		(void)agent_rest(agent, FAILED_PAUSE_MS);
	}
	return true;
}
