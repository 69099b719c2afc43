/*
 * cache.c - see cache.h.
 *
 * A position counts all bytes that were ever put into a ring; where it lies is
 * the position modulo the ring's size, and it is there as long as it is less
 * than that size behind `reserved`, which a writer of the ring moves before it
 * writes. An index entry is a position (in words of 8 bytes) with 16 bits of
 * the hash; 0 is none. Everything that readers look at without the lock is
 * made of atomic words, so that a copy of something that is just being
 * overwritten is a wrong copy, and no worse.
 */
#include "storage/cache.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define WAYS	  8
#define WORD	  sizeof(uint64_t)
#define TAG_SHIFT 48
#define POSITION  ((UINT64_C(1) << TAG_SHIFT) - 1)
/* What a record with its key takes, about: the index is made for that. */
#define USUAL_BYTES 128

struct bucket {
	_Alignas(64) _Atomic uint64_t entries[WAYS];
};

struct cache_shard {
	pthread_mutex_t lock; /* protects changes of all below */
	_Alignas(64) _Atomic uint64_t reserved; /* position, in words */
	_Atomic uint64_t *ring;
	const void *memory; /* of the ring */
	uint64_t ring_words;
	struct bucket *buckets;
	uint64_t bucket_count; /* a power of two */
};

static size_t words_of(size_t bytes)
{
	return (bytes + WORD - 1) / WORD;
}

/* --- life --------------------------------------------------------------- */

static int shard_init(struct cache_shard *shard, uint64_t bytes)
{
	shard->ring_words = bytes / WORD;
	shard->bucket_count = 1;
	while (shard->bucket_count * WAYS * USUAL_BYTES < bytes)
		shard->bucket_count *= 2;
	/* Untouched pages of these cost nothing. */
	shard->ring = calloc(shard->ring_words, WORD);
	shard->buckets =
		aligned_alloc(64, shard->bucket_count * sizeof(struct bucket));
	shard->memory = shard->ring;
	if (shard->ring == NULL || shard->buckets == NULL)
		return -ENOMEM;
	memset(shard->buckets, 0, shard->bucket_count * sizeof(struct bucket));
	atomic_init(&shard->reserved, shard->ring_words);
	return 0;
}

int cache_init(struct cache *cache, uint64_t bytes)
{
	/* A ring must have room for a few of the biggest. */
	const uint64_t least = (uint64_t)CACHE_SHARDS * CACHE_RECORD_MAX * 4;
	int rc = 0;

	cache->shards = NULL;
	if (bytes == 0)
		return 0;
	if (bytes < least)
		bytes = least;
	cache->shards = calloc(CACHE_SHARDS, sizeof(*cache->shards));
	if (cache->shards == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < CACHE_SHARDS; i++)
		(void)pthread_mutex_init(&cache->shards[i].lock, NULL);
	for (size_t i = 0; i < CACHE_SHARDS && rc == 0; i++)
		rc = shard_init(&cache->shards[i], bytes / CACHE_SHARDS);
	if (rc != 0)
		cache_done(cache);
	return rc;
}

void cache_done(struct cache *cache)
{
	for (size_t i = 0; cache->shards != NULL && i < CACHE_SHARDS; i++) {
		free(cache->shards[i].ring);
		free(cache->shards[i].buckets);
		(void)pthread_mutex_destroy(&cache->shards[i].lock);
	}
	free(cache->shards);
	cache->shards = NULL;
}

/* --- words ---------------------------------------------------------------- */

/*
 * Whoever loads a word of a record also sees `reserved` as it was moved before
 * that word was stored.
 */
static uint64_t load(const _Atomic uint64_t *word)
{
	return atomic_load_explicit(word, memory_order_acquire);
}

static void store(_Atomic uint64_t *word, uint64_t value)
{
	atomic_store_explicit(word, value, memory_order_release);
}

/* --- places ------------------------------------------------------------- */

