/*
 * change.c - the table of last changes; see change.h.
 */
#include "storage/change.h"

#include <stdlib.h>
#include <string.h>

#define MULTIPLIER UINT64_C(0x9e3779b97f4a7c15)

static uint64_t mix(uint64_t hash, uint64_t word)
{
	hash = (hash ^ word) * MULTIPLIER;
	return hash ^ (hash >> 32);
}

static size_t slot_of(const char *key, size_t key_bytes)
{
	uint64_t hash = key_bytes;
	uint64_t word;

	for (; key_bytes >= sizeof(word); key_bytes -= sizeof(word)) {
		memcpy(&word, key, sizeof(word));
		hash = mix(hash, word);
		key += sizeof(word);
	}
	word = 0;
	memcpy(&word, key, key_bytes);
	return mix(hash, word) & (CHANGE_SLOTS - 1);
}

struct change_table *change_table_new(void)
{
	return calloc(1, sizeof(struct change_table));
}

void change_table_free(struct change_table *table)
{
	free(table);
}

void change_note(struct change_table *table, const char *key, size_t key_bytes,
		 uint64_t position)
{
	atomic_store_explicit(&table->newest, position, memory_order_release);
	atomic_store_explicit(&table->slots[slot_of(key, key_bytes)], position,
			      memory_order_release);
}

uint64_t change_last(const struct change_table *table, const char *key,
		     size_t key_bytes)
{
	return atomic_load_explicit(&table->slots[slot_of(key, key_bytes)],
				    memory_order_acquire);
}

uint64_t change_newest(const struct change_table *table)
{
	return atomic_load_explicit(&table->newest, memory_order_acquire);
}
