/*
 * exec_login.c - the commands by which a client logs in: `set` of a text
 * client that must, and the SASL commands of binary ones.
 */
#include "server/exec.h"

#include <assert.h>
#include <string.h>

#include "server/login_thread.h"
#include "server/shared.h"

enum conn_next exec_login_list(struct conn *conn,
			       const struct proto_request *req)
{
	const char *names = login_sasl_mechanisms(
		login_thread_sasl(conn->worker->server->login));
	struct proto_slice body = {names, strlen(names)};
	char head[PROTO_PACKET_HEAD];
	enum conn_next next;

	proto_packet_head(head, &req->form, PROTO_DONE, 0, body.len);
	next = exec_write(conn, (struct proto_slice){head, sizeof(head)});
	return next == CONN_AGAIN ? exec_write(conn, body) : next;
}

/* --- the answer ---------------------------------------------------------- */

/* The client is to send one more message: the attempt is kept for it. */
static enum conn_next ask_for_more(struct conn *conn,
				   const struct login_attempt *attempt)
{
	char head[PROTO_PACKET_HEAD];
	enum conn_next next;

	conn->login.step = LOGIN_NONE;
	proto_packet_head(head, &attempt->form, PROTO_LOGIN_MORE, 0,
			  attempt->answer_bytes);
	next = exec_write(conn, (struct proto_slice){head, sizeof(head)});
	if (next != CONN_AGAIN)
		return next;
	return exec_write(conn, (struct proto_slice){attempt->answer,
						     attempt->answer_bytes});
}

static enum conn_next answer(struct conn *conn)
{
	struct login_attempt *attempt = conn->login.attempt;
	struct proto_form form = attempt->form;
	enum proto_code code = PROTO_ERR_LOGIN_FAILED;
	char user[sizeof(attempt->user)];

	switch (attempt->verdict) {
	case LOGIN_MORE:
		return ask_for_more(conn, attempt);
	case LOGIN_GRANTED:
		memcpy(user, attempt->user, sizeof(user));
		login_leave(conn);
		login_grant(conn, user);
		code = PROTO_DONE;
		break;
	case LOGIN_DENIED:
		login_leave(conn);
		break;
	}
	return exec_answer(conn, &form, code);
}

/* The stream of a login: hands the attempt over, and answers it later. */
static enum conn_next go_on(struct conn *conn)
{
	struct login *login = &conn->login;

	if (login->step == LOGIN_CHECKED)
		return answer(conn);
	assert(login->step == LOGIN_PLACED);
	login->step = LOGIN_CHECKING;
	login_thread_submit(conn->worker->server->login, login->attempt);
	return CONN_PARK;
}

/* --- the question -------------------------------------------------------- */

/* What is wrong with the block of a text login: else PROTO_DONE. */
static enum proto_code check_block(struct login_attempt *attempt,
				   uint32_t tail_bytes)
{
	attempt->bytes -= tail_bytes;
	if (memcmp(attempt->data + attempt->bytes, "\r\n", tail_bytes) != 0)
		return PROTO_ERR_LOGIN_END;
	if (attempt->kind == LOGIN_PASSWORD &&
	    memchr(attempt->data, ' ', attempt->bytes) == NULL)
		return PROTO_ERR_LOGIN_FORMAT;
	return PROTO_DONE;
}

static enum conn_next on_block(struct conn *conn)
{
	struct login_attempt *attempt = conn->login.attempt;
	enum proto_code code =
		check_block(attempt, conn->parsed.request.value_tail);

	if (code != PROTO_DONE) {
		login_leave(conn);
		return exec_answer(conn, &conn->parsed.request.form, code);
	}
	conn->login.step = LOGIN_WAITING;
	conn->needs = CONN_NEEDS_LOGIN;
	conn->stream = go_on;
	conn->parsed.consumed = 0; /* the line has gone already */
	conn_set_step(conn, CONN_STREAM);
	return CONN_PARK; /* even if a place is free: others may wait for it */
}

static void set_mechanism(struct login_attempt *attempt,
			  struct proto_slice mechanism)
{
	assert(mechanism.len < sizeof(attempt->mechanism));
	memcpy(attempt->mechanism, mechanism.data, mechanism.len);
}

/* Goes on with what the last message has begun, if there was one. */
static void take_exchange(struct conn *conn, struct login_attempt *attempt)
{
	struct login_attempt *last = conn->login.attempt;

	if (last == NULL)
		return;
	attempt->exchange = last->exchange;
	last->exchange = NULL;
}

enum conn_next exec_login(struct conn *conn, const struct proto_request *req)
{
	uint32_t bytes = req->value_bytes + req->value_tail;
	struct login_attempt *attempt = login_attempt_new(bytes);

	if (attempt == NULL) {
		login_leave(conn);
		return exec_skip_block(conn, PROTO_ERR_NO_MEMORY);
	}
	attempt->worker = conn->worker;
	attempt->conn = conn;
	attempt->form = req->form;
	if (req->form.dialect != PROTO_BINARY) {
		attempt->kind = LOGIN_PASSWORD;
	} else if (req->form.verb == PROTO_SASL_START) {
		attempt->kind = LOGIN_BEGIN;
		set_mechanism(attempt, req->key);
	} else {
		attempt->kind = LOGIN_STEP;
		take_exchange(conn, attempt);
	}
	login_leave(conn);
	conn->login.attempt = attempt;
	conn->login.step = LOGIN_READING;
	conn_read_block(conn, attempt->data, bytes, on_block);
	return CONN_AGAIN;
}
