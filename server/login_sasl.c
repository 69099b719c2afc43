/*
 * login_sasl.c - see login_sasl.h. An exchange is the library's connection.
 */
#include "server/login_sasl.h"

#include <sasl/sasl.h>
#include <stdlib.h>
#include <string.h>

#define APPLICATION "memcached"

/* What the library has to say is logged, but not more often than this. */
#define LIBRARY_LOG_MS 1000

struct login_sasl {
	struct log *log;
	struct log_pace pace;
	sasl_callback_t callbacks[2]; /* the library keeps their address */
	char *mechanisms, *realm;
};

struct login_sasl_exchange {
	sasl_conn_t *conn;
};

/* --- exchanges ---------------------------------------------------------- */

/* We give no confidentiality: that is what TLS is for. */
static int make_conn(const char *host, sasl_conn_t **ret)
{
	const sasl_security_properties_t wanted = {
		.security_flags = SASL_SEC_NOANONYMOUS,
	};
	sasl_conn_t *conn;
	int result;

	result = sasl_server_new(APPLICATION, host, NULL, NULL, NULL, NULL, 0,
				 &conn);
	if (result != SASL_OK)
		return result;
	result = sasl_setprop(conn, SASL_SEC_PROPS, &wanted);
	if (result == SASL_OK)
		*ret = conn;
	else
		sasl_dispose(&conn);
	return result;
}

static enum login_sasl_state judge(sasl_conn_t *conn, int result,
				   const char *data, unsigned bytes,
				   struct login_sasl_said *ret_said)
{
	*ret_said = (struct login_sasl_said){0};
	if (result == SASL_OK)
		return LOGIN_SASL_DONE;
	if (result == SASL_CONTINUE) {
		ret_said->answer = (struct proto_slice){data, bytes};
		return LOGIN_SASL_MORE;
	}
	ret_said->why = sasl_errdetail(conn);
	return LOGIN_SASL_FAILED;
}

/* Some mechanisms tell a message of no bytes from none. */
static const char *data_of(struct proto_slice message)
{
	return message.len > 0 ? message.data : NULL;
}

enum login_sasl_state
login_sasl_begin(struct login_sasl *sasl, const char *mechanism,
		 struct proto_slice message,
		 struct login_sasl_exchange **ret_exchange,
		 struct login_sasl_said *ret_said)
{
	struct login_sasl_exchange *exchange = calloc(1, sizeof(*exchange));
	const char *data = NULL;
	unsigned bytes = 0;
	int result = SASL_NOMEM;

	if (exchange != NULL)
		result = make_conn(sasl->realm, &exchange->conn);
	if (result != SASL_OK) {
		free(exchange);
		*ret_said = (struct login_sasl_said){
			.why = sasl_errstring(result, NULL, NULL),
		};
		return LOGIN_SASL_FAILED;
	}
	*ret_exchange = exchange;
	result = sasl_server_start(exchange->conn, mechanism, data_of(message),
				   (unsigned)message.len, &data, &bytes);
	return judge(exchange->conn, result, data, bytes, ret_said);
}

enum login_sasl_state login_sasl_go_on(struct login_sasl_exchange *exchange,
				       struct proto_slice message,
				       struct login_sasl_said *ret_said)
{
	const char *data = NULL;
	unsigned bytes = 0;
	int result = sasl_server_step(exchange->conn, data_of(message),
				      (unsigned)message.len, &data, &bytes);

	return judge(exchange->conn, result, data, bytes, ret_said);
}

bool login_sasl_user(struct login_sasl_exchange *exchange,
		     char ret_user[LOGIN_USER_MAX + 1])
{
	const void *user = NULL;
	size_t len;

	if (sasl_getprop(exchange->conn, SASL_USERNAME, &user) != SASL_OK ||
	    user == NULL)
		return false;
	len = strlen(user);
	if (len > LOGIN_USER_MAX)
		return false;
	memcpy(ret_user, user, len + 1);
	return true;
}

void login_sasl_free(struct login_sasl_exchange *exchange)
{
	if (exchange == NULL)
		return;
	sasl_dispose(&exchange->conn);
	free(exchange);
}

/* --- the library -------------------------------------------------------- */

static enum log_level level_of(int level)
{
	switch (level) {
	case SASL_LOG_ERR:
		return LOG_LEVEL_WARNING;
	case SASL_LOG_FAIL:
	case SASL_LOG_WARN:
	case SASL_LOG_NOTE:
		return LOG_LEVEL_DEBUG;
	}
	return LOG_LEVEL_TRACE;
}

static int on_log(void *arg, int level, const char *message)
{
	struct login_sasl *sasl = arg;
	uint64_t held_back;

	/* Traces may hold passwords. */
	if (message == NULL || level <= SASL_LOG_NONE ||
	    level >= SASL_LOG_DEBUG || !log_wants(sasl->log, level_of(level)))
		return SASL_OK;
	if (log_pace(&sasl->pace, LIBRARY_LOG_MS, &held_back))
		log_write(sasl->log, level_of(level),
			  "SASL: %s (%llu more since the last such line)",
			  message, (unsigned long long)held_back);
	return SASL_OK;
}

/* Finds out what is the same for all exchanges. */
static int ask_library(struct login_sasl *sasl)
{
	const char *mechanisms;
	const void *realm;
	sasl_conn_t *conn;
	int result = make_conn(NULL, &conn);

	if (result != SASL_OK)
		return result;
	result =
		sasl_listmech(conn, NULL, "", " ", "", &mechanisms, NULL, NULL);
	if (result == SASL_OK)
		result = sasl_getprop(conn, SASL_SERVERFQDN, &realm);
	if (result == SASL_OK) {
		sasl->mechanisms = strdup(mechanisms);
		sasl->realm = strdup(realm);
		if (sasl->mechanisms == NULL || sasl->realm == NULL)
			result = SASL_NOMEM;
	}
	sasl_dispose(&conn);
	return result;
}

struct login_sasl *login_sasl_open(struct log *log)
{
	struct login_sasl *sasl = calloc(1, sizeof(*sasl));
	int result = SASL_NOMEM;

	if (sasl == NULL)
		goto out;
	sasl->log = log;
	sasl->callbacks[0] = (sasl_callback_t){
		SASL_CB_LOG, (int (*)(void))(void (*)(void))on_log, sasl};
	sasl->callbacks[1] = (sasl_callback_t){SASL_CB_LIST_END, NULL, NULL};
	result = sasl_server_init(sasl->callbacks, APPLICATION);
	if (result != SASL_OK)
		goto out_free;
	result = ask_library(sasl);
	if (result == SASL_OK)
		return sasl;

	sasl_done();
out_free:
	free(sasl->mechanisms);
	free(sasl->realm);
	free(sasl);
out:
	log_write(log, LOG_LEVEL_ERROR, "cannot start SASL: %s%s",
		  sasl_errstring(result, NULL, NULL),
		  result == SASL_NOMECH ? " (Debian has them in "
					  "libsasl2-modules)"
					: "");
	return NULL;
}

void login_sasl_close(struct login_sasl *sasl)
{
	if (sasl == NULL)
		return;
	sasl_done();
	free(sasl->mechanisms);
	free(sasl->realm);
	free(sasl);
}

const char *login_sasl_mechanisms(const struct login_sasl *sasl)
{
	return sasl->mechanisms;
}

const char *login_sasl_realm(const struct login_sasl *sasl)
{
	return sasl->realm;
}
