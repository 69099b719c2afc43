/*
 * writer.c - see writer.h.
 */
#include "storage/writer.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "storage/store_priv.h"

#define BATCH_OPS_MAX	128
#define BATCH_BYTES_MAX (256U << 10)
/* With the values that ops find, and rewrite or bring back. */
#define BATCH_FOUND_MAX (1U << 20)
/* Readers are the victims of deadlocks; a writer that is one is a rarity. */
#define CONFLICTS_MAX 1000
#define LOOK_AGAIN_MS 200
#define LINGER_US     50
/* More than any store gives out between two syncs. */
#define STAMPS_SKIPPED (UINT64_C(1) << 32)

static void begin(struct writer *writer)
{
	struct apply *apply = &writer->apply;

	apply->state = writer->state;
	apply_begin(apply);
	apply->now_seconds = store_now_seconds(writer->store);
	apply->position = ++writer->position;
	apply->state.loose = writer->loose;
	apply->state.start = writer->start;
	apply_due(apply);
}

/*
 * Applies ops, writes the state; the cursor is closed in any case. Readers
 * wait for the pages of a batch: if it finds much, *count is lowered.
 */
static int apply_ops(struct writer *writer, DB_TXN *txn, struct store_op *first,
		     size_t *count)
{
	struct apply *apply = &writer->apply;
	struct store_op *op = first;
	size_t done = 0;
	int error, close_error;

	error = apply_open_cursor(apply, writer->data, txn);
	if (error != 0)
		return error;
	for (; done < *count && error == 0 &&
	       apply->tally.value_bytes <= BATCH_FOUND_MAX;
	     done++, op = op->next) {
		error = apply_op(apply, op);
		apply->tally.value_bytes +=
			op->value_bytes + op->found.value_bytes;
	}
	close_error = apply->cursor->close(apply->cursor);
	apply->cursor = NULL;
	if (error == 0)
		error = close_error;
	if (error == 0 &&
	    memcmp(&apply->state, &writer->state, sizeof(apply->state)) != 0)
		error = meta_put_state(&writer->store->meta, txn,
				       &apply->state);
	if (error == 0)
		*count = done;
	return error;
}

static int64_t next_due(const struct state *state)
{
	int64_t due = INT64_MAX;

	if (state->flush_due != 0)
		due = state->flush_due;
	if (state->grace_until != 0 && state->grace_until < due)
		due = state->grace_until;
	return due;
}

static void publish(struct writer *writer)
{
	struct published *published = &writer->published;
	const struct state *state = &writer->state;

	atomic_store(&published->live_items, state->live_items);
	atomic_store(&published->live_bytes, state->live_bytes);
	atomic_store(&published->hidden_items, state->hidden_items);
	atomic_store(&published->reclaim_cutoff, state->reclaim_cutoff);
	atomic_store(&published->next_stamp, state->next_stamp);
	atomic_store(&published->next_due, next_due(state));
	if (atomic_load(&published->flush_cutoff) == state->flush_cutoff)
		return;
	atomic_store(&published->flush_position, writer->position);
	atomic_store(&published->flush_cutoff, state->flush_cutoff);
}

/* Lowers *soonest; the sweep may raise it at the same time. */
static void lower_soonest(struct published *published, int64_t soonest)
{
	int64_t seen = atomic_load(&published->soonest);

	while (soonest < seen && !atomic_compare_exchange_weak(
					 &published->soonest, &seen, soonest))
		;
}

static void add(_Atomic uint64_t *to, uint64_t n)
{
	if (n != 0)
		atomic_fetch_add_explicit(to, n, memory_order_relaxed);
}

static void adopt(struct writer *writer, struct store_op *first, size_t count)
{
	struct published *published = &writer->published;
	const struct apply *apply = &writer->apply;
	struct store_op *op = first;

	for (size_t i = 0; i < count; i++, op = op->next)
		if (op->status == STORE_OK)
			op->cas = op->new_cas;
	writer->state = apply->state;
	add(&published->stored, apply->tally.stored);
	add(&published->expired, apply->tally.expired);
	add(&published->flushed, apply->tally.flushed);
	add(&published->commits, 1);
	lower_soonest(published, apply->soonest);
	publish(writer);
	cache_publish(&writer->apply.staged);
}

static int commit(struct writer *writer, DB_TXN *txn)
{
	struct env *env = &writer->store->env;
	uint32_t flags = writer->store->config.sync == STORE_SYNC_WRITE
				 ? DB_TXN_WRITE_NOSYNC
				 : DB_TXN_NOSYNC;
	int error = txn->commit(txn, flags);

	/* A failed commit has aborted, if the reason is one of these. */
	if (error != 0 && !env_error_is_conflict(error) &&
	    !env_error_is_space(error))
		env_fail(env, error, "a commit");
	return error;
}

