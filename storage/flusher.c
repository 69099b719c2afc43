/*
 * flusher.c - see flusher.h.
 */
#include "storage/flusher.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#include "storage/store_priv.h"

#define RETRY_MS	 100
#define LAST_RETRIES_MAX 50

static void pause_for_room(void)
{
	const struct timespec pause = {.tv_nsec = RETRY_MS * 1000000L};

	(void)nanosleep(&pause, NULL);
}

static bool stopping(struct flusher *flusher)
{
	bool stop;

	(void)pthread_mutex_lock(&flusher->lock);
	stop = flusher->stop;
	(void)pthread_mutex_unlock(&flusher->lock);
	return stop;
}

/*
 * A disk that is full to the last byte: give up the ballast, then wait for
 * room. What is applied stays in the log buffer meanwhile.
 */
static int flush_until_it_fits(struct flusher *flusher)
{
	struct store *store = flusher->store;
	int tries = 0;
	int rc;

	while ((rc = env_flush_log(&store->env)) == -ENOSPC) {
		if (spare_give_up(&store->spare) ||
		    space_give_up_ballast(&store->space))
			continue;
		env_complain(&store->env,
			     "the disk is full: waiting for room to write "
			     "the log");
		if (stopping(flusher) && ++tries > LAST_RETRIES_MAX) {
			env_fail(&store->env, ENOSPC, "the last log write");
			return -EIO;
		}
		pause_for_room();
	}
	return rc;
}

static void run_round(struct flusher *flusher)
{
	struct clients *clients = &flusher->store->clients;
	uint64_t position = clients_snapshot(clients);
	int64_t began = thread_now_us();

	if (env_failed(&flusher->store->env))
		return;
	if (flush_until_it_fits(flusher) != 0)
		return;
	latency_add(&flusher->latency, (uint64_t)(thread_now_us() - began));
	atomic_fetch_add_explicit(&flusher->syncs, 1, memory_order_relaxed);
	/* Otherwise the writer has said so already. */
	if (flusher->store->config.sync == STORE_SYNC_ALWAYS)
		clients_durable(clients, position);
}

void flusher_run(struct flusher *flusher)
{
	if (pthread_mutex_trylock(&flusher->round) != 0) {
		flusher_want(flusher);
		return;
	}
	run_round(flusher);
	(void)pthread_mutex_unlock(&flusher->round);
}

void flusher_want(struct flusher *flusher)
{
	(void)pthread_mutex_lock(&flusher->lock);
	if (!flusher->wanted) {
		flusher->wanted = true;
		(void)pthread_cond_signal(&flusher->work);
	}
	(void)pthread_mutex_unlock(&flusher->lock);
}

static void wait_for_work(struct flusher *flusher)
{
	(void)pthread_mutex_lock(&flusher->lock);
	while (!flusher->wanted && !flusher->stop)
		(void)pthread_cond_wait(&flusher->work, &flusher->lock);
	flusher->wanted = false;
	(void)pthread_mutex_unlock(&flusher->lock);
}

/* Lets an interval pass; returns early to stop. */
static void wait_out_interval(struct flusher *flusher, uint32_t interval_ms)
{
	int64_t until = thread_now_ms() + interval_ms;
	int64_t left;

	(void)pthread_mutex_lock(&flusher->lock);
	while (!flusher->stop && (left = until - thread_now_ms()) > 0)
		thread_wait_ms(&flusher->work, &flusher->lock, left);
	(void)pthread_mutex_unlock(&flusher->lock);
}

static void *flusher_main(void *arg)
{
	struct flusher *flusher = arg;
	const struct store_config *config = &flusher->store->config;

	do {
		wait_for_work(flusher);
		if (config->sync == STORE_SYNC_INTERVAL)
			wait_out_interval(flusher, config->sync_interval_ms);
		(void)pthread_mutex_lock(&flusher->round);
		run_round(flusher);
		(void)pthread_mutex_unlock(&flusher->round);
	} while (!stopping(flusher));
	return NULL;
}

int flusher_start(struct flusher *flusher, struct store *store)
{
	int rc;

	memset(flusher, 0, sizeof(*flusher));
	flusher->store = store;
	rc = thread_cond_init(&flusher->work);
	if (rc != 0)
		return rc;
	(void)pthread_mutex_init(&flusher->round, NULL);
	(void)pthread_mutex_init(&flusher->lock, NULL);
	rc = thread_start(&flusher->thread, "flusher", flusher_main, flusher);
	if (rc != 0) {
		(void)pthread_cond_destroy(&flusher->work);
		(void)pthread_mutex_destroy(&flusher->round);
		(void)pthread_mutex_destroy(&flusher->lock);
	}
	return rc;
}

void flusher_stop(struct flusher *flusher)
{
	(void)pthread_mutex_lock(&flusher->lock);
	flusher->stop = true;
	(void)pthread_cond_broadcast(&flusher->work);
	(void)pthread_mutex_unlock(&flusher->lock);
	(void)pthread_join(flusher->thread, NULL);
	(void)pthread_cond_destroy(&flusher->work);
	(void)pthread_mutex_destroy(&flusher->round);
	(void)pthread_mutex_destroy(&flusher->lock);
}
