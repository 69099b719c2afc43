/*
 * walk.h - steps over all records, dead or alive, for the walk and the sweep.
 *
 * Threads: the owner of the reader.
 */
#ifndef STORAGE_WALK_H
#define STORAGE_WALK_H

#include <stdbool.h>
#include <stddef.h>

#include "storage/peek.h"
#include "storage/storage.h"

/* What a visitor says about the record it was shown. */
enum walk_verdict {
	WALK_ON,
	WALK_STOP,
	WALK_ON_GOING /* on, and this record is about to be deleted */
};

typedef enum walk_verdict (*walk_visit_fn)(void *arg, const char *key,
					   size_t key_bytes,
					   const struct peek *peek);

/*
 * As store_walk(), for every record. In a hash, which has no order, the next
 * step can only begin at a record that still exists: the place is kept at the
 * last one that is not WALK_ON_GOING, and if that is gone, too, the answer is
 * STORE_NOT_FOUND.
 */
enum store_status walk_records(struct store_reader *reader,
			       struct store_cursor *place, size_t max_rows,
			       walk_visit_fn visit, void *arg);

#endif
