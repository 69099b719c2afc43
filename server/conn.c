/*
 * conn.c - see conn.h: the life of a connection and its steps.
 *
 * conn_run() is the only loop; a step never calls another step. Whatever
 * waits, waits in one of the worker's lists, and the worker calls again.
 */
#include "server/conn.h"

#include <assert.h>
#include <event2/event.h>
#include <stdlib.h>
#include <string.h>

#include "server/conn_io.h"
#include "server/exec.h"
#include "server/shared.h"
#include "server/udp.h"

/* In flight: writes and gat keys of a connection, and of a worker. */
#define CONN_OPS_MAX	 1024
#define CONN_GATS_MAX	 16
#define WORKER_GATS_MAX	 64
#define WORKER_BYTES_MAX (64 * 1024 * 1024)
/*
 * Memory of all values that are being received, unless the cache has more: two
 * of the biggest fit at least, for an item is at most half of the cache. Small
 * ones do not count: they take no more than a connection's input does.
 */
#define RECEIVING_MAX	(256 * 1024 * 1024)
#define RECEIVING_SMALL POOL_BLOCK_BYTES

void conn_set_step(struct conn *conn, enum conn_step step)
{
	static const unsigned allowed[] = {
		[CONN_COMMAND] = 1u << CONN_VALUE | 1u << CONN_SWALLOW |
				 1u << CONN_STREAM | 1u << CONN_WATCHING |
				 1u << CONN_CLOSING | 1u << CONN_CLOSED,
		[CONN_VALUE] = 1u << CONN_COMMAND | 1u << CONN_CLOSING |
			       1u << CONN_CLOSED,
		[CONN_SWALLOW] = 1u << CONN_COMMAND | 1u << CONN_CLOSING |
				 1u << CONN_CLOSED,
		[CONN_STREAM] = 1u << CONN_COMMAND | 1u << CONN_CLOSING |
				1u << CONN_CLOSED,
		[CONN_WATCHING] = 1u << CONN_CLOSING | 1u << CONN_CLOSED,
		[CONN_CLOSING] = 1u << CONN_LINGERING | 1u << CONN_CLOSED,
		[CONN_LINGERING] = 1u << CONN_CLOSED,
		[CONN_CLOSED] = 0,
	};

	assert(conn->magic == CONN_MAGIC);
	assert(allowed[conn->step] & 1u << step);
	conn->step = step;
	atomic_store_explicit(&conn->state, (int)step, memory_order_relaxed);
}

/* --- events and lists --------------------------------------------------- */

void conn_want_input(struct conn *conn, bool want)
{
	if (conn->reading == want)
		return;
	conn->reading = want;
	if (!want)
		(void)event_del(conn->read_event);
	else if (event_add(conn->read_event, NULL) != 0)
		conn_shut(conn); /* we would never hear from it again */
}

static void conn_make_runnable(struct conn *conn)
{
	if (conn->in_runnable)
		return;
	TAILQ_INSERT_TAIL(&conn->worker->runnable, conn, runnable_link);
	conn->in_runnable = true;
}

static void conn_park(struct conn *conn)
{
	if (conn->in_parked)
		return;
	TAILQ_INSERT_TAIL(&conn->worker->parked, conn, parked_link);
	conn->in_parked = true;
}

void conn_mark_dirty(struct conn *conn)
{
	if (conn->in_dirty)
		return;
	TAILQ_INSERT_TAIL(&conn->worker->dirty, conn, dirty_link);
	conn->in_dirty = true;
}

void conn_leave_lists(struct conn *conn)
{
	struct worker *worker = conn->worker;

	if (conn->in_runnable)
		TAILQ_REMOVE(&worker->runnable, conn, runnable_link);
	if (conn->in_parked)
		TAILQ_REMOVE(&worker->parked, conn, parked_link);
	if (conn->in_dirty)
		TAILQ_REMOVE(&worker->dirty, conn, dirty_link);
	if (conn->in_hidden)
		TAILQ_REMOVE(&worker->hidden, conn, hidden_link);
	conn->in_runnable = conn->in_parked = false;
	conn->in_dirty = conn->in_hidden = false;
}

/* --- steps -------------------------------------------------------------- */

bool conn_is_short(const struct conn *conn)
{
	return conn->worker->pool.held > WORKER_HELD_MAX;
}

bool conn_is_full(const struct conn *conn)
{
	return conn->out.held >
	       (conn_is_short(conn) ? CONN_HELD_SHORT : CONN_HELD_MAX);
}

