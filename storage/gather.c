/*
 * gather.c - see gather.h.
 */
#include "storage/gather.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "storage/buckets.h"
#include "storage/dbt.h"
#include "storage/env.h"
#include "storage/peek.h"
#include "storage/record.h"

/* A key, and the byte that makes the next one of it. */
#define KEY_ROOM (STORE_KEY_MAX + 1)
/* Above this mean size a record costs less by its head alone. */
#define BIG_RECORD_BYTES 4096
/* What one row is assumed to need of the buffer. */
#define ROW_BYTES 512

struct gather *gather_new(DB *db)
{
	struct gather *gather = malloc(sizeof(*gather));
	DBTYPE type;

	if (gather == NULL || db->get_type(db, &type) != 0) {
		free(gather);
		return NULL;
	}
	gather->db = db;
	gather->hash = type == DB_HASH;
	gather->buckets = 0;
	gather->heads_only = false;
	gather->count = 0;
	return gather;
}

/* How to get to the place, or to the first record. */
static uint32_t flag_to(const struct gather *gather,
			const struct store_cursor *place)
{
	if (place->key_bytes == 0)
		return DB_FIRST;
	return gather->hash ? DB_SET : DB_SET_RANGE;
}

/*
 * The key to go to. Behind a key that has been seen the next one possible is
 * the same with a zero byte more.
 */
static void key_to(const struct gather *gather, DBT *key, char *room,
		   const struct store_cursor *place)
{
	dbt_out(key, room, KEY_ROOM);
	memcpy(room, place->key, place->key_bytes);
	key->size = (uint32_t)place->key_bytes;
	if (!gather->hash && place->started)
		room[key->size++] = '\0';
}

/* In a hash the place itself comes again. */
static bool is_seen(const struct store_cursor *place, const void *key,
		    size_t key_bytes)
{
	return place->started && key_bytes == place->key_bytes &&
	       memcmp(key, place->key, key_bytes) == 0;
}

/*
 * True if the record at the place, seen again, was stored anew: then it may
 * lie elsewhere in its bucket.
 */
static bool is_renewed(const struct store_cursor *place, const void *bytes,
		       size_t have)
{
	struct record record;

	return place->cas != 0 && record_decode(bytes, have, &record) == 0 &&
	       record.cas != place->cas;
}

/*
 * Finds the records in the buffer as Berkeley DB has filled it. Returns 0, or
 * -ESTALE if the place is lost.
 */
static int find_rows(struct gather *gather, DBT *bulk,
		     const struct store_cursor *place, size_t max_rows)
{
	void *at, *key, *data;
	size_t key_bytes, data_bytes, bytes = 0;

	DB_MULTIPLE_INIT(at, bulk);
	while (gather->count < max_rows) {
		DB_MULTIPLE_KEY_NEXT(at, bulk, key, key_bytes, data,
				     data_bytes);
		if (at == NULL)
			break;
		if (is_seen(place, key, key_bytes)) {
			if (is_renewed(place, data, data_bytes))
				return -ESTALE;
			continue;
		}
		gather->rows[gather->count++] = (struct gather_row){
			.key = key,
			.key_bytes = key_bytes,
			.bytes = data,
			.have = data_bytes,
			.record_bytes = data_bytes,
		};
		bytes += data_bytes;
	}
	gather->heads_only = bytes > gather->count * BIG_RECORD_BYTES;
	return 0;
}

/* What it means that there is no record at the place. */
static int nothing_at(const struct gather *gather,
		      const struct store_cursor *place)
{
	return flag_to(gather, place) == DB_SET ? -ESTALE : DB_NOTFOUND;
}

/* How much of the buffer so many rows are worth. */
static size_t room_for(const struct gather *gather, size_t rows)
{
	uint32_t page_bytes = 0;
	size_t room = rows * ROW_BYTES;

	(void)gather->db->get_pagesize(gather->db, &page_bytes);
	if (room < page_bytes)
		room = page_bytes;
	room = (room + 1023) / 1024 * 1024;
	return room < GATHER_BYTES ? room : GATHER_BYTES;
}

