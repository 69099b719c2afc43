/*
 * apply_store.c - what changes the database, and the exact counts of it.
 */

#include "storage/apply.h"
#include "storage/dbt.h"
#include "storage/inplace.h"

/*
 * Given ids below this move the counter behind them. So it cannot be used up,
 * and what it counts up to fits into clients' signed numbers.
 */
#define GIVEN_ID_MOVES_MAX (UINT64_C(1) << 62)
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

void apply_take_stamp(struct apply *apply, struct store_op *op,
		      const struct old *old, struct record *record)
{
	struct state *state = &apply->state;

	/* What moves the counter is the item's place in the order, too. */
	if (op->assign >= state->next_stamp && op->assign < GIVEN_ID_MOVES_MAX)
		state->next_stamp = op->assign;
	/* A given id that has not moved it: never give it again. */
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

	if (old->guessed)
		return DB_KEYEXIST;
	if (!old->there)
		return 0;
	if (apply->space == SPACE_EXHAUSTED) {
		op->status = STORE_NO_SPACE;
		return 0;
	}
	change_note(apply->changes, op->hash, apply->position);
	cache_drop(apply->cache, op->hash);
	cursor_in_place(apply->cursor, false);
	error = apply->cursor->del(apply->cursor, 0);
	if (error == 0)
		count_out(apply, op, old);
	return error;
}

/* The record as it is now, of so many bytes. NULL: it is not at hand. */
static void stage_in_cache(struct apply *apply, const struct store_op *op,
			   const void *record, size_t record_bytes)
{
	if (record == NULL)
		cache_drop(apply->cache, op->hash);
	else
		cache_stage(apply->cache, op->hash, op->key, op->key_bytes,
			    record, record_bytes, &apply->staged);
}

/* The put of a new key that has not been looked up. */
static int put_if_new(struct apply *apply, struct old *old, DBT *data)
{
	DB *db = apply->cursor->dbp;

	return db->put(db, apply->cursor->txn, &old->key, data, DB_NOOVERWRITE);
}

static int put_on_cursor(struct apply *apply, struct old *old, DBT *data,
			 size_t record_bytes)
{
	int error;

	if (old->there && record_bytes != old->peek.record_bytes)
		cursor_in_place(apply->cursor, false);
	error = apply->cursor->put(apply->cursor, &old->key, data,
				   old->there ? DB_CURRENT : DB_KEYFIRST);
	if (error == 0)
		cursor_in_place(apply->cursor, true);
	return error;
}

/* Puts `data`, by which `record` comes to be, of record_bytes. */
static int put_data(struct apply *apply, struct store_op *op, struct old *old,
		    DBT *data, const void *record, size_t record_bytes,
		    int64_t expiry)
{
	int error;

	change_note(apply->changes, op->hash, apply->position);
	cache_prefetch_record(apply->cache, op->hash);
	error = old->guessed ? put_if_new(apply, old, data)
			     : put_on_cursor(apply, old, data, record_bytes);
	if (error != 0)
		return error;
	if (old->there)
		count_out(apply, op, old);
	count_in(apply, op, record_bytes);
	note_expiry(apply, expiry);
	/* Nobody can see it in the database before the commit. */
	stage_in_cache(apply, op, record, record_bytes);
	return 0;
}

int apply_put(struct apply *apply, struct store_op *op, struct old *old,
	      struct record *record, char *value, size_t value_bytes)
{
	bool dead = record_expired(record, apply->now_seconds);
	size_t record_bytes;
	DBT data;

	if (apply->space == SPACE_EXHAUSTED ||
	    (apply->space == SPACE_LOW && !dead)) {
		op->status = STORE_NO_SPACE;
		return 0;
	}
	apply_take_stamp(apply, op, old, record);
	if (dead)
		return apply_delete(apply, op, old);
	record_bytes = record_head_bytes(record) + value_bytes;
	dbt_in(&data, record_encode(record, value), record_bytes);
	return put_data(apply, op, old, &data, data.data, record_bytes,
			record->expiry);
}

int apply_store(struct apply *apply, struct store_op *op, struct old *old,
		struct record *record, char *value, size_t value_bytes)
{
	int error = apply_put(apply, op, old, record, value, value_bytes);

	if (error == 0 && op->status == STORE_OK)
		apply->tally.stored++;
	return error;
}

int apply_make(struct apply *apply, struct store_op *op, struct old *old,
	       struct record *record, char *value, size_t value_bytes)
{
	int error = apply_store(apply, op, old, record, value, value_bytes);

	op->made = error == 0 && op->status == STORE_OK;
	return error;
}

/* The old record with a new head; NULL: it is not at hand as a whole. */
static const unsigned char *with_head(const struct peek *peek,
				      const struct record *record)
{
	if (peek->have < peek->record_bytes)
		return NULL;
	return record_encode(record, peek->bytes + peek->record.head_bytes);
}

int apply_rewrite(struct apply *apply, struct store_op *op, struct old *old,
		  const struct record *record, bool keep_value)
{
	const struct peek *peek = &old->peek;
	size_t record_bytes = record_head_bytes(record);
	char room[STORE_RECORD_HEAD_MAX];
	const unsigned char *head;
	DBT data;

	if (record_expired(record, apply->now_seconds))
		return apply_delete(apply, op, old);
	head = record_encode(record, room + sizeof(room));
	dbt_in(&data, head, record_bytes);
	if (keep_value) {
		data.flags = DB_DBT_PARTIAL;
		data.dlen = (uint32_t)peek->record.head_bytes;
		record_bytes += peek->record_bytes - peek->record.head_bytes;
	}
	/* A head that gets a field more is no growth. */
	if (apply->space == SPACE_EXHAUSTED ||
	    (apply->space == SPACE_LOW && record_bytes > SMALL_RECORD_BYTES)) {
		op->status = STORE_NO_SPACE;
		return 0;
	}
	return put_data(apply, op, old, &data,
			keep_value ? with_head(peek, record) : head,
			record_bytes, record->expiry);
}

int apply_touch(struct apply *apply, struct store_op *op, struct old *old)
{
	struct record touched = old->peek.record;

	op->new_cas = touched.cas;
	op->flags = touched.flags;
	touched.expiry = op->expiry;
	return apply_rewrite(apply, op, old, &touched, true);
}
