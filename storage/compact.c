/*
 * compact.c - see compact.h.
 */
#include "storage/compact.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "storage/dbt.h"
#include "storage/store_priv.h"
#include "storage/walk.h"

#define MERGE_ROWS     256
#define GIVE_BACK_ROWS 200000
/* More unused pages than this are given back only while nobody changes. */
#define FEW_PAGES   16384
#define QUIET_MS    1000
#define PATIENCE_MS 60000
#define PASSES_MAX  3
/* A page is moved, but never merged, if it has to be fuller than this. */
#define MOVE_ONLY_PERCENT 1
#define FAILURES_MAX	  100
/* What Berkeley DB needs beside an item's bytes, and a page's head. */
#define ITEM_OVERHEAD 12
#define PAGE_OVERHEAD 26
/* How full merged pages are, by experience. */
#define FULL_PERCENT 95

/* The range of a step, and what it has met there. */
struct range {
	const struct compact *compact;
	struct store_cursor end;
	uint64_t leaf_bytes, overflow_pages;
};

int compact_ask(struct compact *compact)
{
	return atomic_exchange(&compact->running, true) ? -EALREADY : 0;
}

void compact_done(struct compact *compact)
{
	if (compact->db != NULL)
		(void)compact->db->close(compact->db, DB_NOSYNC);
	compact->db = NULL;
}

static void begin_phase(struct compact *compact)
{
	memset(&compact->place, 0, sizeof(compact->place));
	compact->returned = 0;
	compact->failures = 0;
}

static int begin(struct compact *compact, struct store *store)
{
	int error = env_open_db(&store->env, NULL, store->config.data_file,
				store->meta.data_type, 0, DB_AUTO_COMMIT,
				&compact->db);

	if (error == 0)
		error = compact->db->get_pagesize(compact->db,
						  &compact->page_bytes);
	if (error != 0)
		return error;
	compact->giving_back = false;
	compact->kept = 0;
	compact->passes = 0;
	begin_phase(compact);
	return 0;
}

static void end(struct compact *compact, struct env *env, int error)
{
	compact_done(compact);
	if (error == DB_RUNRECOVERY)
		env_fail(env, error, "Berkeley DB");
	else if (error != 0)
		env_complain(env, "the compaction failed: %s",
			     error < 0 && error > -1000 ? strerror(-error)
							: db_strerror(error));
	atomic_fetch_add(error == 0 ? &compact->done : &compact->failed, 1);
	atomic_store(&compact->running, false);
}

/* A record of more than about a quarter of a page lies in pages of its own. */
static enum walk_verdict add_row(void *arg, const struct walk_row *row)
{
	struct range *range = arg;
	uint32_t page_bytes = range->compact->page_bytes;
	uint64_t bytes = row->record.head_bytes + row->value_bytes;

	range->leaf_bytes += row->key_bytes + ITEM_OVERHEAD;
	if (bytes > page_bytes / 4)
		range->overflow_pages +=
			bytes / (page_bytes - PAGE_OVERHEAD) + 1;
	else
		range->leaf_bytes += bytes;
	return WALK_ON;
}

/* Pages that hold these rows when they are merged. */
static uint64_t pages_needed(const struct range *range)
{
	uint64_t page_bytes = range->compact->page_bytes;

	return range->overflow_pages +
	       range->leaf_bytes * 100 / (page_bytes * FULL_PERCENT) + 1;
}

/* Finds where a step over so many rows ends. */
static enum store_status find_end(const struct compact *compact,
				  struct agent *agent, size_t rows,
				  struct range *ret)
{
	enum store_status status = STORE_OK;

	memset(ret, 0, sizeof(*ret));
	ret->compact = compact;
	ret->end = compact->place;
	while (status == STORE_OK && rows > 0 && !ret->end.done) {
		size_t part = rows < MERGE_ROWS ? rows : MERGE_ROWS;

		status = walk_records(agent->reader, &ret->end, part, false,
				      add_row, ret);
		rows -= part;
	}
	return status;
}

/* What Berkeley DB has done; it counts some pages below zero. */
static void count(struct compact *compact, const DB_COMPACT *did)
{
	int32_t truncated = (int32_t)did->compact_pages_truncated;

	atomic_fetch_add(&compact->examined, did->compact_pages_examine);
	atomic_fetch_add(&compact->freed, did->compact_pages_free);
	if (truncated > 0) {
		atomic_fetch_add(&compact->given, (uint64_t)truncated);
		compact->returned += (uint64_t)truncated;
	}
}