/* DB_BUFFER_SMALL: the first record does not fit. */
static int read_many(struct gather *gather, DBC *cursor,
		     const struct store_cursor *place, size_t max_rows)
{
	size_t room = room_for(gather, max_rows);
	uint32_t flags = flag_to(gather, place) | DB_MULTIPLE_KEY;
	char key_room[KEY_ROOM];
	DBT key, bulk;
	int error;

	key_to(gather, &key, key_room, place);
	dbt_out(&bulk, gather->buffer, room);
	error = cursor->get(cursor, &key, &bulk, flags);
	if (error == DB_BUFFER_SMALL && room < GATHER_BYTES) {
		key_to(gather, &key, key_room, place);
		bulk.ulen = GATHER_BYTES;
		error = cursor->get(cursor, &key, &bulk, flags);
	}
	if (error == 0)
		error = find_rows(gather, &bulk, place, max_rows);
	return error == DB_NOTFOUND ? nothing_at(gather, place) : error;
}

/*
 * Moves the cursor and reads a key, a head, and the size of the record: of the
 * same one, for the cursor holds the lock of its page in between.
 */
static int read_row(const struct gather *gather, DBC *cursor,
		    const struct store_cursor *place, uint32_t flags,
		    struct gather_row *row)
{
	DBT key, head;
	int error;

	key_to(gather, &key, row->key, place);
	dbt_out(&head, row->bytes, RECORD_HEAD_MAX);
	head.flags |= DB_DBT_PARTIAL;
	head.dlen = RECORD_HEAD_MAX;
	error = cursor->get(cursor, &key, &head, flags);
	if (error != 0)
		return error;
	row->key_bytes = key.size;
	row->have = head.size;
	row->record_bytes = head.size;
	return head.size < RECORD_HEAD_MAX
		       ? 0
		       : peek_size(cursor, &row->record_bytes);
}

/*
 * Reads one head into the buffer, behind `used` bytes. Returns what is used
 * then, or 0 with *ret_error.
 */
static size_t read_head(struct gather *gather, DBC *cursor, size_t used,
			const struct store_cursor *place, uint32_t flags,
			int *ret_error)
{
	struct gather_row *row = &gather->rows[gather->count];

	row->key = (char *)gather->buffer + used;
	row->bytes = gather->buffer + used + KEY_ROOM;
	*ret_error = read_row(gather, cursor, place, flags, row);
	if (*ret_error != 0)
		return 0;
	if (is_seen(place, row->key, row->key_bytes)) {
		if (is_renewed(place, row->bytes, row->have))
			*ret_error = -ESTALE;
		return used;
	}
	gather->count++;
	return used + KEY_ROOM + RECORD_HEAD_MAX;
}

static int read_heads(struct gather *gather, DBC *cursor,
		      const struct store_cursor *place, size_t max_rows)
{
	uint32_t flags = flag_to(gather, place);
	size_t used = 0;
	int error = 0;

	while (gather->count < max_rows &&
	       used + KEY_ROOM + RECORD_HEAD_MAX <= GATHER_BYTES) {
		used = read_head(gather, cursor, used, place, flags, &error);
		if (error == DB_NOTFOUND && flags != DB_NEXT)
			error = nothing_at(gather, place);
		if (error != 0)
			break;
		flags = DB_NEXT;
	}
	/* The next call meets what stopped this one. */
	return gather->count > 0 ? 0 : error;
}

static int read_rows(struct gather *gather, const struct store_cursor *place,
		     size_t max_rows, bool values)
{
	DBC *cursor;
	int error, close_error;

	gather->count = 0;
	error = gather->db->cursor(gather->db, NULL, &cursor, 0);
	if (error != 0)
		return error;
	if (values || !gather->heads_only)
		error = read_many(gather, cursor, place, max_rows);
	/* Nothing fitted behind the place, or nothing is there. */
	if (error == DB_BUFFER_SMALL || (error == 0 && gather->count == 0))
		error = read_heads(gather, cursor, place,
				   values ? 1 : max_rows);
	close_error = cursor->close(cursor);
	return error != 0 ? error : close_error;
}

/* The bucket of a key, of so many. */
static uint32_t bucket_of(const struct gather *gather, const char *key,
			  size_t key_bytes, size_t buckets)
{
	return buckets_of(buckets_hash(gather->db, key, key_bytes),
			  (uint32_t)buckets);
}

/* True if the bucket of this key was split on the way to `now` buckets. */
static bool is_split(const struct gather *gather, const char *key,
		     size_t key_bytes, size_t then, size_t now)
{
	return then != now && then > 0 && key_bytes > 0 &&
	       buckets_split(bucket_of(gather, key, key_bytes, then),
			     (uint32_t)then, (uint32_t)now);
}

