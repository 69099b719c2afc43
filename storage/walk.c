/*
 * walk.c - bounded steps over the records; walks over live items.
 *
 * Between two steps only a place is remembered, so nothing is locked. Within
 * a step, too, records are shown only after they were copied.
 */
#include "storage/walk.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "storage/gather.h"
#include "storage/hash.h"
#include "storage/reader.h"
#include "storage/store_priv.h"

struct step {
	struct gather *gather;
	struct store_cursor *place; /* for the next step */
	struct store_cursor at;	    /* in this one: behind all rows shown */
	bool values;
	walk_visit_fn visit;
	void *arg;
	size_t rows; /* still to be shown */
};

static void show_value(const struct step *step, const struct gather_row *from,
		       struct walk_row *row)
{
	row->value_bytes = from->record_bytes - row->record.head_bytes;
	row->value = NULL;
	if (step->values && from->have == from->record_bytes)
		row->value = (char *)from->bytes + row->record.head_bytes;
}

/* How many rows may follow this one. On the way back to the place: all. */
static size_t rows_left(const struct step *step, enum walk_verdict verdict)
{
	if (verdict != WALK_ON && verdict != WALK_ON_GOING)
		return 0;
	return step->at.back ? step->rows : step->rows - 1;
}

/* Shows what was gathered. Returns 0 or -EBADMSG; sets rows 0 to stop. */
static int show_rows(struct step *step)
{
	const struct gather *gather = step->gather;
	int error = 0;

	for (size_t i = 0; i < gather->count && step->rows > 0; i++) {
		const struct gather_row *from = &gather->rows[i];
		struct walk_row row = {.key = from->key,
				       .key_bytes = from->key_bytes};
		enum walk_verdict verdict;

		error = record_decode(from->bytes, from->have, &row.record);
		if (error != 0)
			break;
		show_value(step, from, &row);
		verdict = step->visit(step->arg, &row);
		step->rows = rows_left(step, verdict);
		gather_keep_place(gather, &step->at, from);
		if (!gather->hash || verdict == WALK_ON || verdict == WALK_STOP)
			gather_keep_place(gather, step->place, from);
		if (verdict == WALK_END)
			step->place->done = true;
	}
	return error;
}

static int run_step(struct step *step)
{
	int error = 0;

	while (error == 0 && step->rows > 0) {
		error = gather_next(step->gather, &step->at, step->rows,
				    step->values);
		if (error == 0)
			error = show_rows(step);
	}
	return error;
}

enum store_status walk_records(struct store_reader *reader,
			       struct store_cursor *place, size_t max_rows,
			       bool values, walk_visit_fn visit, void *arg)
{
	struct step step = {.place = place,
			    .at = *place,
			    .values = values,
			    .visit = visit,
			    .arg = arg,
			    .rows = max_rows};
	int error;

	if (place->done)
		return STORE_OK;
	if (reader->gather == NULL)
		reader->gather = gather_new(reader->db);
	if (reader->gather == NULL)
		return reader_failed(reader, ENOMEM);
	step.gather = reader->gather;
	step.gather->heads_only = false;
	error = run_step(&step);
	if (error == DB_NOTFOUND) {
		place->done = true;
		error = 0;
	}
	return error == 0 ? STORE_OK : reader_failed(reader, error);
}

/* What store_walk() and store_scan() are told. */
struct live_walk {
	struct store_reader *reader;
	const struct store_limit *limit; /* NULL: none */
	int64_t now_seconds;
	store_visit_fn visit;
	void *arg;
};

static bool is_beyond(const struct store_limit *limit,
		      const struct walk_row *row)
{
	size_t common = row->key_bytes < limit->key_bytes ? row->key_bytes
							  : limit->key_bytes;
	/* A limit that has no key may have no pointer either. */
	int differ = common > 0 ? memcmp(row->key, limit->key, common) : 0;
	int order = differ;

	if (order == 0)
		order = (row->key_bytes > limit->key_bytes) -
			(row->key_bytes < limit->key_bytes);
	switch (limit->kind) {
	case STORE_TO_END:
		return false;
	case STORE_TO_KEY:
		return order > 0;
	case STORE_BEFORE_KEY:
		return order >= 0;
	case STORE_WITH_PREFIX:
		return row->key_bytes < limit->key_bytes || differ != 0;
	}
	return true;
}

static enum walk_verdict show_live(void *arg, const struct walk_row *row)
{
	const struct live_walk *walk = arg;
	struct store_item item;

	if (walk->limit != NULL && is_beyond(walk->limit, row))
		return WALK_END;
	if (!reader_judge(walk->reader, key_hash(row->key, row->key_bytes),
			  &row->record, walk->now_seconds, &item))
		return WALK_ON;
	item.value = row->value;
	item.value_bytes = row->value_bytes;
	return walk->visit(walk->arg, row->key, row->key_bytes, &item)
		       ? WALK_ON
		       : WALK_STOP;
}

enum store_status store_walk(struct store_reader *reader,
			     struct store_cursor *cursor, size_t max_rows,
			     store_visit_fn visit, void *arg)
{
	struct live_walk walk = {.reader = reader,
				 .now_seconds =
					 store_now_seconds(reader->store),
				 .visit = visit,
				 .arg = arg};

	return walk_records(reader, cursor, max_rows, false, show_live, &walk);
}

enum store_status store_scan(struct store_reader *reader,
			     struct store_cursor *cursor,
			     const struct store_limit *limit, size_t max_rows,
			     store_visit_fn visit, void *arg)
{
	struct live_walk walk = {.reader = reader,
				 .limit = limit,
				 .now_seconds =
					 store_now_seconds(reader->store),
				 .visit = visit,
				 .arg = arg};

	assert(store_has_order(reader));
	return walk_records(reader, cursor, max_rows, true, show_live, &walk);
}

bool store_has_order(const struct store_reader *reader)
{
	DBTYPE type;

	return reader->db->get_type(reader->db, &type) == 0 && type != DB_HASH;
}