static struct cache_shard *shard_of(const struct cache *cache, uint64_t hash)
{
	return &cache->shards[hash % CACHE_SHARDS];
}

static struct bucket *bucket_of(const struct cache_shard *shard, uint64_t hash)
{
	return &shard->buckets[hash / CACHE_SHARDS & (shard->bucket_count - 1)];
}

/* Never 0 with a position, as those begin behind the first round. */
static uint64_t tag_of(uint64_t hash)
{
	return hash >> TAG_SHIFT << TAG_SHIFT;
}

static bool is_there(const struct cache_shard *shard, uint64_t position)
{
	return load(&shard->reserved) - position <= shard->ring_words;
}

/* --- copies, word by word ----------------------------------------------- */

static void copy_out(char *to, const _Atomic uint64_t *from, size_t bytes)
{
	uint64_t word;

	for (; bytes >= WORD; bytes -= WORD, to += WORD) {
		word = load(from++);
		memcpy(to, &word, WORD);
	}
	if (bytes > 0) {
		word = load(from);
		memcpy(to, &word, bytes);
	}
}

static void copy_in(_Atomic uint64_t *to, const char *from, size_t bytes)
{
	uint64_t word;

	for (; bytes >= WORD; bytes -= WORD, from += WORD) {
		memcpy(&word, from, WORD);
		store(to++, word);
	}
	if (bytes > 0) {
		word = 0;
		memcpy(&word, from, bytes);
		store(to, word);
	}
}

static bool is_equal(const _Atomic uint64_t *at, const char *bytes, size_t len)
{
	uint64_t word;

	for (; len >= WORD; len -= WORD, bytes += WORD) {
		memcpy(&word, bytes, WORD);
		if (load(at++) != word)
			return false;
	}
	word = 0;
	memcpy(&word, bytes, len);
	return len == 0 || load(at) == word;
}

/* --- getting ------------------------------------------------------------ */

/* The first word of what is kept: two lengths. */
static uint64_t head_of(size_t key_bytes, size_t record_bytes)
{
	return (uint64_t)record_bytes << 16 | key_bytes;
}

static bool copy_entry(const struct cache_shard *shard, uint64_t position,
		       const char *key, size_t key_bytes, void *to, size_t room,
		       size_t *ret_bytes)
{
	const _Atomic uint64_t *at = shard->ring + position % shard->ring_words;
	uint64_t head;
	size_t bytes;

	if (!is_there(shard, position))
		return false;
	head = load(at++);
	bytes = (size_t)(head >> 16);
	/* What is being overwritten can say anything. */
	if ((head & 0xffff) != key_bytes || bytes > room ||
	    bytes > CACHE_RECORD_MAX ||
	    position % shard->ring_words + 1 + words_of(key_bytes) +
			    words_of(bytes) >
		    shard->ring_words)
		return false;
	if (!is_equal(at, key, key_bytes))
		return false;
	copy_out(to, at + words_of(key_bytes), bytes);
	if (!is_there(shard, position))
		return false;
	*ret_bytes = bytes;
	return true;
}

bool cache_get(const struct cache *cache, uint64_t hash, const char *key,
	       size_t key_bytes, void *to, size_t room, size_t *ret_bytes)
{
	const struct cache_shard *shard;
	const struct bucket *bucket;

	if (cache->shards == NULL)
		return false;
	shard = shard_of(cache, hash);
	bucket = bucket_of(shard, hash);
	for (size_t i = 0; i < WAYS; i++) {
		uint64_t entry = load(&bucket->entries[i]);

		if (entry != 0 && (entry & ~POSITION) == tag_of(hash) &&
		    copy_entry(shard, entry & POSITION, key, key_bytes, to,
			       room, ret_bytes))
			return true;
	}
	return false;
}

/* --- putting and dropping: under the lock -------------------------------- */

