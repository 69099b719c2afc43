/*
 * server.c - builds the server in order, runs main's loop, and takes it down
 * in the reverse order.
 *
 *   sockets bound -> user dropped -> store opened -> workers -> accepting
 *
 * What main's loop does: accept, signals, requests of other threads.
 */
#include "server/server.h"

#include <errno.h>
#include <event2/event.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sysexits.h>
#include <time.h>
#include <unistd.h>

#include "server/daemon.h"
#include "server/listener.h"
#include "server/login.h"
#include "server/shared.h"
#include "server/startup.h"
#include "server/tls.h"
#include "server/worker.h"

/* A get line of this length still works: some 300,000 keys. */
#define GET_LINE_MAX   (8 * 1024 * 1024)
#define LINE_MAX_BYTES 2048
/*
 * A stop gives up after so many looks at a store that does not get on: 5 s,
 * longer than the workers give their clients to take their answers. Looks, not
 * the clock: a process that was not run has seen no disk stand still.
 */
#define STOP_LOOKS    2500
#define STOP_PAUSE_NS 2000000L

/* What main needs for its loop and for taking things down. */
struct site {
	struct server server;
	struct event_base *base;
	struct listeners *listeners;
	struct event *request_event;
	struct event *signals[4];
	bool pidfile_written;
	bool fatal;
	bool hanging; /* the login thread does not end */
};

void server_request(struct server *server, enum server_request request)
{
	uint64_t one = 1;

	atomic_fetch_or(&server->requests, (unsigned)request);
	(void)!write(server->request_fd, &one, sizeof(one));
}

/* --- main's loop -------------------------------------------------------- */

static void on_request(evutil_socket_t fd, short what, void *arg)
{
	struct site *site = arg;
	unsigned requests;
	uint64_t count;

	(void)what;
	(void)!read(fd, &count, sizeof(count));
	requests = atomic_exchange(&site->server.requests, 0);
	if (requests & SERVER_FATAL)
		site->fatal = true;
	(void)event_base_loopbreak(site->base);
}

static void on_stop_signal(evutil_socket_t number, short what, void *arg)
{
	struct site *site = arg;

	(void)what;
	log_write(&site->server.log, LOG_LEVEL_INFO, "%s: stopping",
		  strsignal((int)number));
	(void)event_base_loopbreak(site->base);
}

/* Opens the log file again, if there is one. */
static void reopen_log(struct server *server)
{
	const char *path = server->options->log_file;
	int err;

	if (path == NULL)
		return;
	err = log_to_file(&server->log, path);
	if (err != 0)
		log_write(&server->log, LOG_LEVEL_ERROR,
			  "SIGHUP: cannot open %s, going on as before: %s",
			  path, strerror(-err));
	else
		log_write(&server->log, LOG_LEVEL_INFO,
			  "SIGHUP: log file opened again");
}

static void on_reload_signal(evutil_socket_t number, short what, void *arg)
{
	struct site *site = arg;
	struct server *server = &site->server;
	const struct options *options = server->options;

	(void)number;
	(void)what;
	reopen_log(server);
	if (options->auth_file != NULL)
		login_reload(server);
	if (server->tls != NULL)
		(void)tls_refresh(server->tls);
	if (options->log_file == NULL && options->auth_file == NULL &&
	    server->tls == NULL)
		log_write(&server->log, LOG_LEVEL_INFO,
			  "SIGHUP: there is nothing to reload");
}

static int set_up_loop(struct site *site)
{
	static const struct {
		int number;
		event_callback_fn handler;
	} table[] = {
		{SIGTERM, on_stop_signal},
		{SIGINT, on_stop_signal},
		{SIGUSR1, on_stop_signal},
		{SIGHUP, on_reload_signal},
	};

	site->base = event_base_new();
	if (site->base == NULL)
		return -ENOMEM;
	site->request_event = event_new(site->base, site->server.request_fd,
					EV_READ | EV_PERSIST, on_request, site);
	if (site->request_event == NULL ||
	    event_add(site->request_event, NULL) != 0)
		return -ENOMEM;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		site->signals[i] = evsignal_new(site->base, table[i].number,
						table[i].handler, site);
		if (site->signals[i] == NULL ||
		    event_add(site->signals[i], NULL) != 0)
			return -ENOMEM;
	}
	return 0;
}

