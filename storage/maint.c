/*
 * maint.c - see maint.h.
 */
#include "storage/maint.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "storage/client.h"
#include "storage/disk.h"
#include "storage/space.h"
#include "storage/thread.h"

#define TICK_MS	     200
#define ANSWER_MS    3000
#define RETRY_MS     2000
#define PAGES_IN_ROW 32
#define PAUSE_US     2000

/* Bytes of log written since the first; only differences mean something. */
static uint64_t log_position(struct env *env)
{
	DB_LOG_STAT *stat;
	uint64_t position;

	if (env->db_env->log_stat(env->db_env, &stat, 0) != 0)
		return 0;
	position = (uint64_t)stat->st_cur_file * env->config->log_file_bytes +
		   stat->st_cur_offset;
	free(stat);
	return position;
}

/* Returns 0 or -errno. */
static int remove_logs(struct env *env)
{
	char **names = NULL;
	int error, rc = 0;

	error = env->db_env->log_archive(env->db_env, &names, DB_ARCH_ABS);
	if (error != 0) {
		env_complain(env, "old log files cannot be listed: %s",
			     db_strerror(error));
		return -EIO;
	}
	if (names == NULL)
		return 0;
	for (char **name = names; *name != NULL; name++) {
		if (unlink(*name) == 0 || errno == ENOENT)
			continue;
		rc = -errno;
		env_complain(env, "%s: cannot be removed: %s", *name,
			     strerror(errno));
	}
	free(names);
	return rc;
}

/*
 * Forced: Berkeley DB would do nothing if nothing was written since the last
 * checkpoint ended, and keep the log that was written while it ran.
 */
static int checkpoint(struct env *env)
{
	int error = env->db_env->txn_checkpoint(env->db_env, 0, 0, DB_FORCE);

	/* Remove nothing after a sync that failed unseen in between. */
	if (!env_synced(env))
		return -EIO;
	if (error == 0) {
		if (!env->config->keep_logs)
			(void)remove_logs(env);
		return 0;
	}
	if (error == DB_RUNRECOVERY)
		env_fail(env, error, "a checkpoint");
	else
		env_complain(env,
			     "a checkpoint failed, it will be tried "
			     "again: %s",
			     db_strerror(error));
	return env_error_is_space(error) ? -ENOSPC : -EIO;
}

int maint_last_checkpoint(struct env *env)
{
	return checkpoint(env) == 0 ? 0 : -EIO;
}

static void set_pace(struct env *env)
{
	DB_ENV *db_env = env->db_env;

	(void)db_env->set_mp_max_write(db_env, PAGES_IN_ROW, PAUSE_US);
}

/* With how many log files a checkpoint that begins now is late: disk_pace() */
static unsigned long logs_due(const struct env *env)
{
	const struct store_config *config = env->config;
	uint64_t files = config->checkpoint_bytes / config->log_file_bytes;

	return disk_logs_made() + (files > 0 ? (unsigned long)files : 1);
}

static void note_checkpoint(struct maint *maint, int64_t now_ms)
{
	atomic_store(&maint->checkpoint_ended_ms, now_ms);
	atomic_fetch_add(&maint->checkpoints, 1);
}

static bool checkpoint_is_due(const struct maint *maint, int64_t now_ms)
{
	const struct store_config *config = maint->env->config;
	uint64_t written = log_position(maint->env) - maint->checkpoint_at;
	int64_t age_ms = now_ms - maint->checkpoint_at_ms;

	if (written == 0 || now_ms < maint->not_before_ms)
		return false;
	return written >= config->checkpoint_bytes ||
	       (config->checkpoint_seconds != 0 &&
		age_ms >= (int64_t)config->checkpoint_seconds * 1000);
}