static void forget(struct cache_shard *shard, uint64_t hash)
{
	struct bucket *bucket = bucket_of(shard, hash);

	for (size_t i = 0; i < WAYS; i++) {
		uint64_t entry = load(&bucket->entries[i]);

		if (entry != 0 && (entry & ~POSITION) == tag_of(hash))
			store(&bucket->entries[i], 0);
	}
}

/* An entry that is free, or the one that was put in first. */
static _Atomic uint64_t *choose_entry(struct bucket *bucket)
{
	_Atomic uint64_t *chosen = &bucket->entries[0];

	for (size_t i = 1; i < WAYS; i++) {
		if ((load(&bucket->entries[i]) & POSITION) <
		    (load(chosen) & POSITION))
			chosen = &bucket->entries[i];
	}
	return chosen;
}

/* Takes room in the ring, in one piece; returns its position. */
static uint64_t reserve(struct cache_shard *shard, size_t words)
{
	uint64_t position = load(&shard->reserved);
	uint64_t left = shard->ring_words - position % shard->ring_words;

	if (left < words)
		position += left;
	store(&shard->reserved, position + words);
	return position;
}

static void insert(struct cache_shard *shard, uint64_t hash, const char *key,
		   size_t key_bytes, const void *record, size_t record_bytes)
{
	size_t key_words = words_of(key_bytes);
	uint64_t position =
		reserve(shard, 1 + key_words + words_of(record_bytes));
	_Atomic uint64_t *at = shard->ring + position % shard->ring_words;

	store(at, head_of(key_bytes, record_bytes));
	copy_in(at + 1, key, key_bytes);
	copy_in(at + 1 + key_words, record, record_bytes);
	forget(shard, hash);
	store(choose_entry(bucket_of(shard, hash)), tag_of(hash) | position);
}

void cache_put(struct cache *cache, uint64_t hash, const char *key,
	       size_t key_bytes, const void *record, size_t record_bytes,
	       const struct change_table *changes,
	       const struct cache_ticket *ticket)
{
	struct cache_shard *shard;

	if (cache->shards == NULL || !ticket->steady ||
	    record_bytes > CACHE_RECORD_MAX)
		return;
	shard = shard_of(cache, hash);
	if (pthread_mutex_trylock(&shard->lock) != 0)
		return; /* it is only a cache */
	/*
	 * A change from now on will drop it: that is noted first, and comes
	 * for the lock then.
	 */
	if (change_last(changes, hash) == ticket->change)
		insert(shard, hash, key, key_bytes, record, record_bytes);
	(void)pthread_mutex_unlock(&shard->lock);
}

void cache_drop(struct cache *cache, uint64_t hash)
{
	struct cache_shard *shard;

	if (cache->shards == NULL)
		return;
	shard = shard_of(cache, hash);
	(void)pthread_mutex_lock(&shard->lock);
	forget(shard, hash);
	(void)pthread_mutex_unlock(&shard->lock);
}

/* --- prefetching --------------------------------------------------------- */

void cache_prefetch_index(const struct cache *cache, uint64_t hash)
{
	if (cache->shards != NULL)
		__builtin_prefetch(bucket_of(shard_of(cache, hash), hash));
}

void cache_prefetch_record(const struct cache *cache, uint64_t hash)
{
	const struct cache_shard *shard;
	const struct bucket *bucket;

	if (cache->shards == NULL)
		return;
	shard = shard_of(cache, hash);
	bucket = bucket_of(shard, hash);
	for (size_t i = 0; i < WAYS; i++) {
		uint64_t entry = load(&bucket->entries[i]);
		const char *at;

		if (entry == 0 || (entry & ~POSITION) != tag_of(hash))
			continue;
		at = (const char *)shard->memory +
		     (entry & POSITION) % shard->ring_words * WORD;
		__builtin_prefetch(at);
		__builtin_prefetch(at + 64);
		__builtin_prefetch(at + 128);
	}
}
