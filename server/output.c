/*
 * output.c - see output.h.
 *
 * A block of the pool starts with its struct reply; the bytes follow. Only
 * the last reply of the queue grows. Bytes of a reply that were sent are cut
 * off its front, so `data` moves and `bytes` shrinks.
 */
#include "server/output.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

/* Enough for a deep pipeline of small answers in one system call. */
#define OUTPUT_IOV_MAX 256

#define BLOCK_ROOM (POOL_BLOCK_BYTES - sizeof(struct reply))

void output_init(struct output *out, struct pool *pool)
{
	*out = (struct output){.pool = pool};
	out->tail = &out->head;
}

static void reply_free(struct output *out, struct reply *reply)
{
	switch (reply->home) {
	case REPLY_BLOCK:
		pool_give(out->pool, reply);
		break;
	case REPLY_HEAP:
		free(reply);
		break;
	case REPLY_OP:
		store_op_free(reply->op);
		break;
	}
}

static void output_pop(struct output *out)
{
	struct reply *reply = out->head;

	out->head = reply->next;
	if (out->head == NULL) {
		out->tail = &out->head;
		out->last = NULL;
		out->room_end = NULL;
	}
	reply_free(out, reply);
}

void output_clear(struct output *out)
{
	while (out->head != NULL) {
		assert(!out->head->pending);
		output_pop(out);
	}
	out->bytes = 0;
}

static void output_append(struct output *out, struct reply *reply)
{
	reply->next = NULL;
	*out->tail = reply;
	out->tail = &reply->next;
	out->last = reply;
	out->room_end = NULL;
	out->bytes += reply->bytes;
}

static char *last_end(const struct output *out)
{
	/* A REPLY_BLOCK's bytes lie in its own block, which is ours. */
	return (char *)(uintptr_t)(out->last->data + out->last->bytes);
}

char *output_room(struct output *out, size_t min_bytes, size_t *ret_bytes)
{
	struct reply *reply;

	assert(min_bytes <= POOL_BLOCK_BYTES / 2);
	if (out->room_end == NULL ||
	    (size_t)(out->room_end - last_end(out)) < min_bytes) {
		reply = pool_take(out->pool);
		if (reply == NULL)
			return NULL;
		*reply = (struct reply){.home = REPLY_BLOCK};
		reply->data = (char *)(reply + 1);
		output_append(out, reply);
		out->room_end = (char *)(reply + 1) + BLOCK_ROOM;
	}
	*ret_bytes = (size_t)(out->room_end - last_end(out));
	return last_end(out);
}

/* Begins a new reply with what was written to the room of the last one. */
static void output_split(struct output *out, size_t bytes)
{
	const char *data = last_end(out);
	struct reply *reply = pool_take(out->pool);

	/* Without memory the replies in front wait, too: late, not wrong. */
	if (reply == NULL)
		return;
	*reply = (struct reply){.home = REPLY_BLOCK};
	reply->data = (char *)(reply + 1);
	memcpy(reply + 1, data, bytes);
	output_append(out, reply);
	out->room_end = (char *)(reply + 1) + BLOCK_ROOM;
}

void output_keep(struct output *out, size_t bytes, uint64_t shown_from)
{
	assert(out->room_end != NULL && last_end(out) + bytes <= out->room_end);
	if (shown_from > out->last->shown_from && out->last->bytes > 0)
		output_split(out, bytes);
	out->last->bytes += bytes;
	out->bytes += bytes;
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

struct reply *output_heap_new(size_t bytes, char **ret_memory)
{
	struct reply *reply = malloc(sizeof(*reply) + bytes);

	if (reply == NULL)
		return NULL;
	*reply = (struct reply){.home = REPLY_HEAP};
	*ret_memory = (char *)(reply + 1);
	return reply;
}

void output_heap_free(struct reply *reply)
{
	free(reply);
}

void output_heap_keep(struct output *out, struct reply *reply, const char *data,
		      size_t bytes, uint64_t shown_from)
{
	reply->data = data;
	reply->bytes = bytes;
	reply->shown_from = shown_from;
	output_append(out, reply);
}

void output_expect(struct output *out, struct reply *reply, struct store_op *op)
{
	reply->home = REPLY_OP;
	reply->op = op;
	reply->bytes = 0;
	reply->pending = true;
	output_append(out, reply);
}

void output_fill(struct output *out, struct reply *reply, const char *data,
		 size_t bytes)
{
	assert(reply->pending);
	reply->pending = false;
	reply->data = data;
	reply->bytes = bytes;
	out->bytes += bytes;
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
		if (reply->pending) {
			*ret_state = OUTPUT_PENDING;
			break;
		}
		if (reply->shown_from != 0 &&
		    !store_shown(client, reply->shown_from)) {
			*ret_state = OUTPUT_HIDDEN;
			break;
		}
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
	out->bytes -= sent;
	while (out->head != stop && sent >= out->head->bytes) {
		sent -= out->head->bytes;
		output_pop(out);
	}
	if (sent > 0) {
		out->head->data += sent;
		out->head->bytes -= sent;
	}
}

enum output_state output_send(struct output *out, int fd,
			      struct store_client *client, size_t *ret_sent)
{
	struct iovec iov[OUTPUT_IOV_MAX];
	enum output_state state;

	*ret_sent = 0;
	for (;;) {
		struct msghdr message = {.msg_iov = iov};
		const struct reply *stop;
		size_t wanted = 0;
		ssize_t sent = 0;
		int i, count = output_gather(out, client, iov, &stop, &state);

		for (i = 0; i < count; i++)
			wanted += iov[i].iov_len;
		if (wanted > 0) {
			message.msg_iovlen = (size_t)count;
			sent = sendmsg(fd, &message, MSG_NOSIGNAL);
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
