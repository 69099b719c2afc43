/*
 * exec_write.c - commands that change something: they become a store_op.
 *
 * The op goes to the store with this turn's list. Its answer takes its place
 * in the connection's output at once, pending, and lies inside the op itself
 * (struct pending); exec_finish() fills it when the op has come back. A quiet
 * command has no place in the output: its op is freed when it comes back.
 */
#include "server/exec.h"

#include <string.h>

#include "server/shared.h"

/* Seconds up to which a client's time is relative. */
#define RELATIVE_MAX (60 * 60 * 24 * 30)
/* Flushes are logged, but not more often than this. */
#define FLUSH_LOG_MS 1000
/* An expiry that has passed: the item is dead when it arrives. */
#define EXPIRY_DEAD 1

struct pending {
	struct conn *conn;
	struct op_reply answer;
	enum proto_verb verb;
	bool quiet, want_cas;
	/* gat: one op a key; what follows the value, and END after the last */
	struct op_reply rest;
	bool is_last;
	unsigned list;
};

/* The absolute second of a client's time; rounded up, to never be early. */
static int64_t expiry_of(int64_t exptime)
{
	if (exptime < 0)
		return EXPIRY_DEAD;
	if (exptime == 0 || exptime > RELATIVE_MAX)
		return exptime;
	return (clock_wall_us() + 999999) / 1000000 + exptime;
}

static struct store_op *op_new(struct conn *conn, enum store_op_kind kind,
			       const struct proto_request *req,
			       uint32_t value_bytes)
{
	struct store_op *op = store_op_new(kind, req->key.data, req->key.len,
					   value_bytes, sizeof(struct pending));
	struct pending *pending;

	if (op == NULL) {
		COUNT(conn->worker, malloc_fails);
		return NULL;
	}
	pending = op->user;
	pending->conn = conn;
	pending->verb = req->verb;
	pending->quiet = req->quiet;
	pending->want_cas = req->want_cas;
	return op;
}

/* The answer's place in the output is taken now, whenever it comes. */
static void op_submit(struct conn *conn, struct store_op *op)
{
	struct pending *pending = op->user;
	size_t held = sizeof(*op) + sizeof(*pending) + op->key_bytes +
		      op->value_bytes;

	if (!pending->quiet && pending->verb == PROTO_GAT) {
		output_expect(&conn->out, &pending->answer.reply, NULL, 0);
		output_expect(&conn->out, &pending->rest.reply, op, held);
		conn->gats++;
	} else if (!pending->quiet) {
		output_expect(&conn->out, &pending->answer.reply, op, held);
	}
	conn->in_flight++;
	conn->last_op = op;
	conn->worker->op_bytes += op->value_bytes;
	worker_add_op(conn->worker, op);
}

static enum conn_next no_memory(struct conn *conn,
				const struct proto_request *req)
{
	COUNT(conn->worker, store_no_memory);
	return exec_answer(conn, req->verb, PROTO_ERR_NO_MEMORY, req->quiet);
}

/* --- set, add, replace, append, prepend, cas ---------------------------- */

static enum store_op_kind store_kind(enum proto_verb verb)
{
	static const enum store_op_kind kinds[PROTO_VERB_COUNT] = {
		[PROTO_SET] = STORE_SET,
		[PROTO_CAS] = STORE_SET,
		[PROTO_ADD] = STORE_ADD,
		[PROTO_REPLACE] = STORE_REPLACE,
		[PROTO_APPEND] = STORE_APPEND,
		[PROTO_PREPEND] = STORE_PREPEND,
		[PROTO_INCR] = STORE_INCR,
		[PROTO_DECR] = STORE_DECR,
		[PROTO_TOUCH] = STORE_TOUCH,
		[PROTO_GAT] = STORE_GET_AND_TOUCH,
		[PROTO_DELETE] = STORE_DELETE,
	};

	return kinds[verb];
}

enum conn_next exec_store(struct conn *conn, const struct proto_request *req)
{
	struct store_op *op =
		op_new(conn, store_kind(req->verb), req, req->value_bytes + 2);

	if (op == NULL) {
		/* The block comes all the same: the answer after it. */
		COUNT(conn->worker, store_no_memory);
		conn->parsed.verb = req->verb;
		conn->parsed.quiet = req->quiet;
		conn->parsed.code = PROTO_ERR_NO_MEMORY;
		conn->swallow = (uint64_t)req->value_bytes + 2;
		conn_set_step(conn, CONN_SWALLOW);
		return CONN_AGAIN;
	}
	op->flags = req->client_flags;
	op->expiry = expiry_of(req->exptime);
	op->compare = req->verb == PROTO_CAS;
	op->cas = req->cas;
	conn->op = op;
	conn->op_got = 0;
	conn_set_step(conn, CONN_VALUE);
	return CONN_AGAIN;
}

