/*
 * worker.c - see worker.h: the loop, its turns, and the inbox.
 *
 * A turn: events are handled (reads, the tick), what others have called for is
 * taken in, and who is runnable runs; then the writes are submitted, answers
 * sent, and the parked looked at: if any of them may go on, or somebody has
 * called meanwhile, the next turn does not wait for events.
 *
 * Others put what they have where the worker finds it, then call. That costs a
 * system call only if the worker sleeps: it says so, atomically, before it
 * does, and takes notice of a call after that.
 */
#include "server/worker.h"

#include <errno.h>
#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "server/conn.h"
#include "server/login_thread.h"
#include "server/pending.h"
#include "server/shared.h"
#include "server/spawn.h"
#include "server/udp.h"

/* So many changes are worth waking the writer for, before the turn ends. */
#define WORKER_HAND_OVER 8
/* A yielding connection sends only when it has this much: fewer calls. */
#define WORKER_SEND_EARLY 65536
/* A peer that takes no answers, or leaves a command half sent, this long. */
#define WORKER_STUCK_SECONDS 300
/* A peer that goes on sending though we have closed. */
#define WORKER_LINGER_SECONDS 2
/* Time for answers to leave when the server stops. */
#define WORKER_DRAIN_SECONDS 3

void worker_add_op(struct worker *worker, struct store_op *op)
{
	op->next = NULL;
	worker->op_count++;
	*worker->ops_tail = op;
	worker->ops_tail = &op->next;
}

/* --- the inbox ---------------------------------------------------------- */

void worker_wake(void *arg)
{
	struct worker *worker = arg;
	uint64_t one = 1;

	/* Nobody lives long enough to fill the counter one by one. */
	if (atomic_exchange(&worker->sleep, WORKER_CALLED) == WORKER_ASLEEP)
		(void)!write(worker->wake_fd, &one, sizeof(one));
}

void worker_awake(struct worker *worker)
{
	int asleep = WORKER_ASLEEP;

	if (atomic_load_explicit(&worker->sleep, memory_order_relaxed) ==
	    WORKER_ASLEEP)
		(void)atomic_compare_exchange_strong(&worker->sleep, &asleep,
						     WORKER_AWAKE);
}

/* Returns false if it was called meanwhile, and must not sleep. */
static bool worker_may_sleep(struct worker *worker)
{
	int awake = WORKER_AWAKE;

	return atomic_compare_exchange_strong(&worker->sleep, &awake,
					      WORKER_ASLEEP);
}

bool worker_post(struct worker *worker, const struct arrival *arrival)
{
	struct arrival *copy = malloc(sizeof(*copy));

	if (copy == NULL)
		return false;
	*copy = *arrival;
	(void)pthread_mutex_lock(&worker->inbox_lock);
	STAILQ_INSERT_TAIL(&worker->inbox, copy, link);
	(void)pthread_mutex_unlock(&worker->inbox_lock);
	worker_wake(worker);
	return true;
}

static void worker_take_arrivals(struct worker *worker)
{
	struct arrival_list list = STAILQ_HEAD_INITIALIZER(list);

	(void)pthread_mutex_lock(&worker->inbox_lock);
	STAILQ_CONCAT(&list, &worker->inbox);
	(void)pthread_mutex_unlock(&worker->inbox_lock);
	while (!STAILQ_EMPTY(&list)) {
		struct arrival *arrival = STAILQ_FIRST(&list);

		STAILQ_REMOVE_HEAD(&list, link);
		if (arrival->is_udp)
			udp_socket_new(worker, arrival->fd, arrival->listen_fd);
		else
			conn_new(worker, arrival);
		free(arrival);
	}
}

void worker_post_login(struct worker *worker, struct login_attempt *attempt)
{
	(void)pthread_mutex_lock(&worker->inbox_lock);
	STAILQ_INSERT_TAIL(&worker->checked, attempt, link);
	(void)pthread_mutex_unlock(&worker->inbox_lock);
	worker_wake(worker);
}

