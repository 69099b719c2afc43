/*
 * change.h - which commit position changed a key last.
 *
 * A fixed table of positions, one slot for all keys that hash there. The
 * writer notes a position BEFORE the change can be seen; a reader looks
 * AFTER it has read. So a reader that saw a change finds its position, or a
 * newer one of a key that shares the slot: it then waits a little longer than
 * it must, never too short. It covers deletes and touches, which leave no
 * trace in a record.
 * A walk waits for the newest of all: it has looked for every key.
 * Threads: one writer notes, any number look; no locks.
 */
#ifndef STORAGE_CHANGE_H
#define STORAGE_CHANGE_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#define CHANGE_SLOTS 65536 /* a power of two */

struct change_table {
	_Atomic uint64_t newest; /* of all keys */
	_Atomic uint64_t slots[CHANGE_SLOTS];
};

/* All slots at position 0, which is always durable. NULL: no memory. */
struct change_table *change_table_new(void);
void change_table_free(struct change_table *table); /* NULL is fine */

/* hash: key_hash() of the key. Thread: the writer. Positions only grow. */
void change_note(struct change_table *table, uint64_t hash, uint64_t position);

/* Thread: any. */
uint64_t change_last(const struct change_table *table, uint64_t hash);

/* The same of all keys. Thread: any. */
uint64_t change_newest(const struct change_table *table);

/* Brings what change_last() will look at nearer. Thread: any. */
void change_prefetch(const struct change_table *table, uint64_t hash);

#endif
