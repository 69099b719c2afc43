/*
 * access.c - see access.h.
 *
 * A slot: 31 bits of the hash, the last of them set, the fetched bit, 32 bits
 * of seconds, of which the server's first one is 1. 0 is an empty slot, and
 * older than any. Two threads may write the same slot at once: one of the notes
 * is lost, and nothing else.
 */
#include "server/access.h"

#include <stdlib.h>

#define TAG_SHIFT 33
#define FETCHED	  (UINT64_C(1) << 32)
#define SECONDS	  (FETCHED - 1)
#define FIRST	  1

struct access_table *access_new(int64_t now)
{
	struct access_table *table = calloc(1, sizeof(*table));

	if (table != NULL)
		table->started = now;
	return table;
}

void access_free(struct access_table *table)
{
	free(table);
}

struct place {
	_Atomic uint64_t *bucket;
	uint64_t tag;
};

static struct place place_of(struct access_table *table, uint64_t hash)
{
	return (struct place){table->slots[hash % ACCESS_BUCKETS],
			      hash >> TAG_SHIFT | 1};
}

/* The slot of the key; if there is none, the one that was used longest ago. */
static _Atomic uint64_t *find(const struct place *place, uint64_t *ret_word)
{
	_Atomic uint64_t *oldest = place->bucket;
	uint64_t oldest_word = UINT64_MAX;

	for (int i = 0; i < ACCESS_WAYS; i++) {
		uint64_t word = atomic_load_explicit(&place->bucket[i],
						     memory_order_relaxed);

		if (word >> TAG_SHIFT == place->tag) {
			*ret_word = word;
			return &place->bucket[i];
		}
		if ((word & SECONDS) < (oldest_word & SECONDS)) {
			oldest = &place->bucket[i];
			oldest_word = word;
		}
	}
	*ret_word = 0;
	return oldest;
}

/* The system's clock may have been set back behind the start. */
static uint64_t seconds_of(const struct access_table *table, int64_t now)
{
	if (now < table->started)
		return FIRST;
	return ((uint64_t)(now - table->started) + FIRST) & SECONDS;
}

static void note(struct access_table *table, uint64_t hash, int64_t now,
		 uint64_t fetched)
{
	struct place place = place_of(table, hash);
	uint64_t word;
	_Atomic uint64_t *slot = find(&place, &word);
	uint64_t wanted =
		place.tag << TAG_SHIFT | fetched | seconds_of(table, now);

	/* A line that nobody writes stays in every core's cache. */
	if (word != wanted)
		atomic_store_explicit(slot, wanted, memory_order_relaxed);
}

void access_stored(struct access_table *table, uint64_t hash, int64_t now)
{
	note(table, hash, now, 0);
}

void access_fetched(struct access_table *table, uint64_t hash, int64_t now)
{
	note(table, hash, now, FETCHED);
}

struct access access_look(struct access_table *table, uint64_t hash)
{
	struct place place = place_of(table, hash);
	uint64_t word;
	int64_t seconds;

	(void)find(&place, &word);
	seconds = word == 0 ? 0 : (int64_t)(word & SECONDS) - FIRST;
	return (struct access){(word & FETCHED) != 0, table->started + seconds};
}

void access_prefetch(const struct access_table *table, uint64_t hash)
{
	const _Atomic uint64_t *bucket = table->slots[hash % ACCESS_BUCKETS];

	/* It may lie across two lines. */
	__builtin_prefetch(&bucket[0]);
	__builtin_prefetch(&bucket[ACCESS_WAYS - 1]);
}
