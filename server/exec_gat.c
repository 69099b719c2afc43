/*
 * exec_gat.c - gat and gats: each key is a write that brings a value back.
 *
 * One op a key, so the answer is made of as many pieces: each op answers with
 * its VALUE line and value, and with what follows them; the last one's adds
 * END. If a key fails, that is the end of the answer: the pieces behind it
 * stay empty.
 */
#include "server/exec.h"

#include <string.h>

#include "server/pending.h"
#include "server/shared.h"

/* The VALUE line goes right in front of the value that was found. */
static void fill_value(struct store_op *op)
{
	struct pending *pending = op->user;
	struct conn *conn = pending->conn;
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
static void fill_gat(struct store_op *op, enum proto_code code)
{
	struct pending *pending = op->user;
	struct conn *conn = pending->conn;
	struct proto_slice line = proto_classic_line(PROTO_GAT, code);
	struct proto_slice rest = proto_classic_line(PROTO_GAT, PROTO_END);
	bool is_over = conn->gat_failed == pending->list;
	char *text = pending->rest.text;

	conn->gats--;
	if (!pending->is_last || is_over)
		rest.len = 0;
	if (code == PROTO_DONE && !is_over) {
		fill_value(op);
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

static enum conn_next gat_more(struct conn *conn)
{
	struct proto_request *req = &conn->parsed.request;
	struct pending *pending;
	struct store_op *op;
	bool is_last;

	do {
		if (!conn_can_go_on(conn, conn->needs))
			return CONN_PARK;
		op = pending_new(conn, STORE_GET_AND_TOUCH, req, 0);
		if (op == NULL)
			return CONN_DROP; /* half a list is no answer */
		is_last = !proto_next_key(&req->keys, &req->key);
		pending = op->user;
		pending->is_last = is_last;
		pending->list = conn->gat_list;
		op->expiry = pending_expiry(req->exptime);
		op->head_room = PROTO_VALUE_HEAD_MAX;
		pending->fill = fill_gat;
		output_expect(&conn->out, &pending->answer.reply, NULL, 0);
		output_expect(&conn->out, &pending->rest.reply, op,
			      pending_held(op));
		conn->gats++;
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
