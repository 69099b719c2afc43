/*
 * startup.c - see startup.h.
 */
#include "server/startup.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#include "server/daemon.h"
#include "server/shared.h"
#include "server/tls.h"

/* Half of the time in which a clean end is promised. */
#define CLOSE_MS 4000

/* Descriptors beside the clients': data, logs, workers, listeners. */
#define SPARE_DESCRIPTORS 128

/* As many connections as asked for, or as the descriptors allow. */
static void limit_connections(struct server *server)
{
	uint64_t wanted = server->options->conn_limit, reached;

	if (daemon_raise_files(wanted + SPARE_DESCRIPTORS, &reached) != 0) {
		wanted = reached > SPARE_DESCRIPTORS * 2
				 ? reached - SPARE_DESCRIPTORS
				 : reached / 2;
		log_write(&server->log, LOG_LEVEL_WARNING,
			  "only %llu open files are allowed (ulimit -n): "
			  "the connection limit is %llu instead of %u",
			  (unsigned long long)reached,
			  (unsigned long long)wanted,
			  server->options->conn_limit);
	}
	atomic_store(&server->conn_limit, (unsigned)wanted);
}

/* Things a start can do without; each failure is one warning. */
void startup_prepare(struct server *server)
{
	const struct options *options = server->options;
	int err;

	(void)signal(SIGPIPE, SIG_IGN);
	limit_connections(server);
	if (options->lock_memory && (err = daemon_lock_memory()) != 0)
		log_write(&server->log, LOG_LEVEL_WARNING,
			  "memory is not locked: %s", strerror(-err));
}

static int complain(struct server *server, int status, const char *what,
		    const char *which, const char *why)
{
	log_write(&server->log, LOG_LEVEL_ERROR, "cannot %s %s: %s", what,
		  which, why);
	return status;
}

int startup_open_tls(struct server *server)
{
	const struct options *options = server->options;

	if (!options->tls_enabled)
		return EX_OK;
	return tls_new(options, &server->log, &server->tls) == 0 ? EX_OK
								 : EX_CONFIG;
}

int startup_change_user(struct server *server)
{
	const struct options *options = server->options;
	struct daemon_user user;
	int err = 0;

	if (options->user != NULL && geteuid() == 0) {
		err = daemon_find_user(options->user, &user);
		if (err == -ENOENT)
			return complain(server, EX_NOUSER, "become user",
					options->user, "no such user");
		if (err == 0)
			err = daemon_become(&user);
		if (err != 0)
			return complain(server, EX_NOUSER, "become user",
					options->user, strerror(-err));
	}
	/* Changing the user has turned core dumps off. */
	if (options->core_dumps && (err = daemon_allow_cores()) != 0)
		log_write(&server->log, LOG_LEVEL_WARNING,
			  "core dumps stay off: %s", strerror(-err));
	return EX_OK;
}

int startup_write_pidfile(struct server *server)
{
	const char *path = server->options->pidfile;
	int err;

	if (path == NULL)
		return EX_OK;
	err = daemon_write_pidfile(path);
	if (err != 0)
		return complain(server, EX_CANTCREAT, "write the pidfile", path,
				strerror(-err));
	return EX_OK;
}

/* --- what the store calls ----------------------------------------------- */

static int64_t on_now(void *arg)
{
	const struct server *server = arg;

	return clock_now_us(&server->clock);
}

static void on_message(void *arg, enum store_severity severity,
		       const char *text)
{
	static const enum log_level levels[] = {
		[STORE_DEBUG] = LOG_LEVEL_DEBUG,
		[STORE_INFO] = LOG_LEVEL_INFO,
		[STORE_WARNING] = LOG_LEVEL_WARNING,
		[STORE_ERROR] = LOG_LEVEL_ERROR,
	};
	struct server *server = arg;

	log_write(&server->log, levels[severity], "%s", text);
}

static void on_fatal(void *arg, const char *text)
{
	struct server *server = arg;

	log_write(&server->log, LOG_LEVEL_ERROR, "stopping: %s", text);
	server_request(server, SERVER_FATAL);
}

static int refusal_status(enum store_refusal why)
{
	switch (why) {
	case STORE_REFUSED_BUSY:
	case STORE_REFUSED_PERMISSION:
		return EX_CANTCREAT;
	case STORE_REFUSED_FOREIGN:
	case STORE_REFUSED_DAMAGED:
		return EX_DATAERR;
	case STORE_REFUSED_SETTING:
		return EX_CONFIG;
	case STORE_REFUSED_SYSTEM:
		break;
	}
	return EX_OSERR;
}

int startup_open_store(struct server *server)
{
	const struct options *options = server->options;
	struct store_refused refused;
	struct store_config config = {
		.home = options->data_dir,
		.data_file = options->data_file,
		.log_dir = options->log_dir,
		.item_cache_bytes = options->item_cache_bytes,
		.cache_bytes = options->cache_bytes,
		.page_bytes = (uint32_t)options->page_bytes,
		.log_buffer_bytes = (uint32_t)options->log_buffer_bytes,
		.log_file_bytes = (uint32_t)options->log_file_bytes,
		.hash = options->access == OPTIONS_HASH,
		.shared_regions = options->shared_regions,
		.sync = options->sync,
		.sync_interval_ms = options->sync_interval_ms,
		.close_ms = CLOSE_MS,
		.checkpoint_seconds = options->checkpoint_seconds,
		.checkpoint_bytes = options->checkpoint_bytes,
		.trickle_percent = options->trickle_percent,
		.keep_logs = options->keep_logs,
		.reserve_bytes = options->reserve_bytes,
		.flush_grace_seconds = options->flush_grace_seconds,
		.value_max_bytes = (uint32_t)options->value_max_bytes,
		.readers_max = options->threads * 2,
		.now_us = on_now,
		.on_message = on_message,
		.on_fatal = on_fatal,
		.arg = server,
	};

	if (store_open(&config, &server->store, &refused) == 0)
		return EX_OK;
	log_write(&server->log, LOG_LEVEL_ERROR, "%s", refused.text);
	return refusal_status(refused.why);
}
