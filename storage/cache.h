/*
 * cache.h - a cache of whole records in front of the database.
 *
 * A look-up in Berkeley DB costs microseconds of locks and tree pages; this
 * one costs a hash and a copy. Records are copied in when a reader had to go
 * to the database, and dropped by the writer BEFORE their change can be seen:
 *
 *   reader  notes what is applied and the key's last change, reads the
 *           database, puts the record in if the key has not changed since
 *   writer  notes the change (change.h), drops the key, changes the database
 *
 * so the cache never shows what the database would not show. It is split into
 * shards by hash; each is a ring of records, where new ones overwrite the
 * oldest, and an index of positions in the ring. Readers take no lock: they
 * copy, and then look whether what they copied was overwritten meanwhile.
 *
 * Threads: any, unless said otherwise. Blocks: on cache_shard.lock, while a
 * record is copied, in cache_put() and cache_drop() only.
 */
#ifndef STORAGE_CACHE_H
#define STORAGE_CACHE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "storage/change.h"

#define CACHE_SHARDS 32
/* Bigger records are not worth the memory: their get costs the copy. */
#define CACHE_RECORD_MAX 8192

struct cache_shard;

struct cache {
	struct cache_shard *shards; /* NULL: there is no cache */
};

/* What is known of a key before it is read from the database. */
struct cache_ticket {
	uint64_t change;
	bool steady; /* its last change is applied */
};

/* bytes 0: no cache, and all else does nothing. Returns 0 or -ENOMEM. */
int cache_init(struct cache *cache, uint64_t bytes);
void cache_done(struct cache *cache);

/*
 * Copies a record to `to`, which has `room` bytes, at any alignment. Returns
 * false if it is not there, or does not fit.
 */
bool cache_get(const struct cache *cache, uint64_t hash, const char *key,
	       size_t key_bytes, void *to, size_t room, size_t *ret_bytes);

/*
 * Puts in what was read from the database, unless the key has changed since
 * the ticket was made: then it may be old.
 */
void cache_put(struct cache *cache, uint64_t hash, const char *key,
	       size_t key_bytes, const void *record, size_t record_bytes,
	       const struct change_table *changes,
	       const struct cache_ticket *ticket);

/* Forgets the key. */
void cache_drop(struct cache *cache, uint64_t hash);

/* Brings the index line of a hash nearer; then what it points to. */
void cache_prefetch_index(const struct cache *cache, uint64_t hash);
void cache_prefetch_record(const struct cache *cache, uint64_t hash);

#endif
