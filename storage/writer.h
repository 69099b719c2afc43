/*
 * writer.h - the one thread that changes data.
 *
 * It takes what is queued, applies it in one transaction, commits, publishes.
 * One thread makes every command atomic without locks of ours and makes
 * batching free. If a batch fails it is run again op by op, so that only the
 * op that cannot be done gets the failure.
 *
 *   queue -> batch (ops and bytes bounded) -> transaction -> clients_applied
 *
 * Threads: start and stop by main; push, kick by any; the rest as said.
 */
#ifndef STORAGE_WRITER_H
#define STORAGE_WRITER_H

#include <db.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "storage/apply.h"
#include "storage/meta.h"
#include "storage/op.h"

struct store;

/* What others see of the writer's state, as of the last commit. */
struct published {
	_Atomic uint64_t live_items, live_bytes, hidden_items;
	_Atomic uint64_t stored, expired, flushed, ops, commits;
	_Atomic uint64_t batches, batch_last, batch_max; /* of ops */
	_Atomic uint64_t next_stamp;
	_Atomic int space; /* enum space_level, as last looked at */
	/* A reader loads the cut-off, then the position of its flush. */
	_Atomic uint64_t flush_position, flush_cutoff;
	_Atomic uint64_t reclaim_cutoff;
	_Atomic int64_t next_due; /* a flush, or a grace ends; INT64_MAX: no */
	_Atomic int64_t soonest;  /* expiry written since the sweep asked */
};

/* What it does beside its own work; on the asker's stack. */
struct writer_errand {
	void (*run)(void *arg);
	void *arg;
	bool done;
};

struct writer {
	struct store *store;
	pthread_t thread;
	pthread_mutex_t lock; /* guards the queue and the flags */
	pthread_cond_t work, idle;
	struct store_op *first, *last;
	bool waiting, busy, kicked, stop;
	struct writer_errand *errand;
	_Atomic uint64_t queued; /* ops; changed under the lock */
	/* the thread's own */
	DB *data;
	struct state state;
	struct apply apply;
	uint64_t position;
	/* For the state, see meta.h; they stay as they are while it serves. */
	uint32_t loose, start;
	struct published published;
};

/*
 * Takes over the data handle; counts the start, fires a flush that fell due
 * while the store was down. Returns 0, -ENOMEM, -ENOSPC or -EIO. Owner:
 * writer_done().
 */
int writer_init(struct writer *writer, struct store *store, DB *data,
		const struct state *state);
void writer_done(struct writer *writer);

int writer_start(struct writer *writer);

/* Applies what is queued, then joins. */
void writer_stop(struct writer *writer);

/*
 * Notes that all is on disk. Returns 0 or -EIO. Thread: main, after the
 * writer and the flusher have ended.
 */
int writer_settle(struct writer *writer);

/* Appends a list of `count` ops. Never blocks for long. */
void writer_push(struct writer *writer, struct store_op *first,
		 struct store_op *last, size_t count);

/*
 * Runs run(arg) on the writer's thread between two batches. Returns false if
 * the store failed before. Thread: one at a time, not the writer. Blocks:
 * until it has run.
 */
bool writer_run(struct writer *writer, void (*run)(void *arg), void *arg);

/* Makes it look for what is due though no op is queued. */
void writer_kick(struct writer *writer);

/*
 * After the store has failed: the writer has no op of this client any more
 * when this returns. Thread: the client's owner. Blocks: on a running batch.
 */
void writer_forget(struct writer *writer, const struct store_client *client);

#endif