/* A call of Berkeley DB, so that the writer can make it. */
struct call {
	DB *db;
	DBT *start, *stop; /* NULL: the first, the last key */
	DB_COMPACT did;
	uint32_t flags;
	int error;
};

static void make_call(void *arg)
{
	struct call *call = arg;

	call->error = call->db->compact(call->db, NULL, call->start, call->stop,
					&call->did, call->flags, NULL);
}

static int run(struct compact *compact, struct agent *agent, DBT *start,
	       DBT *stop)
{
	struct call call = {.db = compact->db, .start = start, .stop = stop};

	if (!compact->giving_back) {
		make_call(&call);
	} else {
		call.did.compact_fillpercent = MOVE_ONLY_PERCENT;
		call.flags = DB_FREE_SPACE;
		if (!writer_run(&agent->store->writer, make_call, &call))
			return EIO;
	}
	if (call.error == 0)
		count(compact, &call.did);
	return call.error;
}

/* Returns an error, or 0; then the place is behind the range. */
static int step(struct compact *compact, struct agent *agent)
{
	size_t rows = compact->giving_back ? GIVE_BACK_ROWS : MERGE_ROWS;
	const struct store_cursor *place = &compact->place;
	struct range range;
	DBT start, stop;
	int error;

	if (find_end(compact, agent, rows, &range) != STORE_OK)
		return EIO;
	dbt_in(&start, place->key, place->key_bytes);
	dbt_in(&stop, range.end.key, range.end.key_bytes);
	error = run(compact, agent, place->key_bytes > 0 ? &start : NULL,
		    range.end.done ? NULL : &stop);
	if (error != 0)
		return error;
	compact->place = range.end;
	if (!compact->giving_back)
		compact->kept += pages_needed(&range);
	return 0;
}

/* Sets out to give pages back. Returns false if there is nothing to do. */
static bool begin_giving_back(struct compact *compact)
{
	DB_MPOOLFILE *file = compact->db->get_mpf(compact->db);
	db_pgno_t last = 0;

	if (file->get_last_pgno(file, &last) != 0)
		return false;
	compact->giving_back = true;
	compact->many =
		last > compact->kept && last - compact->kept > FEW_PAGES;
	compact->quiet_since_ms = thread_now_ms();
	compact->give_up_ms = compact->quiet_since_ms + PATIENCE_MS;
	return true;
}

/* With many pages, waits until nobody changes anything. */
static bool may_step(struct compact *compact, const struct store *store)
{
	uint64_t ops = atomic_load(&store->writer.published.ops);
	int64_t now_ms = thread_now_ms();

	if (!compact->giving_back || !compact->many)
		return true;
	if (ops != compact->ops_seen) {
		compact->ops_seen = ops;
		compact->quiet_since_ms = now_ms;
	}
	return now_ms - compact->quiet_since_ms >= QUIET_MS;
}

/* A pass is over. Returns false if it was the last one. */
static bool next_pass(struct compact *compact)
{
	uint64_t returned = compact->returned;

	if (!compact->giving_back) {
		begin_phase(compact);
		return begin_giving_back(compact);
	}
	begin_phase(compact);
	compact->passes++;
	return compact->passes < 2 ||
	       (returned > 0 && compact->passes < PASSES_MAX);
}

static int one_step(struct compact *compact, struct agent *agent)
{
	struct store *store = agent->store;
	int error;

	if (atomic_load(&store->writer.published.space) != SPACE_PLENTY)
		return ENOSPC;
	if (compact->db == NULL) {
		error = begin(compact, store);
		if (error != 0)
			return error;
	}
	error = step(compact, agent);
	if (!env_synced(&store->env))
		return EIO;
	/* It has lost against others so often that it was told. */
	if (env_error_is_conflict(error) && ++compact->failures < FAILURES_MAX)
		return 0;
	if (error == 0)
		compact->failures = 0;
	return error;
}

bool compact_step(struct compact *compact, struct agent *agent)
{
	struct env *env = &agent->store->env;
	int error;

	if (!atomic_load(&compact->running))
		return false;
	if (!may_step(compact, agent->store)) {
		if (thread_now_ms() >= compact->give_up_ms)
			end(compact, env, 0);
		return false;
	}
	error = one_step(compact, agent);
	if (error != 0)
		end(compact, env, error);
	else if (compact->place.done && !next_pass(compact))
		end(compact, env, 0);
	return true;
}
