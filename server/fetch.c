/*
 * fetch.c - see fetch.h.
 */
#include "server/fetch.h"

#include <string.h>

/* Room asked of a block: the head, and a value of a usual size. */
#define USUAL_BYTES (STORE_RECORD_HEAD_MAX + FETCH_TAIL_MAX + 512)

/* Puts the tail behind a value; returns its length. */
static size_t put_tail(char *to, const struct fetch *fetch)
{
	memcpy(to, fetch->tail.data, fetch->tail.len);
	return fetch->tail.len;
}

/* Reads into a block that has `want` bytes left. GROW: the value is bigger. */
static enum store_status fetch_small(struct conn *conn, struct proto_slice key,
				     const struct fetch *fetch, size_t want,
				     struct store_item *item)
{
	char head[FETCH_HEAD_MAX];
	enum store_status status;
	bool with_value = true;
	size_t room, bytes;
	char *to = output_room(&conn->out, want, &room);

	if (to == NULL)
		return STORE_NO_MEMORY;
	status = store_get(conn->worker->reader, key.data, key.len, to,
			   room - FETCH_TAIL_MAX, fetch->head_max, item);
	if (status == STORE_NOT_FOUND)
		output_keep(&conn->out, fetch->miss(conn, to, key),
			    item->shown_from);
	if (status != STORE_OK)
		return status;
	bytes = fetch->head(conn, head, key, item, &with_value);
	if (bytes == 0)
		return STORE_OK;
	if (with_value)
		memmove(to + bytes, item->value, item->value_bytes);
	memcpy(to, head, bytes);
	if (with_value) {
		bytes += item->value_bytes;
		bytes += put_tail(to + bytes, fetch);
	}
	output_keep(&conn->out, bytes, item->shown_from);
	return STORE_OK;
}

/* Queues what was read into memory of its own. */
static void keep_big(struct conn *conn, struct proto_slice key,
		     const struct fetch *fetch, struct store_item *item,
		     struct reply *reply, char *memory)
{
	char head[FETCH_HEAD_MAX], *start = memory;
	bool with_value = true;
	size_t bytes = fetch->head(conn, head, key, item, &with_value);

	if (bytes == 0)
		with_value = false;
	if (with_value)
		start = item->value - bytes;
	memcpy(start, head, bytes);
	if (with_value) {
		bytes += item->value_bytes;
		bytes += put_tail(start + bytes, fetch);
	}
	output_heap_keep(&conn->out, reply, start, bytes, item->shown_from);
}

/* Reads into memory of its own, as big as item->value_bytes asks for. */
static enum store_status fetch_big(struct conn *conn, struct proto_slice key,
				   const struct fetch *fetch,
				   struct store_item *item)
{
	size_t bytes =
		fetch->head_max + STORE_RECORD_HEAD_MAX + item->value_bytes;
	enum store_status status;
	struct reply *reply;
	char *memory;

	reply = output_heap_new(bytes + FETCH_TAIL_MAX, &memory);
	if (reply == NULL)
		return STORE_NO_MEMORY;
	status = store_get(conn->worker->reader, key.data, key.len, memory,
			   bytes, fetch->head_max, item);
	if (status == STORE_OK)
		keep_big(conn, key, fetch, item, reply, memory);
	else if (status == STORE_NOT_FOUND)
		output_heap_keep(&conn->out, reply, memory,
				 fetch->miss(conn, memory, key),
				 item->shown_from);
	else
		output_heap_keep(&conn->out, reply, memory, 0, 0);
	return status;
}

enum store_status fetch_item(struct conn *conn, struct proto_slice key,
			     const struct fetch *fetch, struct store_item *ret)
{
	size_t usual = fetch->head_max + USUAL_BYTES;
	enum store_status status = fetch_small(conn, key, fetch, usual, ret);

	if (status == STORE_GROW && ret->value_bytes + usual <= OUTPUT_ROOM_MAX)
		status = fetch_small(conn, key, fetch, OUTPUT_ROOM_MAX, ret);
	/* It may have grown again between two looks. */
	while (status == STORE_GROW)
		status = fetch_big(conn, key, fetch, ret);
	return status;
}
