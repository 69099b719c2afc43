/*
 * output.c - see output.h.
 *
 * Small replies share a block: a header, its bytes, the next header, its
 * bytes. Only the last reply of the queue grows. A block goes back to the
 * pool with its last reply. Bytes that were sent are cut off the front of
 * their reply, so `data` moves and `bytes` shrinks.
 */
#include "server/output.h"

#include <assert.h>
#include <errno.h>
#include <stdalign.h>
#include <stdlib.h>
#include <string.h>

/* Enough for a deep pipeline of small answers in one system call. */
#define OUTPUT_IOV_MAX 256

struct output_block {
	size_t replies; /* that lie in it */
	char *free, *end;
};

static_assert(OUTPUT_ROOM_MAX + sizeof(struct output_block) +
			      sizeof(struct reply) <=
		      POOL_BLOCK_BYTES,
	      "a new block has the room that was promised");

void output_init(struct output *out, struct pool *pool)
{
	*out = (struct output){.pool = pool};
	out->tail = &out->head;
}

static void output_hold(struct output *out, size_t bytes)
{
	out->held += bytes;
	out->pool->held += bytes;
}

static void output_release(struct output *out, size_t bytes)
{
	out->held -= bytes;
	out->pool->held -= bytes;
}

/* --- blocks ------------------------------------------------------------- */

static struct output_block *block_take(struct output *out)
{
	struct output_block *block = pool_take(out->pool);

	if (block == NULL)
		return NULL;
	block->replies = 0;
	block->free = (char *)(block + 1);
	block->end = (char *)block + POOL_BLOCK_BYTES;
	output_hold(out, POOL_BLOCK_BYTES);
	return block;
}

static void block_leave(struct output *out, struct output_block *block)
{
	if (--block->replies > 0)
		return;
	if (out->open == block)
		out->open = NULL;
	output_release(out, POOL_BLOCK_BYTES);
	pool_give(out->pool, block);
}

/* --- the queue ---------------------------------------------------------- */

static void output_pop(struct output *out)
{
	struct reply *reply = out->head;

	out->head = reply->next;
	if (out->head == NULL) {
		out->tail = &out->head;
		out->last = NULL;
	}
	output_release(out, reply->held);
	switch (reply->home) {
	case REPLY_BLOCK:
		block_leave(out, reply->block);
		break;
	case REPLY_HEAP:
		free(reply);
		break;
	case REPLY_OP:
		store_op_free(reply->op);
		break;
	}
}

void output_clear(struct output *out)
{
	while (out->head != NULL) {
		assert(!out->head->pending);
		output_pop(out);
	}
}

static void output_append(struct output *out, struct reply *reply)
{
	reply->next = NULL;
	*out->tail = reply;
	out->tail = &reply->next;
	out->last = reply;
	output_hold(out, reply->held);
}

/* --- small answers ------------------------------------------------------ */

/* Begins a reply in a block that has room for it and min_bytes. */
static bool output_begin(struct output *out, size_t min_bytes)
{
	struct output_block *block = out->open;
	struct reply *reply;
	size_t align, need = sizeof(*reply) + alignof(struct reply) + min_bytes;

	if (block == NULL || (size_t)(block->end - block->free) < need) {
		block = block_take(out);
		if (block == NULL)
			return false;
		out->open = block;
	}
	align = -(uintptr_t)block->free % alignof(struct reply);
	reply = (struct reply *)(void *)(block->free + align);
	*reply = (struct reply){.home = REPLY_BLOCK, .block = block};
	block->free = (char *)(reply + 1);
	block->replies++;
	reply->data = block->free;
	output_append(out, reply);
	return true;
}

/* True if the last reply can grow: it ends where its block goes on. */
static bool output_can_grow(const struct output *out, size_t min_bytes)
{
	const struct reply *last = out->last;

	return last != NULL && last->home == REPLY_BLOCK &&
	       last->block == out->open &&
	       (size_t)(out->open->end - out->open->free) >= min_bytes;
}

char *output_room(struct output *out, size_t min_bytes, size_t *ret_bytes)
{
	assert(min_bytes <= OUTPUT_ROOM_MAX);
	if (!output_can_grow(out, min_bytes) && !output_begin(out, min_bytes))
		return NULL;
	*ret_bytes = (size_t)(out->open->end - out->open->free);
	return out->open->free;
}

/*
 * Makes what was just written the beginning of a reply of its own, so that
 * what stands in front of it need not wait with it.
 */
static void output_split(struct output *out, size_t bytes)
{
	const char *written = out->open->free;
	struct output_block *block = out->open;

	block->free += bytes; /* not to be written over while it is copied */
	if (output_begin(out, bytes))
		memcpy(out->open->free, written, bytes);
	/* Without memory those in front wait, too: late, not wrong. */
	else
		block->free -= bytes;
}

void output_keep(struct output *out, size_t bytes, uint64_t shown_from)
{
	assert(out->open != NULL && out->open->free + bytes <= out->open->end);
	if (shown_from > out->last->shown_from && out->last->bytes > 0)
		output_split(out, bytes);
	out->last->bytes += bytes;
	out->open->free += bytes;
	if (shown_from > out->last->shown_from)
		out->last->shown_from = shown_from;
}