/* Returns 0, or why there is none. */
static int run_checkpoint(struct maint *maint)
{
	const struct store_config *config = maint->env->config;
	uint64_t before = log_position(maint->env);
	uint64_t meanwhile;
	int error;

	disk_pace(maint->data_fd, logs_due(maint->env));
	error = checkpoint(maint->env);
	if (error == -ENOSPC && space_give_up_ballast(maint->space))
		error = checkpoint(maint->env);
	disk_pace(maint->data_fd, ULONG_MAX);
	if (error != 0) {
		maint->not_before_ms = thread_now_ms() + RETRY_MS;
		return error;
	}
	meanwhile = log_position(maint->env) - before;
	/* What came meanwhile is not covered: the next one is due sooner. */
	maint->checkpoint_at = before;
	if (meanwhile < config->checkpoint_bytes / 4)
		maint->checkpoint_at = before + meanwhile;
	maint->checkpoint_at_ms = thread_now_ms();
	note_checkpoint(maint, maint->checkpoint_at_ms);
	return 0;
}

/* A checkpoint under way, too, goes on at full speed. */
static void hurry(struct env *env)
{
	(void)env->db_env->set_mp_max_write(env->db_env, 0, 0);
}

void maint_make_room(struct maint *maint)
{
	int64_t until = thread_now_ms() + ANSWER_MS;
	uint64_t seen;

	(void)pthread_mutex_lock(&maint->lock);
	seen = maint->answers;
	maint->room_wanted = true;
	hurry(maint->env);
	(void)pthread_cond_signal(&maint->wake);
	while (maint->answers == seen && !maint->stop &&
	       thread_now_ms() < until)
		thread_wait_ms(&maint->answered, &maint->lock, ANSWER_MS);
	(void)pthread_mutex_unlock(&maint->lock);
}

static void make_room(struct maint *maint)
{
	uint64_t file_bytes = maint->env->config->log_file_bytes;

	/* Only whole files can be removed, so a new one must have begun. */
	if (log_position(maint->env) / file_bytes >
		    maint->checkpoint_at / file_bytes &&
	    thread_now_ms() >= maint->not_before_ms)
		(void)run_checkpoint(maint);
	set_pace(maint->env);
	(void)pthread_mutex_lock(&maint->lock);
	maint->room_wanted = false;
	maint->answers++;
	(void)pthread_cond_broadcast(&maint->answered);
	(void)pthread_mutex_unlock(&maint->lock);
}

uint64_t maint_ask(struct maint *maint, enum store_job job)
{
	uint64_t ticket;

	(void)pthread_mutex_lock(&maint->lock);
	maint->asked[job] = true;
	ticket = (maint->round + 1) * MAINT_JOBS + job;
	(void)pthread_cond_signal(&maint->wake);
	(void)pthread_mutex_unlock(&maint->lock);
	return ticket;
}

enum store_job_result maint_result(const struct maint *maint, uint64_t ticket)
{
	uint64_t round = ticket / MAINT_JOBS;
	uint64_t failed;

	if (env_failed(maint->env))
		return STORE_JOB_FAILED;
	if (atomic_load(&maint->rounds_ended) < round)
		return STORE_JOB_RUNNING;
	failed = atomic_load(&maint->rounds_failed[ticket % MAINT_JOBS]);
	return failed >> (round % MAINT_ROUNDS) & 1 ? STORE_JOB_FAILED
						    : STORE_JOB_DONE;
}

/* Begins a round with what was asked for. Called with the lock held. */
static bool begin_round(struct maint *maint, bool *ret_asked)
{
	bool any = false;

	for (int job = 0; job < MAINT_JOBS; job++) {
		ret_asked[job] = maint->asked[job];
		any = any || maint->asked[job];
		maint->asked[job] = false;
	}
	if (any)
		maint->round++;
	return any;
}

static void note_result(_Atomic uint64_t *failed, uint64_t round, int error)
{
	uint64_t bit = UINT64_C(1) << (round % MAINT_ROUNDS);

	if (error != 0)
		atomic_fetch_or(failed, bit);
	else
		atomic_fetch_and(failed, ~bit);
}

