/*
 * apply_lease.c - gets that change the item, and the marks they go by.
 *
 * When many ask for a value that has to be computed anew, one is to do it. An
 * invalidation marks the item stale; the next lease of it gives the asker the
 * right and marks the item won, so that the others know. A value stored anew
 * ends both. A mark of won counts only until the server ends (record.h).
 */
#include <errno.h>
#include <stdlib.h>

#include "storage/apply.h"

/* What the caller may write behind a value that it was given. */
#define TAIL_ROOM 2

/* Makes the memory of the answer; the record goes to *ret_record. */
static int make_room(struct store_op *op, size_t record_bytes,
		     char **ret_record)
{
	char *memory = malloc(op->head_room + record_bytes + TAIL_ROOM);

	if (memory == NULL)
		return ENOMEM;
	op->found_memory = memory;
	*ret_record = memory + op->head_room;
	return 0;
}

/* Copies the item out for the answer. */
static int show_found(struct apply *apply, struct store_op *op,
		      const struct old *old)
{
	const struct record *record = &old->peek.record;
	struct store_item *found = &op->found;
	char *bytes;
	int error = make_room(op, old->peek.record_bytes, &bytes);

	if (error == 0)
		error = apply_read_old(apply, old, (unsigned char *)bytes);
	if (error != 0)
		return error;
	found->value = bytes + record->head_bytes;
	found->value_bytes = old->peek.record_bytes - record->head_bytes;
	record_show(record, apply->state.start, found);
	return 0;
}

int apply_get_and_touch(struct apply *apply, struct store_op *op,
			struct old *old)
{
	int error = show_found(apply, op, old);

	op->found.expiry = op->expiry;
	return error != 0 ? error : apply_touch(apply, op, old);
}

/* It was not won before: the mark is this asker's. */
static int lease_new(struct apply *apply, struct store_op *op, struct old *old)
{
	struct record record = {.expiry = op->create_expiry,
				.key_base64 = op->key_base64};
	struct store_item *found = &op->found;
	char empty[STORE_RECORD_HEAD_MAX];
	int error = make_room(op, 0, &found->value);

	record_set_won(&record, apply->state.start);
	if (error == 0)
		error = apply_make(apply, op, old, &record,
				   empty + sizeof(empty), 0);
	if (error != 0)
		return error;
	record_show(&record, apply->state.start, found);
	found->won = false;
	found->win = op->made;
	return 0;
}

static int lease_missing(struct apply *apply, struct store_op *op,
			 struct old *old)
{
	if (op->create)
		return lease_new(apply, op, old);
	op->status = STORE_NOT_FOUND;
	return 0;
}

/* True if the value is to be computed anew, and nobody is at it. */
static bool wins(const struct apply *apply, const struct store_op *op,
		 const struct record *record)
{
	int64_t expiry =
		op->touch && op->recache_touched ? op->expiry : record->expiry;

	if (record_won(record, apply->state.start))
		return false;
	return record->stale ||
	       (op->recache_seconds > 0 && expiry != 0 &&
		expiry - apply->now_seconds < op->recache_seconds);
}

int apply_lease(struct apply *apply, struct store_op *op, struct old *old)
{
	const struct record *record = &old->peek.record;
	struct record leased = *record;
	bool win;
	int error;

	if (!old->live)
		return lease_missing(apply, op, old);
	error = show_found(apply, op, old);
	if (error != 0)
		return error;
	op->new_cas = record->cas;
	win = wins(apply, op, record);
	if (win)
		record_set_won(&leased, apply->state.start);
	if (op->touch)
		leased.expiry = op->expiry;
	if (!win && leased.expiry == record->expiry)
		return 0;
	error = apply_rewrite(apply, op, old, &leased, true);
	op->found.win = win && op->status == STORE_OK;
	/* No room for the mark: it is still a get, which nobody wins. */
	if (op->status == STORE_NO_SPACE && !op->touch)
		op->status = STORE_OK;
	return error;
}

int apply_invalidate(struct apply *apply, struct store_op *op, struct old *old)
{
	struct record record = old->peek.record;
	uint64_t next_stamp = apply->state.next_stamp;
	int error;

	op->new_cas = record.cas;
	if (op->drop_value) {
		/* An empty item in the place of the other: not its marks. */
		record.flags = 0;
		record.expiry = 0;
		record.stale = false;
		record.won = false;
	}
	if (op->mark_stale) {
		record.stale = true;
		record.won = false;
	}
	if (op->touch)
		record.expiry = op->expiry;
	if (op->mark_stale || !op->drop_value || op->assign != 0)
		apply_take_stamp(apply, op, old, &record);
	error = apply_rewrite(apply, op, old, &record, !op->drop_value);
	if (op->status == STORE_NO_SPACE)
		apply->state.next_stamp = next_stamp;
	return error;
}
