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
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sysexits.h>
#include <time.h>
#include <unistd.h>

#include "server/daemon.h"
#include "server/listener.h"
#include "server/shared.h"
#include "server/worker.h"

/* Descriptors beside the clients': data, logs, workers, listeners. */
#define SPARE_DESCRIPTORS 128
/* A get line of this length still works: some 300,000 keys. */
#define GET_LINE_MAX   (8 * 1024 * 1024)
#define LINE_MAX_BYTES 2048
/* Longer than the workers give their clients to take their answers. */
#define STOP_SECONDS INT64_C(5)

/* What main needs for its loop and for taking things down. */
struct site {
	struct server server;
	struct event_base *base;
	struct listeners *listeners;
	struct event *request_event;
	struct event *signals[4];
	bool pidfile_written;
	bool fatal;
};

/* --- clocks ------------------------------------------------------------- */

static int64_t clock_us(clockid_t id)
{
	struct timespec now;

	clock_gettime(id, &now);
	return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

int64_t clock_wall_us(void)
{
	return clock_us(CLOCK_REALTIME);
}

int64_t clock_monotonic_us(void)
{
	return clock_us(CLOCK_MONOTONIC);
}

/* --- what the store calls ----------------------------------------------- */

static int64_t on_now(void *arg)
{
	(void)arg;
	return clock_wall_us();
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
	event_base_loopbreak(site->base);
}

static void on_stop_signal(evutil_socket_t number, short what, void *arg)
{
	struct site *site = arg;

	(void)what;
	log_write(&site->server.log, LOG_LEVEL_INFO, "%s: stopping",
		  strsignal((int)number));
	event_base_loopbreak(site->base);
}

static void on_reload_signal(evutil_socket_t number, short what, void *arg)
{
	struct site *site = arg;
	struct log *log = &site->server.log;
	const char *path = site->server.options->log_file;
	int err = path != NULL ? log_to_file(log, path) : 0;

	(void)number;
	(void)what;
	if (err != 0)
		log_write(log, LOG_LEVEL_ERROR,
			  "SIGHUP: cannot open %s, going on as before: %s",
			  path, strerror(-err));
	else
		log_write(log, LOG_LEVEL_INFO, "SIGHUP: %s",
			  path != NULL ? "log file opened again"
				       : "there is nothing to reload");
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
	size_t i;

	site->base = event_base_new();
	if (site->base == NULL)
		return -ENOMEM;
	site->request_event = event_new(site->base, site->server.request_fd,
					EV_READ | EV_PERSIST, on_request, site);
	if (site->request_event == NULL ||
	    event_add(site->request_event, NULL) != 0)
		return -ENOMEM;
	for (i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		site->signals[i] = evsignal_new(site->base, table[i].number,
						table[i].handler, site);
		if (site->signals[i] == NULL ||
		    event_add(site->signals[i], NULL) != 0)
			return -ENOMEM;
	}
	return listeners_start(site->listeners, site->base);
}

static void take_down_loop(struct site *site)
{
	size_t i;

	listeners_free(site->listeners);
	for (i = 0; i < sizeof(site->signals) / sizeof(site->signals[0]); i++)
		if (site->signals[i] != NULL)
			event_free(site->signals[i]);
	if (site->request_event != NULL)
		event_free(site->request_event);
	if (site->base != NULL)
		event_base_free(site->base);
}

/* --- the parts ---------------------------------------------------------- */

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
static void set_up_process(struct server *server)
{
	const struct options *options = server->options;
	int err;

	signal(SIGPIPE, SIG_IGN);
	limit_connections(server);
	if (options->lock_memory && (err = daemon_lock_memory()) != 0)
		log_write(&server->log, LOG_LEVEL_WARNING,
			  "memory is not locked: %s", strerror(-err));
}

/* Becomes the user, writes the pidfile. Returns an exit status. */
static int change_user(struct site *site)
{
	const struct options *options = site->server.options;
	struct daemon_user user;
	int err = 0;

	if (options->user != NULL && geteuid() == 0) {
		err = daemon_find_user(options->user, &user);
		if (err == 0)
			err = daemon_become(&user);
		if (err != 0) {
			log_write(&site->server.log, LOG_LEVEL_ERROR,
				  "cannot become user %s: %s", options->user,
				  err == -ENOENT ? "no such user"
						 : strerror(-err));
			return EX_NOUSER;
		}
	}
	/* Changing the user has turned core dumps off. */
	if (options->core_dumps && (err = daemon_allow_cores()) != 0)
		log_write(&site->server.log, LOG_LEVEL_WARNING,
			  "core dumps stay off: %s", strerror(-err));
	if (options->pidfile == NULL)
		return EX_OK;
	err = daemon_write_pidfile(options->pidfile);
	if (err != 0) {
		log_write(&site->server.log, LOG_LEVEL_ERROR,
			  "cannot write the pidfile %s: %s", options->pidfile,
			  strerror(-err));
		return EX_CANTCREAT;
	}
	site->pidfile_written = true;
	return EX_OK;
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

static int open_store(struct server *server)
{
	const struct options *options = server->options;
	struct store_refused refused;
	struct store_config config = {
		.home = options->data_dir,
		.data_file = options->data_file,
		.log_dir = options->log_dir,
		.cache_bytes = options->cache_bytes,
		.page_bytes = (uint32_t)options->page_bytes,
		.log_buffer_bytes = (uint32_t)options->log_buffer_bytes,
		.log_file_bytes = (uint32_t)options->log_file_bytes,
		.hash = options->access == OPTIONS_HASH,
		.shared_regions = options->shared_regions,
		.sync = options->sync,
		.sync_interval_ms = options->sync_interval_ms,
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

static int start_workers(struct server *server)
{
	unsigned i;
	int err;

	server->workers =
		calloc(server->options->threads, sizeof(server->workers[0]));
	if (server->workers == NULL)
		return -ENOMEM;
	for (i = 0; i < server->options->threads; i++) {
		err = worker_start(server, i, &server->workers[i]);
		if (err != 0)
			return err;
		server->worker_count++;
	}
	return 0;
}

/*
 * Gives the workers their time. A store that failed, or has a full disk and no
 * room for what is in flight, never lets them finish: false then.
 */
static bool wait_for_workers(struct server *server)
{
	const struct timespec pause = {.tv_nsec = 2000000};
	int64_t until = clock_monotonic_us() + STOP_SECONDS * 1000000;
	unsigned i = 0;

	while (i < server->worker_count) {
		if (worker_finished(server->workers[i])) {
			i++;
			continue;
		}
		if (atomic_load(&server->requests) & SERVER_FATAL)
			return false;
		if (clock_monotonic_us() >= until) {
			log_write(&server->log, LOG_LEVEL_ERROR,
				  "stopping: writes in flight cannot be "
				  "finished and are not acknowledged");
			return false;
		}
		nanosleep(&pause, NULL);
	}
	return true;
}

/* Returns false, and leaves all as it is, if they cannot finish. */
static bool stop_workers(struct server *server)
{
	unsigned i;

	for (i = 0; i < server->worker_count; i++)
		worker_stop(server->workers[i]);
	if (!wait_for_workers(server))
		return false;
	for (i = 0; i < server->worker_count; i++)
		worker_join(server->workers[i]);
	for (i = 0; i < server->worker_count; i++)
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

/* Serves until told to stop. The store is open. */
static int serve(struct site *site, struct daemon *daemon)
{
	int status = EX_OK;
	int err = start_workers(&site->server);

	if (err == 0)
		err = set_up_loop(site);
	if (err != 0) {
		log_write(&site->server.log, LOG_LEVEL_ERROR,
			  "cannot start the threads: %s", strerror(-err));
		status = EX_OSERR;
	}
	if (status == EX_OK)
		status = announce(site, daemon);
	if (status == EX_OK)
		event_base_dispatch(site->base);
	if (site->fatal)
		return EX_IOERR;
	(void)daemon_notify("STOPPING=1");
	take_down_loop(site);
	if (stop_workers(&site->server))
		return status;
	site->fatal = true;
	return EX_IOERR;
}

static int run_site(struct site *site, struct daemon *daemon)
{
	struct server *server = &site->server;
	char text[512];
	int status, err;

	set_up_process(server);
	if (listeners_open(server, &site->listeners, text, sizeof(text)) != 0) {
		log_write(&server->log, LOG_LEVEL_ERROR, "%s", text);
		return EX_OSERR;
	}
	status = change_user(site);
	if (status == EX_OK)
		status = open_store(server);
	if (status != EX_OK) {
		listeners_free(site->listeners);
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
	atomic_store(&server->memory_limit_bytes, options->cache_bytes);
	server->request_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (server->request_fd < 0)
		return -errno;
	registry_init(&server->registry);
	prefixes_init(&server->prefixes, options->prefix_delimiter,
		      options->detail_enabled);
	totals_init(&server->totals);
	return 0;
}

static void site_done(struct site *site)
{
	struct server *server = &site->server;

	if (site->pidfile_written)
		(void)daemon_remove_pidfile(server->options->pidfile);
	totals_done(&server->totals);
	prefixes_done(&server->prefixes);
	registry_done(&server->registry);
	close(server->request_fd);
}

int server_run(const struct options *options, struct daemon *daemon,
	       bool *ret_abandoned)
{
	struct site *site = calloc(1, sizeof(*site));
	int status;

	if (site == NULL || site_init(site, options) != 0) {
		free(site);
		return EX_OSERR;
	}
	status = run_site(site, daemon);
	*ret_abandoned = site->fatal;
	if (site->fatal) {
		if (site->pidfile_written)
			(void)daemon_remove_pidfile(options->pidfile);
		return status;
	}
	site_done(site);
	free(site);
	return status;
}