static void worker_take_checked(struct worker *worker)
{
	struct checked_list list = STAILQ_HEAD_INITIALIZER(list);

	(void)pthread_mutex_lock(&worker->inbox_lock);
	STAILQ_CONCAT(&list, &worker->checked);
	(void)pthread_mutex_unlock(&worker->inbox_lock);
	while (!STAILQ_EMPTY(&list)) {
		struct login_attempt *attempt = STAILQ_FIRST(&list);

		STAILQ_REMOVE_HEAD(&list, link);
		login_checked(worker, attempt);
	}
}

/*
 * Lets connections end when their answers have left, also late comers.
 * Datagrams end by themselves, and half an answer is none.
 */
static void worker_drain(struct worker *worker)
{
	struct conn *conn, *next;

	if (!worker->draining)
		worker->drain_until = worker->tick + WORKER_DRAIN_SECONDS;
	worker->draining = true;
	udp_stop(worker);
	for (conn = TAILQ_FIRST(&worker->conns); conn != NULL; conn = next) {
		next = TAILQ_NEXT(conn, link);
		if (conn->udp != NULL)
			continue;
		conn_shut(conn);
		if (conn->step == CONN_LINGERING)
			conn_close(conn);
	}
}

/* Somebody calls; what it is about is looked at when all events are done. */
static void on_wake(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	worker_awake(arg);
}

/* Something came in: connections, answers of others, the order to stop. */
static void worker_look_around(struct worker *worker)
{
	struct store_op *op;
	struct conn *conn;

	worker_take_arrivals(worker);
	worker_take_checked(worker);
	while ((op = store_reap(worker->client)) != NULL)
		pending_finish(op);
	while ((conn = TAILQ_FIRST(&worker->hidden)) != NULL) {
		TAILQ_REMOVE(&worker->hidden, conn, hidden_link);
		conn->in_hidden = false;
		conn_mark_dirty(conn);
	}
	if (atomic_load(&worker->stopping))
		worker_drain(worker);
}

/* --- once a second ------------------------------------------------------ */

/* A peer's own fault: it takes no answers, or leaves a command half sent. */
static bool conn_is_stuck(const struct conn *conn, int64_t now)
{
	bool half_sent =
		conn->reading && !conn->in_parked && !conn->in_runnable &&
		(conn->step == CONN_VALUE || conn->step == CONN_SWALLOW ||
		 input_bytes(&conn->in) > 0);

	if (transport_is_late(&conn->transport, now))
		return true;
	if (conn->step == CONN_LINGERING)
		return now - conn->progress > WORKER_LINGER_SECONDS;
	return (conn->blocked || half_sent ||
		transport_wants_write(&conn->transport)) &&
	       now - conn->progress > WORKER_STUCK_SECONDS;
}

static bool conn_is_idle(const struct conn *conn, int64_t now, uint32_t limit)
{
	return limit > 0 && conn->step == CONN_COMMAND && conn->reading &&
	       conn->out.head == NULL && conn->in_flight == 0 &&
	       input_bytes(&conn->in) == 0 && now - conn->progress > limit;
}

static void on_tick(evutil_socket_t fd, short what, void *arg)
{
	struct worker *worker = arg;
	uint32_t limit = worker->server->options->idle_timeout_seconds;
	struct conn *conn, *next;

	(void)fd;
	(void)what;
	pool_trim(&worker->pool);
	for (conn = TAILQ_FIRST(&worker->conns); conn != NULL; conn = next) {
		next = TAILQ_NEXT(conn, link);
		if (conn_is_idle(conn, worker->tick, limit)) {
			COUNT(worker, idle_kicks);
			conn->idled = true;
			conn_close(conn);
		} else if (conn_is_stuck(conn, worker->tick)) {
			log_write(&worker->server->log, LOG_LEVEL_DEBUG,
				  "%s does not get on", conn->addr);
			conn_close(conn);
		}
	}
}

