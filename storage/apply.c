/*
 * apply.c - looks the key up, decides, dispatches; see apply.h.
 */
#include "storage/apply.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "storage/dbt.h"
#include "storage/inplace.h"

#define PEEK_BYTES   8192
#define SCRATCH_KEPT (1U << 20)
/* Behind so many in a row the next one is more likely new than not. */
#define NEW_KEYS_MIN 8

int apply_init(struct apply *apply, struct env *env,
	       struct change_table *changes, struct cache *cache)
{
	memset(apply, 0, sizeof(*apply));
	apply->env = env;
	apply->changes = changes;
	apply->cache = cache;
	apply->value_max_bytes = env->config->value_max_bytes;
	apply->flush_grace_seconds = env->config->flush_grace_seconds;
	apply->peek_room = malloc(STORE_RECORD_HEAD_MAX + PEEK_BYTES);
	return apply->peek_room != NULL ? 0 : -ENOMEM;
}

void apply_done(struct apply *apply)
{
	free(apply->peek_room);
	free(apply->scratch);
	apply->peek_room = NULL;
	apply->scratch = NULL;
}

void apply_begin(struct apply *apply)
{
	memset(&apply->tally, 0, sizeof(apply->tally));
	apply->staged.count = 0;
	apply->soonest = INT64_MAX;
}

void apply_shrink(struct apply *apply)
{
	if (apply->scratch_bytes <= SCRATCH_KEPT)
		return;
	free(apply->scratch);
	apply->scratch = NULL;
	apply->scratch_bytes = 0;
}

int apply_open_cursor(struct apply *apply, DB *data, DB_TXN *txn)
{
	int error = data->cursor(data, txn, &apply->cursor, 0);

	if (error == 0)
		cursor_in_place(apply->cursor, true);
	return error;
}

/* Is a store that asks no more of its key than whether it is there. */
static bool is_plain_store(const struct store_op *op)
{
	return (op->kind == STORE_SET || op->kind == STORE_ADD) && !op->compare;
}

static void count_new_keys(struct apply *apply, const struct old *old)
{
	if (old->there)
		apply->new_keys = 0;
	else if (apply->new_keys < NEW_KEYS_MIN)
		apply->new_keys++;
}

static int look_up(struct apply *apply, struct store_op *op, struct old *old)
{
	struct peek *peek = &old->peek;
	int error;

	cache_prefetch_index(apply->cache, op->hash);
	memset(old, 0, sizeof(*old));
	dbt_key(&old->key, op->key, op->key_bytes);
	peek->bytes = apply->peek_room + STORE_RECORD_HEAD_MAX;
	peek->room = PEEK_BYTES;
	error = peek_get(apply->cursor, &old->key, DB_SET | DB_RMW, peek);
	if (error == DB_NOTFOUND)
		return 0;
	if (error != 0)
		return error;
	/* It is on a record, which no delete has left behind. */
	cursor_in_place(apply->cursor, true);
	old->there = true;
	old->live = !record_flushed(&peek->record, apply->state.flush_cutoff) &&
		    !record_expired(&peek->record, apply->now_seconds);
	return 0;
}

int apply_read_old(struct apply *apply, const struct old *old,
		   unsigned char *to)
{
	const struct peek *peek = &old->peek;
	DBT key, data;

	if (peek->have == peek->record_bytes) {
		memcpy(to, peek->bytes, peek->have);
		return 0;
	}
	dbt_out(&key, NULL, 0);
	key.flags |= DB_DBT_PARTIAL; /* it is known */
	dbt_out(&data, to, peek->record_bytes);
	return apply->cursor->get(apply->cursor, &key, &data, DB_CURRENT);
}

static int answer(struct store_op *op, enum store_status status)
{
	op->status = status;
	return 0;
}

/* True if `compare` has let it pass as accept_older says. */
static bool is_older(const struct store_op *op, const struct old *old)
{
	return op->compare && old->live && op->cas < old->peek.record.cas;
}

static int store_value(struct apply *apply, struct store_op *op,
		       struct old *old)
{
	struct record record = {.flags = op->flags,
				.expiry = op->expiry,
				.key_base64 = op->key_base64};

	if (is_older(op, old)) {
		record.expiry = old->peek.record.expiry;
		record.stale = true;
		record.won = old->peek.record.won;
		record.won_start = old->peek.record.won_start;
	}
	return apply_store(apply, op, old, &record, op->value, op->value_bytes);
}

/* The value of an append or prepend as the first of its key. */
static int store_first(struct apply *apply, struct store_op *op,
		       struct old *old)
{
	struct record record = {.flags = op->flags,
				.expiry = op->create_expiry,
				.key_base64 = op->key_base64};

	op->number = op->value_bytes;
	return apply_make(apply, op, old, &record, op->value, op->value_bytes);
}

