/*
 * exec_dump.c - walks over all items: stats cachedump, lru_crawler metadump
 * and mgdump.
 *
 * A walk is a stream of the connection: some rows each turn, and no more
 * while the peer does not read. Nothing is locked between two turns, so the
 * walk may take as long as it likes; what is stored or deleted meanwhile may
 * or may not be seen.
 */
#include "server/exec.h"

#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "server/shared.h"
#include "server/slab_class.h"

/* As memcached: all that a cachedump may say. */
#define CACHEDUMP_MAX_BYTES (2 * 1024 * 1024)
/* Records looked at in one turn; then others get theirs. */
#define ROWS_A_TURN 256

static const struct proto_slice ok_line = {"OK\r\n", 4};
static const struct proto_slice end_line = {"END\r\n", 5};
static const struct proto_slice en_line = {"EN\r\n", 4};

/* Begins a walk that `more` goes on with, to show so many items. */
static enum conn_next begin(struct conn *conn, conn_stream_fn more,
			    uint64_t items)
{
	memset(&conn->cursor, 0, sizeof(conn->cursor));
	conn->stream_left = items;
	conn->stream_bytes = 0;
	conn->stream = more;
	conn_set_step(conn, CONN_STREAM);
	return CONN_AGAIN;
}

/*
 * One turn of it. AGAIN: it is over, and answered if it has failed. A walk
 * would use up its thread's share of a processor: it lets others run first.
 */
static enum conn_next walk(struct conn *conn, store_visit_fn visit,
			   bool *ret_done)
{
	const struct proto_form *form = &conn->parsed.request.form;
	enum store_status status = store_walk(
		conn->worker->reader, &conn->cursor, ROWS_A_TURN, visit, conn);

	*ret_done = status == STORE_OK &&
		    (conn->cursor.done || conn->stream_left == 0);
	if (status != STORE_OK)
		return exec_answer(conn, form, exec_code(conn->worker, status));
	if (*ret_done)
		return CONN_AGAIN;
	(void)sched_yield();
	return CONN_YIELD;
}

/* --- stats cachedump ---------------------------------------------------- */

/* Shows one item; false when enough was shown. */
static bool visit_item(void *arg, const char *key, size_t key_bytes,
		       const struct store_item *item)
{
	struct conn *conn = arg;
	char *to;
	size_t room;
	int n;

	/* A key with blanks or controls would break the line. */
	for (n = 0; n < (int)key_bytes; n++)
		if ((unsigned char)key[n] <= ' ')
			return true;
	if (item->key_base64)
		return true;
	to = output_room(&conn->out, key_bytes + 128, &room);
	if (to == NULL || conn->stream_left == 0)
		return false;
	n = snprintf(to, room, "ITEM %.*s [%zu b; %" PRId64 " s]\r\n",
		     (int)key_bytes, key, item->value_bytes, item->expiry);
	output_keep(&conn->out, (size_t)n, item->shown_from);
	conn->stream_bytes += (size_t)n;
	conn->stream_left--;
	if (conn->stream_bytes >= CACHEDUMP_MAX_BYTES)
		conn->stream_left = 0;
	return conn->stream_left > 0;
}

static enum conn_next cachedump_more(struct conn *conn)
{
	bool is_done;
	enum conn_next next = walk(conn, visit_item, &is_done);

	if (!is_done)
		return next;
	return exec_answer(conn, &conn->parsed.request.form, PROTO_END);
}

enum conn_next exec_cachedump(struct conn *conn,
			      const struct proto_request *req)
{
	const struct proto_form *form = &req->form;
	uint32_t class, limit;

	if (form->dialect == PROTO_BINARY)
		return exec_answer(conn, form, PROTO_NOT_FOUND);
	if (!conn->worker->server->options->dump_enabled)
		return exec_answer(conn, form, PROTO_ERR_CACHEDUMP_DISABLED);
	if (req->arg_count < 3)
		return exec_answer(conn, form, PROTO_ERR_CACHEDUMP_LINE);
	if (!proto_parse_u32(req->args[1], &class) ||
	    !proto_parse_u32(req->args[2], &limit))
		return exec_answer(conn, form, PROTO_ERR_FORMAT);
	if (class > SLAB_CLASS_MAX)
		return exec_answer(conn, form, PROTO_ERR_CACHEDUMP_CLASS);
	if (class != SLAB_CLASS_OURS)
		return exec_answer(conn, form, PROTO_END);
	return begin(conn, cachedump_more, limit == 0 ? UINT64_MAX : limit);
}

