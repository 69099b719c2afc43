/*
 * tls.h - TLS for the listeners: certificates, reload, new sessions.
 *
 * The idea: a context (certificate, key, authorities, what may be negotiated)
 * is made from the options and never changed. A reload makes a new one beside
 * it and swaps the pointer, so a connection keeps what it began with, and
 * files that are broken change nothing.
 *
 * A handshake is nothing but the first reads of a connection: see
 * tls_stream.h for the bytes of one connection.
 */
#ifndef SERVER_TLS_H
#define SERVER_TLS_H

#include <stdint.h>

#include "server/options.h"

/* OpenSSL's SSL and SSL_CTX. */
struct ssl_st;
struct ssl_ctx_st;

struct log;
struct tls;

/*
 * Reads the certificate, key and authorities that the options name. Returns 0
 * or -errno, with one line logged that says which file and why. Keeps the two
 * pointers.
 * Owner: *ret by tls_free(). Thread: main. Blocks: on the files.
 */
int tls_new(const struct options *options, const struct log *log,
	    struct tls **ret);

/* NULL is fine. Thread: main, after the others. */
void tls_free(struct tls *tls);

/*
 * Reads the files again, for connections from now on. Returns 0 or -errno:
 * then nothing has changed. Logs a line either way.
 * Thread: any. Blocks: on the files; on tls.lock, briefly.
 */
int tls_refresh(struct tls *tls);

/* Seconds since the files were read. Thread: any. */
uint64_t tls_age_seconds(const struct tls *tls);

/*
 * The server's end of a new session on a non-blocking socket, which stays the
 * caller's. NULL: no memory.
 * Owner: the caller, SSL_free(). Thread: any. Blocks: on tls.lock, briefly.
 */
struct ssl_st *tls_session_new(struct tls *tls, enum options_tls mode, int fd);

#endif
