/*
 * exec.c - see exec.h: the table of commands, and how they answer.
 */
#include "server/exec.h"

#include "server/shared.h"

struct exec_entry {
	enum conn_next (*start)(struct conn *, const struct proto_request *);
	unsigned needs;
};

static const struct exec_entry table[PROTO_VERB_COUNT] = {
	[PROTO_GET] = {exec_get, CONN_NEEDS_APPLIED},
	[PROTO_GAT] = {exec_gat, CONN_NEEDS_ROOM | CONN_NEEDS_FOUND},
	[PROTO_SET] = {exec_store, CONN_NEEDS_ROOM},
	[PROTO_ADD] = {exec_store, CONN_NEEDS_ROOM},
	[PROTO_REPLACE] = {exec_store, CONN_NEEDS_ROOM},
	[PROTO_APPEND] = {exec_store, CONN_NEEDS_ROOM},
	[PROTO_PREPEND] = {exec_store, CONN_NEEDS_ROOM},
	[PROTO_CAS] = {exec_store, CONN_NEEDS_ROOM},
	[PROTO_INCR] = {exec_arith, CONN_NEEDS_ROOM},
	[PROTO_DECR] = {exec_arith, CONN_NEEDS_ROOM},
	[PROTO_TOUCH] = {exec_touch, CONN_NEEDS_ROOM},
	[PROTO_DELETE] = {exec_delete, CONN_NEEDS_ROOM},
	[PROTO_FLUSH_ALL] = {exec_flush, CONN_NEEDS_ROOM},
	[PROTO_STATS] = {exec_stats, CONN_NEEDS_DONE},
	[PROTO_VERSION] = {exec_version, 0},
	[PROTO_VERBOSITY] = {exec_verbosity, 0},
	[PROTO_CACHE_MEMLIMIT] = {exec_memlimit, 0},
	[PROTO_SHUTDOWN] = {exec_shutdown, 0},
	[PROTO_QUIT] = {exec_quit, 0},
};

unsigned exec_needs(enum proto_verb verb)
{
	return table[verb].needs;
}

/* With -vv: who asked what of which key. Values are never logged. */
static void exec_trace(const struct conn *conn, const struct proto_request *req)
{
	char key[3 * PROTO_KEY_MAX + 1];

	log_write(&conn->worker->server->log, LOG_LEVEL_TRACE, "%s %s %s",
		  conn->addr, proto_verb_name(req->verb),
		  log_escape(key, sizeof(key), req->key.data, req->key.len));
}

enum conn_next exec_start(struct conn *conn, const struct proto_request *req)
{
	if (log_wants(&conn->worker->server->log, LOG_LEVEL_TRACE))
		exec_trace(conn, req);
	return table[req->verb].start(conn, req);
}

enum conn_next exec_answer(struct conn *conn, enum proto_verb verb,
			   enum proto_code code, bool quiet)
{
	struct proto_slice line;

	if (quiet)
		return CONN_AGAIN;
	line = proto_classic_line(verb, code);
	if (output_write(&conn->out, line.data, line.len))
		return CONN_AGAIN;
	COUNT(conn->worker, malloc_fails);
	return CONN_DROP;
}

enum conn_next exec_refused(struct conn *conn,
			    const struct proto_parsed *parsed)
{
	if (parsed->code == PROTO_ERR_TOO_LARGE)
		COUNT(conn->worker, store_too_large);
	return exec_answer(conn, parsed->verb, parsed->code, parsed->quiet);
}

enum proto_code exec_failure(enum store_status status)
{
	switch (status) {
	case STORE_NO_SPACE:
	case STORE_NO_MEMORY:
		return PROTO_ERR_NO_MEMORY;
	case STORE_OK:
	case STORE_NOT_FOUND:
	case STORE_EXISTS:
	case STORE_NOT_STORED:
	case STORE_NOT_NUMBER:
	case STORE_TOO_LARGE:
	case STORE_GROW:
	case STORE_FAILED:
		break;
	}
	return PROTO_ERR_STORAGE;
}