/* Late, so that signals do no harm while the data are being closed. */
static void take_down_loop(struct site *site)
{
	for (size_t i = 0; i < sizeof(site->signals) / sizeof(site->signals[0]);
	     i++)
		if (site->signals[i] != NULL)
			event_free(site->signals[i]);
	if (site->request_event != NULL)
		event_free(site->request_event);
	if (site->base != NULL)
		event_base_free(site->base);
}

/* --- workers ------------------------------------------------------------ */

static int start_workers(struct server *server)
{
	int err;

	server->workers =
		calloc(server->options->threads, sizeof(server->workers[0]));
	if (server->workers == NULL)
		return -ENOMEM;
	for (unsigned i = 0; i < server->options->threads; i++) {
		err = worker_start(server, i, &server->workers[i]);
		if (err != 0)
			return err;
		server->worker_count++;
	}
	return 0;
}

/* Grows while the store gets on. */
static uint64_t work_done(const struct server *server)
{
	struct store_counts counts;

	store_counts(server->store, &counts);
	return counts.ops + counts.syncs;
}

/*
 * Waits until the workers have ended. False: they never will, as the store has
 * failed, or the disk is full and has no room for what is in flight. A store
 * that is only slow is waited for: what is in flight is bounded.
 */
static bool wait_for_workers(struct server *server)
{
	const struct timespec pause = {.tv_nsec = STOP_PAUSE_NS};
	uint64_t seen = 0, now;
	int looks = 0;
	unsigned i = 0;

	while (i < server->worker_count) {
		if (worker_finished(server->workers[i])) {
			i++;
			continue;
		}
		if (atomic_load(&server->requests) & SERVER_FATAL)
			return false;
		now = work_done(server);
		looks = now == seen ? looks + 1 : 0;
		seen = now;
		if (looks >= STOP_LOOKS) {
			log_write(&server->log, LOG_LEVEL_ERROR,
				  "stopping: writes in flight cannot be "
				  "finished and are not acknowledged");
			return false;
		}
		(void)nanosleep(&pause, NULL);
	}
	return true;
}

/*
 * Returns false if they cannot finish: they are left to the process's end. The
 * login thread ends in between: it gives them back what it has.
 */
static bool stop_workers(struct site *site)
{
	struct server *server = &site->server;

	for (unsigned i = 0; i < server->worker_count; i++)
		worker_stop(server->workers[i]);
	if (!wait_for_workers(server)) {
		for (unsigned i = 0; i < server->worker_count; i++)
			(void)pthread_detach(server->workers[i]->thread);
		return false;
	}
	site->hanging = !login_stop(server);
	for (unsigned i = 0; i < server->worker_count; i++)
		worker_join(server->workers[i]);
	for (unsigned i = 0; i < server->worker_count; i++)
		worker_free(server->workers[i]);
	free(server->workers);
	return true;
}

/* --- running ------------------------------------------------------------ */

static const char *durability(const struct options *options)
{
	switch (options->sync) {
	case STORE_SYNC_ALWAYS:
		return "every answer on disk (sync=always)";
	case STORE_SYNC_WRITE:
		return "every answer handed to the system (sync=write)";
	case STORE_SYNC_INTERVAL:
		break;
	}
	return "answers before they are on disk (sync=interval)";
}

static void say_where(struct site *site)
{
	const struct options *options = site->server.options;
	char where[512];

	listeners_describe(site->listeners, where, sizeof(where));
	log_write(&site->server.log, LOG_LEVEL_INFO,
		  "serving %s, data in %s, %s", where, options->data_dir,
		  durability(options));
}

/* Lines of the start are for the one who started it; later ones for the log. */
static int change_log(struct site *site)
{
	const char *path = site->server.options->log_file;
	int err;

	if (path == NULL)
		return EX_OK;
	err = log_to_file(&site->server.log, path);
	if (err != 0) {
		log_write(&site->server.log, LOG_LEVEL_ERROR,
			  "cannot open the log file %s: %s", path,
			  strerror(-err));
		return EX_CANTCREAT;
	}
	say_where(site);
	return EX_OK;
}

static int announce(struct site *site, struct daemon *daemon)
{
	int err, status;

	say_where(site);
	status = change_log(site);
	if (status != EX_OK)
		return status;
	err = listeners_write_ports(site->listeners);
	if (err == 0)
		err = daemon_ready(daemon,
				   site->server.options->log_file != NULL);
	if (err != 0) {
		log_write(&site->server.log, LOG_LEVEL_ERROR,
			  "cannot report that the start is complete: %s",
			  strerror(-err));
		return EX_OSERR;
	}
	(void)daemon_notify("READY=1");
	return EX_OK;
}

