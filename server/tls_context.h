/*
 * tls_context.h - makes one OpenSSL context from the options.
 *
 * Private to server/tls*.c.
 */
#ifndef SERVER_TLS_CONTEXT_H
#define SERVER_TLS_CONTEXT_H

#include <stddef.h>

#include "server/options.h"

struct ssl_ctx_st;

/* What one record holds at most, by the standard. */
#define TLS_RECORD_BYTES 16384

/*
 * Reads the files and sets everything that is the same for all sessions.
 * Returns 0 or -errno, with a line in text.
 * Owner: the caller, SSL_CTX_free(). Thread: any. Blocks: on the files.
 */
int tls_context_new(const struct options *options, struct ssl_ctx_st **ret,
		    char *text, size_t text_bytes);

/*
 * Writes what OpenSSL says was wrong to buf, and forgets it. Returns buf.
 * Thread: any.
 */
const char *tls_reason(char *buf, size_t buf_bytes);

#endif
