/*
 * maint.h - the disk's housekeeping: trickle, checkpoints, log removal.
 *
 * Dirty pages are written all the time in small steps, so that a checkpoint
 * (every so many bytes of log, or seconds) finds few, and paced, so that
 * nobody waits for the disk behind it. If checkpoints fall behind the log,
 * the pace is raised. After one, the log files that nothing needs are
 * removed; never by Berkeley DB itself, which knows nothing of backups.
 *
 * Threads: start and stop by main; one thread of its own.
 */
#ifndef STORAGE_MAINT_H
#define STORAGE_MAINT_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "storage/env.h"

struct space;

struct maint {
	struct env *env;
	struct space *space;
	pthread_t thread;
	pthread_mutex_t lock; /* guards what follows */
	pthread_cond_t wake, answered;
	bool stop, room_wanted;
	uint64_t answers; /* to those who wanted room */
	/* the thread's own */
	uint64_t checkpoint_at;	  /* log position of the last one */
	int64_t checkpoint_at_ms; /* when, monotonic */
	int64_t not_before_ms;	  /* after one that failed */
	uint32_t pages_in_row;	  /* the pace of writing */
};

/* Returns 0 or -errno. */
int maint_start(struct maint *maint, struct env *env, struct space *space);
void maint_stop(struct maint *maint);

/*
 * Has a checkpoint made right away if log files can be removed after it.
 * Thread: the writer. Blocks: on that, for some seconds at most.
 */
void maint_make_room(struct maint *maint);

/*
 * Writes everything into the databases and removes the logs that nothing
 * needs. Returns 0 or -EIO. Thread: main, when the others have ended.
 */
int maint_last_checkpoint(struct env *env);

#endif
