/*
 * flusher.h - makes what is applied durable, and says so.
 *
 * One round: note what is applied, write and sync the log, publish what was
 * noted. A commit that returned before the round began is in the log buffer,
 * so the round covers it. Rounds never overlap.
 *
 * The writer asks for one after each batch and goes on; what it applies while
 * one runs shares the next. A change that is alone it makes durable itself,
 * which saves a thread switch.
 *
 * Threads: start and stop by main, the rest as said.
 */
#ifndef STORAGE_FLUSHER_H
#define STORAGE_FLUSHER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "storage/latency.h"

struct store;

struct flusher {
	struct store *store;
	pthread_t thread;
	pthread_mutex_t round; /* held for a whole round */
	pthread_mutex_t lock;  /* guards the flags below */
	pthread_cond_t work;
	bool wanted, stop;
	_Atomic uint64_t syncs;
	struct latency latency; /* of writing and syncing the log */
};

/* Returns 0 or -errno. */
int flusher_start(struct flusher *flusher, struct store *store);

/* Runs a last round and joins. The writer has ended before. */
void flusher_stop(struct flusher *flusher);

/* Asks for a round. Thread: the writer. */
void flusher_want(struct flusher *flusher);

/* Runs a round here and now, or asks for one if one is running. */
void flusher_run(struct flusher *flusher);

#endif
