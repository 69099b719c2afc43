/*
 * cache.c - see cache.h.
 *
 * A position counts the words of 8 bytes that were ever put into a ring; where
 * it lies is the position modulo the ring's size, and it is there as long as it
 * is no more than that size behind `reserved`, which whoever puts something in
 * moves before that. An index entry is a position, 16 bits of the hash and one
 * that hides it; 0 is none. A record begins with its head and its
 * key. If it is replaced in its place, that is hidden first, and the head is
 * written last and says that it is another one. Everything that readers look
 * at without the lock is made of atomic words, so that a copy of something
 * that is just being overwritten is a wrong copy, and no worse.
 */
#include "storage/cache.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>

#define WAYS	  8
#define WORD	  sizeof(uint64_t)
#define TAG_SHIFT 48
#define HIDDEN	  (UINT64_C(1) << 47)
#define POSITION  (HIDDEN - 1)
/* What a record with its key takes, about: the index is made for that. */
#define USUAL_BYTES 128
/* With huge pages, less would be resident as a whole with its first records. */
#define HUGE_BYTES (64U << 20)

struct bucket {
	_Alignas(64) _Atomic uint64_t entries[WAYS];
};

struct cache_shard {
	_Alignas(64) pthread_mutex_t lock; /* protects changes of all below */
	_Alignas(64) _Atomic uint64_t reserved; /* position, in words */
	_Atomic uint64_t *ring;
	const void *memory; /* of the ring */
	uint64_t ring_words;
	struct bucket *buckets;
	uint64_t bucket_count; /* a power of two */
};

/* A key and its record, as they are given. */
struct item {
	uint64_t hash;
	const char *key;
	size_t key_bytes;
	const void *record;
	size_t record_bytes;
};

static size_t words_of(size_t bytes)
{
	return (bytes + WORD - 1) / WORD;
}

/* --- life --------------------------------------------------------------- */

/* The memory is zero, and what is not touched costs nothing. */
static void shard_init(struct cache_shard *shard, struct bucket *buckets,
		       uint64_t bucket_count, _Atomic uint64_t *ring,
		       uint64_t ring_words)
{
	(void)pthread_mutex_init(&shard->lock, NULL);
	shard->ring = ring;
	shard->memory = ring;
	shard->ring_words = ring_words;
	shard->buckets = buckets;
	shard->bucket_count = bucket_count;
	atomic_init(&shard->reserved, ring_words);
}

/* One piece of memory: the shards, all their indices, all their rings. */
int cache_init(struct cache *cache, uint64_t bytes)
{
	/* A ring must have room for a few of the biggest. */
	const uint64_t least = (uint64_t)CACHE_SHARDS * CACHE_RECORD_MAX * 4;
	uint64_t bucket_count = 1, index_bytes, ring_words;
	struct bucket *buckets;
	_Atomic uint64_t *rings;
	void *memory;

	cache->shards = NULL;
	if (bytes == 0)
		return 0;
	if (bytes < least)
		bytes = least;
	while (bucket_count * WAYS * USUAL_BYTES < bytes / CACHE_SHARDS)
		bucket_count *= 2;
	index_bytes = CACHE_SHARDS * bucket_count * sizeof(struct bucket);
	ring_words = (bytes - index_bytes) / CACHE_SHARDS / WORD;
	bytes += CACHE_SHARDS * sizeof(struct cache_shard);
	memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED)
		return -ENOMEM;
	/* Any get is somewhere else in it. */
	if (bytes >= HUGE_BYTES)
		(void)madvise(memory, bytes, MADV_HUGEPAGE);
	cache->shards = memory;
	cache->bytes = bytes;
	buckets = (struct bucket *)(cache->shards + CACHE_SHARDS);
	rings = (_Atomic uint64_t *)(buckets + CACHE_SHARDS * bucket_count);
	for (size_t i = 0; i < CACHE_SHARDS; i++)
		shard_init(&cache->shards[i], buckets + i * bucket_count,
			   bucket_count, rings + i * ring_words, ring_words);
	return 0;
}

void cache_done(struct cache *cache)
{
	if (cache->shards == NULL)
		return;
	for (size_t i = 0; i < CACHE_SHARDS; i++)
		(void)pthread_mutex_destroy(&cache->shards[i].lock);
	(void)munmap(cache->shards, cache->bytes);
	cache->shards = NULL;
}

/* --- words ---------------------------------------------------------------- */