static bool is_dead_on_arrival(const struct store_op *op)
{
	return op->expiry != 0 && op->expiry <= clock_wall_us() / 1000000;
}

enum conn_next exec_value_complete(struct conn *conn)
{
	struct store_op *op = conn->op;
	struct pending *pending = op->user;

	conn->op = NULL;
	COUNT(conn->worker, cmd_set);
	op->value_bytes -= 2;
	if (memcmp(op->value + op->value_bytes, "\r\n", 2) != 0) {
		enum proto_verb verb = pending->verb;
		bool quiet = pending->quiet;

		store_op_free(op);
		return exec_answer(conn, verb, PROTO_ERR_CHUNK, quiet);
	}
	prefixes_count(&conn->worker->server->prefixes, PREFIX_SET, op->key,
		       op->key_bytes);
	if (is_dead_on_arrival(op) && op->kind != STORE_APPEND &&
	    op->kind != STORE_PREPEND)
		COUNT(conn->worker, stored_already_expired);
	op_submit(conn, op);
	return CONN_AGAIN;
}

/* --- the ones without a block ------------------------------------------- */

static enum conn_next
submit_small(struct conn *conn, const struct proto_request *req, int64_t expiry)
{
	struct store_op *op = op_new(conn, store_kind(req->verb), req, 0);

	if (op == NULL)
		return no_memory(conn, req);
	op->expiry = expiry;
	op->delta = req->delta;
	op_submit(conn, op);
	return CONN_AGAIN;
}

enum conn_next exec_arith(struct conn *conn, const struct proto_request *req)
{
	return submit_small(conn, req, 0);
}

enum conn_next exec_touch(struct conn *conn, const struct proto_request *req)
{
	return submit_small(conn, req, expiry_of(req->exptime));
}

enum conn_next exec_delete(struct conn *conn, const struct proto_request *req)
{
	prefixes_count(&conn->worker->server->prefixes, PREFIX_DEL,
		       req->key.data, req->key.len);
	return submit_small(conn, req, 0);
}

static enum conn_next gat_more(struct conn *conn)
{
	struct proto_request *req = &conn->parsed.request;
	struct pending *pending;
	struct store_op *op;
	bool is_last;

	do {
		if (!conn_can_go_on(conn, conn->needs))
			return CONN_PARK;
		op = op_new(conn, STORE_GET_AND_TOUCH, req, 0);
		if (op == NULL)
			return CONN_DROP; /* half a list is no answer */
		is_last = !proto_next_key(&req->keys, &req->key);
		pending = op->user;
		pending->is_last = is_last;
		pending->list = conn->gat_list;
		op->expiry = expiry_of(req->exptime);
		op->head_room = PROTO_VALUE_HEAD_MAX;
		op_submit(conn, op);
	} while (!is_last);
	return CONN_AGAIN;
}

enum conn_next exec_gat(struct conn *conn, const struct proto_request *req)
{
	(void)req; /* it is conn->parsed.request, which a stream keeps */
	conn->stream = gat_more;
	conn->gat_list++;
	conn_set_step(conn, CONN_STREAM);
	return CONN_AGAIN;
}

enum conn_next exec_flush(struct conn *conn, const struct proto_request *req)
{
	struct server *server = conn->worker->server;
	struct store_op *op;
	uint64_t held_back;

	COUNT(conn->worker, cmd_flush);
	if (!server->options->flush_enabled)
		return exec_answer(conn, req->verb, PROTO_ERR_FLUSH_DISABLED,
				   req->quiet);
	op = op_new(conn, STORE_FLUSH, req, 0);
	if (op == NULL)
		return no_memory(conn, req);
	op->expiry = req->exptime <= 0 ? 0 : expiry_of(req->exptime);
	if (log_pace(&server->flush_pace, FLUSH_LOG_MS, &held_back))
		log_write(&server->log, LOG_LEVEL_INFO,
			  "flush_all %lld from %s (%llu more since the last "
			  "such line)",
			  (long long)req->exptime, conn->addr,
			  (unsigned long long)held_back);
	op_submit(conn, op);
	return CONN_AGAIN;
}

/* --- when they come back ------------------------------------------------ */

static void count_cas(struct worker *worker, enum store_status status)
{
	if (status == STORE_OK)
		COUNT(worker, cas_hits);
	else if (status == STORE_EXISTS)
		COUNT(worker, cas_badval);
	else if (status == STORE_NOT_FOUND)
		COUNT(worker, cas_misses);
}