/* What a write finds may be big. */
static bool has_room_for_found(const struct conn *conn)
{
	return conn->gats < (conn_is_short(conn) ? 1 : CONN_GATS_MAX) &&
	       conn->worker->gats < WORKER_GATS_MAX;
}

bool conn_can_go_on(struct conn *conn, unsigned needs)
{
	if (conn_is_full(conn))
		return false;
	if ((needs & CONN_NEEDS_FOUND) && !has_room_for_found(conn))
		return false;
	if ((needs & CONN_NEEDS_DONE) && conn->in_flight > 0)
		return false;
	if ((needs & CONN_NEEDS_QUIET) && conn->quiet_in_flight > 0)
		return false;
	if ((needs & CONN_NEEDS_EVENT) && !conn->has_come(conn))
		return false;
	if ((needs & CONN_NEEDS_ROOM) &&
	    (conn->in_flight >= CONN_OPS_MAX ||
	     conn->worker->op_bytes > WORKER_BYTES_MAX))
		return false;
	if ((needs & CONN_NEEDS_LOGIN) && !login_can_go_on(conn))
		return false;
	if (!(needs & CONN_NEEDS_APPLIED) || conn->last_op == NULL)
		return true;
	/* A write of this very turn has no ticket before the turn ends. */
	return conn->last_op->ticket != 0 &&
	       store_applied(conn->worker->client, conn->last_op->ticket);
}

/* Runs a parsed command; its line stays in the input as long as it streams. */
static enum conn_next conn_execute(struct conn *conn)
{
	unsigned needs = exec_needs(conn->parsed.request.form.verb);
	enum conn_next next;

	conn->needs = needs;
	if (!conn_can_go_on(conn, needs))
		return CONN_PARK;
	next = exec_start(conn, &conn->parsed.request);
	if (conn->step != CONN_STREAM)
		input_consume(&conn->in, conn->parsed.consumed);
	return next;
}

static enum conn_next conn_refuse(struct conn *conn)
{
	input_consume(&conn->in, conn->parsed.consumed);
	if (conn->parsed.swallow > 0) {
		conn_skip(conn, conn->parsed.swallow);
		return CONN_AGAIN;
	}
	if (exec_refused(conn, &conn->parsed) == CONN_DROP)
		return CONN_DROP;
	if (conn->parsed.close) {
		conn->linger = true;
		conn->failed = true;
		conn_shut(conn);
	}
	return CONN_AGAIN;
}

static enum conn_dialect choose_dialect(enum options_protocol protocol,
					char first)
{
	switch (protocol) {
	case OPTIONS_AUTO:
		break;
	case OPTIONS_ASCII:
		return CONN_TEXT;
	case OPTIONS_BINARY:
		return CONN_BINARY;
	}
	return proto_is_binary(first) ? CONN_BINARY : CONN_TEXT;
}

static enum proto_event conn_parse(struct conn *conn)
{
	const struct server *server = conn->worker->server;
	const struct input *in = &conn->in;

	if (conn->dialect == CONN_UNDECIDED)
		conn->dialect = choose_dialect(server->options->protocol,
					       *input_data(in));
	if (conn->dialect == CONN_BINARY)
		return proto_binary_parse(input_data(in), input_bytes(in),
					  in->scanned, &server->limits,
					  &conn->parsed);
	if (login_is_due(conn))
		return proto_login_parse(input_data(in), input_bytes(in),
					 in->scanned, &server->limits,
					 &conn->parsed);
	return proto_text_parse(input_data(in), input_bytes(in), in->scanned,
				&server->limits, &conn->parsed);
}

static enum conn_next step_command(struct conn *conn)
{
	struct input *in = &conn->in;

	if (input_bytes(in) == 0)
		return CONN_INPUT;
	conn->needs = 0;
	if (!conn_can_go_on(conn, 0))
		return CONN_PARK;
	switch (conn_parse(conn)) {
	case PROTO_WAIT:
		in->scanned = conn->parsed.scanned;
		return CONN_INPUT;
	case PROTO_COMMAND:
		return conn_execute(conn);
	case PROTO_REFUSED:
		return conn_refuse(conn);
	case PROTO_HANGUP:
		conn->failed = true;
		conn_shut(conn);
		return CONN_AGAIN;
	}
	return CONN_DROP;
}

void conn_await(struct conn *conn, bool (*has_come)(struct conn *conn))
{
	conn->has_come = has_come;
	conn->needs |= CONN_NEEDS_EVENT;
}

