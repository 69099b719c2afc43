/*
 * pool.c - see pool.h. A free block's first bytes link it to the next one.
 */
#include "server/pool.h"

#include <assert.h>
#include <malloc.h>
#include <stdlib.h>

/* 2 MB a worker: what a busy turn gives back is there for the next one. */
#define POOL_FREE_MAX 128

/* 8 MB of answers at once: worth to be given back. */
#define POOL_BURST_BLOCKS 512

struct pool_block {
	struct pool_block *next;
};

void *pool_take(struct pool *pool)
{
	struct pool_block *block = pool->free;

	if (block != NULL) {
		pool->free = block->next;
		pool->free_count--;
	} else {
		block = malloc(POOL_BLOCK_BYTES);
		if (block == NULL)
			return NULL;
	}
	pool->taken++;
	if (pool->taken > pool->most)
		pool->most = pool->taken;
	return block;
}

void pool_give(struct pool *pool, void *memory)
{
	struct pool_block *block = memory;

	if (block == NULL)
		return;
	assert(pool->taken > 0);
	pool->taken--;
	if (pool->free_count >= POOL_FREE_MAX) {
		free(block);
		return;
	}
	block->next = pool->free;
	pool->free = block;
	pool->free_count++;
}

void pool_trim(struct pool *pool)
{
	if (pool->most < POOL_BURST_BLOCKS || pool->taken > pool->most / 4)
		return;
	pool->most = pool->taken;
	(void)malloc_trim(0);
}

void pool_done(struct pool *pool)
{
	assert(pool->taken == 0 && pool->held == 0);
	while (pool->free != NULL) {
		struct pool_block *block = pool->free;

		pool->free = block->next;
		free(block);
	}
	pool->free_count = 0;
}
