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

int64_t pending_expiry(const struct conn *conn, int64_t exptime)
{
	const struct clock *clock = &conn->worker->server->clock;

	if (exptime < 0)
		return EXPIRY_DEAD;
	if (exptime == 0 || exptime > RELATIVE_MAX)
		return exptime;
	return clock_next_second(clock) + exptime;
}

/* What the request says about the change itself. */
static void fill_op(const struct conn *conn, struct store_op *op,
		    const struct proto_request *req)
{
	op->flags = req->client_flags;
	op->compare = req->compare;
	op->cas = req->cas;
	op->assign = req->meta.assign;
	op->delta = req->delta;
	op->create = req->create;
	op->initial = req->initial;
	if (req->create)
		op->create_expiry = pending_expiry(
			conn, req->meta.touches_made ? req->exptime
						     : req->create_exptime);
}

struct store_op *pending_new(struct conn *conn, enum store_op_kind kind,
			     const struct proto_request *req,
			     struct proto_slice key, uint32_t value_bytes,
			     size_t more_bytes)
{
	struct store_op *op = store_op_new(kind, key.data, key.len, value_bytes,
					   sizeof(struct pending) + more_bytes);
	struct pending *pending;

	if (op == NULL) {
		COUNT(conn->worker, malloc_fails);
		return NULL;
	}
	fill_op(conn, op, req);
	pending = op->user;
	pending->conn = conn;
	pending->form = req->form;
	pending->held = sizeof(*op) + sizeof(*pending) + more_bytes + key.len;
	pending->no_answer =
		req->form.quiet && req->form.dialect == PROTO_CLASSIC;
	return op;
}

bool pending_always_stores(const struct store_op *op)
{
	return op->kind == STORE_SET && !op->compare;
}

size_t pending_held(const struct store_op *op)
{
	const struct pending *pending = op->user;

	return pending->held + op->value_bytes;
}

void pending_expect(struct store_op *op)
{
	struct pending *pending = op->user;

	if (!pending->no_answer)
		output_expect(&pending->conn->out, &pending->reply, op,
			      pending_held(op));
}

void pending_submit(struct store_op *op)
{
	struct pending *pending = op->user;
	struct conn *conn = pending->conn;

	conn->in_flight++;
	if (pending->no_answer)
		conn->quiet_in_flight++;
	conn->last_op = op;
	conn->worker->op_bytes += pending_held(op);
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

static void count_stored(struct worker *worker, const struct store_op *op)
{
	COUNT(worker, total_items);
	if (op->found.expired || op->found.flushed)
		COUNT(worker, reclaimed);
	if (!pending_always_stores(op))
		access_stored(worker->server->access, op->hash,
			      worker->now_seconds);
}

static void count_touched(struct worker *worker, const struct store_op *op)
{
	COUNT(worker, cmd_touch);
	count_pair(worker, op->status, COUNTER_touch_hits,
		   COUNTER_touch_misses);
	if (op->status == STORE_OK)
		access_fetched(worker->server->access, op->hash,
			       worker->now_seconds);
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
			count_stored(worker, op);
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
		count_touched(worker, op);
		break;
	case STORE_DELETE:
	case STORE_INVALIDATE:
		count_pair(worker, op->status, COUNTER_delete_hits,
			   COUNTER_delete_misses);
		break;
	case STORE_LEASE: /* counted by who asked */
	case STORE_FLUSH:
	case STORE_RECLAIM:
	case STORE_DELETE_OLDER:
		break;
	}
}

static void fill_line(struct store_op *op, enum proto_code code)
{
	struct pending *pending = op->user;
	const struct proto_form *form = &pending->form;
	struct proto_slice line = {pending->text, 0};
	const struct server *server = pending->conn->worker->server;
	uint64_t cas = server->options->cas_enabled ? op->cas : 0;

	if (proto_is_silent(form, code))
		line.len = 0;
	else if (code == PROTO_DONE &&
		 (op->kind == STORE_INCR || op->kind == STORE_DECR))
		line = proto_number(form, op->number, cas, pending->text);
	else if (code == PROTO_DONE && op->kind == STORE_TOUCH)
		line = proto_touched(form, op->flags, cas, pending->text);
	else
		line = proto_answer(form, code, cas, pending->text);
	output_fill(&pending->conn->out, &pending->reply, line.data, line.len,
		    0);
}

void pending_finish(struct store_op *op)
{
	struct pending *pending = op->user;
	struct conn *conn = pending->conn;
	enum proto_code code = exec_code(conn->worker, op->status);

	count_kind(conn->worker, op);
	if (watch_wants(&conn->worker->server->watch,
			WATCH_FETCHERS | WATCH_MUTATIONS | WATCH_DELETIONS))
		exec_watch_write(op, pending->form.verb);
	conn->worker->op_bytes -= pending_held(op);
	if (pending->no_answer) {
		conn->quiet_in_flight--;
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
