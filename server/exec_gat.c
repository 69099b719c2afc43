/*
 * exec_gat.c - gat and gats: each key is a write that brings a value back.
 *
 * One op a key, so the answer is made of as many pieces: each op answers with
 * its value, in a head and a tail, or with a miss; the last one is followed by
 * END. If a key fails, that is the end of the answer: the pieces behind it
 * stay empty.
 */
#include "server/exec.h"

#include <string.h>

#include "server/pending.h"
#include "server/shared.h"

/* Head and tail go right in front of the value that was found, and behind. */
static struct proto_slice wrap_value(struct store_op *op)
{
	struct pending *pending = op->user;
	const struct proto_form *form = &pending->form;
	struct proto_slice key = {op->key, op->key_bytes};
	struct proto_slice tail = proto_value_tail(form);
	char head[PROTO_VALUE_HEAD_MAX], *start;
	bool cas_enabled = pending->conn->worker->server->options->cas_enabled;
	size_t bytes;

	bytes = proto_value(head, form, key, op->found.flags,
			    op->found.value_bytes,
			    cas_enabled ? op->found.cas : 0);
	start = op->found.value - bytes;
	memcpy(start, head, bytes);
	bytes += op->found.value_bytes;
	memcpy(start + bytes, tail.data, tail.len);
	return (struct proto_slice){start, bytes + tail.len};
}

/* A miss is silent in text; in binary it has a packet of its own. */
static struct proto_slice tell_miss(struct store_op *op)
{
	struct pending *pending = op->user;
	struct proto_slice key = {op->key, op->key_bytes};
	char *room = pending_more(pending);

	return (struct proto_slice){
		room, proto_value_miss(room, &pending->form, key)};
}

/*
 * One key of a gat. A failure is the end of the list: the client takes it as
 * the end of the answer.
 */
static void fill_gat(struct store_op *op, enum proto_code code)
{
	struct pending *pending = op->user;
	struct conn *conn = pending->conn;
	struct proto_slice text = {pending->text, 0};
	struct proto_slice end = proto_value_end(&pending->form);
	bool is_over = conn->gat_failed == pending->list;

	conn->gats--;
	conn->worker->gats--;
	if (is_over) {
		end.len = 0;
	} else if (code == PROTO_DONE) {
		text = wrap_value(op);
	} else if (code == PROTO_NOT_FOUND) {
		text = tell_miss(op);
	} else {
		text = proto_answer(&pending->form, code, 0, pending->text);
		conn->gat_failed = pending->list;
		end.len = 0;
	}
	if (!pending->is_last)
		end.len = 0;
	output_fill(&conn->out, &pending->reply, text.data, text.len, 0);
	output_fill(&conn->out, &pending->end, end.data, end.len,
		    op->found.value_bytes);
}

static enum conn_next gat_more(struct conn *conn)
{
	struct proto_request *req = &conn->parsed.request;
	size_t miss_bytes =
		req->form.dialect == PROTO_BINARY ? PROTO_VALUE_HEAD_MAX : 0;
	struct pending *pending;
	struct store_op *op;
	bool is_last;

	do {
		if (!conn_can_go_on(conn, conn->needs))
			return CONN_PARK;
		op = pending_new(conn, STORE_GET_AND_TOUCH, req, req->key, 0,
				 miss_bytes);
		if (op == NULL)
			return CONN_DROP; /* half a list is no answer */
		is_last = !proto_next_token(&req->keys, &req->key);
		pending = op->user;
		pending->is_last = is_last;
		pending->list = conn->gat_list;
		op->expiry = pending_expiry(conn, req->exptime);
		op->head_room = PROTO_VALUE_HEAD_MAX;
		pending->fill = fill_gat;
		output_expect(&conn->out, &pending->reply, NULL, 0);
		output_expect(&conn->out, &pending->end, op, pending_held(op));
		conn->gats++;
		conn->worker->gats++;
		pending_submit(op);
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
