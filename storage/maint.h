/*
 * maint.h - the disk's housekeeping: trickle, checkpoints, log removal.
 *
 * A checkpoint (every so many bytes of log, or seconds) writes all dirty
 * pages, paced, so that nobody waits for the disk behind it; but once as much
 * log has come meanwhile, it goes on without pauses. After one, the log files
 * that nothing needs are removed; never by Berkeley DB itself, which knows
 * nothing of backups. In a full cache pages are written ahead of them:
 * trickle.h.
 *
 * Threads: start and stop by main; one thread of its own.
 */
#ifndef STORAGE_MAINT_H
#define STORAGE_MAINT_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "storage/env.h"
#include "storage/job.h"
#include "storage/trickle.h"

struct clients;
struct space;

#define MAINT_JOBS   2	/* kinds: enum store_job */
#define MAINT_ROUNDS 64 /* whose results are kept, one bit each */

/*
 * Jobs that were asked for are done in rounds: one round does all that was
 * asked for before it began, and a ticket is the number of a round.
 */
struct maint {
	struct env *env;
	struct space *space;
	struct clients *clients;
	pthread_t thread;
	pthread_mutex_t lock; /* guards what follows */
	pthread_cond_t wake, answered;
	bool stop, room_wanted;
	uint64_t answers; /* to those who wanted room */
	bool asked[MAINT_JOBS];
	uint64_t round; /* the last that has begun */
	/* written by the thread */
	_Atomic uint64_t rounds_ended;
	_Atomic uint64_t rounds_failed[MAINT_JOBS]; /* bit: round % 64 */
	_Atomic int64_t checkpoint_ended_ms;	    /* monotonic */
	_Atomic uint64_t checkpoints;
	struct trickle_counts cache;
	/* the thread's own */
	uint64_t checkpoint_at;	  /* log position of the last one */
	int64_t checkpoint_at_ms; /* when, monotonic */
	int64_t not_before_ms;	  /* after one that failed */
	int data_fd;		  /* see disk_pace(); -1: none */
};

/* Returns 0 or -errno. */
int maint_start(struct maint *maint, struct env *env, struct space *space,
		struct clients *clients);
void maint_stop(struct maint *maint);

/*
 * Has a checkpoint made right away if log files can be removed after it.
 * Thread: the writer. Blocks: on that, for some seconds at most.
 */
void maint_make_room(struct maint *maint);

/* See store_job_begin(), store_job_result(). Thread: any. */
uint64_t maint_ask(struct maint *maint, enum store_job job);
enum store_job_result maint_result(const struct maint *maint, uint64_t ticket);

/*
 * Writes everything into the databases and removes the logs that nothing
 * needs. Returns 0 or -EIO. Thread: main, when the others have ended.
 */
int maint_last_checkpoint(struct env *env);

#endif