/* --- the loop ----------------------------------------------------------- */

static void worker_submit(struct worker *worker)
{
	struct store_op *first = worker->ops;

	if (first == NULL)
		return;
	worker->ops = NULL;
	worker->op_count = 0;
	worker->ops_tail = &worker->ops;
	store_submit(worker->client, first);
}

void worker_ran(struct worker *worker)
{
	if (worker->op_count >= WORKER_HAND_OVER)
		worker_submit(worker);
}

static void worker_send(struct worker *worker)
{
	struct conn_list list = TAILQ_HEAD_INITIALIZER(list);
	struct conn *conn;

	TAILQ_CONCAT(&list, &worker->dirty, dirty_link);
	while ((conn = TAILQ_FIRST(&list)) != NULL) {
		TAILQ_REMOVE(&list, conn, dirty_link);
		conn->in_dirty = false;
		if (conn->in_runnable && conn->out.held < WORKER_SEND_EARLY)
			continue;
		conn_send(conn);
	}
}

/* Lets parked connections run whose time has come. */
static void worker_unpark(struct worker *worker)
{
	struct conn *conn, *next;

	for (conn = TAILQ_FIRST(&worker->parked); conn != NULL; conn = next) {
		next = TAILQ_NEXT(conn, parked_link);
		if (!conn_can_go_on(conn, conn->needs))
			continue;
		TAILQ_REMOVE(&worker->parked, conn, parked_link);
		conn->in_parked = false;
		TAILQ_INSERT_TAIL(&worker->runnable, conn, runnable_link);
		conn->in_runnable = true;
	}
}

static void worker_run_runnable(struct worker *worker)
{
	struct conn *conn, *last = TAILQ_LAST(&worker->runnable, conn_list);
	bool more = last != NULL;

	/* Those that yield again join behind `last`: one go each. */
	while (more && (conn = TAILQ_FIRST(&worker->runnable)) != NULL) {
		more = conn != last;
		TAILQ_REMOVE(&worker->runnable, conn, runnable_link);
		conn->in_runnable = false;
		conn_run(conn);
	}
}

static bool worker_is_finished(struct worker *worker)
{
	if (!worker->draining)
		return false;
	if (worker->tick >= worker->drain_until) {
		while (!TAILQ_EMPTY(&worker->conns))
			conn_close(TAILQ_FIRST(&worker->conns));
	}
	return TAILQ_EMPTY(&worker->conns) &&
	       store_in_flight(worker->client) == 0;
}

static void worker_look_at_clocks(struct worker *worker)
{
	worker->now_seconds = clock_now_seconds(&worker->server->clock);
	worker->tick = clock_monotonic_us() / 1000000;
}

static void *worker_main(void *arg)
{
	struct worker *worker = arg;

	while (!worker_is_finished(worker)) {
		int flags = EVLOOP_ONCE;

		if (!TAILQ_EMPTY(&worker->runnable) ||
		    !worker_may_sleep(worker))
			flags |= EVLOOP_NONBLOCK;
		(void)event_base_loop(worker->base, flags);
		worker_look_at_clocks(worker);
		if (atomic_exchange(&worker->sleep, WORKER_AWAKE) ==
		    WORKER_CALLED)
			worker_look_around(worker);
		worker_run_runnable(worker);
		worker_submit(worker);
		worker_send(worker);
		worker_unpark(worker);
	}
	atomic_store(&worker->finished, true);
	return NULL;
}

/* --- life --------------------------------------------------------------- */

