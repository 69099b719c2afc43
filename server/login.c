/*
 * login.c - see login.h: what one connection may do. login_server.c has the
 * server's part, exec_login.c the commands.
 */
#include "server/login.h"

#include <assert.h>
#include <string.h>
#include <strings.h>

#include "server/conn.h"
#include "server/login_thread.h"
#include "server/shared.h"

/* Failed logins are logged, but not more often than this. */
#define FAILED_LOG_MS 1000

bool login_is_due(const struct conn *conn)
{
	const struct server *server = conn->worker->server;

	return server->options->auth_file != NULL && !conn->login.granted;
}

static bool is_login(enum proto_verb verb)
{
	return verb == PROTO_SASL_LIST || verb == PROTO_SASL_START ||
	       verb == PROTO_SASL_STEP;
}

/* True if this very command changes something, also by one of its forms. */
static bool changes_something(const struct proto_request *req)
{
	const struct proto_slice *args = req->args;

	if (req->form.verb == PROTO_META_GET)
		return proto_has(req, 'T') || proto_has(req, 'N') ||
		       proto_has(req, 'R');
	if (req->form.verb == PROTO_LRU_CRAWLER && req->arg_count > 0)
		return proto_slice_is(args[0], "enable") ||
		       proto_slice_is(args[0], "disable");
	if (req->form.verb == PROTO_STATS && req->arg_count > 0)
		return proto_slice_is(args[0], "reset") ||
		       (req->arg_count > 1 &&
			proto_slice_is(args[0], "detail") &&
			!proto_slice_is(args[1], "dump"));
	return proto_verb_changes(req->form.verb);
}

enum proto_code login_allows(const struct conn *conn,
			     const struct proto_request *req)
{
	const struct options *options = conn->worker->server->options;
	enum proto_verb verb = req->form.verb;

	if (!options->sasl && options->auth_file == NULL)
		return is_login(verb) ? PROTO_ERR_UNKNOWN : PROTO_DONE;
	if (conn->login.granted)
		return conn->login.read_only && changes_something(req)
			       ? PROTO_ERR_READ_ONLY
			       : PROTO_DONE;
	if (is_login(verb))
		return PROTO_DONE;
	if (!options->sasl)
		return PROTO_ERR_UNAUTHENTICATED;
	return verb == PROTO_VERSION ? PROTO_DONE : PROTO_ERR_LOGIN_FAILED;
}

/* --- users that may only read -------------------------------------------- */

static bool is_same(const char *a, size_t a_len, const char *b, size_t b_len)
{
	return a_len == b_len && strncasecmp(a, b, a_len) == 0;
}

/*
 * True if this name of the list means the user. With a realm (SASL), a name
 * without one means users of all realms. Letters match in both cases, as
 * password databases may take them: rather one more who may only read.
 */
static bool is_named(const char *name, size_t name_len, const char *user,
		     const char *realm)
{
	const char *at = realm != NULL ? strchr(user, '@') : NULL;
	const char *name_at =
		realm != NULL ? memchr(name, '@', name_len) : NULL;
	size_t user_len = at != NULL ? (size_t)(at - user) : strlen(user);
	size_t plain_len =
		name_at != NULL ? (size_t)(name_at - name) : name_len;

	if (!is_same(name, plain_len, user, user_len))
		return false;
	if (name_at == NULL)
		return true;
	if (at != NULL)
		realm = at + 1;
	return is_same(name_at + 1, name_len - plain_len - 1, realm,
		       strlen(realm));
}

static bool is_read_only(const struct server *server, const char *user)
{
	const struct login_sasl *sasl = login_thread_sasl(server->login);
	const char *names = server->options->read_only_users;
	const char *realm = sasl != NULL ? login_sasl_realm(sasl) : NULL;

	while (names != NULL && *names != '\0') {
		size_t len = strcspn(names, ",");

		if (is_named(names, len, user, realm))
			return true;
		names += len;
		names += *names == ',';
	}
	return false;
}

void login_grant(struct conn *conn, const char *user)
{
	conn->login.granted = true;
	conn->login.read_only = is_read_only(conn->worker->server, user);
}

/* --- an attempt on its way ----------------------------------------------- */

bool login_can_go_on(struct conn *conn)
{
	struct worker *worker = conn->worker;

	if (conn->login.step == LOGIN_WAITING &&
	    worker->logins < LOGIN_PLACES) {
		worker->logins++;
		conn->login.step = LOGIN_PLACED;
	}
	return conn->login.step != LOGIN_WAITING &&
	       conn->login.step != LOGIN_CHECKING;
}

static void log_failed(struct server *server,
		       const struct login_attempt *attempt)
{
	char user[3 * LOGIN_USER_MAX + 1];
	uint64_t held_back;

	if (!log_pace(&server->login_pace, FAILED_LOG_MS, &held_back))
		return;
	log_write(&server->log, LOG_LEVEL_WARNING,
		  "login as \"%s\" from %s failed: %s (%llu more since the "
		  "last such line)",
		  log_escape(user, sizeof(user), attempt->user,
			     strlen(attempt->user)),
		  attempt->conn != NULL ? attempt->conn->addr : "one who left",
		  attempt->why, (unsigned long long)held_back);
}

void login_checked(struct worker *worker, struct login_attempt *attempt)
{
	struct conn *conn = attempt->conn;

	assert(worker->logins > 0);
	worker->logins--;
	if (attempt->verdict != LOGIN_MORE)
		COUNT(worker, auth_cmds);
	if (attempt->verdict == LOGIN_DENIED) {
		COUNT(worker, auth_errors);
		log_failed(worker->server, attempt);
	}
	if (conn == NULL) {
		login_thread_drop(worker->server->login, attempt);
		return;
	}
	assert(conn->magic == CONN_MAGIC);
	assert(conn->login.step == LOGIN_CHECKING);
	conn->login.step = LOGIN_CHECKED;
}

void login_leave(struct conn *conn)
{
	struct login *login = &conn->login;

	if (login->step == LOGIN_CHECKING)
		login->attempt->conn = NULL;
	else if (login->attempt != NULL)
		login_thread_drop(conn->worker->server->login, login->attempt);
	if (login->step == LOGIN_PLACED)
		conn->worker->logins--;
	*login = (struct login){0};
}
