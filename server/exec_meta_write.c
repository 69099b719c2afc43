/*
 * exec_meta_write.c - ms, md, ma, and an mg that changes something.
 *
 * The answer repeats parts of the request in the order they were asked in, so
 * the op carries a copy of it: behind struct pending lie a struct meta_copy,
 * the key and the flags as text, and the room for the answer.
 */
#include "server/exec.h"

#include <string.h>

#include "server/meta.h"
#include "server/pending.h"
#include "server/shared.h"

/* What a flag adds to an answer, at most: a letter, 20 digits, a blank. */
#define FLAG_BYTES 22
/* The word, the length, the marks. */
#define WORD_BYTES 48
/* A number as the value of ma, with CRLF. */
#define NUMBER_BYTES 24

struct meta_copy {
	struct proto_request req;
	char *answer;
};

static struct meta_copy *copy_of(struct store_op *op)
{
	return (struct meta_copy *)(void *)pending_more(op->user);
}

static struct proto_slice copy_text(char **at, struct proto_slice text)
{
	char *to = *at;

	if (text.len > 0)
		memcpy(to, text.data, text.len);
	*at += text.len;
	return (struct proto_slice){to, text.len};
}

/* Bytes of an answer to this request, at most. */
static size_t answer_bytes(const struct proto_request *req,
			   struct proto_slice key)
{
	size_t bytes = WORD_BYTES + NUMBER_BYTES + req->meta.opaque.len;

	bytes += (size_t)__builtin_popcountll(req->meta.present) * FLAG_BYTES;
	if (proto_has(req, 'k'))
		bytes += req->key.len + (key.len + 2) / 3 * 4;
	return bytes;
}

static struct store_op *meta_new(struct conn *conn, enum store_op_kind kind,
				 const struct proto_request *req,
				 struct proto_slice key, uint32_t value_bytes)
{
	size_t more = sizeof(struct meta_copy) + req->key.len +
		      req->meta.flags.len + answer_bytes(req, key);
	struct store_op *op =
		pending_new(conn, kind, req, key, value_bytes, more);
	struct meta_copy *copy;
	const char *flags = req->meta.flags.data;
	char *at;

	if (op == NULL)
		return NULL;
	copy = copy_of(op);
	at = (char *)(copy + 1);
	copy->req = *req;
	copy->req.key = copy_text(&at, req->key);
	copy->req.meta.flags = copy_text(&at, req->meta.flags);
	if (req->meta.opaque.len > 0)
		copy->req.meta.opaque.data = copy->req.meta.flags.data +
					     (req->meta.opaque.data - flags);
	copy->answer = at;
	op->key_base64 = proto_has(req, 'b');
	op->touch = req->has_exptime;
	op->expiry = req->has_exptime ? pending_expiry(conn, req->exptime) : 0;
	return op;
}

static enum conn_next
meta_send(struct store_op *op, void (*fill)(struct store_op *, enum proto_code))
{
	struct pending *pending = op->user;

	pending->fill = fill;
	pending_expect(op);
	pending_submit(op);
	return CONN_AGAIN;
}

static enum conn_next meta_no_memory(struct conn *conn,
				     const struct proto_request *req)
{
	COUNT(conn->worker, store_no_memory);
	return exec_answer(conn, &req->form, PROTO_ERR_NO_MEMORY);
}

/* --- answers ------------------------------------------------------------ */

static void fill_text(struct store_op *op, const char *text, size_t bytes)
{
	struct pending *pending = op->user;
	bool has_value = op->found.value != NULL;

	output_fill(&pending->conn->out, &pending->reply, text, bytes,
		    has_value ? op->found.value_bytes : 0);
}

/* Refusals and failures are the same lines in every text dialect. */
static bool fill_refusal(struct store_op *op, enum proto_code code)
{
	struct pending *pending = op->user;
	struct proto_slice line;

	if (code < PROTO_ERR_UNKNOWN)
		return false;
	line = proto_answer(&pending->form, code, 0, pending->text);
	fill_text(op, line.data, line.len);
	return true;
}

