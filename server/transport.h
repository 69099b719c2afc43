/*
 * transport.h - how a connection's bytes are read and written: plain socket
 * or TLS.
 *
 * The connection and its output say what is to be moved, and get answers like
 * those of the system calls; what is under way in between is known here only.
 * The plain way costs one branch more than the call itself.
 *
 * Thread: the connection's worker. Blocks: never (sockets are non-blocking).
 */
#ifndef SERVER_TRANSPORT_H
#define SERVER_TRANSPORT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "server/tls_stream.h"

struct transport {
	int fd;
	struct tls_stream *tls; /* NULL: plain */
};

/*
 * Begins on an accepted socket, which it owns from now on. `shared` is NULL if
 * the server has no TLS. `now`: monotonic seconds. False: no memory; it is
 * still to be closed.
 */
bool transport_open(struct transport *transport, int fd,
		    struct tls_shared *shared, enum options_tls mode,
		    int64_t now);

/* Says goodbye as far as that does not wait, and closes the socket. */
void transport_close(struct transport *transport);

/* As readv(): EAGAIN also if transport_wants_write(). */
static inline ssize_t transport_read(struct transport *transport,
				     const struct iovec *iov, int count)
{
	if (transport->tls != NULL)
		return tls_stream_read(transport->tls, iov, count);
	if (count == 1)
		return recv(transport->fd, iov->iov_base, iov->iov_len, 0);
	return readv(transport->fd, iov, count);
}

/* As sendmsg(): it takes what fits. */
ssize_t transport_send(struct transport *transport, struct iovec *iov,
		       int count);

/* True if a read gives something now, though the socket has nothing. */
static inline bool transport_holds_input(const struct transport *transport)
{
	return transport->tls != NULL && transport->tls->holds_input;
}

/* True if the last read can only go on when the socket takes bytes. */
static inline bool transport_wants_write(const struct transport *transport)
{
	return transport->tls != NULL && transport->tls->wants_write;
}

/* True if the peer has not begun as it must, and had time to. */
static inline bool transport_is_late(const struct transport *transport,
				     int64_t now)
{
	return transport->tls != NULL &&
	       tls_stream_is_late(transport->tls, now);
}

/* True if bytes have arrived that nobody has read. */
bool transport_has_unread(const struct transport *transport);

/* Nothing will be sent any more: tells the peer. */
void transport_end_sending(struct transport *transport);

/* Reads some of what still comes and forgets it. False: the peer is gone. */
bool transport_drop_input(struct transport *transport);

#endif
