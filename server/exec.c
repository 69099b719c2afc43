/*
 * exec.c - see exec.h: the table of commands, and how they answer.
 */
#include "server/exec.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "server/shared.h"

/* Between two lines of one pace, see exec_log(). */
#define LOG_PACE_MS 1000

struct exec_entry {
	enum conn_next (*start)(struct conn *, const struct proto_request *);
	unsigned needs;
};

static const struct exec_entry table[PROTO_VERB_COUNT] = {
#define X(verb, start, needs) [PROTO_##verb] = {start, needs},
	EXEC_COMMANDS(X)
#undef X
};

#define X(verb, start, needs) +1
static_assert(0 EXEC_COMMANDS(X) == PROTO_VERB_COUNT,
	      "each verb has a line in EXEC_COMMANDS");
#undef X

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
		conn->failed = true;
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
	return table[req->form.verb].start(conn, req);
}

enum conn_next exec_write(struct conn *conn, struct proto_slice bytes)
{
	if (output_write(&conn->out, bytes.data, bytes.len))
		return CONN_AGAIN;
	COUNT(conn->worker, malloc_fails);
	return CONN_DROP;
}

enum conn_next exec_write_end(struct conn *conn, struct proto_slice bytes)
{
	size_t room;
	char *to = output_room(&conn->out, bytes.len, &room);

	if (to == NULL) {
		COUNT(conn->worker, malloc_fails);
		return CONN_DROP;
	}
	memcpy(to, bytes.data, bytes.len);
	output_keep(&conn->out, bytes.len, store_scanned(conn->worker->reader));
	return CONN_AGAIN;
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

void exec_log(const struct conn *conn, struct log_pace *pace,
	      const char *format, ...)
{
	char text[3 * PROTO_KEY_MAX + 64]; /* an escaped key, and words */
	uint64_t held_back;
	va_list args;

	if (!log_pace(pace, LOG_PACE_MS, &held_back))
		return;
	va_start(args, format);
	(void)vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	log_write(&conn->worker->server->log, LOG_LEVEL_INFO,
		  "%s from %s (%llu more since the last such line)", text,
		  conn->addr, (unsigned long long)held_back);
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