static int set_up(struct site *site)
{
	char text[512];
	int err = start_workers(&site->server);

	if (err == 0)
		err = set_up_loop(site);
	if (err != 0) {
		log_write(&site->server.log, LOG_LEVEL_ERROR,
			  "cannot start the threads: %s", strerror(-err));
		return EX_OSERR;
	}
	err = listeners_start(site->listeners, site->base, text, sizeof(text));
	if (err != 0) {
		log_write(&site->server.log, LOG_LEVEL_ERROR, "%s", text);
		return EX_OSERR;
	}
	return EX_OK;
}

/* Serves until told to stop. The store is open. */
static int serve(struct site *site, struct daemon *daemon)
{
	int status = startup_write_pidfile(&site->server);

	site->pidfile_written =
		status == EX_OK && site->server.options->pidfile != NULL;
	if (status == EX_OK)
		status = set_up(site);
	if (status == EX_OK)
		status = announce(site, daemon);
	if (status == EX_OK)
		(void)event_base_dispatch(site->base);
	if (site->fatal)
		return EX_IOERR;
	(void)daemon_notify("STOPPING=1");
	listeners_free(site->listeners);
	if (stop_workers(site))
		return status;
	site->fatal = true;
	return EX_IOERR;
}

static int run_site(struct site *site, struct daemon *daemon)
{
	struct server *server = &site->server;
	char text[512];
	int status, err;

	startup_prepare(server);
	status = startup_open_tls(server);
	if (status != EX_OK)
		return status;
	if (listeners_open(server, &site->listeners, text, sizeof(text)) != 0) {
		log_write(&server->log, LOG_LEVEL_ERROR, "%s", text);
		return EX_OSERR;
	}
	status = startup_change_user(server);
	if (status == EX_OK)
		status = login_open(server);
	if (status == EX_OK)
		status = startup_open_store(server);
	if (status != EX_OK) {
		listeners_free(site->listeners);
		site->hanging = !login_stop(server);
		return status;
	}
	status = serve(site, daemon);
	if (site->fatal)
		return status;
	err = store_close(server->store);
	if (err != 0 && status == EX_OK)
		status = EX_IOERR;
	log_write(&server->log, LOG_LEVEL_INFO,
		  err == 0 ? "stopped"
			   : "stopped; the next start has to recover");
	return status;
}

static int site_init(struct site *site, const struct options *options)
{
	struct server *server = &site->server;

	server->options = options;
	log_init(&server->log, STDERR_FILENO, options->verbosity);
	server->limits = (struct proto_limits){
		.value_max_bytes = (uint32_t)options->value_max_bytes,
		.line_max_bytes = LINE_MAX_BYTES,
		.get_line_max_bytes = GET_LINE_MAX,
	};
	server->started_us = clock_monotonic_us();
	server->clock.whole_seconds = options->debug_enabled;
	atomic_init(&server->crawler_enabled, options->crawler_enabled);
	atomic_store(&server->memory_limit_bytes, options->cache_bytes);
	server->access = access_new(clock_now_seconds(&server->clock));
	if (server->access == NULL)
		return -ENOMEM;
	server->request_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (server->request_fd < 0) {
		access_free(server->access);
		return -errno;
	}
	registry_init(&server->registry);
	prefixes_init(&server->prefixes, options->prefix_delimiter,
		      options->detail_enabled);
	totals_init(&server->totals);
	watch_init(&server->watch);
	return 0;
}

static void site_done(struct site *site)
{
	struct server *server = &site->server;

	take_down_loop(site);
	tls_free(server->tls);
	login_close(server);
	if (site->pidfile_written)
		(void)daemon_remove_pidfile(server->options->pidfile);
	watch_done(&server->watch);
	totals_done(&server->totals);
	prefixes_done(&server->prefixes);
	registry_done(&server->registry);
	(void)close(server->request_fd);
	access_free(server->access);
}

int server_run(const struct options *options, struct daemon *daemon,
	       bool *ret_abandoned)
{
	struct site *site = calloc(1, sizeof(*site));
	int status;

	if (site == NULL || site_init(site, options) != 0) {
		fputs("memcachedb: no memory or descriptors to start with\n",
		      stderr);
		free(site);
		return EX_OSERR;
	}
	status = run_site(site, daemon);
	*ret_abandoned = site->fatal || site->hanging;
	if (*ret_abandoned) {
		if (site->pidfile_written)
			(void)daemon_remove_pidfile(options->pidfile);
		return status;
	}
	site_done(site);
	free(site);
	return status;
}
