/*
 * worker.h - one thread with an event loop, and the connections it owns.
 *
 * A connection lives and dies on one worker. In one turn of the loop the
 * worker reads and runs what arrived on any of them; at the end of the turn
 * it hands all new writes to the store as ONE list, then sends what may be
 * sent, with one system call a connection.
 *
 *   main --(inbox)--> worker <--(wake)-- store
 *
 * Everything here belongs to the worker's thread, but for the functions that
 * say otherwise.
 */
#ifndef SERVER_WORKER_H
#define SERVER_WORKER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "server/counters.h"
#include "server/options.h"
#include "server/pool.h"
#include "storage/storage.h"

struct conn;
struct event;
struct event_base;
struct login_attempt;
struct server;
struct tls_shared;
struct udp_socket;

TAILQ_HEAD(conn_list, conn);

/* A socket on its way from the listener to its worker. */
struct arrival {
	STAILQ_ENTRY(arrival) link;
	int fd;
	int listen_fd;	      /* the listener it came through */
	bool is_udp;	      /* no connection, but a socket for datagrams */
	enum options_tls tls; /* how its client is spoken to */
};
STAILQ_HEAD(arrival_list, arrival);
STAILQ_HEAD(checked_list, login_attempt);

/* Whether a worker must be woken to see what it was given. */
enum worker_sleep {
	WORKER_AWAKE,  /* no: it looks again before it sleeps */
	WORKER_ASLEEP, /* yes; or it is just about to sleep */
	WORKER_CALLED  /* no: somebody has called it already */
};

struct worker {
	struct server *server; /* shared, outlives the worker */
	pthread_t thread;
	struct event_base *base;
	atomic_int sleep; /* enum worker_sleep */
	int wake_fd;	  /* written to if it is asleep, never read */
	struct event *wake_event;
	struct event *tick_event; /* once a second: idle and stuck peers */

	pthread_mutex_t inbox_lock; /* protects the two lists */
	struct arrival_list inbox;
	struct checked_list checked; /* logins, back from their check */
	atomic_bool stopping;	     /* set by main */
	atomic_bool finished;	     /* set by the worker: the thread ends */

	struct store_reader *reader;
	struct store_client *client;
	struct pool pool;
	struct counters counters;
	struct tls_shared *tls; /* NULL: there is no TLS */

	struct conn_list conns;	   /* all that are open */
	struct conn_list runnable; /* have input left, go on next turn */
	struct conn_list parked;   /* wait for the store or their output */
	struct conn_list dirty;	   /* may have something to send */
	struct conn_list hidden;   /* hold an answer not yet durable */
	struct udp_socket *udp;	   /* its sockets for datagrams */

	struct store_op *ops; /* writes that are to be submitted, in order */
	struct store_op **ops_tail;
	unsigned op_count;   /* in the list */
	uint64_t op_bytes;   /* memory of writes in flight */
	unsigned gats;	     /* that bring a value back, in flight */
	unsigned logins;     /* that are to come back as checked */
	int64_t now_seconds; /* since 1970, of this turn */
	int64_t tick;	     /* monotonic seconds, of this turn */
	bool draining;
	int64_t drain_until;
};

/*
 * Makes a worker and starts its thread, which is named by the number.
 * Returns 0 or -errno. Thread: main.
 */
int worker_start(struct server *server, unsigned number,
		 struct worker **ret_worker);

/*
 * Asks the worker to finish: no new commands; writes in flight are finished
 * and answered; connections closed. Thread: any. Never blocks.
 */
void worker_stop(struct worker *worker);

/* True when the thread is about to end. Thread: any. Never blocks. */
bool worker_finished(const struct worker *worker);

/* Waits for the thread to end. Thread: main. Blocks: on that. */
void worker_join(struct worker *worker);

/* Frees a worker that was joined: others have looked at its counters. */
void worker_free(struct worker *worker);

/*
 * Hands over an accepted socket, or one for datagrams, which is the worker's
 * from now on. Returns false without memory: the socket is still the caller's.
 * Thread: any. Blocks: on inbox_lock, briefly.
 */
bool worker_post(struct worker *worker, const struct arrival *arrival);

/* Gives a checked login back. Thread: any. Blocks: as worker_post(). */
void worker_post_login(struct worker *worker, struct login_attempt *attempt);

/* Makes the worker look at its lists again. Thread: any. Never blocks. */
void worker_wake(void *worker);

/* An event has come: nobody needs to wake it any more. */
void worker_awake(struct worker *worker);

/* Adds a filled op to those that will be submitted in this turn. */
void worker_add_op(struct worker *worker, struct store_op *op);

/*
 * A connection has run in an event: submits what has come together, if it is
 * worth it, so that the writer begins while further connections are read.
 */
void worker_ran(struct worker *worker);

#endif