/*
 * Whoever loads a word of a record also sees `reserved` as it was moved, and
 * the entry as it was hidden, before that word was stored.
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

/* True if the entry may be that of the hash, hidden or not. */
static bool has_tag(uint64_t entry, uint64_t hash)
{
	return entry != 0 && (entry ^ hash) >> TAG_SHIFT == 0;
}

static bool is_there(const struct cache_shard *shard, uint64_t position)
{
	return load(&shard->reserved) - position <= shard->ring_words;
}

static _Atomic uint64_t *place_of(const struct cache_shard *shard,
				  uint64_t position)
{
	return shard->ring + position % shard->ring_words;
}

/* --- heads -------------------------------------------------------------- */

/*
 * The first word of what is kept: bytes of the key (8 bits) and of the record
 * (14), words that a record may have here (11), and how often it was replaced
 * in this place (31).
 */
static uint64_t head_of(const struct item *item, uint64_t words,
			uint64_t version)
{
	return version << 33 | words << 22 | (uint64_t)item->record_bytes << 8 |
	       item->key_bytes;
}

static size_t head_key_bytes(uint64_t head)
{
	return head & 0xff;
}

static size_t head_record_bytes(uint64_t head)
{
	return head >> 8 & 0x3fff;
}

static size_t head_words(uint64_t head)
{
	return head >> 22 & 0x7ff;
}

static uint64_t head_version(uint64_t head)
{
	return head >> 33;
}

/* --- copies, word by word ----------------------------------------------- */

static void copy_out(char *to, const _Atomic uint64_t *from, size_t bytes)
{
	uint64_t four[4], word;

	for (; bytes >= sizeof(four); bytes -= sizeof(four)) {
		four[0] = load(from++);
		four[1] = load(from++);
		four[2] = load(from++);
		four[3] = load(from++);
		memcpy(to, four, sizeof(four));
		to += sizeof(four);
	}
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
	uint64_t four[4], word;

	for (; bytes >= sizeof(four); bytes -= sizeof(four)) {
		memcpy(four, from, sizeof(four));
		store(to++, four[0]);
		store(to++, four[1]);
		store(to++, four[2]);
		store(to++, four[3]);
		from += sizeof(four);
	}
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

/* True if the words behind a head can be those of this key. */
static bool is_sound(const struct cache_shard *shard,
		     const _Atomic uint64_t *at, uint64_t head,
		     size_t key_bytes)
{
	size_t bytes = head_record_bytes(head);

	/* What is being overwritten can say anything. */
	return head_key_bytes(head) == key_bytes && bytes <= CACHE_RECORD_MAX &&
	       1 + words_of(key_bytes) + words_of(bytes) <=
		       (size_t)(shard->ring + shard->ring_words - at);
}

static bool copy_entry(const struct cache_shard *shard,
		       const _Atomic uint64_t *entry, uint64_t value,
		       const char *key, size_t key_bytes, void *to, size_t room,
		       size_t *ret_bytes)
{
	uint64_t position = value & POSITION;
	const _Atomic uint64_t *at = place_of(shard, position);
	uint64_t head;
	size_t bytes;

	if (!is_there(shard, position))
		return false;
	head = load(at);
	if (!is_sound(shard, at, head, key_bytes) ||
	    !is_equal(at + 1, key, key_bytes))
		return false;
	bytes = head_record_bytes(head);
	copy_out(to, at + 1 + words_of(key_bytes), bytes < room ? bytes : room);
	/*
	 * In this order: an entry that is not hidden any more may show another
	 * record than the one that was copied, but then so does the head.
	 */
	if (load(entry) != value || load(at) != head ||
	    !is_there(shard, position))
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
		uint64_t value = load(&bucket->entries[i]);

		if (has_tag(value, hash) && (value & HIDDEN) == 0 &&
		    copy_entry(shard, &bucket->entries[i], value, key,
			       key_bytes, to, room, ret_bytes))
			return true;
	}
	return false;
}

/* --- putting and dropping: under the lock -------------------------------- */

static void forget(struct cache_shard *shard, uint64_t hash)
{
	struct bucket *bucket = bucket_of(shard, hash);

	for (size_t i = 0; i < WAYS; i++)
		if (has_tag(load(&bucket->entries[i]), hash))
			store(&bucket->entries[i], 0);
}

