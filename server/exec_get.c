/*
 * exec_get.c - get and gets: any number of keys, some of them each turn.
 *
 * A value is read from the store straight into the output: into a block of
 * the pool, where its VALUE line is then put in front, or, if it is big, into
 * memory of its own that leaves room for that line.
 */
#include "server/exec.h"

#include <string.h>

#include "server/shared.h"

/* Keys of one turn; a longer list gives way to other connections. */
#define GET_KEYS_A_TURN 64
/* Room asked of a block: the head, and a value of a usual size. */
#define GET_ROOM	(PROTO_VALUE_HEAD_MAX + STORE_RECORD_HEAD_MAX + 2 + 512)
#define GET_ROOM_BIGGER OUTPUT_ROOM_MAX

static const char crlf[] = {'\r', '\n'};

static size_t get_head(const struct conn *conn, char *buf,
		       struct proto_slice key, const struct store_item *item)
{
	bool cas_enabled = conn->worker->server->options->cas_enabled;

	return proto_classic_value(buf, key, item->flags, item->value_bytes,
				   conn->parsed.request.want_cas,
				   cas_enabled ? item->cas : 0);
}

/* Reads into a block that has `want` bytes left. GROW: the value is bigger. */
static enum store_status get_small(struct conn *conn, struct proto_slice key,
				   size_t want, struct store_item *item)
{
	char head[PROTO_VALUE_HEAD_MAX];
	enum store_status status;
	size_t room, head_bytes;
	char *to = output_room(&conn->out, want, &room);

	if (to == NULL)
		return STORE_NO_MEMORY;
	status = store_get(conn->worker->reader, key.data, key.len, to,
			   room - sizeof(crlf), PROTO_VALUE_HEAD_MAX, item);
	if (status == STORE_NOT_FOUND)
		output_keep(&conn->out, 0, item->shown_from);
	if (status != STORE_OK)
		return status;
	head_bytes = get_head(conn, head, key, item);
	memmove(to + head_bytes, item->value, item->value_bytes);
	memcpy(to, head, head_bytes);
	memcpy(to + head_bytes + item->value_bytes, crlf, sizeof(crlf));
	output_keep(&conn->out, head_bytes + item->value_bytes + sizeof(crlf),
		    item->shown_from);
	return STORE_OK;
}

/* Reads into memory of its own, as big as item->value_bytes asks for. */
static enum store_status get_big(struct conn *conn, struct proto_slice key,
				 struct store_item *item)
{
	char head[PROTO_VALUE_HEAD_MAX], *memory, *start;
	size_t bytes = PROTO_VALUE_HEAD_MAX + STORE_RECORD_HEAD_MAX +
		       item->value_bytes;
	struct reply *reply = output_heap_new(bytes + sizeof(crlf), &memory);
	enum store_status status;
	size_t head_bytes;

	if (reply == NULL)
		return STORE_NO_MEMORY;
	status = store_get(conn->worker->reader, key.data, key.len, memory,
			   bytes, PROTO_VALUE_HEAD_MAX, item);
	if (status != STORE_OK) {
		/* Nothing found, but even that may have to wait. */
		output_heap_keep(&conn->out, reply, memory, 0,
				 status == STORE_NOT_FOUND ? item->shown_from
							   : 0);
		return status;
	}
	head_bytes = get_head(conn, head, key, item);
	start = item->value - head_bytes;
	memcpy(start, head, head_bytes);
	memcpy(item->value + item->value_bytes, crlf, sizeof(crlf));
	output_heap_keep(&conn->out, reply, start,
			 head_bytes + item->value_bytes + sizeof(crlf),
			 item->shown_from);
	return STORE_OK;
}

static void get_count(struct conn *conn, struct proto_slice key,
		      enum store_status status, const struct store_item *item)
{
	struct worker *worker = conn->worker;
	struct prefixes *prefixes = &worker->server->prefixes;

	COUNT(worker, cmd_get);
	prefixes_count(prefixes, PREFIX_GET, key.data, key.len);
	if (status == STORE_OK) {
		COUNT(worker, get_hits);
		prefixes_count(prefixes, PREFIX_HIT, key.data, key.len);
		return;
	}
	COUNT(worker, get_misses);
	if (item->expired)
		COUNT(worker, get_expired);
	if (item->flushed)
		COUNT(worker, get_flushed);
}

static enum store_status get_one(struct conn *conn, struct proto_slice key)
{
	struct store_item item;
	enum store_status status = get_small(conn, key, GET_ROOM, &item);

	if (status == STORE_GROW &&
	    item.value_bytes + GET_ROOM <= GET_ROOM_BIGGER)
		status = get_small(conn, key, GET_ROOM_BIGGER, &item);
	/* It may have grown again between two looks. */
	while (status == STORE_GROW)
		status = get_big(conn, key, &item);
	if (status == STORE_OK || status == STORE_NOT_FOUND)
		get_count(conn, key, status, &item);
	return status;
}

/* A failure ends the command: what was found before it stays an answer. */
static enum conn_next get_failed(struct conn *conn, enum store_status status)
{
	COUNT(conn->worker, storage_errors);
	return exec_answer(conn, PROTO_GET, exec_failure(status), false);
}

static enum conn_next get_more(struct conn *conn)
{
	struct proto_request *req = &conn->parsed.request;
	unsigned left = GET_KEYS_A_TURN;

	while (left-- > 0) {
		enum store_status status = get_one(conn, req->key);

		if (status != STORE_OK && status != STORE_NOT_FOUND)
			return get_failed(conn, status);
		if (!proto_next_key(&req->keys, &req->key))
			return exec_answer(conn, PROTO_GET, PROTO_END, false);
		if (!conn_can_go_on(conn, 0))
			return CONN_PARK;
	}
	return CONN_YIELD;
}

enum conn_next exec_get(struct conn *conn, const struct proto_request *req)
{
	(void)req; /* it is conn->parsed.request, which a stream keeps */
	conn->stream = get_more;
	conn_set_step(conn, CONN_STREAM);
	return CONN_AGAIN;
}