bool conn_begin_receiving(struct conn *conn, uint32_t bytes)
{
	struct server *server = conn->worker->server;
	uint64_t limit = server->options->cache_bytes;

	if (bytes <= RECEIVING_SMALL)
		return true;
	if (limit < RECEIVING_MAX)
		limit = RECEIVING_MAX;
	if (atomic_fetch_add(&server->receiving_bytes, bytes) + bytes > limit) {
		atomic_fetch_sub(&server->receiving_bytes, bytes);
		return false;
	}
	conn->receiving = bytes;
	return true;
}

static void end_receiving(struct conn *conn)
{
	if (conn->receiving > 0)
		atomic_fetch_sub(&conn->worker->server->receiving_bytes,
				 conn->receiving);
	conn->receiving = 0;
}

void conn_read_block(struct conn *conn, char *to, uint32_t bytes,
		     enum conn_next (*done)(struct conn *conn))
{
	conn->block = (struct conn_block){to, bytes, 0, done};
	conn_set_step(conn, CONN_VALUE);
}

static enum conn_next step_value(struct conn *conn)
{
	struct conn_block *block = &conn->block;
	size_t held = input_bytes(&conn->in);
	size_t missing = block->bytes - block->got;
	size_t part = held < missing ? held : missing;

	if (part > 0) {
		memcpy(block->to + block->got, input_data(&conn->in), part);
		block->got += (uint32_t)part;
		input_consume(&conn->in, part);
	}
	if (part < missing)
		return CONN_INPUT;
	end_receiving(conn);
	conn_set_step(conn, CONN_COMMAND);
	return block->done(conn);
}

void conn_skip(struct conn *conn, uint64_t bytes)
{
	conn->swallow = bytes;
	conn_set_step(conn, CONN_SWALLOW);
}

static enum conn_next step_swallow(struct conn *conn)
{
	size_t held = input_bytes(&conn->in);
	size_t part = held < conn->swallow ? held : (size_t)conn->swallow;

	input_consume(&conn->in, part);
	conn->swallow -= part;
	if (conn->swallow > 0)
		return CONN_INPUT;
	conn_set_step(conn, CONN_COMMAND);
	return exec_refused(conn, &conn->parsed);
}

static enum conn_next step_stream(struct conn *conn)
{
	enum conn_next next;

	if (!conn_can_go_on(conn, conn->needs))
		return CONN_PARK;
	next = conn->stream(conn);
	if (next != CONN_AGAIN)
		return next;
	conn_set_step(conn, CONN_COMMAND);
	input_consume(&conn->in, conn->parsed.consumed);
	return CONN_AGAIN;
}

/* Nothing more is read; conn_send() closes it when all has left. */
static enum conn_next step_closing(struct conn *conn)
{
	input_clear(&conn->in, &conn->worker->pool);
	conn_want_input(conn, false);
	return CONN_PARK;
}

static enum conn_next (*const steps[])(struct conn *) = {
	[CONN_COMMAND] = step_command, [CONN_VALUE] = step_value,
	[CONN_SWALLOW] = step_swallow, [CONN_STREAM] = step_stream,
	[CONN_WATCHING] = step_stream, [CONN_CLOSING] = step_closing,
};

/* Acts on what the last step wanted. */
static void conn_settle(struct conn *conn, enum conn_next next)
{
	switch (next) {
	case CONN_AGAIN:
	case CONN_YIELD:
		COUNT(conn->worker, conn_yields);
		conn_make_runnable(conn);
		break;
	case CONN_INPUT:
		if (conn->eof) {
			conn_shut(conn);
			break;
		}
		input_trim(&conn->in, &conn->worker->pool);
		conn->progress = conn->worker->tick;
		conn_await_input(conn);
		break;
	case CONN_PARK:
		if (conn->step != CONN_CLOSING)
			conn_park(conn);
		break;
	case CONN_DROP:
		break;
	}
}

void conn_run(struct conn *conn)
{
	unsigned left = conn->worker->server->options->requests_per_turn;
	enum conn_next next = CONN_AGAIN;

	atomic_store_explicit(&conn->last_command, conn->worker->now_seconds,
			      memory_order_relaxed);
	while (next == CONN_AGAIN && left > 0) {
		if (conn->step == CONN_COMMAND)
			left--;
		next = steps[conn->step](conn);
		if (next == CONN_INPUT &&
		    transport_holds_input(&conn->transport)) {
			next = conn_fill(conn);
			left -= left > 0; /* a long value must yield, too */
		}
	}
	if (next == CONN_DROP) {
		conn_close(conn);
		return;
	}
	conn_settle(conn, next);
	conn_mark_dirty(conn);
}

/* --- life --------------------------------------------------------------- */