static int change_live(struct apply *apply, struct store_op *op,
		       struct old *old)
{
	switch (op->kind) {
	case STORE_SET:
	case STORE_REPLACE:
		return store_value(apply, op, old);
	case STORE_ADD:
		return answer(op, STORE_NOT_STORED);
	case STORE_APPEND:
	case STORE_PREPEND:
		return apply_join(apply, op, old);
	case STORE_INCR:
	case STORE_DECR:
		return apply_number(apply, op, old);
	case STORE_TOUCH:
		return apply_touch(apply, op, old);
	case STORE_GET_AND_TOUCH:
		return apply_get_and_touch(apply, op, old);
	case STORE_LEASE:
		return apply_lease(apply, op, old);
	case STORE_DELETE:
		return apply_delete(apply, op, old);
	case STORE_INVALIDATE:
		return apply_invalidate(apply, op, old);
	case STORE_RECLAIM:
		return apply_reclaim(apply, op, old);
	case STORE_DELETE_OLDER:
		return old->peek.record.stamp < op->cas
			       ? apply_delete(apply, op, old)
			       : answer(op, STORE_NOT_FOUND);
	case STORE_FLUSH:
		return apply_flush(apply, op);
	}
	return EINVAL;
}

/* There is nothing under the key, or something dead. */
static int change_missing(struct apply *apply, struct store_op *op,
			  struct old *old)
{
	switch (op->kind) {
	case STORE_SET:
	case STORE_ADD:
		return op->compare ? answer(op, STORE_NOT_FOUND)
				   : store_value(apply, op, old);
	case STORE_REPLACE:
		return answer(op,
			      op->compare ? STORE_NOT_FOUND : STORE_NOT_STORED);
	case STORE_APPEND:
	case STORE_PREPEND:
		return op->create ? store_first(apply, op, old)
				  : answer(op, STORE_NOT_STORED);
	case STORE_INCR:
	case STORE_DECR:
		return op->create ? apply_first_number(apply, op, old)
				  : answer(op, STORE_NOT_FOUND);
	case STORE_LEASE:
		return apply_lease(apply, op, old);
	case STORE_TOUCH:
	case STORE_GET_AND_TOUCH:
	case STORE_DELETE:
	case STORE_INVALIDATE:
	case STORE_DELETE_OLDER:
		return answer(op, STORE_NOT_FOUND);
	case STORE_RECLAIM:
		return apply_reclaim(apply, op, old);
	case STORE_FLUSH:
		return apply_flush(apply, op);
	}
	return EINVAL;
}

static bool compare_passes(const struct store_op *op, const struct old *old)
{
	bool accepts_older = op->accept_older &&
			     (op->kind == STORE_SET || op->kind == STORE_ADD ||
			      op->kind == STORE_REPLACE);

	return op->cas == old->peek.record.cas ||
	       (accepts_older && is_older(op, old));
}

static void reset_answer(struct store_op *op)
{
	free(op->found_memory);
	op->found_memory = NULL;
	memset(&op->found, 0, sizeof(op->found));
	op->status = STORE_OK;
	op->number = 0;
	op->was_live = false;
	op->made = false;
	op->new_cas = op->cas;
}

/* Says what there was, whatever becomes of it. */
static void describe_old(const struct apply *apply, struct store_op *op,
			 const struct old *old)
{
	const struct peek *peek = &old->peek;

	op->was_live = old->live;
	if (old->live) {
		op->found.value_bytes =
			peek->record_bytes - peek->record.head_bytes;
	} else if (old->there) {
		op->found.flushed = record_flushed(&peek->record,
						   apply->state.flush_cutoff);
		op->found.expired = !op->found.flushed;
	}
}

/* Not when space is low: a refusal says what there was. */
static bool may_guess(const struct apply *apply, const struct store_op *op)
{
	return is_plain_store(op) && apply->new_keys == NEW_KEYS_MIN &&
	       apply->space == SPACE_PLENTY;
}

/*
 * Where one new key follows another, the look-up and the put would search the
 * tree for the same place. So a key is taken to be new, and the put alone
 * finds out. DB_KEYEXIST: it is not new, and nothing has happened.
 */
static int store_guessed(struct apply *apply, struct store_op *op)
{
	struct old old = {.guessed = true};
	uint64_t next_stamp = apply->state.next_stamp;
	int error;

	cache_prefetch_index(apply->cache, op->hash);
	dbt_key(&old.key, op->key, op->key_bytes);
	error = change_missing(apply, op, &old);
	if (error == DB_KEYEXIST) {
		apply->state.next_stamp = next_stamp;
		reset_answer(op);
	}
	return error;
}

int apply_op(struct apply *apply, struct store_op *op)
{
	struct old old;
	int error;

	reset_answer(op);
	if (op->kind == STORE_FLUSH)
		return apply_flush(apply, op);
	if (may_guess(apply, op)) {
		error = store_guessed(apply, op);
		if (error != DB_KEYEXIST)
			return error;
	}
	error = look_up(apply, op, &old);
	if (error == -EBADMSG) {
		env_complain(apply->env,
			     "a record has a head that cannot be read; it is "
			     "left as it is");
		return answer(op, STORE_FAILED);
	}
	if (error != 0)
		return error;
	if (is_plain_store(op))
		count_new_keys(apply, &old);
	describe_old(apply, op, &old);
	if (!old.live)
		return change_missing(apply, op, &old);
	if (op->compare && !compare_passes(op, &old))
		return answer(op, STORE_EXISTS);
	return change_live(apply, op, &old);
}
