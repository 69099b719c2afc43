/*
 * login_server.c - the server's part of login.h: set up by main, and what
 * SIGHUP does.
 */
#include "server/login.h"

#include <string.h>
#include <sysexits.h>

#include "server/login_thread.h"
#include "server/shared.h"

/* Loads the auth file, and says what is wrong with it. NULL: not usable. */
static struct authfile *load(struct server *server)
{
	const char *path = server->options->auth_file;
	struct authfile_refused refused;
	struct authfile *file;
	char line[32] = "";

	if (authfile_load(path, &file, &refused) != 0) {
		if (refused.line > 0)
			(void)snprintf(line, sizeof(line),
				       "line %u: ", refused.line);
		log_write(&server->log, LOG_LEVEL_ERROR,
			  "cannot use the auth file %s: %s%s", path, line,
			  refused.why);
		return NULL;
	}
	if (authfile_plain_count(file) > 0)
		log_write(&server->log, LOG_LEVEL_WARNING,
			  "auth file %s: %zu of %zu passwords are plain text: "
			  "hashes would be safer",
			  path, authfile_plain_count(file),
			  authfile_count(file));
	if (authfile_is_open(file))
		log_write(&server->log, LOG_LEVEL_WARNING,
			  "auth file %s: not its owner alone can read it "
			  "(chmod 600)",
			  path);
	return file;
}

int login_open(struct server *server)
{
	const struct options *options = server->options;
	struct authfile *file = NULL;
	struct login_sasl *sasl = NULL;
	int err;

	if (options->auth_file == NULL && !options->sasl)
		return EX_OK;
	if (options->auth_file != NULL && (file = load(server)) == NULL)
		return EX_CONFIG;
	if (options->sasl && (sasl = login_sasl_open(&server->log)) == NULL)
		return EX_CONFIG;
	err = login_thread_start(file, sasl, &server->login);
	if (err == 0)
		return EX_OK;
	log_write(&server->log, LOG_LEVEL_ERROR,
		  "cannot start the login thread: %s", strerror(-err));
	return EX_OSERR;
}

void login_reload(struct server *server)
{
	struct authfile *file = load(server);

	if (file == NULL) {
		log_write(&server->log, LOG_LEVEL_ERROR,
			  "SIGHUP: the users stay those of before");
		return;
	}
	log_write(&server->log, LOG_LEVEL_INFO,
		  "SIGHUP: auth file read again: %zu users",
		  authfile_count(file));
	login_thread_set_file(server->login, file);
}

bool login_stop(struct server *server)
{
	if (login_thread_stop(server->login))
		return true;
	log_write(&server->log, LOG_LEVEL_WARNING,
		  "stopping: a login that is being checked does not end");
	return false;
}

void login_close(struct server *server)
{
	login_thread_free(server->login);
	server->login = NULL;
}
