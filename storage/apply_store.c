/*
 * apply_store.c - what changes the database, and the exact counts of it.
 */
#include <errno.h>
#include <string.h>

#include "storage/apply.h"
#include "storage/dbt.h"

/* Where struct record's expiry lies in the bytes; record.c encodes it. */
#define EXPIRY_AT    8
#define EXPIRY_BYTES 8
/* A partial write of a bigger record is a write of all of it. */
#define SMALL_RECORD_BYTES 8192

static uint64_t counted_bytes(const struct store_op *op, size_t record_bytes)
{
	return op->key_bytes + record_bytes;
}

static void count_out(struct apply *apply, const struct store_op *op,
		      const struct old *old)
{
	struct state *state = &apply->state;
	uint64_t bytes = counted_bytes(op, old->peek.record_bytes);

	if (record_flushed(&old->peek.record, state->flush_cutoff)) {
		state->hidden_items--;
		state->hidden_bytes -= bytes;
	} else {
		state->live_items--;
		state->live_bytes -= bytes;
	}
}

static void count_in(struct apply *apply, const struct store_op *op,
		     size_t record_bytes)
{
	apply->state.live_items++;
	apply->state.live_bytes += counted_bytes(op, record_bytes);
}

static void note_expiry(struct apply *apply, int64_t expiry)
{
	if (expiry != 0 && expiry < apply->soonest)
		apply->soonest = expiry;
}

static void note_change(struct apply *apply, const struct store_op *op)
{
	change_note(apply->changes, op->key, op->key_bytes, apply->position);
}

/* Gives the op its place in the order of stores, and its id. */
static void take_stamp(struct apply *apply, struct store_op *op,
		       const struct old *old, struct record *record)
{
	struct state *state = &apply->state;

	/* A given id may lie ahead of the counter: never give it again. */
	if (op->assign == 0 && old->there &&
	    old->peek.record.cas == state->next_stamp)
		state->next_stamp++;
	record->stamp = state->next_stamp++;
	record->cas = op->assign != 0 ? op->assign : record->stamp;
	op->new_cas = record->cas;
}

int apply_delete(struct apply *apply, struct store_op *op, struct old *old)
{
	int error;

	if (!old->there)
		return 0;
	if (apply->space == SPACE_EXHAUSTED) {
		op->status = STORE_NO_SPACE;
		return 0;
	}
	note_change(apply, op);
	error = apply->cursor->del(apply->cursor, 0);
	if (error == 0)
		count_out(apply, op, old);
	return error;
}

static int put_record(struct apply *apply, struct store_op *op, struct old *old,
		      const struct record *record, char *value,
		      size_t value_bytes)
{
	unsigned char *bytes = record_encode(record, value);
	size_t record_bytes = record_head_bytes(record) + value_bytes;
	DBT data;
	int error;

	note_change(apply, op);
	dbt_in(&data, bytes, record_bytes);
	error = apply->cursor->put(apply->cursor, &old->key, &data,
				   old->there ? DB_CURRENT : DB_KEYFIRST);
	if (error != 0)
		return error;
	if (old->there)
		count_out(apply, op, old);
	count_in(apply, op, record_bytes);
	note_expiry(apply, record->expiry);
	return 0;
}

int apply_put(struct apply *apply, struct store_op *op, struct old *old,
	      uint32_t flags, int64_t expiry, char *value, size_t value_bytes)
{
	struct record record = {.flags = flags, .expiry = expiry};
	bool dead = record_expired(&record, apply->now_seconds);

	if (apply->space == SPACE_EXHAUSTED ||
	    (apply->space == SPACE_LOW && !dead)) {
		op->status = STORE_NO_SPACE;
		return 0;
	}
	take_stamp(apply, op, old, &record);
	if (dead)
		return apply_delete(apply, op, old);
	return put_record(apply, op, old, &record, value, value_bytes);
}

int apply_touch(struct apply *apply, struct store_op *op, struct old *old)
{
	struct record touched = old->peek.record;
	unsigned char expiry[EXPIRY_BYTES];
	DBT data;

	op->new_cas = touched.cas;
	touched.expiry = op->expiry;
	if (record_expired(&touched, apply->now_seconds))
		return apply_delete(apply, op, old);
	if (apply->space == SPACE_EXHAUSTED ||
	    (apply->space == SPACE_LOW &&
	     old->peek.record_bytes > SMALL_RECORD_BYTES)) {
		op->status = STORE_NO_SPACE;
		return 0;
	}
	record_put64(expiry, (uint64_t)op->expiry);
	dbt_in(&data, expiry, EXPIRY_BYTES);
	data.flags = DB_DBT_PARTIAL;
	data.doff = EXPIRY_AT;
	data.dlen = EXPIRY_BYTES;
	note_change(apply, op);
	note_expiry(apply, op->expiry);
	return apply->cursor->put(apply->cursor, &old->key, &data, DB_CURRENT);
}
