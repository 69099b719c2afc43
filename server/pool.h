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
	size_t taken; /* blocks lent out now */
	size_t most;  /* and at once, since the last trim */
	/* Memory of all inputs and outputs, blocks included: they count it. */
	size_t held;
};

/* Returns POOL_BLOCK_BYTES of memory, or NULL: no memory. */
void *pool_take(struct pool *pool);

/* Gives a block back; NULL is fine. */
void pool_give(struct pool *pool, void *block);

/*
 * Gives the system back what a burst of big answers has left, if there was
 * one: blocks, and other memory that was freed. Call it now and then.
 * Blocks: for some milliseconds after a burst.
 */
void pool_trim(struct pool *pool);

/* Frees what is kept. No block may be lent out any more. */
void pool_done(struct pool *pool);

#endif
