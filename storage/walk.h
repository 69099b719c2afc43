/*
 * walk.h - steps over all records, dead or alive, for whoever walks.
 *
 * Threads: the owner of the reader.
 */
#ifndef STORAGE_WALK_H
#define STORAGE_WALK_H

#include <stdbool.h>
#include <stddef.h>

#include "storage/record.h"
#include "storage/storage.h"

/* One record as a visitor sees it; no lock is held meanwhile. */
struct walk_row {
	const char *key;
	size_t key_bytes;
	struct record record;
	size_t value_bytes;
	char *value; /* NULL: not asked for, or too big */
};

/* What a visitor says about the record it was shown. */
enum walk_verdict {
	WALK_ON,
	WALK_STOP,	 /* this was the last one of the step */
	WALK_END,	 /* this one and all behind it are none of ours */
	WALK_ON_GOING,	 /* on; this record is about to be deleted */
	WALK_STOP_GOING, /* the last one, and about to be deleted */
};

typedef enum walk_verdict (*walk_visit_fn)(void *arg,
					   const struct walk_row *row);

/*
 * One step: shows records behind *place, max_rows at most, and moves *place.
 * place->done is set at the end. In a hash a place is lost if its record goes;
 * so it is kept at records that are not GOING. If it is lost all the same the
 * step shows what lies behind an anchor beyond max_rows, so that it gets on
 * whatever changes between the steps. See gather.h.
 */
enum store_status walk_records(struct store_reader *reader,
			       struct store_cursor *place, size_t max_rows,
			       bool values, walk_visit_fn visit, void *arg);

#endif
