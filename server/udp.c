/*
 * udp.c - see udp.h.
 *
 * A socket has so many datagrams under way, then it is not read until some of
 * them have left: what comes meanwhile waits in the kernel, or is lost there.
 * A write without answer is under way until it is done, so that a flood of
 * them takes no more memory than others.
 */
#include "server/udp.h"

#include <event2/event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "server/conn_io.h"
#include "server/shared.h"

/* Under way at the same time. See conn_is_full() for their memory. */
#define UDP_REQUESTS_MAX 128
/* Read in one go, so that the connections get their turn. */
#define UDP_READS_A_TURN 32
/* The most that IP carries. */
#define UDP_DATAGRAM_MAX 65536

struct udp_socket {
	struct udp_socket *next;
	struct worker *worker;
	struct event *event;
	int fd, listen_fd;
	unsigned requests; /* under way */
	bool paused;	   /* there are too many of them */
	bool stopped;	   /* no more are read */
	char addr[REGISTRY_ADDR_BYTES];
	char datagram[UDP_DATAGRAM_MAX];
};

struct udp_request {
	struct udp_socket *socket;
	uint16_t id;
	union registry_sockaddr peer;
	socklen_t peer_bytes;
};

/* --- answers ------------------------------------------------------------ */

uint16_t udp_count(size_t bytes)
{
	size_t count = (bytes + UDP_PAYLOAD_BYTES - 1) / UDP_PAYLOAD_BYTES;

	return count <= UINT16_MAX ? (uint16_t)count : 0;
}

size_t udp_cut(struct output *out, struct proto_frame *frame, char *buf)
{
	proto_frame_write(buf, frame);
	frame->sequence++;
	return PROTO_FRAME_HEAD +
	       output_take(out, buf + PROTO_FRAME_HEAD, UDP_PAYLOAD_BYTES);
}

static void answer(struct conn *conn, size_t bytes)
{
	const struct udp_request *request = conn->udp;
	struct proto_frame frame = {.request_id = request->id,
				    .count = udp_count(bytes)};
	char datagram[UDP_ANSWER_BYTES];

	while (frame.sequence < frame.count) {
		size_t size = udp_cut(&conn->out, &frame, datagram);

		if (sendto(request->socket->fd, datagram, size, 0,
			   &request->peer.any, request->peer_bytes) < 0)
			return; /* a part of an answer is of no use */
		COUNT_N(conn->worker, bytes_written, size - PROTO_FRAME_HEAD);
	}
}

void udp_send(struct conn *conn)
{
	struct worker *worker = conn->worker;
	size_t bytes;

	if (conn_is_full(conn)) {
		log_write(&worker->server->log, LOG_LEVEL_DEBUG,
			  "%s asks for more than a datagram may", conn->addr);
		conn_close(conn);
		return;
	}
	if (conn->step != CONN_CLOSING)
		return;
	input_clear(&conn->in, &worker->pool);
	switch (output_ready(&conn->out, worker->client, &bytes)) {
	case OUTPUT_EMPTY:
		answer(conn, bytes);
		conn_close(conn);
		break;
	case OUTPUT_HIDDEN:
		conn_wait_shown(conn);
		break;
	case OUTPUT_PENDING:
	case OUTPUT_BLOCKED:
	case OUTPUT_BROKEN:
		break;
	}
}

/* --- requests ----------------------------------------------------------- */

static bool fill_input(struct conn *conn, const char *data, size_t bytes)
{
	struct input *in = &conn->in;

	while (bytes > 0) {
		size_t room = input_reserve(in, &conn->worker->pool, SIZE_MAX);
		size_t part = bytes < room ? bytes : room;

		if (room == 0)
			return false;
		memcpy(in->memory + in->end, data, part);
		in->end += part;
		data += part;
		bytes -= part;
	}
	return true;
}