/* One try. Returns 0 (*count ops have an answer) or why nothing was done. */
static int try_once(struct writer *writer, struct store_op *first,
		    size_t *count)
{
	struct env *env = &writer->store->env;
	DB_TXN *txn;
	int error, abort_error;

	begin(writer);
	error = env->db_env->txn_begin(env->db_env, NULL, &txn, 0);
	if (error != 0)
		return error;
	error = apply_ops(writer, txn, first, count);
	if (error == 0) {
		error = commit(writer, txn);
		if (error == 0)
			adopt(writer, first, *count);
		return error;
	}
	abort_error = txn->abort(txn);
	if (abort_error != 0)
		env_fail(env, abort_error, "an abort");
	return error;
}

static int try_until_decided(struct writer *writer, struct store_op *first,
			     size_t *count)
{
	struct env *env = &writer->store->env;
	int error;

	for (int i = 0; i < CONFLICTS_MAX; i++) {
		error = try_once(writer, first, count);
		if (!env_error_is_conflict(error))
			break;
		(void)sched_yield();
	}
	if (error == DB_RUNRECOVERY)
		env_fail(env, error, "Berkeley DB");
	return error;
}

static void fail_op(struct writer *writer, struct store_op *op, int error)
{
	if (env_error_is_space(error))
		op->status = STORE_NO_SPACE;
	else if (error == ENOMEM)
		op->status = STORE_NO_MEMORY;
	else
		op->status = STORE_FAILED;
	if (op->status != STORE_NO_SPACE && !env_failed(&writer->store->env))
		env_complain(&writer->store->env, "a change failed: %s",
			     db_strerror(error));
}

/* What is written twice, to the log and to the data, if all goes well. */
static uint64_t needed_bytes(const struct store_op *first, size_t count)
{
	const struct store_op *op = first;
	uint64_t bytes = 0;

	for (size_t i = 0; i < count; i++, op = op->next)
		bytes += op->value_bytes;
	return 2 * bytes;
}

static enum space_level look_for_space(struct writer *writer, uint64_t needed)
{
	struct store *store = writer->store;
	const struct space_use use = {
		.data = writer->data,
		.item_bytes =
			writer->state.live_bytes + writer->state.hidden_bytes,
		.needed = needed,
	};
	enum space_level level = space_check(&store->space, &use);

	/* Old log, and what is to be new, can be had at once. */
	if (level != SPACE_PLENTY) {
		(void)spare_give_up(&store->spare);
		maint_make_room(&store->maint);
		level = space_check(&store->space, &use);
	}
	space_say(&store->space, level);
	atomic_store(&writer->published.space, (int)level);
	return level;
}

/* Returns how many of the ops were decided, all or those in front. */
static size_t run_batch(struct writer *writer, struct store_op *first,
			size_t count)
{
	struct store *store = writer->store;
	struct store_op *op = first;
	size_t decided = count, one = 1;
	int error;

	writer->apply.space =
		look_for_space(writer, needed_bytes(first, count));
	error = try_until_decided(writer, first, &decided);
	if (env_error_is_space(error) && space_give_up_ballast(&store->space))
		(void)env_flush_log(&store->env); /* empties the buffer */
	/*
	 * After a failed sync nothing may be tried again: later ops would get
	 * into the log without those that failed, and nobody would be told.
	 */
	if (error == 0 || !env_synced(&store->env))
		return decided;
	for (size_t i = 0; i < count; i++, op = op->next) {
		error = try_until_decided(writer, op, &one);
		if (!env_synced(&store->env))
			break;
		if (error != 0)
			fail_op(writer, op, error);
	}
	return count;
}

/* Cuts a batch off the queue. Called with the lock held. */
static struct store_op *take_batch(struct writer *writer, size_t *ret_count)
{
	struct store_op *first = writer->first;
	struct store_op *last = NULL;
	size_t count = 0, bytes = 0;

	for (struct store_op *op = first; op != NULL; op = op->next) {
		bytes += op->value_bytes;
		if (count == BATCH_OPS_MAX ||
		    (count > 0 && bytes > BATCH_BYTES_MAX))
			break;
		count++;
		last = op;
	}
	if (last != NULL) {
		writer->first = last->next;
		last->next = NULL;
	}
	if (writer->first == NULL)
		writer->last = NULL;
	atomic_fetch_sub(&writer->queued, count);
	*ret_count = count;
	return first;
}