/* What every kind counts: hits of hit, misses of miss. */
static void count_pair(struct worker *worker, enum store_status status,
		       enum counter hit, enum counter miss)
{
	if (status == STORE_OK)
		counter_add(&worker->counters, hit, 1);
	else if (status == STORE_NOT_FOUND)
		counter_add(&worker->counters, miss, 1);
}

static void count_kind(struct worker *worker, const struct store_op *op)
{
	switch (op->kind) {
	case STORE_SET:
	case STORE_ADD:
	case STORE_REPLACE:
	case STORE_APPEND:
	case STORE_PREPEND:
		if (op->status == STORE_OK)
			COUNT(worker, total_items);
		if (op->compare)
			count_cas(worker, op->status);
		break;
	case STORE_INCR:
		count_pair(worker, op->status, COUNTER_incr_hits,
			   COUNTER_incr_misses);
		break;
	case STORE_DECR:
		count_pair(worker, op->status, COUNTER_decr_hits,
			   COUNTER_decr_misses);
		break;
	case STORE_TOUCH:
	case STORE_GET_AND_TOUCH:
		COUNT(worker, cmd_touch);
		count_pair(worker, op->status, COUNTER_touch_hits,
			   COUNTER_touch_misses);
		break;
	case STORE_DELETE:
		count_pair(worker, op->status, COUNTER_delete_hits,
			   COUNTER_delete_misses);
		break;
	case STORE_FLUSH:
	case STORE_RECLAIM:
		break;
	}
}

/* What a status is answered with; refusals and failures are counted. */
static enum proto_code code_of(struct worker *worker, enum store_status status)
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
		break;
	case STORE_GROW:
	case STORE_FAILED:
		break;
	}
	COUNT(worker, storage_errors);
	return exec_failure(status);
}

/* gat: the VALUE line goes right in front of the value it found. */
static void fill_value(struct conn *conn, struct store_op *op,
		       struct pending *pending)
{
	struct proto_slice key = {op->key, op->key_bytes};
	char head[PROTO_VALUE_HEAD_MAX], *start;
	bool cas_enabled = conn->worker->server->options->cas_enabled;
	size_t bytes;

	bytes = proto_classic_value(head, key, op->found.flags,
				    op->found.value_bytes, pending->want_cas,
				    cas_enabled ? op->found.cas : 0);
	start = op->found.value - bytes;
	memcpy(start, head, bytes);
	output_fill(&conn->out, &pending->answer.reply, start,
		    bytes + op->found.value_bytes, 0);
}

/*
 * One key of a gat. A miss is silent. A failure is the end of the list: the
 * client takes it as the end of the answer.
 */
static void fill_gat(struct conn *conn, struct store_op *op,
		     struct pending *pending, enum proto_code code)
{
	struct proto_slice line = proto_classic_line(PROTO_GAT, code);
	struct proto_slice rest = proto_classic_line(PROTO_GAT, PROTO_END);
	bool is_over = conn->gat_failed == pending->list;
	char *text = pending->rest.text;

	conn->gats--;
	if (!pending->is_last || is_over)
		rest.len = 0;
	if (code == PROTO_DONE && !is_over) {
		fill_value(conn, op, pending);
		memcpy(text, "\r\n", 2);
		memcpy(text + 2, rest.data, rest.len);
		rest.data = text;
		rest.len += 2;
	} else if (code == PROTO_DONE || code == PROTO_NOT_FOUND || is_over) {
		output_fill(&conn->out, &pending->answer.reply, line.data, 0,
			    0);
	} else {
		output_fill(&conn->out, &pending->answer.reply, line.data,
			    line.len, 0);
		conn->gat_failed = pending->list;
		rest.len = 0;
	}
	output_fill(&conn->out, &pending->rest.reply, rest.data, rest.len,
		    op->found.value_bytes);
}

static void fill_answer(struct conn *conn, struct store_op *op,
			struct pending *pending, enum proto_code code)
{
	struct proto_slice line = proto_classic_line(pending->verb, code);

	if (code == PROTO_DONE &&
	    (op->kind == STORE_INCR || op->kind == STORE_DECR)) {
		line.data = pending->answer.text;
		line.len =
			proto_classic_number(pending->answer.text, op->number);
	}
	output_fill(&conn->out, &pending->answer.reply, line.data, line.len, 0);
}

void exec_finish(struct store_op *op)
{
	struct pending *pending = op->user;
	struct conn *conn = pending->conn;
	enum proto_code code = code_of(conn->worker, op->status);

	count_kind(conn->worker, op);
	conn->worker->op_bytes -= op->value_bytes;
	if (pending->quiet) {
		conn_op_done(conn, op);
		store_op_free(op);
		return;
	}
	if (pending->verb == PROTO_GAT)
		fill_gat(conn, op, pending, code);
	else
		fill_answer(conn, op, pending, code);
	conn_op_done(conn, op); /* may free both */
}
