/*
 * job.h - work the store does in the background because somebody asked, and
 * what can be measured of the engine.
 *
 * Part of the public face: storage.h includes it, nobody else outside does.
 */
#ifndef STORAGE_JOB_H
#define STORAGE_JOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define STORE_PREFIX_DELETES_MAX 16

struct store;
struct store_client;
struct store_reader;

/*
 * Jobs that end soon, and whose end can be waited for.
 * CHECKPOINT: pages that were changed are written to the databases, and then,
 * unless config.keep_logs, log files that nothing needs any more are removed.
 * ARCHIVE: such files are removed now, with keep_logs, too: that keeps them
 * until somebody asks. It makes no checkpoint, so the newest files stay.
 */
enum store_job { STORE_CHECKPOINT, STORE_ARCHIVE };

enum store_job_result { STORE_JOB_RUNNING, STORE_JOB_DONE, STORE_JOB_FAILED };

/*
 * Asks for a job; those who ask before it begins share one. Returns a ticket.
 * Thread: the client's owner. Blocks: never.
 */
uint64_t store_job_begin(struct store_client *client, enum store_job job);

/*
 * How it stands. If it is running, the client's wake() will come when a job
 * ends: then ask again. A result is kept while 63 more jobs run.
 * Thread: the client's owner. Blocks: never.
 */
enum store_job_result store_job_result(struct store_client *client,
				       uint64_t ticket);

/*
 * Starts to compact the data: neighbours that are not full are merged, in
 * short steps, each followed by a longer rest; then unused pages at the end
 * of the file are given back to the system. If those are so many that others
 * would have to wait for it (16384), that is done only if nobody changes
 * anything for a second within a minute. Pages that are not given back are
 * reused. Nothing is resumed after the store was closed.
 * Returns 0, -EALREADY: one is running, or -ENOTSUP: the data are in a hash.
 * Thread: any. Blocks: never.
 */
int store_compact(struct store *store);

/*
 * Starts to delete all items whose keys begin with the prefix, of 1 to
 * STORE_KEY_MAX bytes, and that are stored now; ops of a client that are not
 * yet applied (store_applied()) do not count as stored. Each delete is one as
 * by a client. What is stored later stays, and until it is done the others can
 * be read. At most STORE_PREFIX_DELETES_MAX wait at a time, and none is
 * resumed after the store was closed.
 * Returns 0, or -EBUSY: too many wait. Thread: any. Blocks: never.
 */
int store_delete_prefix(struct store *store, const char *prefix,
			size_t prefix_bytes);

/* How jobs get on. All but `running` and `queued` count since the start. */
struct store_progress {
	bool compact_running;
	uint64_t compact_done, compact_failed;			    /* runs */
	uint64_t compact_examined, compact_freed, compact_returned; /* pages */
	uint32_t delete_running, delete_queued; /* prefixes */
	uint64_t delete_done, delete_failed;	/* prefixes */
	uint64_t delete_items;			/* deleted by them */
};

/* Thread: any. Blocks: never. */
void store_progress(const struct store *store, struct store_progress *ret);

/*
 * What the engine measures. Counts are since the start; a number that could
 * not be had is 0.
 */
struct store_engine {
	/* the data file */
	bool hash;
	uint32_t page_bytes;
	uint64_t data_pages, data_file_bytes;
	/* the cache, as of a moment ago; counts in pages */
	uint64_t cache_bytes, cache_hits, cache_misses;
	uint64_t pages_clean, pages_dirty, pages_read, pages_written;
	/* the log */
	uint32_t log_file, log_offset; /* where it ends */
	uint32_t log_files;
	uint64_t log_files_bytes;
	uint64_t log_bytes; /* written since the last checkpoint */
	uint32_t checkpoint_file, checkpoint_offset; /* the last one */
	uint64_t checkpoints, checkpoint_age_seconds;
	/* locks and transactions */
	uint64_t locks, locks_max, lock_requests, lock_waits, deadlocks;
	uint64_t txns_active, txns_begun, txns_committed, txns_aborted;
	/* writer and flusher */
	uint64_t queued;	       /* ops that wait for the writer */
	uint64_t batches, batched_ops; /* their quotient is the mean */
	uint64_t batch_last, batch_max;
	uint64_t flushes;
	uint64_t flush_p50_us, flush_p99_us, flush_max_us;
	uint64_t next_cas;
};

/*
 * Thread: the reader's owner. Blocks: on mutexes of the engine, for as long as
 * counters are copied; never on locks of pages.
 */
void store_engine(struct store_reader *reader, struct store_engine *ret);

#endif
