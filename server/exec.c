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
	[PROTO_META_GET] = {exec_meta_get, CONN_NEEDS_APPLIED |
						   CONN_NEEDS_ROOM |
						   CONN_NEEDS_FOUND},
	[PROTO_META_SET] = {exec_meta_set, CONN_NEEDS_ROOM},
	[PROTO_META_DELETE] = {exec_meta_delete, CONN_NEEDS_ROOM},
	[PROTO_META_ARITH] = {exec_meta_arith, CONN_NEEDS_ROOM},
	[PROTO_META_DEBUG] = {exec_meta_debug, CONN_NEEDS_APPLIED},
	[PROTO_NOOP] = {exec_noop, 0},
	[PROTO_FLUSH_ALL] = {exec_flush, CONN_NEEDS_ROOM},
	[PROTO_STATS] = {exec_stats, CONN_NEEDS_DONE},
	[PROTO_VERSION] = {exec_version, 0},
	[PROTO_VERBOSITY] = {exec_verbosity, 0},
	[PROTO_CACHE_MEMLIMIT] = {exec_memlimit, 0},
	[PROTO_SHUTDOWN] = {exec_shutdown, 0},
	[PROTO_QUIT] = {exec_quit, 0},
	[PROTO_SASL_LIST] = {exec_login_list, 0},
	[PROTO_SASL_START] = {exec_login, 0},
	[PROTO_SASL_STEP] = {exec_login, 0},
	[PROTO_SLABS] = {exec_slabs, 0},
	[PROTO_LRU] = {exec_lru, 0},
	[PROTO_LRU_CRAWLER] = {exec_crawler, CONN_NEEDS_APPLIED},
	[PROTO_RGET] = {exec_rget, CONN_NEEDS_APPLIED},
	[PROTO_PGET] = {exec_pget, CONN_NEEDS_APPLIED},
	[PROTO_PDELETE] = {exec_pdelete, CONN_NEEDS_APPLIED},
	[PROTO_DB_CHECKPOINT] = {exec_db_checkpoint, CONN_NEEDS_APPLIED},
	[PROTO_DB_ARCHIVE] = {exec_db_archive, 0},
	[PROTO_DB_COMPACT] = {exec_db_compact, 0},
	[PROTO_WATCH] = {exec_watch, CONN_NEEDS_DONE},
	[PROTO_DEBUGTIME] = {exec_debugtime, CONN_NEEDS_DONE},
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
		  conn->addr, proto_verb_name(req->form.verb),
		  log_escape(key, sizeof(key), req->key.data, req->key.len));
}

/* Turns down what this client may not do; see login.h. */
static enum conn_next exec_forbid(struct conn *conn,
				  const struct proto_request *req,
				  enum proto_code code)
{
	enum conn_next next;

	if (code == PROTO_ERR_LOGIN_FAILED) {
		next = exec_answer(conn, &req->form, code);
		conn->linger = true;
		conn_shut(conn);
		return next;
	}
	if (req->has_value)
		return exec_skip_block(conn, code);
	return exec_answer(conn, &req->form, code);
}

enum conn_next exec_start(struct conn *conn, const struct proto_request *req)
{
	enum proto_code code = login_allows(conn, req);

	if (log_wants(&conn->worker->server->log, LOG_LEVEL_TRACE))
		exec_trace(conn, req);
	if (code != PROTO_DONE)
		return exec_forbid(conn, req, code);
	if (table[req->form.verb].start == NULL)
		return exec_answer(conn, &req->form, PROTO_ERR_UNKNOWN);
	return table[req->form.verb].start(conn, req);
}

enum conn_next exec_write(struct conn *conn, struct proto_slice bytes)
{
	if (output_write(&conn->out, bytes.data, bytes.len))
		return CONN_AGAIN;
	COUNT(conn->worker, malloc_fails);
	return CONN_DROP;
}

enum conn_next exec_answer(struct conn *conn, const struct proto_form *form,
			   enum proto_code code)
{
	char room[PROTO_ANSWER_MAX];

	if (proto_is_silent(form, code))
		return CONN_AGAIN;
	return exec_write(conn, proto_answer(form, code, 0, room));
}

enum conn_next exec_refused(struct conn *conn,
			    const struct proto_parsed *parsed)
{
	if (parsed->code == PROTO_ERR_TOO_LARGE)
		COUNT(conn->worker, store_too_large);
	return exec_answer(conn, &parsed->request.form, parsed->code);
}

enum proto_code exec_code(struct worker *worker, enum store_status status)
{
	switch (status) {
	case STORE_OK:
		return PROTO_DONE;
	case STORE_NOT_FOUND:
		return PROTO_NOT_FOUND;
	case STORE_EXISTS:
		return PROTO_EXISTS;
	case STORE_NOT_STORED:
		return PROTO_NOT_STORED;
	case STORE_NOT_NUMBER:
		return PROTO_ERR_NOT_NUMBER;
	case STORE_TOO_LARGE:
		COUNT(worker, store_too_large);
		return PROTO_ERR_TOO_LARGE;
	case STORE_NO_SPACE:
	case STORE_NO_MEMORY:
		COUNT(worker, store_no_memory);
		return PROTO_ERR_NO_MEMORY;
	case STORE_GROW:
	case STORE_FAILED:
		break;
	}
	COUNT(worker, storage_errors);
	return PROTO_ERR_STORAGE;
}
