/*
 * inplace.h - lets a cursor work on itself, not on a copy.
 *
 * For each get and put Berkeley DB makes a copy of the cursor, works on that
 * and swaps the two, so that a cursor stays where it was when something fails.
 * That costs more than an eighth of a set, and is of no use where a failure
 * ends the transaction. For DB->get and DB->put, which are one step of a
 * cursor, it does without: DBC_TRANSIENT. DB->cursor does not let that flag
 * pass, so it is set here, and only for what these two do as well:
 *
 *   - a get of a key, from nowhere or from a record that is there;
 *   - a put of a new key;
 *   - a put over a record that is as long, so that no page is split: a split
 *     counts on the original's lock.
 *
 * A delete wants the copy: closing the original removes the record for good.
 *
 * Threads: the owner of the cursor.
 */
#ifndef STORAGE_INPLACE_H
#define STORAGE_INPLACE_H

#include <db.h>
#include <stdbool.h>

#if DB_VERSION_MAJOR != 5 || DB_VERSION_MINOR != 3
#error "read again what DBC_TRANSIENT does there"
#endif

/* From now on. A new cursor works on copies; that of a hash always does. */
static inline void cursor_in_place(DBC *cursor, bool in_place)
{
	if (in_place && cursor->dbtype == DB_BTREE)
		cursor->flags |= DBC_TRANSIENT;
	else
		cursor->flags &= ~(uint32_t)DBC_TRANSIENT;
}

#endif