/* --- lru_crawler metadump, mgdump --------------------------------------- */

typedef size_t (*dump_line_fn)(char *buf, const struct proto_dump_item *item);

static bool put_line(struct conn *conn, const char *key, size_t key_bytes,
		     const struct store_item *item, dump_line_fn format)
{
	struct access access =
		access_look(conn->worker->server->access, item->hash);
	struct proto_dump_item line = {
		.key = {key, key_bytes},
		.key_base64 = item->key_base64,
		.fetched = access.fetched,
		.flags = item->flags,
		.cas = item->cas,
		.bytes = STORE_RECORD_HEAD + key_bytes + item->value_bytes,
		.expiry = item->expiry,
		.last_access = access.last,
	};
	size_t room;
	char *to = output_room(&conn->out, PROTO_DUMP_LINE_MAX, &room);

	if (to == NULL) {
		COUNT(conn->worker, malloc_fails);
		conn->stream_status = STORE_NO_MEMORY;
		return false;
	}
	output_keep(&conn->out, format(to, &line), item->shown_from);
	return true;
}

static bool visit_metadump(void *arg, const char *key, size_t key_bytes,
			   const struct store_item *item)
{
	return put_line(arg, key, key_bytes, item, proto_metadump_line);
}

static bool visit_mgdump(void *arg, const char *key, size_t key_bytes,
			 const struct store_item *item)
{
	return put_line(arg, key, key_bytes, item, proto_mgdump_line);
}

/* A dump that lacks a line must not end as if it were whole. */
static enum conn_next dump_more(struct conn *conn, store_visit_fn visit,
				bool *ret_done)
{
	enum conn_next next;

	conn->stream_status = STORE_OK;
	next = walk(conn, visit, ret_done);
	return conn->stream_status == STORE_OK ? next : CONN_DROP;
}

static enum conn_next metadump_more(struct conn *conn)
{
	bool is_done;
	enum conn_next next = dump_more(conn, visit_metadump, &is_done);

	if (!is_done || next == CONN_DROP)
		return next;
	return exec_write_end(conn, end_line);
}

static enum conn_next mgdump_more(struct conn *conn)
{
	bool is_done;
	enum conn_next next = dump_more(conn, visit_mgdump, &is_done);

	if (!is_done || next == CONN_DROP)
		return next;
	return exec_write_end(conn, en_line);
}

/* What the two have in common: when they are refused, and how they begin. */
static enum conn_next dump(struct conn *conn, const struct proto_request *req,
			   enum proto_code disabled, enum proto_code pipelined,
			   conn_stream_fn more)
{
	bool ours;

	if (!conn->worker->server->options->dump_enabled)
		return exec_answer(conn, &req->form, disabled);
	if (conn->out.head != NULL)
		return exec_answer(conn, &req->form, pipelined);
	if (!slab_classes(req->args[1], &ours))
		return exec_answer(conn, &req->form, PROTO_ERR_CLASS);
	if (exec_write(conn, ok_line) == CONN_DROP)
		return CONN_DROP;
	(void)begin(conn, more, UINT64_MAX);
	conn->cursor.done = !ours;
	/* Only now: by then an answer in front of it might have left. */
	conn->needs |= CONN_NEEDS_APPLIED;
	return CONN_AGAIN;
}

enum conn_next exec_metadump(struct conn *conn, const struct proto_request *req)
{
	return dump(conn, req, PROTO_ERR_METADUMP_DISABLED,
		    PROTO_ERR_METADUMP_PIPELINED, metadump_more);
}

enum conn_next exec_mgdump(struct conn *conn, const struct proto_request *req)
{
	return dump(conn, req, PROTO_ERR_MGDUMP_DISABLED,
		    PROTO_ERR_MGDUMP_PIPELINED, mgdump_more);
}
