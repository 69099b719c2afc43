/*
 * peek.h - reads where a record is and what it says, not how big it is.
 *
 * Berkeley DB cannot tell the size of a record that is read in part, and
 * reading all of a big one for its head would be waste. So: try to read it
 * whole into a small buffer; if it does not fit, the failure tells the size,
 * and a second, partial read gets the first bytes.
 * Threads: the owner of the cursor.
 */
#ifndef STORAGE_PEEK_H
#define STORAGE_PEEK_H

#include <db.h>
#include <stddef.h>

#include "storage/record.h"

struct peek {
	unsigned char *bytes; /* the caller's buffer */
	size_t room;	      /* its size, at least RECORD_HEAD_MAX */
	size_t have;	      /* bytes of the record in it */
	size_t record_bytes;  /* of the whole record */
	struct record record; /* its head */
};

/*
 * Moves the cursor as DBC->get does with `flags`, then peeks. Returns 0,
 * -EBADMSG if the head cannot be decoded, or an engine error.
 */
int peek_get(DBC *cursor, DBT *key, uint32_t flags, struct peek *peek);

/*
 * How big the record is on which the cursor is. Outside of a transaction, too,
 * this is the record that the cursor has read: it holds the lock of the page.
 * Returns 0 or an engine error.
 */
int peek_size(DBC *cursor, size_t *ret_bytes);

#endif
