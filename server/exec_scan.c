/*
 * exec_scan.c - rget, pget, pdelete: commands on keys that are neighbours.
 *
 * A scan is a stream of the connection, like a dump, and shows values as get
 * does. Its line stays in the input meanwhile, so the keys in it do, too.
 */
#include "server/exec.h"

#include <string.h>

#include "server/fetch.h"
#include "server/shared.h"

/* Records looked at in one turn; then others get theirs. */
#define ROWS_A_TURN 64

static size_t put_head(struct conn *conn, char *buf, struct proto_slice key,
		       struct store_item *item, bool *with_value)
{
	(void)with_value;
	return proto_value(buf, &conn->parsed.request.form, key, item->flags,
			   item->value_bytes, item->cas);
}

static size_t put_nothing(struct conn *conn, char *buf, struct proto_slice key)
{
	(void)conn;
	(void)buf;
	(void)key;
	return 0;
}

/* An item that the scan has not got whole: it is read as by a get. */
static bool show_big(struct conn *conn, struct proto_slice key)
{
	const struct fetch fetch = {
		PROTO_VALUE_HEAD_MAX, put_head, put_nothing,
		proto_value_tail(&conn->parsed.request.form)};
	struct store_item item;

	conn->stream_status = fetch_item(conn, key, &fetch, &item);
	return conn->stream_status == STORE_OK;
}

static bool show_small(struct conn *conn, struct proto_slice key,
		       const struct store_item *item)
{
	const struct proto_form *form = &conn->parsed.request.form;
	struct proto_slice tail = proto_value_tail(form);
	size_t room, bytes;
	char *to = output_room(
		&conn->out, PROTO_VALUE_HEAD_MAX + item->value_bytes + tail.len,
		&room);

	if (to == NULL) {
		conn->stream_status = STORE_NO_MEMORY;
		return false;
	}
	bytes = proto_value(to, form, key, item->flags, item->value_bytes,
			    item->cas);
	memcpy(to + bytes, item->value, item->value_bytes);
	bytes += item->value_bytes;
	memcpy(to + bytes, tail.data, tail.len);
	output_keep(&conn->out, bytes + tail.len, item->shown_from);
	return true;
}

static bool visit_item(void *arg, const char *key, size_t key_bytes,
		       const struct store_item *item)
{
	struct conn *conn = arg;
	struct proto_slice name = {key, key_bytes};
	bool is_small =
		item->value != NULL &&
		item->value_bytes <= OUTPUT_ROOM_MAX - PROTO_VALUE_HEAD_MAX - 2;

	/* It was stored by binary or meta; text has no name for it. */
	if (proto_key_breaks_line(name))
		return true;
	if (is_small ? show_small(conn, name, item) : show_big(conn, name))
		conn->stream_left--;
	/* Not found: it has gone between two looks. */
	return (conn->stream_status == STORE_OK ||
		conn->stream_status == STORE_NOT_FOUND) &&
	       conn->stream_left > 0 && conn_can_go_on(conn, 0);
}

static enum conn_next scan_more(struct conn *conn)
{
	const struct proto_form *form = &conn->parsed.request.form;
	enum store_status status;

	conn->stream_status = STORE_OK;
	status = store_scan(conn->worker->reader, &conn->cursor, &conn->limit,
			    ROWS_A_TURN, visit_item, conn);
	if (status == STORE_OK && conn->stream_status != STORE_NOT_FOUND)
		status = conn->stream_status;
	if (status != STORE_OK)
		return exec_answer(conn, form, exec_code(conn->worker, status));
	if (conn->cursor.done || conn->stream_left == 0)
		return exec_write_end(conn, proto_value_end(form));
	return CONN_YIELD;
}

/* The scan begins at a key, or behind it, and shows at most so many items. */
static enum conn_next begin(struct conn *conn, struct proto_slice from,
			    bool is_open, struct proto_slice max)
{
	const struct server *server = conn->worker->server;
	uint32_t items;

	if (!server->options->dump_enabled)
		return exec_answer(conn, &conn->parsed.request.form,
				   PROTO_ERR_MGDUMP_DISABLED);
	if (!store_has_order(conn->worker->reader))
		return exec_answer(conn, &conn->parsed.request.form,
				   PROTO_ERR_NO_ORDER);
	if (!proto_parse_u32(max, &items))
		return exec_answer(conn, &conn->parsed.request.form,
				   PROTO_ERR_FORMAT);
	if (items > server->options->scan_max)
		items = server->options->scan_max;
	memset(&conn->cursor, 0, sizeof(conn->cursor));
	memcpy(conn->cursor.key, from.data, from.len);
	conn->cursor.key_bytes = from.len;
	conn->cursor.started = is_open;
	conn->cursor.done = items == 0;
	conn->stream_left = items;
	conn->stream = scan_more;
	conn_set_step(conn, CONN_STREAM);
	return CONN_AGAIN;
}

/* rget <start> <end> <left open> <right open> <max> */
enum conn_next exec_rget(struct conn *conn, const struct proto_request *req)
{
	const struct proto_slice *args = req->args;

	conn->limit = (struct store_limit){
		proto_slice_is(args[3], "1") ? STORE_BEFORE_KEY : STORE_TO_KEY,
		args[1].data, args[1].len};
	return begin(conn, args[0], proto_slice_is(args[2], "1"), args[4]);
}

static bool is_before(struct proto_slice a, struct proto_slice b)
{
	int order = memcmp(a.data, b.data, a.len < b.len ? a.len : b.len);

	return order < 0 || (order == 0 && a.len < b.len);
}

/* pget <prefix> <max> [<after key>] */
enum conn_next exec_pget(struct conn *conn, const struct proto_request *req)
{
	const struct proto_slice *args = req->args;
	bool goes_on = req->arg_count > 2 && !is_before(args[2], args[0]);

	conn->limit = (struct store_limit){STORE_WITH_PREFIX, args[0].data,
					   args[0].len};
	return begin(conn, goes_on ? args[2] : args[0], goes_on, args[1]);
}

/* pdelete <prefix>: the answer says that it has begun. */
enum conn_next exec_pdelete(struct conn *conn, const struct proto_request *req)
{
	struct server *server = conn->worker->server;
	char prefix[3 * PROTO_KEY_MAX + 1];

	if (store_delete_prefix(server->store, req->args[0].data,
				req->args[0].len) != 0)
		return exec_answer(conn, &req->form, PROTO_BUSY);
	exec_log(conn, &server->pdelete_pace, "pdelete %s",
		 log_escape(prefix, sizeof(prefix), req->args[0].data,
			    req->args[0].len));
	return exec_answer(conn, &req->form, PROTO_DONE);
}
