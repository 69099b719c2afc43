/*
 * pool.h - the blocks of memory that a worker's connections read into and
 * write from.
 *
 * An idle connection holds no block at all: it takes one when bytes arrive
 * and gives it back when they are dealt with. The pool keeps a few free ones.
 * Thread: the owner worker. Blocks: never.
 */
#ifndef SERVER_POOL_H
#define SERVER_POOL_H

#include <stddef.h>

#define POOL_BLOCK_BYTES 16384

struct pool_block;

struct pool {
	struct pool_block *free;
	size_t free_count;
	size_t taken; /* blocks lent out, to find leaks */
};

/* Returns POOL_BLOCK_BYTES of memory, or NULL: no memory. */
void *pool_take(struct pool *pool);

/* Gives a block back; NULL is fine. */
void pool_give(struct pool *pool, void *block);

/* Frees what is kept. No block may be lent out any more. */
void pool_done(struct pool *pool);

#endif
