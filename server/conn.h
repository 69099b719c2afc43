/*
 * conn.h - one client connection: input, steps, ordered answers.
 *
 * A connection is always at one step; conn_run() calls the step's function
 * until it wants something that is not there.
 *
 *   COMMAND --> VALUE --> COMMAND      a store command reads its block
 *           --> SWALLOW --> COMMAND    a refused block is skipped
 *           --> STREAM --> COMMAND     a long answer goes on over turns
 *           --> WATCHING               one that goes on until the peer ends it
 *           --> CLOSING                answers leave, then it closes, or
 *               --> LINGERING          drops what still comes until the peer
 *                                      closes: so that answers are not lost
 *
 * Thread: the owner worker; `state` and `last_command` are read by any.
 */
#ifndef SERVER_CONN_H
#define SERVER_CONN_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "protocol/protocol.h"
#include "server/input.h"
#include "server/login.h"
#include "server/output.h"
#include "server/registry.h"
#include "server/transport.h"
#include "server/worker.h"

#define CONN_MAGIC 0x636f6e6eu
/*
 * Memory of answers above which a connection starts no further command: if
 * memory is plenty, and if the connections of its worker have much together.
 */
#define CONN_HELD_MAX	(4 * 1024 * 1024)
#define CONN_HELD_SHORT (64 * 1024)
#define WORKER_HELD_MAX (128 * 1024 * 1024)

enum conn_step {
	CONN_COMMAND,
	CONN_VALUE,
	CONN_SWALLOW,
	CONN_STREAM,
	CONN_WATCHING,
	CONN_CLOSING, /* from here on no command is run any more */
	CONN_LINGERING,
	CONN_CLOSED
};

/* What a step (or a command) wants next. */
enum conn_next {
	CONN_AGAIN, /* call the current step */
	CONN_INPUT, /* bytes from the peer */
	CONN_PARK,  /* the store or the output to get on: conn_can_go_on() */
	CONN_YIELD, /* to give way to other connections for a turn */
	CONN_DROP   /* to be closed at once, unsent answers included */
};

/* What a command needs before it may start. */
enum conn_needs {
	CONN_NEEDS_APPLIED = 1, /* own earlier writes visible to reads */
	CONN_NEEDS_ROOM = 2,	/* room for one more write in flight */
	CONN_NEEDS_FOUND = 4,	/* room for a value that a write finds */
	CONN_NEEDS_DONE = 8,	/* own earlier writes answered and counted */
	CONN_NEEDS_LOGIN = 16,	/* the login under way to get on */
	CONN_NEEDS_EVENT = 32,	/* what conn_await() was told of */
	CONN_NEEDS_QUIET = 64	/* own writes without an answer done */
};

/* Produces more of a long answer. Returns AGAIN when done, or YIELD, PARK. */
typedef enum conn_next (*conn_stream_fn)(struct conn *conn);

/* The first byte decides, or --protocol does. */
enum conn_dialect { CONN_UNDECIDED, CONN_TEXT, CONN_BINARY };

/* Bytes of a fixed number that are read straight to where they belong. */
struct conn_block {
	char *to;
	uint32_t bytes, got;
	enum conn_next (*done)(struct conn *conn); /* all are there */
};

struct conn {
	uint32_t magic;
	struct transport transport;
	int listen_fd;
	struct worker *worker;
	struct udp_request *udp; /* the datagram that it is; NULL: none */
	struct event *read_event, *write_event;
	bool reading; /* the read event is on */
	bool blocked; /* the socket takes no more */
	bool eof;     /* the peer sends no more */
	bool failed;  /* it is closed for what the peer has sent */
	bool idled;   /* it is closed for the peer has sent nothing */
	bool linger;  /* more may come after we have closed */
	enum conn_step step;
	enum conn_dialect dialect;
	struct input in;
	struct output out;

