/*
 * ahead.h - prefetches what the next gets need, for many keys at once.
 *
 * Most of the time of a get that finds all in memory is spent waiting for that
 * memory: the item, and what is known of its key. The waits of many keys can
 * overlap, if all of them are named before the first one is read: those of a
 * list, or those of the commands that stand behind each other in the input.
 *
 * Thread: the owner worker. Blocks: never.
 */
#ifndef SERVER_AHEAD_H
#define SERVER_AHEAD_H

#include "server/conn.h"

/* More would push each other out of the processor's first cache. */
#define AHEAD_MAX 16

struct ahead {
	unsigned count;
	uint64_t hashes[AHEAD_MAX];
};

/* Adds a key, and prefetches where its record is. No more than AHEAD_MAX. */
void ahead_add(struct ahead *ahead, const struct worker *worker,
	       struct proto_slice key);

/* All are there: prefetches the records; the first is read at once. */
void ahead_prefetch(const struct ahead *ahead, const struct worker *worker);

/*
 * A get of one key, which is conn->parsed, is to be run: does the above for it
 * and the gets behind it in the input, if that was not done for this one.
 */
void ahead_of_pipeline(struct conn *conn);

#endif