/* Makes a connection of a datagram. NULL: no memory. */
static struct conn *request_new(struct udp_socket *socket,
				const struct udp_request *from,
				const char *data, size_t bytes)
{
	struct worker *worker = socket->worker;
	struct udp_request *request = malloc(sizeof(*request));
	struct conn *conn =
		conn_alloc(worker, socket->listen_fd, socket->listen_fd);

	if (request == NULL || conn == NULL)
		goto out_free;
	*request = *from;
	conn->eof = true;
	registry_format_sockaddr(&request->peer, true, conn->addr,
				 sizeof(conn->addr));
	memcpy(conn->listen_addr, socket->addr, sizeof(conn->listen_addr));
	if (!fill_input(conn, data, bytes))
		goto out_clear;
	conn->udp = request;
	socket->requests++;
	TAILQ_INSERT_TAIL(&worker->conns, conn, link);
	return conn;

out_clear:
	input_clear(&conn->in, &worker->pool);
out_free:
	free(conn);
	free(request);
	COUNT(worker, malloc_fails);
	return NULL;
}

void udp_leave(struct udp_request *request)
{
	struct udp_socket *socket = request->socket;

	free(request);
	socket->requests--;
	if (!socket->paused || socket->stopped ||
	    socket->requests > UDP_REQUESTS_MAX / 2)
		return;
	/* If it fails, the next one that leaves tries again. */
	socket->paused = event_add(socket->event, NULL) != 0;
}

static void take(struct udp_socket *socket, size_t bytes,
		 const struct udp_request *from)
{
	const char *data = socket->datagram + PROTO_FRAME_HEAD;
	struct udp_request request = *from;
	struct proto_frame frame;
	struct conn *conn;

	if (!proto_frame_parse(socket->datagram, bytes, &frame))
		return;
	bytes -= PROTO_FRAME_HEAD;
	COUNT_N(socket->worker, bytes_read, bytes);
	request.id = frame.request_id;
	conn = request_new(socket, &request, data, bytes);
	if (conn != NULL)
		conn_run(conn);
}

static void on_datagrams(evutil_socket_t fd, short what, void *arg)
{
	struct udp_socket *socket = arg;

	(void)what;
	worker_awake(socket->worker);
	for (int i = 0; i < UDP_READS_A_TURN; i++) {
		struct udp_request from = {.socket = socket,
					   .peer_bytes = sizeof(from.peer)};
		ssize_t got;

		if (socket->requests >= UDP_REQUESTS_MAX) {
			socket->paused = true;
			(void)event_del(socket->event);
			return;
		}
		got = recvfrom(fd, socket->datagram, sizeof(socket->datagram),
			       0, &from.peer.any, &from.peer_bytes);
		if (got < 0)
			return;
		take(socket, (size_t)got, &from);
	}
}

/* --- sockets ------------------------------------------------------------ */

static void socket_free(struct udp_socket *socket)
{
	if (socket->event != NULL)
		event_free(socket->event);
	(void)close(socket->fd);
	free(socket);
}

void udp_socket_new(struct worker *worker, int fd, int listen_fd)
{
	struct udp_socket *socket = calloc(1, sizeof(*socket));

	if (socket == NULL) {
		(void)close(fd);
		goto out_log;
	}
	socket->worker = worker;
	socket->fd = fd;
	socket->listen_fd = listen_fd;
	registry_format_addr(fd, false, socket->addr, sizeof(socket->addr));
	socket->event = event_new(worker->base, fd, EV_READ | EV_PERSIST,
				  on_datagrams, socket);
	if (socket->event == NULL || event_add(socket->event, NULL) != 0) {
		socket_free(socket);
		goto out_log;
	}
	socket->next = worker->udp;
	worker->udp = socket;
	return;

out_log:
	log_write(&worker->server->log, LOG_LEVEL_ERROR,
		  "no memory to serve UDP");
}

void udp_stop(struct worker *worker)
{
	for (struct udp_socket *socket = worker->udp; socket != NULL;
	     socket = socket->next) {
		socket->stopped = true;
		(void)event_del(socket->event);
	}
}

void udp_free(struct worker *worker)
{
	struct udp_socket *socket;

	while ((socket = worker->udp) != NULL) {
		worker->udp = socket->next;
		socket_free(socket);
	}
}