bool output_write(struct output *out, const char *data, size_t bytes)
{
	while (bytes > 0) {
		size_t part, room;
		char *to = output_room(out, 1, &room);

		if (to == NULL)
			return false;
		part = bytes < room ? bytes : room;
		memcpy(to, data, part);
		output_keep(out, part, 0);
		data += part;
		bytes -= part;
	}
	return true;
}

/* --- answers with memory of their own ----------------------------------- */

struct reply *output_heap_new(size_t bytes, char **ret_memory)
{
	struct reply *reply = malloc(sizeof(*reply) + bytes);

	if (reply == NULL)
		return NULL;
	*reply = (struct reply){.home = REPLY_HEAP,
				.held = sizeof(*reply) + bytes};
	*ret_memory = (char *)(reply + 1);
	return reply;
}

void output_heap_keep(struct output *out, struct reply *reply, const char *data,
		      size_t bytes, uint64_t shown_from)
{
	reply->data = data;
	reply->bytes = bytes;
	reply->shown_from = shown_from;
	output_append(out, reply);
}

void output_expect(struct output *out, struct reply *reply, struct store_op *op,
		   size_t held)
{
	*reply = (struct reply){
		.home = REPLY_OP, .op = op, .held = held, .pending = true};
	output_append(out, reply);
}

void output_fill(struct output *out, struct reply *reply, const char *data,
		 size_t bytes, size_t more)
{
	assert(reply->pending);
	reply->pending = false;
	reply->data = data;
	reply->bytes = bytes;
	reply->held += more;
	output_hold(out, more);
}

/* --- sending ------------------------------------------------------------ */

/* OUTPUT_EMPTY: nothing stops it. */
static enum output_state reply_state(const struct reply *reply,
				     struct store_client *client)
{
	if (reply->pending)
		return OUTPUT_PENDING;
	if (reply->shown_from != 0 && !store_shown(client, reply->shown_from))
		return OUTPUT_HIDDEN;
	return OUTPUT_EMPTY;
}

/*
 * Gathers what may leave now. *ret_stop is the first reply that may not (or
 * for which there was no room), *ret_state says why.
 */
static int output_gather(const struct output *out, struct store_client *client,
			 struct iovec *iov, const struct reply **ret_stop,
			 enum output_state *ret_state)
{
	const struct reply *reply;
	int count = 0;

	*ret_state = OUTPUT_EMPTY;
	for (reply = out->head; reply != NULL; reply = reply->next) {
		if (count == OUTPUT_IOV_MAX)
			break;
		*ret_state = reply_state(reply, client);
		if (*ret_state != OUTPUT_EMPTY)
			break;
		if (reply->bytes == 0)
			continue;
		iov[count].iov_base = (void *)(uintptr_t)reply->data;
		iov[count].iov_len = reply->bytes;
		count++;
	}
	*ret_stop = reply;
	return count;
}

/* Takes `sent` bytes off the replies in front of `stop`. */
static void output_consume(struct output *out, size_t sent,
			   const struct reply *stop)
{
	while (out->head != stop && sent >= out->head->bytes) {
		sent -= out->head->bytes;
		output_pop(out);
	}
	if (sent > 0) {
		out->head->data += sent;
		out->head->bytes -= sent;
	}
}

enum output_state output_send(struct output *out, struct transport *transport,
			      struct store_client *client, size_t *ret_sent)
{
	struct iovec iov[OUTPUT_IOV_MAX];
	enum output_state state;

	*ret_sent = 0;
	for (;;) {
		const struct reply *stop;
		size_t wanted = 0;
		ssize_t sent = 0;
		int count = output_gather(out, client, iov, &stop, &state);

		for (int i = 0; i < count; i++)
			wanted += iov[i].iov_len;
		if (wanted > 0) {
			sent = transport_send(transport, iov, count);
			if (sent < 0 && errno == EINTR)
				continue;
			if (sent < 0)
				return errno == EAGAIN ? OUTPUT_BLOCKED
						       : OUTPUT_BROKEN;
			*ret_sent += (size_t)sent;
		}
		output_consume(out, (size_t)sent, stop);
		if ((size_t)sent < wanted)
			return OUTPUT_BLOCKED;
		if (count < OUTPUT_IOV_MAX)
			return state;
	}
}

/* --- for those who send themselves -------------------------------------- */

enum output_state output_ready(const struct output *out,
			       struct store_client *client, size_t *ret_bytes)
{
	enum output_state state = OUTPUT_EMPTY;
	const struct reply *reply;

	*ret_bytes = 0;
	for (reply = out->head; reply != NULL; reply = reply->next) {
		state = reply_state(reply, client);
		if (state != OUTPUT_EMPTY)
			break;
		*ret_bytes += reply->bytes;
	}
	return state;
}

size_t output_take(struct output *out, char *to, size_t bytes)
{
	size_t taken = 0;

	while (out->head != NULL && taken < bytes) {
		const struct reply *reply = out->head;
		size_t part = bytes - taken;

		if (part > reply->bytes)
			part = reply->bytes;
		if (part > 0)
			memcpy(to + taken, reply->data, part);
		taken += part;
		output_consume(out, part, NULL);
	}
	return taken;
}
