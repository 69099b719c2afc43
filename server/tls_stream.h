/*
 * tls_stream.h - the bytes of one TLS connection.
 *
 * The idea: OpenSSL reads and writes our own non-blocking socket, and the
 * events stay those of the connection. libevent's buffered events for OpenSSL
 * would do that too, but with buffers of their own: every answer would be
 * copied once more, a connection's order of answers (some of which may not
 * leave yet) would be kept twice, and each answer would be a write. Here all
 * that may leave in a turn is put together into full records.
 *
 * The handshake has no step of its own: it happens inside the first reads.
 *
 * Three things are different from a plain socket:
 *   - bytes may be inside OpenSSL that no event will announce (holds_input);
 *   - a read may have to wait until the socket takes bytes (wants_write);
 *   - a write that stopped in the middle of a record must be repeated with the
 *     same bytes in front. Answers that were offered once stay at the head of
 *     the output, so that they are; if fewer are offered, we wait.
 *
 * Thread: the connection's worker. Blocks: never.
 */
#ifndef SERVER_TLS_STREAM_H
#define SERVER_TLS_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "server/counters.h"
#include "server/log.h"
#include "server/tls.h"

struct iovec;

/* A client has this long for its handshake. */
#define TLS_HANDSHAKE_SECONDS 10

/* What the TLS connections of one worker share. */
struct tls_shared {
	struct tls *tls;
	const struct log *log;
	struct counters *counters;
	size_t gather_bytes; /* of a record, at most */
	char gather[];	     /* where small answers become a record */
};

struct tls_stream {
	struct ssl_st *ssl;
	struct tls_shared *shared;
	int64_t deadline; /* of the handshake, monotonic; 0: it is done */
	size_t offered;	  /* of a write to be repeated; 0: none */
	bool holds_input; /* a read will give bytes without any event */
	bool wants_write; /* the last read waits for room in the socket */
	bool broken;	  /* nothing can be said any more */
	bool said_bye;
};

/*
 * NULL: no memory. Owner: the caller, free(), after its streams.
 * Thread: main or the worker.
 */
struct tls_shared *tls_shared_new(struct tls *tls, const struct log *log,
				  struct counters *counters,
				  size_t gather_bytes);

/*
 * The server's end on an accepted socket, which stays the caller's. `now` is
 * in monotonic seconds. NULL: no memory.
 * Owner: the caller, tls_stream_free().
 */
struct tls_stream *tls_stream_new(struct tls_shared *shared,
				  enum options_tls mode, int fd, int64_t now);

/* Says goodbye if that is possible at once. */
void tls_stream_free(struct tls_stream *stream);

/* As readv() of a non-blocking socket. */
ssize_t tls_stream_read(struct tls_stream *stream, const struct iovec *iov,
			int count);

/*
 * As sendmsg() of a non-blocking socket: what it takes less than is there did
 * not fit.
 */
ssize_t tls_stream_send(struct tls_stream *stream, const struct iovec *iov,
			int count);

/* Tells the peer that nothing follows. Again: nothing happens. */
void tls_stream_say_bye(struct tls_stream *stream);

/* True if the handshake takes too long. */
static inline bool tls_stream_is_late(const struct tls_stream *stream,
				      int64_t now)
{
	return stream->deadline != 0 && now > stream->deadline;
}

#endif
