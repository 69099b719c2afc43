/*
 * apply.h - does one op inside the transaction of its batch.
 *
 * An op either answers (op->status is set and 0 returned) or the transaction
 * cannot go on (an engine error is returned) and is aborted as a whole: then
 * nothing has happened, and the same ops may be applied again. So nothing of
 * an op that a second run needs is overwritten, and the state and the tally
 * are copies that the writer adopts when the commit has succeeded.
 *
 * apply.c        looks the key up, decides, dispatches
 * apply_store.c  what changes the database: put, touch, delete, and the counts
 * apply_value.c  values made of old ones: append, prepend, incr, decr
 * apply_lease.c  gets that change the item, marks, invalidations
 * apply_flush.c  the cut-off and the reclaiming of what it hides
 *
 * Threads: the writer.
 */
#ifndef STORAGE_APPLY_H
#define STORAGE_APPLY_H

#include <db.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "storage/cache.h"
#include "storage/change.h"
#include "storage/meta.h"
#include "storage/op.h"
#include "storage/peek.h"
#include "storage/space.h"

/* What is counted since the start; the writer adds it up after commits. */
struct tally {
	uint64_t value_bytes; /* that ops staged, and found */
	uint64_t stored, expired, flushed;
};

/* What ops are applied with. */
struct apply {
	struct env *env;
	struct change_table *changes;
	struct cache *cache;
	uint32_t value_max_bytes;
	uint32_t flush_grace_seconds;
	/* For the old record's first bytes, behind room for a longer head. */
	unsigned char *peek_room;
	unsigned char *scratch; /* for values made of old ones */
	size_t scratch_bytes;
	unsigned new_keys; /* in a row, of plain stores; see apply.c */
	/* of this transaction */
	DBC *cursor;
	uint64_t position; /* of its commit */
	struct state state;
	struct tally tally;
	struct cache_staged staged;
	int64_t now_seconds;
	int64_t soonest; /* the soonest expiry written, INT64_MAX: none */
	enum space_level space;
};

/* What lies under the key of an op. */
struct old {
	DBT key; /* the op's */
	bool there, live;
	bool guessed; /* not looked up: the key is taken to be new */
	struct peek peek;
};

/* Returns 0 or -ENOMEM. */
int apply_init(struct apply *apply, struct env *env,
	       struct change_table *changes, struct cache *cache);
void apply_done(struct apply *apply);

/* A new transaction has counted nothing, and staged nothing to the cache. */
void apply_begin(struct apply *apply);

/* Gives back scratch memory that a big value left behind. */
void apply_shrink(struct apply *apply);

/* Opens apply->cursor. 0 or an engine error. The caller closes it. */
int apply_open_cursor(struct apply *apply, DB *data, DB_TXN *txn);

/* See above. Only op->status and the answer's fields are written. */
int apply_op(struct apply *apply, struct store_op *op);

/* Gives the op its place in the order of stores, and the record its id. */
void apply_take_stamp(struct apply *apply, struct store_op *op,
		      const struct old *old, struct record *record);

/*
 * apply_put() to apply_make(), and apply_delete(): DB_KEYEXIST if `old` was
 * guessed and there is an item, or may be one that is to be deleted. Then the
 * database is as before, and the op can be applied again with what is there.
 *
 * Stores value_bytes at `value`, with STORE_RECORD_HEAD_MAX bytes free in
 * front of it, under the op's key; or deletes what is there if the record has
 * expired already. Sets the op's status and id, and those of the record, which
 * the caller has filled otherwise. apply_store: counts it as a store, too;
 * apply_make: and says that there was none.
 */
int apply_put(struct apply *apply, struct store_op *op, struct old *old,
	      struct record *record, char *value, size_t value_bytes);
int apply_store(struct apply *apply, struct store_op *op, struct old *old,
		struct record *record, char *value, size_t value_bytes);
int apply_make(struct apply *apply, struct store_op *op, struct old *old,
	       struct record *record, char *value, size_t value_bytes);

/*
 * Gives the old record a new head, as it stands in *record, and keeps or
 * drops its value; or deletes it if it has expired by that.
 */
int apply_rewrite(struct apply *apply, struct store_op *op, struct old *old,
		  const struct record *record, bool keep_value);
int apply_touch(struct apply *apply, struct store_op *op, struct old *old);
int apply_delete(struct apply *apply, struct store_op *op, struct old *old);

/* Reads the whole old record to `to`, which has its size of room. */
int apply_read_old(struct apply *apply, const struct old *old,
		   unsigned char *to);

int apply_join(struct apply *apply, struct store_op *op, struct old *old);
int apply_number(struct apply *apply, struct store_op *op, struct old *old);
/* Makes the number that is not there. */
int apply_first_number(struct apply *apply, struct store_op *op,
		       struct old *old);

/* Parses a counter; false: not one. `more`: the value goes on behind it. */
bool apply_parse_number(const char *text, size_t bytes, bool more,
			uint64_t *ret);

int apply_get_and_touch(struct apply *apply, struct store_op *op,
			struct old *old);
/* The old item may be missing. */
int apply_lease(struct apply *apply, struct store_op *op, struct old *old);
int apply_invalidate(struct apply *apply, struct store_op *op, struct old *old);

int apply_flush(struct apply *apply, struct store_op *op);
int apply_reclaim(struct apply *apply, struct store_op *op, struct old *old);

/* Fires a waiting flush and ends a grace, if now is the time. */
void apply_due(struct apply *apply);

#endif