/* Leaves the first ops of a batch and puts the others back. */
static void put_back(struct writer *writer, struct store_op *first,
		     size_t decided, size_t count)
{
	struct store_op *last = first, *rest_last;

	for (size_t i = 1; i < decided; i++)
		last = last->next;
	for (rest_last = last->next; rest_last->next != NULL;)
		rest_last = rest_last->next;
	(void)pthread_mutex_lock(&writer->lock);
	rest_last->next = writer->first;
	if (writer->first == NULL)
		writer->last = rest_last;
	writer->first = last->next;
	last->next = NULL;
	atomic_fetch_add(&writer->queued, count - decided);
	(void)pthread_mutex_unlock(&writer->lock);
}

/* Called with the lock held, which is released meanwhile. */
static void run_errand(struct writer *writer)
{
	struct writer_errand *errand = writer->errand;

	writer->errand = NULL;
	(void)pthread_mutex_unlock(&writer->lock);
	errand->run(errand->arg);
	(void)pthread_mutex_lock(&writer->lock);
	errand->done = true;
	(void)pthread_cond_broadcast(&writer->idle);
}

/*
 * Waking a thread takes longer than most of the gaps between two batches that
 * many clients make.
 */
static void linger(struct writer *writer, size_t last_count)
{
	int64_t until;

	if (last_count <= 1)
		return;
	until = thread_now_us() + LINGER_US;
	while (atomic_load(&writer->queued) == 0 && thread_now_us() < until)
		(void)sched_yield();
}

/* Returns false when it is time to end. */
static bool wait_for_batch(struct writer *writer, struct store_op **ret_first,
			   size_t *ret_count)
{
	bool failed, go_on;

	(void)pthread_mutex_lock(&writer->lock);
	writer->busy = false;
	(void)pthread_cond_broadcast(&writer->idle);
	for (;;) {
		failed = env_failed(&writer->store->env);
		if (writer->errand != NULL && !failed) {
			run_errand(writer);
			continue;
		}
		if (writer->stop && (failed || writer->first == NULL))
			break;
		if (!failed && (writer->first != NULL || writer->kicked))
			break;
		writer->waiting = true;
		(void)pthread_cond_wait(&writer->work, &writer->lock);
		writer->waiting = false;
	}
	go_on = !failed && (writer->first != NULL || writer->kicked);
	if (go_on) {
		*ret_first = take_batch(writer, ret_count);
		writer->kicked = false;
		writer->busy = true;
	}
	(void)pthread_mutex_unlock(&writer->lock);
	return go_on;
}

/*
 * The flusher syncs while further changes are applied: those that come
 * meanwhile share the next sync. A change that is alone is synced here, which
 * saves the way to another thread.
 */
static void flush(struct writer *writer, size_t count)
{
	struct flusher *flusher = &writer->store->flusher;

	if (count == 1 && atomic_load(&writer->queued) == 0)
		flusher_run(flusher);
	else
		flusher_want(flusher);
}

static void see_to_durability(struct writer *writer, size_t count)
{
	struct store *store = writer->store;

	switch (store->config.sync) {
	case STORE_SYNC_ALWAYS:
		flush(writer, count);
		break;
	case STORE_SYNC_INTERVAL:
		flusher_want(&store->flusher);
		break;
	case STORE_SYNC_WRITE:
		break;
	}
}

static void count_batch(struct published *published, size_t count)
{
	if (count == 0)
		return;
	add(&published->ops, count);
	add(&published->batches, 1);
	atomic_store(&published->batch_last, count);
	if (count > atomic_load(&published->batch_max))
		atomic_store(&published->batch_max, count);
}

static void *writer_main(void *arg)
{
	struct writer *writer = arg;
	struct store *store = writer->store;
	struct store_op *first;
	size_t count, decided;

	while (wait_for_batch(writer, &first, &count)) {
		decided = run_batch(writer, first, count);
		apply_shrink(&writer->apply);
		if (!env_synced(&store->env))
			continue;
		if (decided < count)
			put_back(writer, first, decided, count);
		count_batch(&writer->published, decided);
		clients_applied(&store->clients, first, writer->position,
				store->config.sync != STORE_SYNC_ALWAYS);
		see_to_durability(writer, decided);
		spare_look(&store->spare, atomic_load(&store->flusher.syncs));
		linger(writer, decided);
	}
	return NULL;
}

void writer_push(struct writer *writer, struct store_op *first,
		 struct store_op *last, size_t count)
{
	bool waiting;

	(void)pthread_mutex_lock(&writer->lock);
	atomic_fetch_add(&writer->queued, count);
	if (writer->last != NULL)
		writer->last->next = first;
	else
		writer->first = first;
	writer->last = last;
	waiting = writer->waiting;
	(void)pthread_mutex_unlock(&writer->lock);
	/* Not before: it would wake only to wait for the lock. */
	if (waiting)
		(void)pthread_cond_signal(&writer->work);
}

