/*
 * buckets.h - in which bucket a hash of Berkeley DB keeps a key.
 *
 * A hash grows by one bucket at a time (linear hashing): some keys of one
 * earlier bucket move to the new one, which is the last; all else stays. So
 * the key's hash and the number of buckets tell the bucket, and two numbers
 * tell which buckets were split between them. A hash never shrinks here:
 * only a compaction would do that, and a hash is not compacted.
 *
 * Threads: any; the handle is the caller's own.
 */
#ifndef STORAGE_BUCKETS_H
#define STORAGE_BUCKETS_H

#include <db.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The hash Berkeley DB gives this key: the database's own function. */
uint32_t buckets_hash(DB *db, const char *key, size_t key_bytes);

/*
 * How many there are. Returns 0 or an engine error. Blocks: as any read does.
 * No cursor may be open: it could wait for who waits for it.
 */
int buckets_count(DB *db, uint32_t *ret_count);

/* The bucket of a hash, of `count` buckets, at least 1. Pure, as all below. */
uint32_t buckets_of(uint32_t hash, uint32_t count);

/* True if this bucket was split on the way from `then` buckets to `now`. */
bool buckets_split(uint32_t bucket, uint32_t then, uint32_t now);

/* True if a key of this hash stays where it is when its bucket is split. */
bool buckets_stays(uint32_t hash, uint32_t count);

#endif