static struct proto_slice key_of(const struct store_op *op)
{
	return (struct proto_slice){op->key, op->key_bytes};
}

static void fill_write(struct store_op *op, enum proto_code code)
{
	struct meta_copy *copy = copy_of(op);
	struct pending *pending = op->user;
	struct proto_meta_result result = {
		.code = code,
		.value_bytes = op->value_bytes,
		.key_base64 = op->key_base64,
	};

	if (fill_refusal(op, code))
		return;
	if (code == PROTO_DONE &&
	    pending->conn->worker->server->options->cas_enabled)
		result.cas = op->cas;
	if (code == PROTO_DONE &&
	    (op->kind == STORE_APPEND || op->kind == STORE_PREPEND))
		result.value_bytes = op->number;
	fill_text(op, copy->answer,
		  proto_meta_answer(copy->answer, &copy->req, key_of(op),
				    &result));
}

/* What is told of a new item, or of one that got another expiry. */
static void settle_made(struct store_op *op, struct proto_meta_result *result)
{
	struct pending *pending = op->user;
	struct conn *conn = pending->conn;
	struct worker *worker = conn->worker;
	int64_t exptime = copy_of(op)->req.create_exptime;

	if (op->touch)
		result->ttl = meta_ttl(conn, op->expiry);
	result->made = op->made;
	if (op->made) {
		access_stored(worker->server->access, op->hash,
			      worker->now_seconds);
		result->fetched_before = false;
		result->idle_seconds = 0;
		result->ttl_before = -1;
		result->ttl_made =
			meta_ttl(conn, pending_expiry(conn, exptime));
	}
}

static void fill_number(struct store_op *op, enum proto_code code)
{
	struct meta_copy *copy = copy_of(op);
	struct pending *pending = op->user;
	struct proto_meta_result result = {.code = code,
					   .key_base64 = op->key_base64};
	char text[NUMBER_BYTES];
	struct proto_slice number;
	size_t bytes;

	if (fill_refusal(op, code))
		return;
	number = proto_number(&pending->form, op->number, op->cas, text);
	if (code == PROTO_DONE) {
		result = meta_result_of(pending->conn, op->hash, &op->found);
		result.cas = pending->conn->worker->server->options->cas_enabled
				     ? op->cas
				     : 0;
		result.value_bytes = number.len - 2;
		result.with_value = proto_has(&copy->req, 'v');
		settle_made(op, &result);
	}
	bytes = proto_meta_answer(copy->answer, &copy->req, key_of(op),
				  &result);
	if (bytes > 0 && result.with_value) {
		memcpy(copy->answer + bytes, number.data, number.len);
		bytes += number.len;
	}
	fill_text(op, copy->answer, bytes);
}

static void count_lease(struct store_op *op, enum proto_code code)
{
	struct pending *pending = op->user;
	struct worker *worker = pending->conn->worker;
	bool hit = code == PROTO_DONE && !op->made;

	if (code != PROTO_DONE && code != PROTO_NOT_FOUND)
		return;
	if (op->touch) {
		exec_watch_get(pending->conn, key_of(op), hit, &op->found);
		COUNT(worker, cmd_touch);
		counter_add(&worker->counters,
			    hit ? COUNTER_touch_hits : COUNTER_touch_misses, 1);
		return;
	}
	exec_count_get(pending->conn, key_of(op),
		       hit ? STORE_OK : STORE_NOT_FOUND, &op->found);
}