bool writer_run(struct writer *writer, void (*run)(void *arg), void *arg)
{
	struct writer_errand errand = {.run = run, .arg = arg};

	(void)pthread_mutex_lock(&writer->lock);
	writer->errand = &errand;
	(void)pthread_cond_signal(&writer->work);
	/* Once it was taken it will be done, else it may never be. */
	while (!errand.done &&
	       !(writer->errand == &errand && env_failed(&writer->store->env)))
		thread_wait_ms(&writer->idle, &writer->lock, LOOK_AGAIN_MS);
	writer->errand = NULL;
	(void)pthread_mutex_unlock(&writer->lock);
	return errand.done;
}

void writer_kick(struct writer *writer)
{
	(void)pthread_mutex_lock(&writer->lock);
	writer->kicked = true;
	(void)pthread_cond_signal(&writer->work);
	(void)pthread_mutex_unlock(&writer->lock);
}

void writer_forget(struct writer *writer, const struct store_client *client)
{
	struct store_op **link = &writer->first;

	(void)pthread_mutex_lock(&writer->lock);
	while (writer->busy)
		(void)pthread_cond_wait(&writer->idle, &writer->lock);
	writer->last = NULL;
	while (*link != NULL) {
		if ((*link)->client == client) {
			*link = (*link)->next;
			atomic_fetch_sub(&writer->queued, 1);
			continue;
		}
		writer->last = *link;
		link = &(*link)->next;
	}
	(void)pthread_mutex_unlock(&writer->lock);
}

/* Commits the state as it is now, and syncs it. 0, -ENOSPC or -EIO. */
static int save_state(struct writer *writer)
{
	struct store *store = writer->store;
	int error = try_until_decided(writer, NULL, &(size_t){0});
	int rc;

	if (error != 0)
		return env_error_is_space(error) ? -ENOSPC : -EIO;
	rc = env_flush_log(&store->env);
	if (rc == -ENOSPC && space_give_up_ballast(&store->space))
		rc = env_flush_log(&store->env);
	if (rc != 0)
		return rc;
	/* Nobody is there to be told, but readers may look at it later. */
	atomic_store(&store->clients.applied, writer->position);
	atomic_store(&store->clients.durable, writer->position);
	return 0;
}

/* What the last run left to be done, before anything is served. */
static int start_state(struct writer *writer)
{
	struct store *store = writer->store;
	struct state *state = &writer->state;

	writer->loose = store->config.sync != STORE_SYNC_ALWAYS;
	writer->start = state->start + 1;
	if (state->loose != 0)
		state->next_stamp += STAMPS_SKIPPED;
	return save_state(writer);
}

int writer_settle(struct writer *writer)
{
	if (writer->state.loose == 0)
		return 0;
	writer->loose = 0;
	return save_state(writer) == 0 ? 0 : -EIO;
}

int writer_init(struct writer *writer, struct store *store, DB *data,
		const struct state *state)
{
	int rc;

	memset(writer, 0, sizeof(*writer));
	writer->store = store;
	writer->state = *state;
	rc = apply_init(&writer->apply, &store->env, store->changes,
			&store->cache);
	if (rc != 0)
		return rc;
	rc = thread_cond_init(&writer->idle);
	if (rc != 0) {
		apply_done(&writer->apply);
		return rc;
	}
	writer->data = data;
	(void)pthread_mutex_init(&writer->lock, NULL);
	(void)pthread_cond_init(&writer->work, NULL);
	/* Unknown until the first sweep has looked. */
	atomic_init(&writer->published.soonest, 0);
	publish(writer);
	rc = start_state(writer);
	if (rc != 0) {
		writer->data = NULL; /* the caller's again */
		writer_done(writer);
	}
	return rc;
}

void writer_done(struct writer *writer)
{
	/* Nothing to sync: a checkpoint does it, or the log has it. */
	if (writer->data != NULL)
		(void)writer->data->close(writer->data, DB_NOSYNC);
	writer->data = NULL;
	apply_done(&writer->apply);
	(void)pthread_mutex_destroy(&writer->lock);
	(void)pthread_cond_destroy(&writer->work);
	(void)pthread_cond_destroy(&writer->idle);
}

int writer_start(struct writer *writer)
{
	return thread_start(&writer->thread, "writer", writer_main, writer);
}

void writer_stop(struct writer *writer)
{
	(void)pthread_mutex_lock(&writer->lock);
	writer->stop = true;
	(void)pthread_cond_broadcast(&writer->work);
	(void)pthread_mutex_unlock(&writer->lock);
	(void)pthread_join(writer->thread, NULL);
}
