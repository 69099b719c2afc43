/*
 * exec_write.c - commands that change one item, or all: one store_op each.
 */
#include "server/exec.h"

#include <string.h>

#include "server/pending.h"
#include "server/shared.h"

static enum conn_next no_memory(struct conn *conn,
				const struct proto_request *req)
{
	COUNT(conn->worker, store_no_memory);
	return exec_answer(conn, &req->form, PROTO_ERR_NO_MEMORY);
}

/* --- set, add, replace, append, prepend, cas ---------------------------- */

static enum store_op_kind store_kind(enum proto_verb verb)
{
	static const enum store_op_kind kinds[PROTO_VERB_COUNT] = {
		[PROTO_SET] = STORE_SET,       [PROTO_CAS] = STORE_SET,
		[PROTO_ADD] = STORE_ADD,       [PROTO_REPLACE] = STORE_REPLACE,
		[PROTO_APPEND] = STORE_APPEND, [PROTO_PREPEND] = STORE_PREPEND,
		[PROTO_INCR] = STORE_INCR,     [PROTO_DECR] = STORE_DECR,
		[PROTO_TOUCH] = STORE_TOUCH,   [PROTO_DELETE] = STORE_DELETE,
	};

	return kinds[verb];
}

enum conn_next exec_skip_block(struct conn *conn, enum proto_code code)
{
	const struct proto_request *req = &conn->parsed.request;

	if (code == PROTO_ERR_NO_MEMORY)
		COUNT(conn->worker, store_no_memory);
	conn->parsed.code = code;
	conn_skip(conn, (uint64_t)req->value_bytes + req->value_tail);
	return CONN_AGAIN;
}

enum conn_next exec_store(struct conn *conn, const struct proto_request *req)
{
	enum store_op_kind kind = store_kind(req->form.verb);
	struct store_op *op;

	/* Binary: an add with an id is a store that finds this very item. */
	if (kind == STORE_ADD && req->compare)
		kind = STORE_SET;
	op = pending_new(conn, kind, req, req->key,
			 req->value_bytes + req->value_tail, 0);
	if (op == NULL)
		return exec_skip_block(conn, PROTO_ERR_NO_MEMORY);
	op->expiry = pending_expiry(conn, req->exptime);
	return exec_receive(conn, op);
}

static bool is_dead_on_arrival(const struct server *server,
			       const struct store_op *op)
{
	return op->expiry != 0 &&
	       op->expiry <= clock_now_seconds(&server->clock);
}

/* True if a value in text ends as it must; that end is cut off. */
static bool cut_tail(struct store_op *op, uint32_t tail_bytes)
{
	op->value_bytes -= tail_bytes;
	return memcmp(op->value + op->value_bytes, "\r\n", tail_bytes) == 0;
}

/* The block has come whole: conn->op is complete. */
static enum conn_next value_complete(struct conn *conn)
{
	const struct proto_request *req = &conn->parsed.request;
	struct server *server = conn->worker->server;
	struct store_op *op = conn->op;

	conn->op = NULL;
	COUNT(conn->worker, cmd_set);
	if (!cut_tail(op, req->value_tail)) {
		store_op_free(op);
		return exec_answer(conn, &req->form, PROTO_ERR_CHUNK);
	}
	prefixes_count(&server->prefixes, PREFIX_SET, op->key, op->key_bytes);
	if (is_dead_on_arrival(server, op) && op->kind != STORE_APPEND &&
	    op->kind != STORE_PREPEND)
		COUNT(conn->worker, stored_already_expired);
	if (pending_always_stores(op))
		access_stored(server->access, op->hash,
			      conn->worker->now_seconds);
	pending_expect(op);
	pending_submit(op);
	return CONN_AGAIN;
}

enum conn_next exec_receive(struct conn *conn, struct store_op *op)
{
	if (!conn_begin_receiving(conn, op->value_bytes)) {
		store_op_free(op);
		return exec_skip_block(conn, PROTO_ERR_NO_MEMORY);
	}
	conn->op = op;
	conn_read_block(conn, op->value, op->value_bytes, value_complete);
	return CONN_AGAIN;
}

/* --- the ones without a block ------------------------------------------- */

static enum conn_next
submit_small(struct conn *conn, const struct proto_request *req, int64_t expiry)
{
	struct store_op *op = pending_new(conn, store_kind(req->form.verb), req,
					  req->key, 0, 0);

	if (op == NULL)
		return no_memory(conn, req);
	op->expiry = expiry;
	pending_expect(op);
	pending_submit(op);
	return CONN_AGAIN;
}

enum conn_next exec_arith(struct conn *conn, const struct proto_request *req)
{
	return submit_small(conn, req, 0);
}

enum conn_next exec_touch(struct conn *conn, const struct proto_request *req)
{
	return submit_small(conn, req, pending_expiry(conn, req->exptime));
}

enum conn_next exec_delete(struct conn *conn, const struct proto_request *req)
{
	prefixes_count(&conn->worker->server->prefixes, PREFIX_DEL,
		       req->key.data, req->key.len);
	return submit_small(conn, req, 0);
}

enum conn_next exec_flush(struct conn *conn, const struct proto_request *req)
{
	struct server *server = conn->worker->server;
	struct store_op *op;

	COUNT(conn->worker, cmd_flush);
	if (!server->options->flush_enabled)
		return exec_answer(conn, &req->form, PROTO_ERR_FLUSH_DISABLED);
	op = pending_new(conn, STORE_FLUSH, req, req->key, 0, 0);
	if (op == NULL)
		return no_memory(conn, req);
	op->expiry = req->exptime <= 0 ? 0 : pending_expiry(conn, req->exptime);
	exec_log(conn, &server->flush_pace, "flush_all %lld",
		 (long long)req->exptime);
	pending_expect(op);
	pending_submit(op);
	return CONN_AGAIN;
}