static void conn_free(struct conn *conn)
{
	if (conn->read_event != NULL)
		event_free(conn->read_event);
	if (conn->write_event != NULL)
		event_free(conn->write_event);
	if (conn->udp != NULL)
		udp_leave(conn->udp);
	conn->magic = 0;
	free(conn);
}

struct conn *conn_alloc(struct worker *worker, int fd, int listen_fd)
{
	struct conn *conn = calloc(1, sizeof(*conn));

	if (conn == NULL)
		return NULL;
	conn->magic = CONN_MAGIC;
	conn->transport.fd = fd;
	conn->listen_fd = listen_fd;
	conn->worker = worker;
	conn->progress = worker->tick;
	atomic_init(&conn->state, CONN_COMMAND);
	atomic_init(&conn->last_command, worker->now_seconds);
	output_init(&conn->out, &worker->pool);
	return conn;
}

void conn_new(struct worker *worker, const struct arrival *arrival)
{
	int fd = arrival->fd;
	struct transport transport;
	struct conn *conn = NULL;

	if (transport_open(&transport, fd, worker->tls, arrival->tls,
			   worker->tick))
		conn = conn_alloc(worker, fd, arrival->listen_fd);
	if (conn == NULL)
		goto out_close;
	conn->transport = transport;
	conn->read_event = event_new(worker->base, fd, EV_READ | EV_PERSIST,
				     conn_on_readable, conn);
	conn->write_event =
		event_new(worker->base, fd, EV_WRITE, conn_on_writable, conn);
	if (conn->read_event == NULL || conn->write_event == NULL ||
	    event_add(conn->read_event, NULL) != 0)
		goto out_free;
	conn->reading = true;
	registry_format_addr(fd, true, conn->addr, sizeof(conn->addr));
	registry_format_addr(fd, false, conn->listen_addr,
			     sizeof(conn->listen_addr));
	registry_add(&worker->server->registry, conn);
	TAILQ_INSERT_TAIL(&worker->conns, conn, link);
	COUNT(worker, total_connections);
	log_write(&worker->server->log, LOG_LEVEL_DEBUG, "%s came", conn->addr);
	exec_watch_conn(conn, "conn_new", NULL);
	return;

out_free:
	conn_free(conn);
out_close:
	COUNT(worker, malloc_fails);
	transport_close(&transport);
	atomic_fetch_sub(&worker->server->curr_connections, 1);
}

void conn_shut(struct conn *conn)
{
	if (conn->step >= CONN_CLOSING)
		return;
	store_op_free(conn->op);
	conn->op = NULL;
	end_receiving(conn);
	login_leave(conn);
	conn_set_step(conn, CONN_CLOSING);
	conn_want_input(conn, false);
	conn_mark_dirty(conn);
}

/* Lets go of the socket; a datagram has none of its own. */
static void conn_hang_up(struct conn *conn)
{
	struct server *server = conn->worker->server;

	log_write(&server->log, LOG_LEVEL_DEBUG, "%s went", conn->addr);
	(void)event_del(conn->read_event);
	(void)event_del(conn->write_event);
	registry_remove(&server->registry, conn);
	transport_close(&conn->transport);
	atomic_fetch_sub(&server->curr_connections, 1);
}

static const char *why_closed(const struct conn *conn)
{
	bool expected = conn->eof || conn->step >= CONN_WATCHING;

	if (conn->worker->draining)
		return "shutdown";
	if (conn->idled)
		return "idle_timeout";
	return expected && !conn->failed ? "normal" : "error";
}

void conn_close(struct conn *conn)
{
	struct worker *worker = conn->worker;

	if (conn->step == CONN_CLOSED)
		return;
	if (conn->udp == NULL)
		exec_watch_conn(conn, "conn_close", why_closed(conn));
	watcher_free(&worker->server->watch, conn->watcher);
	conn->watcher = NULL;
	conn_shut(conn);
	conn_set_step(conn, CONN_CLOSED);
	conn_leave_lists(conn);
	input_clear(&conn->in, &worker->pool);
	TAILQ_REMOVE(&worker->conns, conn, link);
	if (conn->udp == NULL)
		conn_hang_up(conn);
	if (conn->in_flight == 0) {
		output_clear(&conn->out);
		conn_free(conn);
	}
}

void conn_op_done(struct conn *conn, struct store_op *op)
{
	assert(conn->magic == CONN_MAGIC && conn->in_flight > 0);
	conn->in_flight--;
	if (conn->last_op == op)
		conn->last_op = NULL;
	if (conn->step != CONN_CLOSED) {
		conn_mark_dirty(conn);
	} else if (conn->in_flight == 0) {
		output_clear(&conn->out);
		conn_free(conn);
	}
}