/* The entry of the key, or NULL. */
static _Atomic uint64_t *find(const struct cache_shard *shard,
			      const struct item *item)
{
	struct bucket *bucket = bucket_of(shard, item->hash);

	for (size_t i = 0; i < WAYS; i++) {
		uint64_t value = load(&bucket->entries[i]);
		const _Atomic uint64_t *at;

		if (!has_tag(value, item->hash) ||
		    !is_there(shard, value & POSITION))
			continue;
		at = place_of(shard, value & POSITION);
		if (head_key_bytes(load(at)) == item->key_bytes &&
		    is_equal(at + 1, item->key, item->key_bytes))
			return &bucket->entries[i];
	}
	return NULL;
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

static size_t whole_words(const struct item *item)
{
	return 1 + words_of(item->key_bytes) + words_of(item->record_bytes);
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

/* Returns its entry; `hidden` is HIDDEN or 0. */
static _Atomic uint64_t *insert(struct cache_shard *shard,
				const struct item *item, uint64_t hidden)
{
	size_t key_words = words_of(item->key_bytes);
	uint64_t position = reserve(shard, whole_words(item));
	_Atomic uint64_t *at = place_of(shard, position);
	_Atomic uint64_t *entry;

	store(at, head_of(item, words_of(item->record_bytes), 0));
	copy_in(at + 1, item->key, item->key_bytes);
	copy_in(at + 1 + key_words, item->record, item->record_bytes);
	forget(shard, item->hash);
	entry = choose_entry(bucket_of(shard, item->hash));
	store(entry, tag_of(item->hash) | hidden | position);
	return entry;
}

void cache_put(struct cache *cache, uint64_t hash, const char *key,
	       size_t key_bytes, const void *record, size_t record_bytes,
	       const struct change_table *changes,
	       const struct cache_ticket *ticket)
{
	const struct item item = {hash, key, key_bytes, record, record_bytes};
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
		(void)insert(shard, &item, 0);
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

/* --- what the writer stages: under the lock ------------------------------ */

/* Returns false if the key's place is too small. */
static bool replace(const struct cache_shard *shard, _Atomic uint64_t *entry,
		    const struct item *item)
{
	uint64_t value = load(entry);
	_Atomic uint64_t *at = place_of(shard, value & POSITION);
	uint64_t head = load(at);

	if (words_of(item->record_bytes) > head_words(head))
		return false;
	store(entry, value | HIDDEN);
	copy_in(at + 1 + words_of(item->key_bytes), item->record,
		item->record_bytes);
	store(at, head_of(item, head_words(head), head_version(head) + 1));
	return true;
}

/* True if there is room that was never used: positions begin at one round. */
static bool has_new_room(const struct cache_shard *shard,
			 const struct item *item)
{
	return load(&shard->reserved) + whole_words(item) <=
	       2 * shard->ring_words;
}

/* Returns the entry of the hidden record; NULL: it is not here. */
static _Atomic uint64_t *stage(struct cache_shard *shard,
			       const struct item *item)
{
	_Atomic uint64_t *entry = find(shard, item);

	if (entry != NULL && replace(shard, entry, item))
		return entry;
	if (entry != NULL || has_new_room(shard, item))
		return insert(shard, item, HIDDEN);
	return NULL;
}

void cache_stage(struct cache *cache, uint64_t hash, const char *key,
		 size_t key_bytes, const void *record, size_t record_bytes,
		 struct cache_staged *staged)
{
	const struct item item = {hash, key, key_bytes, record, record_bytes};
	struct cache_shard *shard;
	struct cache_place *place;
	_Atomic uint64_t *entry;

	if (record_bytes > CACHE_RECORD_MAX ||
	    staged->count == CACHE_STAGED_MAX) {
		cache_drop(cache, hash);
		return;
	}
	if (cache->shards == NULL)
		return;
	shard = shard_of(cache, hash);
	(void)pthread_mutex_lock(&shard->lock);
	entry = stage(shard, &item);
	if (entry != NULL) {
		place = &staged->places[staged->count++];
		place->entry = entry;
		place->value = load(entry) & ~HIDDEN;
	}
	(void)pthread_mutex_unlock(&shard->lock);
}

/* An entry that is another one meanwhile is left alone. */
void cache_publish(struct cache_staged *staged)
{
	for (size_t i = 0; i < staged->count; i++) {
		const struct cache_place *place = &staged->places[i];
		uint64_t hidden = place->value | HIDDEN;

		(void)atomic_compare_exchange_strong_explicit(
			place->entry, &hidden, place->value,
			memory_order_release, memory_order_relaxed);
	}
	staged->count = 0;
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
		uint64_t value = load(&bucket->entries[i]);
		const char *at;

		if (!has_tag(value, hash))
			continue;
		at = (const char *)shard->memory +
		     (value & POSITION) % shard->ring_words * WORD;
		__builtin_prefetch(at);
		__builtin_prefetch(at + 64);
		__builtin_prefetch(at + 128);
	}
}