static void run_round(struct maint *maint, const bool *asked)
{
	uint64_t round = atomic_load(&maint->rounds_ended) + 1;
	int error = 0;

	if (asked[STORE_CHECKPOINT])
		error = run_checkpoint(maint);
	note_result(&maint->rounds_failed[STORE_CHECKPOINT], round, error);
	error = 0;
	if (asked[STORE_ARCHIVE])
		error = remove_logs(maint->env);
	note_result(&maint->rounds_failed[STORE_ARCHIVE], round, error);
	atomic_store(&maint->rounds_ended, round);
	clients_job_ended(maint->clients);
}

/* What is to be done in a tick. */
struct orders {
	bool room, round, asked[MAINT_JOBS];
};

static bool any_orders(const struct maint *maint)
{
	return maint->room_wanted || maint->asked[STORE_CHECKPOINT] ||
	       maint->asked[STORE_ARCHIVE];
}

static bool wait_tick(struct maint *maint, struct orders *ret)
{
	bool go_on;

	(void)pthread_mutex_lock(&maint->lock);
	if (!maint->stop && !any_orders(maint))
		thread_wait_ms(&maint->wake, &maint->lock, TICK_MS);
	go_on = !maint->stop;
	ret->room = maint->room_wanted;
	ret->round = begin_round(maint, ret->asked);
	(void)pthread_mutex_unlock(&maint->lock);
	return go_on;
}

static void *maint_main(void *arg)
{
	struct maint *maint = arg;
	struct orders orders;

	while (wait_tick(maint, &orders)) {
		if (!env_synced(maint->env))
			continue;
		if (orders.room)
			make_room(maint);
		if (orders.round)
			run_round(maint, orders.asked);
		else if (checkpoint_is_due(maint, thread_now_ms()))
			(void)run_checkpoint(maint);
		else
			trickle_step(maint->env, &maint->cache);
	}
	return NULL;
}

/* Without a descriptor all goes on, but less smoothly. */
static void begin_pace(struct maint *maint)
{
	maint->data_fd = open(maint->space->data_path, O_RDWR | O_CLOEXEC);
	disk_pace(maint->data_fd, ULONG_MAX);
	set_pace(maint->env);
}

static void end_pace(struct maint *maint)
{
	disk_pace(-1, ULONG_MAX);
	if (maint->data_fd >= 0)
		(void)close(maint->data_fd);
}

int maint_start(struct maint *maint, struct env *env, struct space *space,
		struct clients *clients)
{
	int rc;

	memset(maint, 0, sizeof(*maint));
	maint->env = env;
	maint->space = space;
	maint->clients = clients;
	maint->checkpoint_at = log_position(env);
	maint->checkpoint_at_ms = thread_now_ms();
	/* Recovery has ended with one. */
	atomic_init(&maint->checkpoint_ended_ms, maint->checkpoint_at_ms);
	rc = thread_cond_init(&maint->wake);
	if (rc != 0)
		return rc;
	rc = thread_cond_init(&maint->answered);
	if (rc != 0)
		goto out_wake;
	(void)pthread_mutex_init(&maint->lock, NULL);
	begin_pace(maint);
	rc = thread_start(&maint->thread, "maint", maint_main, maint);
	if (rc != 0)
		goto out_pace;
	return 0;

out_pace:
	end_pace(maint);
	(void)pthread_mutex_destroy(&maint->lock);
	(void)pthread_cond_destroy(&maint->answered);
out_wake:
	(void)pthread_cond_destroy(&maint->wake);
	return rc;
}

void maint_stop(struct maint *maint)
{
	(void)pthread_mutex_lock(&maint->lock);
	maint->stop = true;
	hurry(maint->env);
	(void)pthread_cond_broadcast(&maint->wake);
	(void)pthread_mutex_unlock(&maint->lock);
	(void)pthread_join(maint->thread, NULL);
	end_pace(maint);
	(void)pthread_cond_destroy(&maint->wake);
	(void)pthread_cond_destroy(&maint->answered);
	(void)pthread_mutex_destroy(&maint->lock);
}
