/*
 * stats_engine.c - `stats bdb`: what is measured of the engine, and what of
 * ours memcached has no name for.
 *
 * One table: a name, and where its number lies. The first names are those of
 * MemcacheDB.
 */
#include <stddef.h>
#include <stdio.h>

#include "server/shared.h"
#include "server/stats.h"
#include "server/worker.h"

/* Everything that the table takes its numbers from. */
struct view {
	struct store_engine engine;
	struct store_counts store;
	struct store_progress jobs;
	uint64_t totals[COUNTER_COUNT];
	uint64_t receiving_bytes;
};

struct line {
	const char *name;
	size_t offset, bytes; /* of an unsigned number in struct view */
};

#define AT(name, member)                                      \
	{                                                     \
		name, offsetof(struct view, member),          \
			sizeof(((struct view *)NULL)->member) \
	}

static const struct line lines[] = {
	/* the data file */
	AT("page_bytes", engine.page_bytes),
	AT("data_pages", engine.data_pages),
	AT("data_file_bytes", engine.data_file_bytes),
	/* the cache */
	AT("cache_bytes", engine.cache_bytes),
	AT("cache_hits", engine.cache_hits),
	AT("cache_misses", engine.cache_misses),
	AT("pages_clean", engine.pages_clean),
	AT("pages_dirty", engine.pages_dirty),
	AT("pages_read", engine.pages_read),
	AT("pages_written", engine.pages_written),
	AT("item_cache_hits", totals[COUNTER_item_cache_hits]),
	/* the log, and checkpoints */
	AT("log_file", engine.log_file),
	AT("log_offset", engine.log_offset),
	AT("log_files", engine.log_files),
	AT("log_files_bytes", engine.log_files_bytes),
	AT("log_bytes_since_checkpoint", engine.log_bytes),
	AT("checkpoint_file", engine.checkpoint_file),
	AT("checkpoint_offset", engine.checkpoint_offset),
	AT("checkpoints", engine.checkpoints),
	AT("checkpoint_age_seconds", engine.checkpoint_age_seconds),
	/* locks and transactions */
	AT("locks", engine.locks),
	AT("locks_max", engine.locks_max),
	AT("lock_requests", engine.lock_requests),
	AT("lock_waits", engine.lock_waits),
	AT("deadlocks", engine.deadlocks),
	AT("txns_active", engine.txns_active),
	AT("txns_begun", engine.txns_begun),
	AT("txns_committed", engine.txns_committed),
	AT("txns_aborted", engine.txns_aborted),
	/* writer and flusher */
	AT("ops", store.ops),
	AT("commits", store.commits),
	AT("syncs", store.syncs),
	AT("queue_depth", engine.queued),
	AT("batches", engine.batches),
	AT("batched_ops", engine.batched_ops),
	AT("batch_last", engine.batch_last),
	AT("batch_max", engine.batch_max),
	AT("flushes", engine.flushes),
	AT("flush_p50_us", engine.flush_p50_us),
	AT("flush_p99_us", engine.flush_p99_us),
	AT("flush_max_us", engine.flush_max_us),
	AT("next_cas", engine.next_cas),
	/* work in the background */
	AT("swept_expired", store.expired),
	AT("swept_flushed", store.flushed),
	AT("compact_done", jobs.compact_done),
	AT("compact_failed", jobs.compact_failed),
	AT("compact_pages_examined", jobs.compact_examined),
	AT("compact_pages_freed", jobs.compact_freed),
	AT("compact_pages_returned", jobs.compact_returned),
	AT("pdelete_running", jobs.delete_running),
	AT("pdelete_queued", jobs.delete_queued),
	AT("pdelete_done", jobs.delete_done),
	AT("pdelete_failed", jobs.delete_failed),
	AT("pdelete_items", jobs.delete_items),
	/* what clients met */
	AT("receiving_bytes", receiving_bytes),
	AT("storage_errors", totals[COUNTER_storage_errors]),
	AT("stored_already_expired", totals[COUNTER_stored_already_expired]),
};

static uint64_t number_at(const struct view *view, const struct line *line)
{
	const void *at = (const char *)view + line->offset;

	if (line->bytes == sizeof(uint32_t))
		return *(const uint32_t *)at;
	return *(const uint64_t *)at;
}

/* Under the names, and in the units, that MemcacheDB had for them. */
static void say_memcachedb(const struct options *options,
			   struct stats_sink *sink)
{
	stats_number(sink, "cache_size", options->cache_bytes);
	stats_number(sink, "txn_lg_bsize", options->log_buffer_bytes);
	stats_number(sink, "txn_nosync", options->sync != STORE_SYNC_ALWAYS);
	stats_number(sink, "dldetect_val", 0);
	stats_number(sink, "chkpoint_val", options->checkpoint_seconds);
}

static void say_hit_ratio(const struct store_engine *engine,
			  struct stats_sink *sink)
{
	uint64_t looks = engine->cache_hits + engine->cache_misses;
	char text[16];

	(void)snprintf(text, sizeof(text), "%.4f",
		       looks == 0 ? 1.0
				  : (double)engine->cache_hits / (double)looks);
	sink->take(sink, "cache_hit_ratio", text);
}

void stats_engine(struct worker *worker, struct stats_sink *sink)
{
	struct server *server = worker->server;
	struct view view;

	store_engine(worker->reader, &view.engine);
	store_counts(server->store, &view.store);
	store_progress(server->store, &view.jobs);
	totals_read(server, view.totals);
	view.receiving_bytes = atomic_load(&server->receiving_bytes);
	say_memcachedb(server->options, sink);
	sink->take(sink, "bdb_version", store_engine_version());
	sink->take(sink, "bdb_home", server->options->data_dir);
	sink->take(sink, "access_method", view.engine.hash ? "hash" : "btree");
	say_hit_ratio(&view.engine, sink);
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		stats_number(sink, lines[i].name, number_at(&view, &lines[i]));
	stats_number(sink, "compact_running", view.jobs.compact_running);
}