	struct proto_parsed parsed; /* VALUE, SWALLOW, STREAM: the command */
	unsigned ahead; /* gets behind it that are expected, see ahead.h */
	struct conn_block block; /* VALUE */
	struct store_op *op;	 /* VALUE: being filled; own until submit */
	uint32_t receiving;	 /* VALUE: its part of server.receiving_bytes */
	uint64_t swallow;	 /* SWALLOW: bytes still to skip */
	conn_stream_fn stream;
	struct store_cursor cursor;	 /* STREAM: of a walk */
	struct watcher *watcher;	 /* WATCHING; NULL: it is not */
	uint64_t stream_left;		 /* STREAM: items still to show */
	size_t stream_bytes;		 /* STREAM: bytes shown */
	enum store_status stream_status; /* STREAM: of what was shown */
	struct store_limit limit;	 /* STREAM: of a scan */
	uint64_t job;			 /* STREAM: its ticket */
	bool (*has_come)(struct conn *); /* with CONN_NEEDS_EVENT */

	struct login login; /* who the client is */

	unsigned gats;		       /* keys of a gat in flight */
	unsigned gat_list, gat_failed; /* number of the gat: last, last bad */

	unsigned in_flight;	  /* writes not yet answered */
	unsigned quiet_in_flight; /* those that have no place in `out` */
	struct store_op *last_op; /* the newest of them, NULL if none */
	unsigned needs;		  /* of the command under way */
	int64_t progress;	  /* monotonic seconds: bytes moved, or it
				     began to wait for the peer */

	bool in_runnable, in_parked, in_dirty, in_hidden;
	TAILQ_ENTRY(conn)
	link, runnable_link, parked_link, dirty_link, hidden_link;

	/* for `stats conns`, see registry.h */
	TAILQ_ENTRY(conn) registry_link;
	char addr[REGISTRY_ADDR_BYTES], listen_addr[REGISTRY_ADDR_BYTES];
	atomic_int state; /* enum conn_step */
	_Atomic int64_t last_command;
};

/* Takes over an accepted socket; closes it if there is no memory. */
void conn_new(struct worker *worker, const struct arrival *arrival);

/* Runs steps until one wants something that is not there. */
void conn_run(struct conn *conn);

/* True if the connections of its worker hold much memory together. */
bool conn_is_short(const struct conn *conn);

/* True if it has more answers than it may have before it goes on. */
bool conn_is_full(const struct conn *conn);

/* True if what a parked connection waits for has come. */
bool conn_can_go_on(struct conn *conn, unsigned needs);

/* Sends what may be sent; closes the connection if it is time for that. */
void conn_send(struct conn *conn);

/* Stops reading; the connection closes when its answers have left. */
void conn_shut(struct conn *conn);

/* Closes at once. The struct lives on until its writes have come back. */
void conn_close(struct conn *conn);

/* Marks it to be looked at by conn_send() at the end of the turn. */
void conn_mark_dirty(struct conn *conn);

/* One write of this connection has come back from the store. */
void conn_op_done(struct conn *conn, struct store_op *op);

/*
 * The command under way is parked until has_come() is true, which is asked
 * whenever the worker was woken.
 */
void conn_await(struct conn *conn, bool (*has_come)(struct conn *conn));

/*
 * Counts a block of so many bytes as being received: until it has come whole,
 * or the connection is shut. False: it is one too many of all connections' big
 * ones, and must not be held in memory. Called once a block. Thread: the
 * connection's worker.
 */
bool conn_begin_receiving(struct conn *conn, uint32_t bytes);

/* Goes on with reading a block, to `to`; then done() is called. */
void conn_read_block(struct conn *conn, char *to, uint32_t bytes,
		     enum conn_next (*done)(struct conn *conn));

/* Goes on with skipping bytes, and answers as conn->parsed says then. */
void conn_skip(struct conn *conn, uint64_t bytes);

/* Changes the step; asserts that the change is a legal one. */
void conn_set_step(struct conn *conn, enum conn_step step);

#endif
