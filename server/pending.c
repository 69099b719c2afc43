/*
 * pending.c - see pending.h.
 */
#include "server/pending.h"

#include "server/exec.h"
#include "server/shared.h"

/* Seconds up to which a client's time is relative. */
#define RELATIVE_MAX (60 * 60 * 24 * 30)
/* An expiry that has passed: the item is dead when it arrives. */
#define EXPIRY_DEAD 1

int64_t pending_expiry(int64_t exptime)
{
	if (exptime < 0)
		return EXPIRY_DEAD;
	if (exptime == 0 || exptime > RELATIVE_MAX)
		return exptime;
	return (clock_wall_us() + 999999) / 1000000 + exptime;
}

struct store_op *pending_new(struct conn *conn, enum store_op_kind kind,
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

size_t pending_held(const struct store_op *op)
{
	return sizeof(*op) + sizeof(struct pending) + op->key_bytes +
	       op->value_bytes;
}

void pending_expect(struct store_op *op)
{
	struct pending *pending = op->user;

	if (!pending->quiet)
		output_expect(&pending->conn->out, &pending->answer.reply, op,
			      pending_held(op));
}

void pending_submit(struct store_op *op)
{
	struct pending *pending = op->user;
	struct conn *conn = pending->conn;

	conn->in_flight++;
	conn->last_op = op;
	conn->worker->op_bytes += op->value_bytes;
	worker_add_op(conn->worker, op);
}

/* --- when it comes back ------------------------------------------------- */

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
		return exec_failure(status);
	case STORE_GROW:
	case STORE_FAILED:
		break;
	}
	COUNT(worker, storage_errors);
	return exec_failure(status);
}

static void fill_line(struct store_op *op, enum proto_code code)
{
	struct pending *pending = op->user;
	struct proto_slice line = proto_classic_line(pending->verb, code);

	if (code == PROTO_DONE &&
	    (op->kind == STORE_INCR || op->kind == STORE_DECR)) {
		line.data = pending->answer.text;
		line.len =
			proto_classic_number(pending->answer.text, op->number);
	}
	output_fill(&pending->conn->out, &pending->answer.reply, line.data,
		    line.len, 0);
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
	if (pending->fill != NULL)
		pending->fill(op, code);
	else
		fill_line(op, code);
	conn_op_done(conn, op); /* may free both */
}
