/*
 * agent.h - a thread of the store that reads and changes as clients do.
 *
 * The sweep and the background jobs walk with a reader of their own, submit
 * ops to the writer as everybody, wait until these are durable, and rest.
 *
 * Threads: start and stop by main; the rest by the thread itself.
 */
#ifndef STORAGE_AGENT_H
#define STORAGE_AGENT_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "storage/storage.h"

struct agent {
	struct store *store;
	pthread_t thread;
	pthread_mutex_t lock; /* guards the flags */
	pthread_cond_t wake;
	bool stop, reapable, called;
	/* the thread's own */
	struct store_reader *reader;
	struct store_client *client;
};

/* What has become of a list of ops. */
struct agent_harvest {
	size_t done;   /* STORE_OK */
	size_t failed; /* neither that nor an answer */
};

/*
 * Runs run(arg) in a new thread of that name. 0 or -errno. The writer runs
 * already.
 */
int agent_start(struct agent *agent, struct store *store, const char *name,
		void *(*run)(void *arg), void *arg);

/* Makes rests end, and joins. */
void agent_stop(struct agent *agent);

/* Ends a rest early. Thread: any. */
void agent_call(struct agent *agent);

/* Sleeps, `ms` at most. Returns false when it is time to end. */
bool agent_rest(struct agent *agent, int64_t ms);

/*
 * Submits a list, waits until it is durable, frees it. It ends early, with
 * `failed` set, if the store has failed.
 */
struct agent_harvest agent_run(struct agent *agent, struct store_op *first);

#endif
