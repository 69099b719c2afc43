/*
 * conn_io.c - the bytes of a connection: reading, sending, and the end.
 */
#include "server/conn_io.h"

#include <assert.h>
#include <errno.h>
#include <event2/event.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include "server/shared.h"
#include "server/udp.h"

/* The longest line, and what may come behind it; less if memory is short. */
static size_t input_max(const struct conn *conn)
{
	if (conn_is_short(conn))
		return CONN_HELD_SHORT;
	return conn->worker->server->limits.get_line_max_bytes +
	       POOL_BLOCK_BYTES;
}

/* Reads once: a block of a value straight to where it belongs. */
static ssize_t conn_read(struct conn *conn)
{
	struct iovec iov[2];
	size_t room, direct = 0;
	int count = 0;
	ssize_t got;

	room = input_reserve(&conn->in, &conn->worker->pool, input_max(conn));
	if (room == 0) {
		errno = ENOBUFS;
		return -1;
	}
	if (conn->step == CONN_VALUE && input_bytes(&conn->in) == 0) {
		direct = conn->block.bytes - conn->block.got;
		iov[count].iov_base = conn->block.to + conn->block.got;
		iov[count++].iov_len = direct;
	}
	iov[count].iov_base = conn->in.memory + conn->in.end;
	iov[count++].iov_len = room;
	got = transport_read(&conn->transport, iov, count);
	if (got <= 0)
		return got;
	if ((size_t)got < direct)
		direct = (size_t)got;
	conn->block.got += (uint32_t)direct;
	conn->in.end += (size_t)got - direct;
	return got;
}

enum conn_next conn_fill(struct conn *conn)
{
	ssize_t got = conn_read(conn);

	if (got < 0)
		return errno == EAGAIN || errno == EINTR ? CONN_INPUT
							 : CONN_DROP;
	if (got == 0) {
		conn->eof = true;
		conn_want_input(conn, false);
	}
	COUNT_N(conn->worker, bytes_read, (uint64_t)got);
	return CONN_AGAIN;
}

void conn_await_input(struct conn *conn)
{
	bool by_writing = transport_wants_write(&conn->transport);

	conn_want_input(conn, !by_writing);
	if (by_writing && event_add(conn->write_event, NULL) != 0)
		conn_shut(conn);
}

void conn_on_readable(evutil_socket_t fd, short what, void *arg)
{
	struct conn *conn = arg;
	struct worker *worker = conn->worker;
	enum conn_next next;

	(void)fd;
	(void)what;
	assert(conn->magic == CONN_MAGIC);
	worker_awake(conn->worker);
	if (conn->step == CONN_LINGERING || conn->watcher != NULL) {
		if (!transport_drop_input(&conn->transport))
			conn_close(conn);
		else
			conn_await_input(conn);
		return;
	}
	if (conn->in_runnable || conn->in_parked) {
		/* Busy with what it has: look again when it asks for more. */
		conn_want_input(conn, false);
		return;
	}
	next = conn_fill(conn);
	if (next == CONN_AGAIN) {
		conn_run(conn); /* it may be gone then */
		worker_ran(worker);
	} else if (next == CONN_INPUT) {
		conn_await_input(conn);
	} else {
		conn_close(conn);
	}
}

void conn_on_writable(evutil_socket_t fd, short what, void *arg)
{
	struct conn *conn = arg;

	conn_mark_dirty(conn);
	if (transport_wants_write(&conn->transport))
		conn_on_readable(fd, what, conn);
}

/*
 * All answers have left a closing connection. Closing a socket with unread
 * input resets it, and the peer may lose answers it has not read yet.
 */
static void conn_end(struct conn *conn)
{
	if (conn->eof || conn->worker->draining ||
	    (!conn->linger && !transport_has_unread(&conn->transport))) {
		conn_close(conn);
		return;
	}
	transport_end_sending(&conn->transport);
	conn_leave_lists(conn);
	conn_set_step(conn, CONN_LINGERING);
	conn->progress = conn->worker->tick;
	conn_want_input(conn, true);
}

static void conn_wait_writable(struct conn *conn)
{
	if (!conn->blocked)
		conn->progress = conn->worker->tick;
	conn->blocked = true;
	if (event_add(conn->write_event, NULL) != 0)
		conn_close(conn);
}

/*
 * A quiet command that left nothing to send is acknowledged at once: the
 * peer's kernel may hold back the small packet that ends the batch until it
 * is, and that takes 40 ms.
 */
static void conn_acknowledge(const struct conn *conn)
{
	int one = 1;

	if (conn->step == CONN_COMMAND && input_bytes(&conn->in) == 0)
		(void)setsockopt(conn->transport.fd, IPPROTO_TCP, TCP_QUICKACK,
				 &one, sizeof(one));
}

void conn_wait_shown(struct conn *conn)
{
	if (!conn->in_hidden)
		TAILQ_INSERT_TAIL(&conn->worker->hidden, conn, hidden_link);
	conn->in_hidden = true;
}

static void conn_send_stream(struct conn *conn)
{
	struct worker *worker = conn->worker;
	enum output_state state;
	size_t sent;

	state = output_send(&conn->out, &conn->transport, worker->client,
			    &sent);
	COUNT_N(worker, bytes_written, sent);
	if (sent > 0)
		conn->progress = worker->tick;
	if (state != OUTPUT_BLOCKED)
		conn->blocked = false;
	switch (state) {
	case OUTPUT_EMPTY:
		if (conn->step == CONN_CLOSING)
			conn_end(conn);
		else if (sent == 0)
			conn_acknowledge(conn);
		break;
	case OUTPUT_PENDING:
		break;
	case OUTPUT_HIDDEN:
		conn_wait_shown(conn);
		break;
	case OUTPUT_BLOCKED:
		conn_wait_writable(conn);
		break;
	case OUTPUT_BROKEN:
		conn_close(conn);
		break;
	}
}

void conn_send(struct conn *conn)
{
	if (conn->udp != NULL)
		udp_send(conn);
	else
		conn_send_stream(conn);
}
