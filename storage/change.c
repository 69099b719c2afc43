/*
 * change.c - the table of last changes; see change.h.
 */
#include "storage/change.h"

#include <stdlib.h>

struct change_table *change_table_new(void)
{
	return calloc(1, sizeof(struct change_table));
}

void change_table_free(struct change_table *table)
{
	free(table);
}

void change_note(struct change_table *table, uint64_t hash, uint64_t position)
{
	atomic_store_explicit(&table->newest, position, memory_order_release);
	atomic_store_explicit(&table->slots[hash % CHANGE_SLOTS], position,
			      memory_order_release);
}

uint64_t change_last(const struct change_table *table, uint64_t hash)
{
	return atomic_load_explicit(&table->slots[hash % CHANGE_SLOTS],
				    memory_order_acquire);
}

uint64_t change_newest(const struct change_table *table)
{
	return atomic_load_explicit(&table->newest, memory_order_acquire);
}

void change_prefetch(const struct change_table *table, uint64_t hash)
{
	__builtin_prefetch(&table->slots[hash % CHANGE_SLOTS]);
}
