/*
 * tls_stream.c - see tls_stream.h.
 */
#include "server/tls_stream.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "server/registry.h"
#include "server/tls_context.h"

/* Read in one go, then the other connections. */
#define READ_BYTES_MAX 65536

struct tls_shared *tls_shared_new(struct tls *tls, const struct log *log,
				  struct counters *counters,
				  size_t gather_bytes)
{
	struct tls_shared *shared;

	/* OpenSSL writes record by record: more than one is of no use. */
	if (gather_bytes > TLS_RECORD_BYTES)
		gather_bytes = TLS_RECORD_BYTES;
	shared = malloc(sizeof(*shared) + gather_bytes);
	if (shared == NULL)
		return NULL;
	*shared = (struct tls_shared){
		.tls = tls,
		.log = log,
		.counters = counters,
		.gather_bytes = gather_bytes,
	};
	return shared;
}

struct tls_stream *tls_stream_new(struct tls_shared *shared,
				  enum options_tls mode, int fd, int64_t now)
{
	struct tls_stream *stream = calloc(1, sizeof(*stream));

	if (stream == NULL)
		return NULL;
	stream->shared = shared;
	stream->deadline = now + TLS_HANDSHAKE_SECONDS;
	stream->ssl = tls_session_new(shared->tls, mode, fd);
	if (stream->ssl == NULL) {
		free(stream);
		return NULL;
	}
	return stream;
}

void tls_stream_say_bye(struct tls_stream *stream)
{
	/* A record that is half sent comes first, and nobody waits for it. */
	if (stream->broken || stream->said_bye || stream->deadline != 0 ||
	    stream->offered > 0)
		return;
	stream->said_bye = true;
	stream->wants_write = false;
	ERR_clear_error();
	if (SSL_shutdown(stream->ssl) < 0)
		ERR_clear_error();
}

/*
 * SSL_get_error() looks at the thread's queue of errors, so that it must be
 * empty before each call. It is, but for what others may have left.
 */
static void forget_errors(void)
{
	if (ERR_peek_error() != 0)
		ERR_clear_error();
}

/* --- what went wrong ----------------------------------------------------- */

/* It ends before there was a handshake. */
static void count_no_handshake(struct tls_stream *stream, const char *why)
{
	struct tls_shared *shared = stream->shared;
	char peer[REGISTRY_ADDR_BYTES];

	counter_add(shared->counters, COUNTER_ssl_handshake_errors, 1);
	if (!log_wants(shared->log, LOG_LEVEL_DEBUG))
		return;
	registry_format_addr(SSL_get_fd(stream->ssl), true, peer, sizeof(peer));
	log_write(shared->log, LOG_LEVEL_DEBUG, "%s: no TLS handshake: %s",
		  peer, why);
}

/* Nothing can be read or written any more. `err` is what errno will be. */
static void stream_break(struct tls_stream *stream, int err, int verdict)
{
	char reason[128] = "the client went away";

	if (verdict == SSL_ERROR_SSL)
		(void)tls_reason(reason, sizeof(reason));
	stream->broken = true;
	if (stream->deadline != 0)
		count_no_handshake(stream, reason);
	else if (verdict == SSL_ERROR_SSL)
		counter_add(stream->shared->counters, COUNTER_ssl_proto_errors,
			    1);
	ERR_clear_error();
	errno = err;
}

void tls_stream_free(struct tls_stream *stream)
{
	if (stream == NULL)
		return;
	if (stream->deadline != 0 && !stream->broken)
		count_no_handshake(stream, "it was not finished");
	tls_stream_say_bye(stream);
	SSL_free(stream->ssl);
	free(stream);
}

/*
 * A read did not get anything; err was errno then. Returns what readv() would:
 * 0 at the end, or -1 with errno.
 */
static ssize_t read_verdict(struct tls_stream *stream, int got, int err)
{
	int verdict = SSL_get_error(stream->ssl, got);

	switch (verdict) {
	case SSL_ERROR_WANT_WRITE:
		stream->wants_write = true;
		errno = EAGAIN;
		return -1;
	case SSL_ERROR_WANT_READ:
		errno = EAGAIN;
		return -1;
	case SSL_ERROR_ZERO_RETURN:
		if (stream->deadline == 0)
			return 0;
		break;
	}
	stream_break(stream, err == 0 || err == EAGAIN ? EPROTO : err, verdict);
	return -1;
}

/* --- reading ------------------------------------------------------------- */

