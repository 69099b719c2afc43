/*
 * output.h - the ordered answers of one connection.
 *
 * A queue of replies. Each is a run of bytes that may be sent when everything
 * in front of it was sent and
 *   - it is no longer pending: the write it answers is durable, and
 *   - the position it was read at (shown_from) is durable.
 * So several writes of one connection can be in flight, and answers keep
 * their order. Small answers share blocks of the worker's pool; an answer to
 * a write is a reply that lies inside its store_op; a big value has memory of
 * its own. `held` counts all of that, so that a peer who does not read can be
 * made to wait.
 *
 * Thread: the owner worker. Blocks: never (sockets are non-blocking).
 */
#ifndef SERVER_OUTPUT_H
#define SERVER_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "server/pool.h"
#include "server/transport.h"
#include "storage/storage.h"

#define OUTPUT_ROOM_MAX (POOL_BLOCK_BYTES / 2)

enum reply_home {
	REPLY_BLOCK, /* in a block of the pool, header and bytes */
	REPLY_HEAP,  /* in memory of its own */
	REPLY_OP     /* inside a store_op */
};

struct output_block;

struct reply {
	struct reply *next;
	const char *data;
	size_t bytes;
	uint64_t shown_from; /* 0: may be seen at once */
	size_t held;	     /* memory that goes with it, besides blocks */
	enum reply_home home;
	bool pending;
	union {
		struct output_block *block; /* REPLY_BLOCK */
		struct store_op *op; /* REPLY_OP: freed with it, if any */
	};
};

struct output {
	struct reply *head, *last;
	struct reply **tail;
	struct output_block *open; /* the one that is being filled, or NULL */
	size_t held;		   /* memory of all that is queued */
	struct pool *pool;
};

/* What stopped output_send(). */
enum output_state {
	OUTPUT_EMPTY,	/* all is sent */
	OUTPUT_PENDING, /* the next reply waits for its write */
	OUTPUT_HIDDEN,	/* the next reply waits for its position */
	OUTPUT_BLOCKED, /* the socket takes no more */
	OUTPUT_BROKEN	/* the peer is gone */
};

/* An empty queue; its blocks come from `pool`. */
void output_init(struct output *out, struct pool *pool);

/* Drops everything queued. No reply may be pending. */
void output_clear(struct output *out);

/*
 * Gives contiguous room for at least min_bytes (<= OUTPUT_ROOM_MAX) at the
 * end of the queue. Returns NULL: no memory. Keep it with output_keep()
 * before anything else is queued, or just leave it.
 */
char *output_room(struct output *out, size_t min_bytes, size_t *ret_bytes);

/* Queues the first `bytes` of the room that output_room() gave. */
void output_keep(struct output *out, size_t bytes, uint64_t shown_from);

/* Copies bytes to the end of the queue. False: no memory, nothing queued. */
bool output_write(struct output *out, const char *data, size_t bytes);

/*
 * A reply with `bytes` of memory of its own. NULL: no memory. Owner: the
 * caller, who must hand it to output_heap_keep().
 */
struct reply *output_heap_new(size_t bytes, char **ret_memory);

/* Queues [data, data + bytes) of its memory; it is freed when sent. */
void output_heap_keep(struct output *out, struct reply *reply, const char *data,
		      size_t bytes, uint64_t shown_from);

/*
 * Queues a reply that lies in an op; pending until output_fill(). `op` is
 * freed with this reply, NULL if with a later one. `held`: the op's memory.
 */
void output_expect(struct output *out, struct reply *reply, struct store_op *op,
		   size_t held);

/*
 * Answers a pending reply. data must live as long as the reply's op; `more`
 * is memory that the op has got since.
 */
void output_fill(struct output *out, struct reply *reply, const char *data,
		 size_t bytes, size_t more);

/*
 * Sends what may be sent, with as few system calls as possible.
 * Returns what stopped it; *ret_sent counts the bytes that left.
 */
enum output_state output_send(struct output *out, struct transport *transport,
			      struct store_client *client, size_t *ret_sent);

/*
 * What would stop output_send(), and in *ret_bytes what may leave before that.
 * Never BLOCKED or BROKEN.
 */
enum output_state output_ready(const struct output *out,
			       struct store_client *client, size_t *ret_bytes);

/*
 * Moves at most `bytes` from the front of the queue to `to`, and returns their
 * number. The caller knows that they may leave.
 */
size_t output_take(struct output *out, char *to, size_t bytes);

#endif