/* Forgets what is no place to go back to any more, of `now` buckets. */
static void renew_marks(const struct gather *gather, struct store_cursor *place,
			size_t now)
{
	size_t then = place->buckets;

	if (is_split(gather, place->before, place->before_bytes, then, now))
		place->before_bytes = 0;
	if (then != now && place->anchor_bytes > 0 &&
	    bucket_of(gather, place->anchor, place->anchor_bytes, then) !=
		    bucket_of(gather, place->anchor, place->anchor_bytes, now))
		place->anchor_bytes = 0;
	place->buckets = now;
}

/* The place is lost: to the key before it, to its anchor, or to the start. */
static void find_place_again(const struct gather *gather,
			     struct store_cursor *place, size_t now)
{
	renew_marks(gather, place, now);
	if (place->before_bytes > 0) {
		memcpy(place->key, place->before, place->before_bytes);
		place->key_bytes = place->before_bytes;
		place->cas = place->before_cas;
		place->before_bytes = 0;
		return;
	}
	/* That has brought it here, and does not help any more. */
	if (is_seen(place, place->anchor, place->anchor_bytes))
		place->anchor_bytes = 0;
	memcpy(place->key, place->anchor, place->anchor_bytes);
	place->key_bytes = place->anchor_bytes;
	place->started = place->key_bytes > 0;
	place->cas = 0;
	place->back = true;
}

/* Reads as often as it takes until no split has come between. */
static int read_hash(struct gather *gather, struct store_cursor *place,
		     size_t max_rows, bool values)
{
	uint32_t before = 0, after = 0;
	int error = buckets_count(gather->db, &before);
	int count_error;

	if (error != 0)
		return error;
	gather->buckets = before;
	error = read_rows(gather, place, max_rows, values);
	if (error != 0 && error != DB_NOTFOUND && error != -ESTALE)
		return error;
	count_error = buckets_count(gather->db, &after);
	if (count_error != 0)
		return count_error;
	if (is_split(gather, place->key, place->key_bytes, place->buckets,
		     after))
		error = -ESTALE;
	if (error == -ESTALE)
		find_place_again(gather, place, after);
	return error;
}

int gather_next(struct gather *gather, struct store_cursor *place,
		size_t max_rows, bool values)
{
	int error;

	if (max_rows > GATHER_ROWS)
		max_rows = GATHER_ROWS;
	do {
		if (gather->hash)
			error = read_hash(gather, place, max_rows, values);
		else
			error = read_rows(gather, place, max_rows, values);
	} while (error == -ESTALE || env_error_is_conflict(error));
	return error;
}

/* True if the place is a new key to come back to from a later bucket. */
static bool is_anchor(const struct gather *gather,
		      const struct store_cursor *place, size_t then,
		      const struct gather_row *next)
{
	uint32_t now = (uint32_t)gather->buckets;
	uint32_t hash = buckets_hash(gather->db, place->key, place->key_bytes);
	uint32_t bucket = buckets_of(hash, now);

	return !is_seen(place, place->anchor, place->anchor_bytes) &&
	       bucket < bucket_of(gather, next->key, next->key_bytes, now) &&
	       bucket == buckets_of(hash, (uint32_t)then) &&
	       buckets_stays(hash, now);
}

/* What the place was until now may be worth to come back to. */
static void keep_marks(const struct gather *gather, struct store_cursor *place,
		       const struct gather_row *row)
{
	size_t then = place->buckets, now = gather->buckets;

	renew_marks(gather, place, now);
	place->before_bytes = 0;
	if (place->key_bytes == 0 || then == 0)
		return;
	if (!is_split(gather, place->key, place->key_bytes, then, now)) {
		memcpy(place->before, place->key, place->key_bytes);
		place->before_bytes = place->key_bytes;
		place->before_cas = place->cas;
	}
	if (is_anchor(gather, place, then, row)) {
		memcpy(place->anchor, place->key, place->key_bytes);
		place->anchor_bytes = place->key_bytes;
		place->back = false;
	}
}

static uint64_t cas_of(const struct gather_row *row)
{
	struct record record;

	if (record_decode(row->bytes, row->have, &record) != 0)
		return 0; /* whoever looks at the row finds out himself */
	return record.cas;
}

void gather_keep_place(const struct gather *gather, struct store_cursor *place,
		       const struct gather_row *row)
{
	if (gather->hash) {
		keep_marks(gather, place, row);
		place->cas = cas_of(row);
	}
	memcpy(place->key, row->key, row->key_bytes);
	place->key_bytes = row->key_bytes;
	place->started = true;
}
