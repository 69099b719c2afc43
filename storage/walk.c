/*
 * walk.c - bounded steps over the records in key order.
 *
 * Between two steps only the last key is remembered, so nothing is locked;
 * the next step begins at the first key behind it, whether or not that one
 * still exists.
 */
#include "storage/walk.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "storage/dbt.h"
#include "storage/reader.h"
#include "storage/store_priv.h"

/* Records that lie outside their page are at least of about this size. */
#define PEEK_BYTES 2048

struct step {
	struct store_cursor *place;
	DBC *cursor;
	bool hash;
	struct peek peek;
	char key[STORE_KEY_MAX]; /* of the record just read */
	size_t key_bytes;
};

/* Reads the record at the cursor moved by `flags`; the key comes with it. */
static int read_at(struct step *step, uint32_t flags)
{
	DBT key;
	int error;

	dbt_out(&key, step->key, sizeof(step->key));
	key.size = (uint32_t)step->key_bytes;
	error = peek_get(step->cursor, &key, flags, &step->peek);
	step->key_bytes = key.size;
	return error;
}

static bool at_place(const struct step *step)
{
	const struct store_cursor *place = step->place;

	return step->key_bytes == place->key_bytes &&
	       memcmp(step->key, place->key, place->key_bytes) == 0;
}

static int read_first(struct step *step)
{
	const struct store_cursor *place = step->place;
	int error;

	memcpy(step->key, place->key, place->key_bytes);
	step->key_bytes = place->key_bytes;
	if (place->key_bytes == 0)
		return read_at(step, DB_FIRST);
	error = read_at(step, step->hash ? DB_SET : DB_SET_RANGE);
	if (error == DB_NOTFOUND && step->hash)
		return -ESTALE;
	if (error == 0 && place->started && at_place(step))
		error = read_at(step, DB_NEXT);
	return error;
}

static void keep_place(struct step *step, enum walk_verdict verdict)
{
	struct store_cursor *place = step->place;

	if (step->hash && verdict == WALK_ON_GOING)
		return;
	memcpy(place->key, step->key, step->key_bytes);
	place->key_bytes = step->key_bytes;
	place->started = true;
}

static int walk_rows(struct step *step, size_t max_rows, walk_visit_fn visit,
		     void *arg)
{
	int error = read_first(step);

	for (size_t row = 1; error == 0; row++) {
		enum walk_verdict verdict =
			visit(arg, step->key, step->key_bytes, &step->peek);

		keep_place(step, verdict);
		if (verdict == WALK_STOP || row >= max_rows)
			return 0;
		error = read_at(step, DB_NEXT);
	}
	return error;
}

static int prepare(struct store_reader *reader, struct step *step)
{
	DBTYPE type;
	int error = reader->db->get_type(reader->db, &type);

	if (error != 0)
		return error;
	step->hash = type == DB_HASH;
	if (reader->peek_room == NULL)
		reader->peek_room = malloc(PEEK_BYTES);
	if (reader->peek_room == NULL)
		return ENOMEM;
	step->peek.bytes = reader->peek_room;
	step->peek.room = PEEK_BYTES;
	return reader->db->cursor(reader->db, NULL, &step->cursor, 0);
}

enum store_status walk_records(struct store_reader *reader,
			       struct store_cursor *place, size_t max_rows,
			       walk_visit_fn visit, void *arg)
{
	struct step step = {.place = place};
	int error, close_error;

	if (place->done)
		return STORE_OK;
	error = prepare(reader, &step);
	if (error != 0)
		return reader_failed(reader, error);
	error = walk_rows(&step, max_rows, visit, arg);
	close_error = step.cursor->close(step.cursor);
	if (error == DB_NOTFOUND) {
		place->done = true;
		error = 0;
	}
	/* The next step goes on where this one stood. */
	if (env_error_is_conflict(error))
		error = 0;
	if (error == 0)
		error = close_error;
	if (error == -ESTALE)
		return STORE_NOT_FOUND;
	return error == 0 ? STORE_OK : reader_failed(reader, error);
}

struct live_walk {
	struct store_reader *reader;
	int64_t now_seconds;
	store_visit_fn visit;
	void *arg;
};

static enum walk_verdict show_live(void *arg, const char *key, size_t key_bytes,
				   const struct peek *peek)
{
	const struct live_walk *walk = arg;
	struct store_item item;

	if (!reader_judge(walk->reader, key, key_bytes, &peek->record,
			  walk->now_seconds, &item))
		return WALK_ON;
	item.value_bytes = peek->record_bytes - peek->record.head_bytes;
	return walk->visit(walk->arg, key, key_bytes, &item) ? WALK_ON
							     : WALK_STOP;
}

enum store_status store_walk(struct store_reader *reader,
			     struct store_cursor *cursor, size_t max_rows,
			     store_visit_fn visit, void *arg)
{
	struct live_walk walk = {.reader = reader,
				 .now_seconds = reader_now_seconds(reader),
				 .visit = visit,
				 .arg = arg};
	enum store_status status =
		walk_records(reader, cursor, max_rows, show_live, &walk);

	/* In a hash the place can be lost; to go on would leave items out. */
	return status == STORE_NOT_FOUND ? STORE_FAILED : status;
}
