/*
 * exec_stats.c - the stats command: its groups, and the walks behind
 * `stats cachedump`.
 */
#include "server/exec.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "server/shared.h"
#include "server/stats.h"

/* As memcached: slab classes that exist, and all that a dump may say. */
#define CACHEDUMP_CLASSES   63
#define CACHEDUMP_MAX_BYTES (2 * 1024 * 1024)
/* Records looked at in one turn; then others get theirs. */
#define CACHEDUMP_ROWS_A_TURN 256

/* Writes STAT lines to a connection. */
struct line_sink {
	struct stats_sink sink;
	struct conn *conn;
	bool no_memory;
};

static void take_line(struct stats_sink *sink, const char *name,
		      const char *value)
{
	struct line_sink *lines = (struct line_sink *)sink;
	struct output *out = &lines->conn->out;

	if (!output_write(out, "STAT ", 5) ||
	    !output_write(out, name, strlen(name)) ||
	    !output_write(out, " ", 1) ||
	    !output_write(out, value, strlen(value)) ||
	    !output_write(out, "\r\n", 2))
		lines->no_memory = true;
}

/* --- cachedump ---------------------------------------------------------- */

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
	to = output_room(&conn->out, key_bytes + 128, &room);
	if (to == NULL || conn->stream_left == 0)
		return false;
	n = snprintf(to, room, "ITEM %.*s [%zu b; %" PRId64 " s]\r\n",
		     (int)key_bytes, key, item->value_bytes, item->expiry);
	output_keep(&conn->out, (size_t)n, item->shown_from);
	conn->stream_left--;
	conn->stream_bytes += (size_t)n;
	return conn->stream_left > 0 &&
	       conn->stream_bytes < CACHEDUMP_MAX_BYTES;
}

static enum conn_next cachedump_more(struct conn *conn)
{
	enum store_status status;

	status = store_walk(conn->worker->reader, &conn->cursor,
			    CACHEDUMP_ROWS_A_TURN, visit_item, conn);
	if (status != STORE_OK) {
		COUNT(conn->worker, storage_errors);
		return exec_answer(conn, PROTO_STATS, exec_failure(status),
				   false);
	}
	if (conn->cursor.done || conn->stream_left == 0 ||
	    conn->stream_bytes >= CACHEDUMP_MAX_BYTES)
		return exec_answer(conn, PROTO_STATS, PROTO_END, false);
	return CONN_YIELD;
}

static enum conn_next cachedump(struct conn *conn,
				const struct proto_request *req)
{
	uint32_t class, limit;

	if (!conn->worker->server->options->dump_enabled)
		return exec_answer(conn, req->verb, PROTO_ERR_DUMP_DISABLED,
				   false);
	if (req->arg_count < 3)
		return exec_answer(conn, req->verb, PROTO_ERR_CACHEDUMP_LINE,
				   false);
	if (!proto_parse_u32(req->args[1], &class) ||
	    !proto_parse_u32(req->args[2], &limit))
		return exec_answer(conn, req->verb, PROTO_ERR_FORMAT, false);
	if (class > CACHEDUMP_CLASSES)
		return exec_answer(conn, req->verb, PROTO_ERR_CACHEDUMP_CLASS,
				   false);
	if (class != 1)
		return exec_answer(conn, req->verb, PROTO_END, false);
	memset(&conn->cursor, 0, sizeof(conn->cursor));
	conn->stream_left = limit == 0 ? UINT64_MAX : limit;
	conn->stream_bytes = 0;
	conn->stream = cachedump_more;
	conn_set_step(conn, CONN_STREAM);
	return CONN_AGAIN;
}

/* --- detail ------------------------------------------------------------- */

static bool visit_prefix(void *arg, const char *name, size_t bytes,
			 const uint64_t counts[PREFIX_EVENT_COUNT])
{
	struct conn *conn = arg;
	char *to;
	size_t room;
	int n;

	to = output_room(&conn->out, bytes + 128, &room);
	if (to == NULL)
		return false;
	n = snprintf(to, room,
		     "PREFIX %.*s get %" PRIu64 " hit %" PRIu64 " set %" PRIu64
		     " del %" PRIu64 "\r\n",
		     (int)bytes, name, counts[PREFIX_GET], counts[PREFIX_HIT],
		     counts[PREFIX_SET], counts[PREFIX_DEL]);
	output_keep(&conn->out, (size_t)n, 0);
	return true;
}

static enum conn_next detail(struct conn *conn, const struct proto_request *req)
{
	struct server *server = conn->worker->server;
	struct proto_slice word = {"", 0};

	if (!server->options->dump_enabled)
		return exec_answer(conn, req->verb, PROTO_ERR_DETAIL_DISABLED,
				   false);
	if (req->arg_count >= 2)
		word = req->args[1];
	if (proto_slice_is(word, "on") || proto_slice_is(word, "off")) {
		atomic_store(&server->prefixes.on, word.len == 2);
		return exec_answer(conn, req->verb, PROTO_DONE, false);
	}
	if (!proto_slice_is(word, "dump"))
		return exec_answer(conn, req->verb, PROTO_ERR_DETAIL_USAGE,
				   false);
	if (!prefixes_each(&server->prefixes, visit_prefix, conn))
		return CONN_DROP;
	return exec_answer(conn, req->verb, PROTO_END, false);
}

/* --- the groups --------------------------------------------------------- */

static enum conn_next reset(struct conn *conn, const struct proto_request *req)
{
	totals_reset(conn->worker->server);
	prefixes_reset(&conn->worker->server->prefixes);
	return exec_answer(conn, req->verb, PROTO_RESET, false);
}

static enum conn_next conns(struct conn *conn, const struct proto_request *req)
{
	struct line_sink lines = {{take_line}, conn, false};

	if (stats_conns(conn->worker->server, &lines.sink, conn->fd) != 0)
		return exec_answer(conn, req->verb, PROTO_ERR_NO_MEMORY, false);
	if (lines.no_memory)
		return CONN_DROP;
	return exec_answer(conn, req->verb, PROTO_END, false);
}

/* A group is either a list of pairs or something of its own. */
static const struct group {
	const char *name;
	void (*pairs)(struct server *, struct stats_sink *);
	enum conn_next (*own)(struct conn *, const struct proto_request *);
} groups[] = {
	{"settings", stats_settings, NULL},
	{"items", stats_items, NULL},
	{"slabs", stats_slabs, NULL},
	{"sizes", stats_sizes, NULL},
	{"bdb", stats_engine, NULL},
	{"conns", NULL, conns},
	{"reset", NULL, reset},
	{"detail", NULL, detail},
	{"cachedump", NULL, cachedump},
};

static enum conn_next answer_pairs(struct conn *conn,
				   void (*pairs)(struct server *,
						 struct stats_sink *))
{
	struct line_sink lines = {{take_line}, conn, false};

	pairs(conn->worker->server, &lines.sink);
	if (lines.no_memory)
		return CONN_DROP;
	return exec_answer(conn, PROTO_STATS, PROTO_END, false);
}

enum conn_next exec_stats(struct conn *conn, const struct proto_request *req)
{
	if (req->arg_count == 0)
		return answer_pairs(conn, stats_general);
	for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++) {
		if (!proto_slice_is(req->args[0], groups[i].name))
			continue;
		if (groups[i].own != NULL)
			return groups[i].own(conn, req);
		return answer_pairs(conn, groups[i].pairs);
	}
	return exec_answer(conn, req->verb, PROTO_ERR_UNKNOWN, false);
}
