/*
 * apply.c - looks the key up, decides, dispatches; see apply.h.
 */
#include "storage/apply.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "storage/dbt.h"

#define PEEK_BYTES   8192
#define SCRATCH_KEPT (1U << 20)

int apply_init(struct apply *apply, struct env *env,
	       struct change_table *changes)
{
	memset(apply, 0, sizeof(*apply));
	apply->env = env;
	apply->changes = changes;
	apply->value_max_bytes = env->config->value_max_bytes;
	apply->flush_grace_seconds = env->config->flush_grace_seconds;
	apply->peek_room = malloc(PEEK_BYTES);
	return apply->peek_room != NULL ? 0 : -ENOMEM;
}

void apply_done(struct apply *apply)
{
	free(apply->peek_room);
	free(apply->scratch);
	apply->peek_room = NULL;
	apply->scratch = NULL;
}

void apply_shrink(struct apply *apply)
{
	if (apply->scratch_bytes <= SCRATCH_KEPT)
		return;
	free(apply->scratch);
	apply->scratch = NULL;
	apply->scratch_bytes = 0;
}

static int look_up(struct apply *apply, struct store_op *op, struct old *old)
{
	struct peek *peek = &old->peek;
	int error;

	memset(old, 0, sizeof(*old));
	dbt_in(&old->key, op->key, op->key_bytes);
	peek->bytes = apply->peek_room;
	peek->room = PEEK_BYTES;
	error = peek_get(apply->cursor, &old->key, DB_SET | DB_RMW, peek);
	if (error == DB_NOTFOUND)
		return 0;
	if (error != 0)
		return error;
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

/* Copies the item out for the answer, the value behind head_room bytes. */
static int show_found(struct apply *apply, struct store_op *op,
		      const struct old *old)
{
	const struct record *record = &old->peek.record;
	struct store_item *found = &op->found;
	char *memory = malloc(op->head_room + old->peek.record_bytes);
	int error;

	if (memory == NULL)
		return ENOMEM;
	op->found_memory = memory;
	error = apply_read_old(apply, old,
			       (unsigned char *)memory + op->head_room);
	if (error != 0)
		return error;
	found->value = memory + op->head_room + record->head_bytes;
	found->value_bytes = old->peek.record_bytes - record->head_bytes;
	found->flags = record->flags;
	found->expiry = op->expiry;
	found->cas = record->cas;
	return 0;
}

static int get_and_touch(struct apply *apply, struct store_op *op,
			 struct old *old)
{
	int error = show_found(apply, op, old);

	return error != 0 ? error : apply_touch(apply, op, old);
}

static int answer(struct store_op *op, enum store_status status)
{
	op->status = status;
	return 0;
}

static int store_op_value(struct apply *apply, struct store_op *op,
			  struct old *old)
{
	int error = apply_put(apply, op, old, op->flags, op->expiry, op->value,
			      op->value_bytes);

	if (error == 0 && op->status == STORE_OK)
		apply->tally.stored++;
	return error;
}

static int dispatch(struct apply *apply, struct store_op *op, struct old *old)
{
	switch (op->kind) {
	case STORE_SET:
		return store_op_value(apply, op, old);
	case STORE_ADD:
		return old->live ? answer(op, STORE_NOT_STORED)
				 : store_op_value(apply, op, old);
	case STORE_REPLACE:
		return old->live ? store_op_value(apply, op, old)
				 : answer(op, STORE_NOT_STORED);
	case STORE_APPEND:
	case STORE_PREPEND:
		return old->live ? apply_join(apply, op, old)
				 : answer(op, STORE_NOT_STORED);
	case STORE_INCR:
	case STORE_DECR:
		return old->live ? apply_number(apply, op, old)
				 : answer(op, STORE_NOT_FOUND);
	case STORE_TOUCH:
		return old->live ? apply_touch(apply, op, old)
				 : answer(op, STORE_NOT_FOUND);
	case STORE_GET_AND_TOUCH:
		return old->live ? get_and_touch(apply, op, old)
				 : answer(op, STORE_NOT_FOUND);
	case STORE_DELETE:
		return old->live ? apply_delete(apply, op, old)
				 : answer(op, STORE_NOT_FOUND);
	case STORE_RECLAIM:
		return apply_reclaim(apply, op, old);
	case STORE_FLUSH:
		return apply_flush(apply, op);
	}
	return EINVAL;
}

static void reset_answer(struct store_op *op)
{
	free(op->found_memory);
	op->found_memory = NULL;
	memset(&op->found, 0, sizeof(op->found));
	op->status = STORE_OK;
	op->number = 0;
	op->new_cas = op->cas;
}

int apply_op(struct apply *apply, struct store_op *op)
{
	struct old old;
	int error;

	reset_answer(op);
	if (op->kind == STORE_FLUSH)
		return apply_flush(apply, op);
	error = look_up(apply, op, &old);
	if (error == -EBADMSG) {
		env_complain(apply->env,
			     "a record has a head that cannot be read; it is "
			     "left as it is");
		return answer(op, STORE_FAILED);
	}
	if (error != 0)
		return error;
	if (op->compare && !old.live)
		return answer(op, STORE_NOT_FOUND);
	if (op->compare && old.peek.record.cas != op->cas)
		return answer(op, STORE_EXISTS);
	return dispatch(apply, op, &old);
}
