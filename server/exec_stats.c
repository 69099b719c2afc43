/*
 * exec_stats.c - the stats command and its groups.
 */
#include "server/exec.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "server/shared.h"
#include "server/stats.h"

/* Writes pairs to a connection, a line or a packet each. */
struct pair_sink {
	struct stats_sink sink;
	struct conn *conn;
	bool no_memory;
};

static bool put_line(struct output *out, const char *name, const char *value)
{
	return output_write(out, "STAT ", 5) &&
	       output_write(out, name, strlen(name)) &&
	       output_write(out, " ", 1) &&
	       output_write(out, value, strlen(value)) &&
	       output_write(out, "\r\n", 2);
}

static bool put_packet(struct output *out, const struct proto_form *form,
		       const char *name, const char *value)
{
	size_t name_bytes = strlen(name), value_bytes = strlen(value);
	char head[PROTO_PACKET_HEAD];

	proto_packet_head(head, form, PROTO_DONE, name_bytes,
			  name_bytes + value_bytes);
	return output_write(out, head, sizeof(head)) &&
	       output_write(out, name, name_bytes) &&
	       output_write(out, value, value_bytes);
}

static void take_pair(struct stats_sink *sink, const char *name,
		      const char *value)
{
	struct pair_sink *pairs = (struct pair_sink *)sink;
	struct output *out = &pairs->conn->out;
	const struct proto_form *form = &pairs->conn->parsed.request.form;
	bool is_kept = form->dialect == PROTO_BINARY
			       ? put_packet(out, form, name, value)
			       : put_line(out, name, value);

	if (!is_kept)
		pairs->no_memory = true;
}

/* Binary knows one error only: there is no such group. */
static enum conn_next refuse(struct conn *conn, const struct proto_request *req,
			     enum proto_code code)
{
	if (req->form.dialect == PROTO_BINARY)
		code = PROTO_NOT_FOUND;
	return exec_answer(conn, &req->form, code);
}

/* --- detail ------------------------------------------------------------- */

static bool visit_prefix(void *arg, const char *name, size_t bytes,
			 const uint64_t counts[PREFIX_EVENT_COUNT])
{
	struct conn *conn = arg;
	char *to;
	size_t room;
	int n;

	/* Of keys in base64 or from binary clients. */
	if (proto_key_breaks_line((struct proto_slice){name, bytes}))
		return true;
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

/* In binary there are pairs: a prefix, and its counts. */
static bool visit_prefix_pair(void *arg, const char *name, size_t bytes,
			      const uint64_t counts[PREFIX_EVENT_COUNT])
{
	struct conn *conn = arg;
	char prefix[PROTO_KEY_MAX + 1], value[128];

	(void)snprintf(prefix, sizeof(prefix), "%.*s", (int)bytes, name);
	(void)snprintf(value, sizeof(value),
		       "get %" PRIu64 " hit %" PRIu64 " set %" PRIu64
		       " del %" PRIu64,
		       counts[PREFIX_GET], counts[PREFIX_HIT],
		       counts[PREFIX_SET], counts[PREFIX_DEL]);
	return put_packet(&conn->out, &conn->parsed.request.form, prefix,
			  value);
}

static enum conn_next detail(struct conn *conn, const struct proto_request *req)
{
	struct server *server = conn->worker->server;
	struct proto_slice word = {"", 0};
	bool is_binary = req->form.dialect == PROTO_BINARY;

	if (!server->options->dump_enabled)
		return refuse(conn, req, PROTO_ERR_DETAIL_DISABLED);
	if (req->arg_count >= 2)
		word = req->args[1];
	if (proto_slice_is(word, "on") || proto_slice_is(word, "off")) {
		atomic_store(&server->prefixes.on, word.len == 2);
		return exec_answer(conn, &req->form, PROTO_DONE);
	}
	if (!proto_slice_is(word, "dump"))
		return refuse(conn, req, PROTO_ERR_DETAIL_USAGE);
	if (!prefixes_each(&server->prefixes,
			   is_binary ? visit_prefix_pair : visit_prefix, conn))
		return CONN_DROP;
	return exec_answer(conn, &req->form, PROTO_END);
}

/* --- the groups --------------------------------------------------------- */

static enum conn_next reset(struct conn *conn, const struct proto_request *req)
{
	totals_reset(conn->worker->server);
	prefixes_reset(&conn->worker->server->prefixes);
	return exec_answer(conn, &req->form, PROTO_RESET);
}

static enum conn_next conns(struct conn *conn, const struct proto_request *req)
{
	struct pair_sink pairs = {{take_pair}, conn, false};

	if (stats_conns(conn->worker->server, &pairs.sink,
			conn->transport.fd) != 0)
		return exec_answer(conn, &req->form, PROTO_ERR_NO_MEMORY);
	if (pairs.no_memory)
		return CONN_DROP;
	return exec_answer(conn, &req->form, PROTO_END);
}

static enum conn_next engine(struct conn *conn, const struct proto_request *req)
{
	struct pair_sink pairs = {{take_pair}, conn, false};

	stats_engine(conn->worker, &pairs.sink);
	if (pairs.no_memory)
		return CONN_DROP;
	return exec_answer(conn, &req->form, PROTO_END);
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
	{"bdb", NULL, engine},
	{"conns", NULL, conns},
	{"reset", NULL, reset},
	{"detail", NULL, detail},
	{"cachedump", NULL, exec_cachedump},
};

static enum conn_next
answer_pairs(struct conn *conn, const struct proto_request *req,
	     void (*group)(struct server *, struct stats_sink *))
{
	struct pair_sink pairs = {{take_pair}, conn, false};

	group(conn->worker->server, &pairs.sink);
	if (pairs.no_memory)
		return CONN_DROP;
	return exec_answer(conn, &req->form, PROTO_END);
}

static enum conn_next answer_group(struct conn *conn,
				   const struct proto_request *req)
{
	if (req->arg_count == 0)
		return answer_pairs(conn, req, stats_general);
	for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++) {
		if (!proto_slice_is(req->args[0], groups[i].name))
			continue;
		if (groups[i].own != NULL)
			return groups[i].own(conn, req);
		return answer_pairs(conn, req, groups[i].pairs);
	}
	return refuse(conn, req, PROTO_ERR_UNKNOWN);
}

enum conn_next exec_stats(struct conn *conn, const struct proto_request *req)
{
	enum conn_next next = answer_group(conn, req);
	bool is_done = next == CONN_AGAIN && conn->step == CONN_COMMAND;

	/* It is as much work as many commands: one a turn. */
	return is_done ? CONN_YIELD : next;
}