static void fill_lease(struct store_op *op, enum proto_code code)
{
	struct meta_copy *copy = copy_of(op);
	struct pending *pending = op->user;
	struct conn *conn = pending->conn;
	struct proto_meta_result result = {.code = PROTO_END,
					   .key_base64 = op->key_base64};
	char head[PROTO_META_HEAD_MAX], *start;
	size_t bytes;

	conn->gats--;
	conn->worker->gats--;
	count_lease(op, code);
	if (fill_refusal(op, code))
		return;
	if (code == PROTO_DONE) {
		result = meta_result_of(conn, op->hash, &op->found);
		result.with_value =
			proto_has(&copy->req, 'v') &&
			!(copy->req.compare && copy->req.cas == op->found.cas);
		settle_made(op, &result);
		if (!proto_has(&copy->req, 'u'))
			access_fetched(conn->worker->server->access, op->hash,
				       conn->worker->now_seconds);
	}
	bytes = proto_meta_answer(head, &copy->req, key_of(op), &result);
	if (!result.with_value || bytes == 0) {
		memcpy(copy->answer, head, bytes);
		fill_text(op, copy->answer, bytes);
		return;
	}
	start = op->found.value - bytes;
	memcpy(start, head, bytes);
	memcpy(op->found.value + op->found.value_bytes, "\r\n", 2);
	fill_text(op, start, bytes + op->found.value_bytes + 2);
}

/* --- commands ----------------------------------------------------------- */

enum conn_next meta_lease(struct conn *conn, const struct proto_request *req,
			  struct proto_slice key)
{
	struct store_op *op = meta_new(conn, STORE_LEASE, req, key, 0);

	if (op == NULL)
		return meta_no_memory(conn, req);
	op->compare = false; /* C is about the answer */
	op->recache_seconds = req->meta.recache_seconds;
	op->recache_touched = req->meta.recache_touched;
	op->head_room = PROTO_META_HEAD_MAX;
	conn->gats++;
	conn->worker->gats++;
	return meta_send(op, fill_lease);
}

static enum store_op_kind set_kind(char mode)
{
	switch (mode) {
	case 'E':
		return STORE_ADD;
	case 'A':
		return STORE_APPEND;
	case 'P':
		return STORE_PREPEND;
	case 'R':
		return STORE_REPLACE;
	}
	return STORE_SET;
}

enum conn_next exec_meta_set(struct conn *conn, const struct proto_request *req)
{
	char room[PROTO_KEY_MAX];
	struct proto_slice key = proto_meta_key(req, room);
	enum store_op_kind kind = set_kind(req->meta.mode);
	bool is_joined = kind == STORE_APPEND || kind == STORE_PREPEND;
	struct store_op *op = meta_new(conn, kind, req, key,
				       req->value_bytes + req->value_tail);
	struct pending *pending;

	if (op == NULL)
		return exec_skip_block(conn, PROTO_ERR_NO_MEMORY);
	if (!is_joined)
		op->create = false;
	/* An add could not find it; to others no item has the id 0. */
	if (kind == STORE_ADD || (is_joined && req->cas == 0))
		op->compare = false;
	op->touch = false;
	op->accept_older = proto_has(req, 'I') && req->cas != 0;
	pending = op->user;
	pending->fill = fill_write;
	return exec_receive(conn, op);
}

enum conn_next exec_meta_delete(struct conn *conn,
				const struct proto_request *req)
{
	char room[PROTO_KEY_MAX];
	struct proto_slice key = proto_meta_key(req, room);
	bool keeps = proto_has(req, 'I') || proto_has(req, 'x');
	struct store_op *op = meta_new(
		conn, keeps ? STORE_INVALIDATE : STORE_DELETE, req, key, 0);

	if (op == NULL)
		return meta_no_memory(conn, req);
	op->compare = req->compare && req->cas != 0;
	op->mark_stale = proto_has(req, 'I');
	op->drop_value = proto_has(req, 'x');
	prefixes_count(&conn->worker->server->prefixes, PREFIX_DEL, key.data,
		       key.len);
	return meta_send(op, fill_write);
}

enum conn_next exec_meta_arith(struct conn *conn,
			       const struct proto_request *req)
{
	char room[PROTO_KEY_MAX];
	struct proto_slice key = proto_meta_key(req, room);
	struct store_op *op =
		meta_new(conn, req->meta.mode == 'D' ? STORE_DECR : STORE_INCR,
			 req, key, 0);

	if (op == NULL)
		return meta_no_memory(conn, req);
	op->compare = req->compare && req->cas != 0;
	return meta_send(op, fill_number);
}