/* The moment at which the handshake is done. */
static void look_at_handshake(struct tls_stream *stream)
{
	int one = 1;

	if (stream->deadline == 0 || !SSL_is_init_finished(stream->ssl))
		return;
	stream->deadline = 0;
	/*
	 * If a handshake ends with the client's word, its kernel may keep the
	 * first command back until that is acknowledged, for 40 ms.
	 */
	(void)setsockopt(SSL_get_fd(stream->ssl), IPPROTO_TCP, TCP_QUICKACK,
			 &one, sizeof(one));
	if (!SSL_session_reused(stream->ssl))
		counter_add(stream->shared->counters, COUNTER_ssl_new_sessions,
			    1);
}

/* One record's worth, or less. As read(). */
static ssize_t read_some(struct tls_stream *stream, char *to, size_t room)
{
	int ret, err, limit = room > INT32_MAX ? INT32_MAX : (int)room;

	forget_errors();
	errno = 0;
	ret = SSL_read(stream->ssl, to, limit);
	err = errno;
	look_at_handshake(stream);
	return ret > 0 ? ret : read_verdict(stream, ret, err);
}

ssize_t tls_stream_read(struct tls_stream *stream, const struct iovec *iov,
			int count)
{
	ssize_t got, total = 0;

	if (stream->broken) {
		errno = EPROTO;
		return -1;
	}
	stream->holds_input = stream->wants_write = false;
	for (int i = 0; i < count; i++) {
		char *to = iov[i].iov_base;
		size_t room = iov[i].iov_len;

		while (room > 0) {
			if (total > 0 && SSL_has_pending(stream->ssl) == 0)
				return total;
			if (total >= READ_BYTES_MAX)
				goto out;
			got = read_some(stream, to, room);
			if (got <= 0 && total == 0)
				return got;
			if (got <= 0) {
				/* The next read finds the end again. */
				stream->holds_input =
					got == 0 || errno != EAGAIN;
				return total;
			}
			to += got;
			room -= (size_t)got;
			total += got;
		}
	}
out:
	stream->holds_input = SSL_has_pending(stream->ssl) != 0;
	return total;
}

/* --- writing ------------------------------------------------------------- */

/*
 * The next `bytes` that follow the first `skip` of iov: where they lie, or put
 * together. There are as many.
 */
static const char *gather(struct tls_shared *shared, const struct iovec *iov,
			  size_t skip, size_t bytes)
{
	size_t used = 0;

	while (skip >= iov->iov_len)
		skip -= (iov++)->iov_len;
	if (iov->iov_len - skip >= bytes)
		return (const char *)iov->iov_base + skip;
	while (used < bytes) {
		size_t part = iov->iov_len - skip;

		if (part > bytes - used)
			part = bytes - used;
		memcpy(shared->gather + used,
		       (const char *)iov->iov_base + skip, part);
		used += part;
		skip = 0;
		iov++;
	}
	return shared->gather;
}

/* Writes one record. As write(). */
static ssize_t write_record(struct tls_stream *stream, const char *data,
			    size_t bytes)
{
	int err, verdict, ret;

	forget_errors();
	errno = 0;
	ret = SSL_write(stream->ssl, data, (int)bytes);
	if (ret > 0) {
		stream->offered = 0;
		return ret;
	}
	err = errno;
	verdict = SSL_get_error(stream->ssl, ret);
	if (verdict == SSL_ERROR_WANT_WRITE) {
		stream->offered = bytes;
		errno = EAGAIN;
	} else {
		stream_break(stream, err == 0 || err == EAGAIN ? EPIPE : err,
			     verdict);
	}
	return -1;
}

ssize_t tls_stream_send(struct tls_stream *stream, const struct iovec *iov,
			int count)
{
	struct tls_shared *shared = stream->shared;
	size_t wanted = 0, sent = 0;

	for (int i = 0; i < count; i++)
		wanted += iov[i].iov_len;
	while (sent < wanted) {
		size_t bytes = wanted - sent;
		ssize_t part;

		if (bytes > shared->gather_bytes)
			bytes = shared->gather_bytes;
		if (stream->broken || bytes < stream->offered) {
			errno = stream->broken ? EPIPE : EAGAIN;
			part = -1;
		} else {
			part = write_record(stream,
					    gather(shared, iov, sent, bytes),
					    bytes);
		}
		if (part < 0)
			return sent > 0 ? (ssize_t)sent : -1;
		sent += (size_t)part;
	}
	return (ssize_t)sent;
}
