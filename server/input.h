/*
 * input.h - the bytes of one connection that were read and not yet used.
 *
 * Empty: no memory at all. Normally one block of the worker's pool; a long
 * get line grows it on the heap, and it goes back to nothing afterwards.
 * The bytes do not move while nobody calls input_reserve().
 * Thread: the owner worker. Blocks: never.
 */
#ifndef SERVER_INPUT_H
#define SERVER_INPUT_H

#include <stdbool.h>
#include <stddef.h>

#include "server/pool.h"

struct input {
	char *memory;
	size_t start, end, cap;
	size_t scanned; /* bytes from start that hold no line end */
};

/*
 * Makes room to read into behind the unused bytes, which may move.
 * Returns the room's size: 0 if limit_bytes are held already, or no memory.
 */
size_t input_reserve(struct input *in, struct pool *pool, size_t limit_bytes);

/* The unused bytes. */
static inline const char *input_data(const struct input *in)
{
	return in->memory + in->start;
}

static inline size_t input_bytes(const struct input *in)
{
	return in->end - in->start;
}

/* Uses up bytes from the front. */
void input_consume(struct input *in, size_t bytes);

/* Gives the memory back if no byte is left in it. */
void input_trim(struct input *in, struct pool *pool);

/* Forgets everything and gives the memory back. */
void input_clear(struct input *in, struct pool *pool);

#endif
