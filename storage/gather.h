/*
 * gather.h - copies the next records of a walk into a buffer.
 *
 * Each call opens a cursor behind the last place, copies as many records as
 * fit, and closes the cursor: nobody waits for whoever looks at the rows.
 * Small records come many at once; of big ones only the head is copied, one
 * by one, unless their values are wanted and fit.
 *
 * A place is a key. In a B-tree the next record is the first one behind it,
 * whether or not the key still exists. A hash has no such order: its buckets
 * follow each other, but a bucket's records lie as they came. There a place is
 * lost if its record is deleted or stored anew, or if its bucket is split:
 * then what was behind it may be before it. So a place in a hash keeps the
 * record's cas id, how many buckets there were, and two ways back: the key
 * before it, as long as that is not lost as well; and an anchor, a key of an
 * earlier bucket, good as long as it is in that bucket. If both are gone the
 * walk begins anew. It is `back` until there is an anchor behind that one.
 * What stays is met, for a split moves keys to the last bucket only. Some are
 * met twice: those that it moves, and those that lie behind a way back.
 *
 * Threads: the owner of the reader.
 */
#ifndef STORAGE_GATHER_H
#define STORAGE_GATHER_H

#include <db.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "storage/storage.h"

#define GATHER_ROWS 512
/* At least the biggest page, and a multiple of 1024, for Berkeley DB. */
#define GATHER_BYTES 65536

/* One record. All bytes lie in the buffer. */
struct gather_row {
	char *key;
	size_t key_bytes;
	unsigned char *bytes;
	size_t have;	     /* bytes of the record that are here */
	size_t record_bytes; /* of the whole record */
};

struct gather {
	DB *db;
	bool hash;
	bool heads_only; /* big records: do not copy them */
	size_t buckets;	 /* of a hash, before the rows were read */
	size_t count;
	struct gather_row rows[GATHER_ROWS];
	_Alignas(uint64_t) unsigned char buffer[GATHER_BYTES];
};

/* NULL: no memory, or no such handle. Owner: caller, free(). */
struct gather *gather_new(DB *db);

/*
 * Fills rows with the records behind *place, max_rows at most, at least one.
 * `values`: whole records, if they fit into the buffer. Returns 0, DB_NOTFOUND
 * at the end, or an engine error. Moves *place only if it was lost.
 */
int gather_next(struct gather *gather, struct store_cursor *place,
		size_t max_rows, bool values);

/*
 * The place is behind this row now. In a hash it should be one that stays:
 * see above.
 */
void gather_keep_place(const struct gather *gather, struct store_cursor *place,
		       const struct gather_row *row);

#endif