void worker_free(struct worker *worker)
{
	udp_free(worker);
	if (worker->wake_event != NULL)
		event_free(worker->wake_event);
	if (worker->tick_event != NULL)
		event_free(worker->tick_event);
	if (worker->base != NULL)
		event_base_free(worker->base);
	/* Only then nobody wakes this worker any more. */
	if (worker->client != NULL)
		store_client_free(worker->client);
	if (worker->wake_fd >= 0)
		(void)close(worker->wake_fd);
	store_reader_free(worker->reader);
	free(worker->tls);
	pool_done(&worker->pool);
	(void)pthread_mutex_destroy(&worker->inbox_lock);
	free(worker);
}

static int worker_init_tls(struct worker *worker)
{
	struct server *server = worker->server;

	if (server->tls == NULL)
		return 0;
	worker->tls =
		tls_shared_new(server->tls, &server->log, &worker->counters,
			       server->options->tls_gather_bytes);
	return worker->tls != NULL ? 0 : -ENOMEM;
}

/* NULL: no memory, or no way to wait for edges. */
static struct event_base *base_new(void)
{
	struct event_config *config = event_config_new();
	struct event_base *base = NULL;

	if (config == NULL)
		return NULL;
	if (event_config_require_features(config, EV_FEATURE_ET) == 0)
		base = event_base_new_with_config(config);
	event_config_free(config);
	return base;
}

static int worker_init(struct worker *worker)
{
	struct store *store = worker->server->store;
	struct timeval second = {.tv_sec = 1};
	int err;

	err = worker_init_tls(worker);
	if (err != 0)
		return err;
	err = store_reader_new(store, &worker->reader);
	if (err != 0)
		return err;
	err = store_client_new(store, worker_wake, worker, &worker->client);
	if (err != 0)
		return err;
	worker->wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (worker->wake_fd < 0)
		return -errno;
	worker->base = base_new();
	if (worker->base == NULL)
		return -ENOMEM;
	/* Each write is an event of its own, though none is ever read. */
	worker->wake_event =
		event_new(worker->base, worker->wake_fd,
			  EV_READ | EV_PERSIST | EV_ET, on_wake, worker);
	worker->tick_event =
		event_new(worker->base, -1, EV_PERSIST, on_tick, worker);
	if (worker->wake_event == NULL || worker->tick_event == NULL ||
	    event_add(worker->wake_event, NULL) != 0 ||
	    event_add(worker->tick_event, &second) != 0)
		return -ENOMEM;
	return 0;
}

int worker_start(struct server *server, unsigned number,
		 struct worker **ret_worker)
{
	struct worker *worker = calloc(1, sizeof(*worker));
	char name[16];
	int err;

	if (worker == NULL)
		return -ENOMEM;
	(void)snprintf(name, sizeof(name), "worker %u", number);
	worker->server = server;
	worker->wake_fd = -1;
	worker->ops_tail = &worker->ops;
	worker_look_at_clocks(worker);
	(void)pthread_mutex_init(&worker->inbox_lock, NULL);
	STAILQ_INIT(&worker->inbox);
	STAILQ_INIT(&worker->checked);
	TAILQ_INIT(&worker->conns);
	TAILQ_INIT(&worker->runnable);
	TAILQ_INIT(&worker->parked);
	TAILQ_INIT(&worker->dirty);
	TAILQ_INIT(&worker->hidden);
	err = worker_init(worker);
	if (err == 0)
		err = spawn_thread(&worker->thread, name, worker_main, worker);
	if (err != 0) {
		worker_free(worker);
		return err;
	}
	*ret_worker = worker;
	return 0;
}

void worker_stop(struct worker *worker)
{
	atomic_store(&worker->stopping, true);
	worker_wake(worker);
}

bool worker_finished(const struct worker *worker)
{
	return atomic_load(&worker->finished);
}

void worker_join(struct worker *worker)
{
	(void)pthread_join(worker->thread, NULL);
	worker_take_arrivals(worker);
	while (!TAILQ_EMPTY(&worker->conns))
		conn_close(TAILQ_FIRST(&worker->conns));
	worker_take_checked(worker);
}
