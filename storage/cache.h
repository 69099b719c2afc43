/*
 * cache.h - a cache of whole records in front of the database.
 *
 * A look-up in Berkeley DB costs microseconds of locks and tree pages; this
 * one costs a hash and a copy. It never shows what the database would not
 * show. Records come in from two sides:
 *
 *   reader  notes what is applied and the key's last change, reads the
 *           database, puts the record in if the key has not changed since
 *   writer  notes the change (change.h), changes the database and stages the
 *           record, hidden, or drops the key; commits; then publishes all that
 *           the transaction staged
 *
 * So from before the commit until after it nobody finds a key that changes,
 * and what was aborted is never found: it stays hidden until it is replaced.
 *
 * It is split into shards by hash; each is a ring of records, where new ones
 * overwrite the oldest, and an index of positions in the ring. A record of the
 * writer takes the place of the key's old one if it fits, and does not age
 * others by that. A key that is not here it stages only while the ring has
 * room that was never used: a load of new keys cannot push out what is read.
 *
 * Readers take no lock: they copy, and then look whether what they copied was
 * hidden, replaced or overwritten meanwhile.
 *
 * Threads: any, unless said otherwise; cache_init() and cache_done(): main,
 * while no other uses it. Blocks: cache_stage() and cache_drop(), on
 * cache_shard.lock, while a record is copied.
 */
#ifndef STORAGE_CACHE_H
#define STORAGE_CACHE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "storage/change.h"

#define CACHE_SHARDS 32
/* Bigger records are not worth the memory: their get costs the copy. */
#define CACHE_RECORD_MAX 8192
/* Records that a transaction can stage; it drops the keys of more. */
#define CACHE_STAGED_MAX 512

struct cache_shard;

struct cache {
	struct cache_shard *shards; /* NULL: there is no cache */
	uint64_t bytes;		    /* of the memory that begins there */
};

/* What is known of a key before it is read from the database. */
struct cache_ticket {
	uint64_t change;
	bool steady; /* its last change is applied */
};

/* What a transaction has staged; count 0: nothing yet. */
struct cache_staged {
	size_t count;
	struct cache_place {
		_Atomic uint64_t *entry;
		uint64_t value; /* once it is published */
	} places[CACHE_STAGED_MAX];
};

/*
 * bytes: of all of it, at least 1 MB are taken; 0: no cache, and all else does
 * nothing. Returns 0 or -ENOMEM.
 */
int cache_init(struct cache *cache, uint64_t bytes);
void cache_done(struct cache *cache);

/*
 * Copies a record to `to`, at any alignment, or as much of it as the `room`
 * bytes hold. Returns false if it is not there. *ret_bytes: of all of it.
 */
bool cache_get(const struct cache *cache, uint64_t hash, const char *key,
	       size_t key_bytes, void *to, size_t room, size_t *ret_bytes);

/*
 * Puts in what was read from the database, unless the key has changed since
 * the ticket was made: then it may be old. Not if the shard is busy, either.
 */
void cache_put(struct cache *cache, uint64_t hash, const char *key,
	       size_t key_bytes, const void *record, size_t record_bytes,
	       const struct change_table *changes,
	       const struct cache_ticket *ticket);

/*
 * Stages what was put into the database but not committed, hidden, or drops
 * the key; adds to *staged. Thread: the writer, which has noted the change.
 */
void cache_stage(struct cache *cache, uint64_t hash, const char *key,
		 size_t key_bytes, const void *record, size_t record_bytes,
		 struct cache_staged *staged);

/* It is committed: readers find it. Thread: the writer, before its next change.
 */
void cache_publish(struct cache_staged *staged);

/* Forgets the key. Thread: the writer, which has noted the change. */
void cache_drop(struct cache *cache, uint64_t hash);

/* Brings the index line of a hash nearer; then what it points to. */
void cache_prefetch_index(const struct cache *cache, uint64_t hash);
void cache_prefetch_record(const struct cache *cache, uint64_t hash);

#endif
