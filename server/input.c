/*
 * input.c - see input.h.
 */
#include "server/input.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static void input_free(struct input *in, struct pool *pool)
{
	pool->held -= in->cap;
	if (in->cap == POOL_BLOCK_BYTES)
		pool_give(pool, in->memory);
	else
		free(in->memory);
	in->memory = NULL;
	in->cap = 0;
}

/* Doubles the memory. Returns false: no memory, nothing changed. */
static bool input_grow(struct input *in, struct pool *pool)
{
	size_t cap = in->cap == 0 ? POOL_BLOCK_BYTES : in->cap * 2;
	char *memory = cap == POOL_BLOCK_BYTES ? pool_take(pool) : malloc(cap);

	if (memory == NULL)
		return false;
	if (in->memory != NULL) {
		memcpy(memory, input_data(in), input_bytes(in));
		input_free(in, pool);
	}
	in->end -= in->start;
	in->start = 0;
	in->memory = memory;
	in->cap = cap;
	pool->held += cap;
	return true;
}

size_t input_reserve(struct input *in, struct pool *pool, size_t limit_bytes)
{
	if (input_bytes(in) >= limit_bytes)
		return 0;
	if (in->start > 0 && in->end == in->cap) {
		memmove(in->memory, input_data(in), input_bytes(in));
		in->end -= in->start;
		in->start = 0;
	}
	if (in->end == in->cap && !input_grow(in, pool))
		return 0;
	return in->cap - in->end;
}

void input_consume(struct input *in, size_t bytes)
{
	assert(bytes <= input_bytes(in));
	in->start += bytes;
	in->scanned = 0;
	if (in->start == in->end)
		in->start = in->end = 0;
}

void input_trim(struct input *in, struct pool *pool)
{
	if (in->memory != NULL && input_bytes(in) == 0)
		input_clear(in, pool);
}

void input_clear(struct input *in, struct pool *pool)
{
	if (in->memory != NULL)
		input_free(in, pool);
	in->start = in->end = in->scanned = 0;
}
