/*
 * transport.c - see transport.h.
 */
#include "server/transport.h"

#include <errno.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

/* What is dropped in one go. */
#define DROP_BYTES 16384

bool transport_open(struct transport *transport, int fd,
		    struct tls_shared *shared, enum options_tls mode,
		    int64_t now)
{
	*transport = (struct transport){.fd = fd};
	if (shared == NULL || mode == OPTIONS_TLS_OFF)
		return true;
	transport->tls = tls_stream_new(shared, mode, fd, now);
	return transport->tls != NULL;
}

void transport_close(struct transport *transport)
{
	tls_stream_free(transport->tls);
	transport->tls = NULL;
	(void)close(transport->fd);
}

ssize_t transport_send(struct transport *transport, struct iovec *iov,
		       int count)
{
	struct msghdr message = {.msg_iov = iov, .msg_iovlen = (size_t)count};

	if (transport->tls != NULL)
		return tls_stream_send(transport->tls, iov, count);
	if (count == 1)
		return send(transport->fd, iov->iov_base, iov->iov_len,
			    MSG_NOSIGNAL);
	return sendmsg(transport->fd, &message, MSG_NOSIGNAL);
}

bool transport_has_unread(const struct transport *transport)
{
	int unread = 0;

	(void)ioctl(transport->fd, FIONREAD, &unread);
	return unread > 0;
}

void transport_end_sending(struct transport *transport)
{
	if (transport->tls != NULL)
		tls_stream_say_bye(transport->tls);
	(void)shutdown(transport->fd, SHUT_WR);
}

bool transport_drop_input(struct transport *transport)
{
	char dropped[DROP_BYTES];
	struct iovec iov = {.iov_base = dropped, .iov_len = sizeof(dropped)};
	ssize_t got;

	/* What follows our goodbye is nothing to be understood. */
	if (transport->tls == NULL || transport->tls->said_bye)
		got = read(transport->fd, dropped, sizeof(dropped));
	else
		got = tls_stream_read(transport->tls, &iov, 1);
	return got > 0 || (got < 0 && (errno == EAGAIN || errno == EINTR));
}
