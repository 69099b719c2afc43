/*
 * tls_context.c - see tls_context.h.
 *
 * Renegotiation and compression are off: one is a lever for a peer to burn our
 * time, the other gives secrets away. The errors of OpenSSL are a queue of the
 * thread: each function here leaves it empty.
 */
#include "server/tls_context.h"

#include <errno.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <stdio.h>
#include <string.h>

/* Sessions kept for resumption, about 1 KB each. */
#define CACHED_SESSIONS 20480

const char *tls_reason(char *buf, size_t buf_bytes)
{
	/* The oldest error is the cause, the later ones are where it led. */
	unsigned long code = ERR_get_error();
	const char *reason = ERR_reason_error_string(code);

	if (ERR_SYSTEM_ERROR(code))
		(void)snprintf(buf, buf_bytes, "%s",
			       strerror(ERR_GET_REASON(code)));
	else
		(void)snprintf(buf, buf_bytes, "%s",
			       reason != NULL ? reason : "unknown reason");
	ERR_clear_error();
	return buf;
}

/* Says which step failed, on what. */
static int fail(char *text, size_t text_bytes, const char *step,
		const char *what)
{
	char reason[128];

	(void)snprintf(text, text_bytes, "%s: %s%s%s", step,
		       what != NULL ? what : "", what != NULL ? ": " : "",
		       tls_reason(reason, sizeof(reason)));
	return -EINVAL;
}

/* An encrypted key would make OpenSSL ask at the terminal. */
static int no_password(char *buf, int bytes, int writing, void *arg)
{
	(void)buf;
	(void)bytes;
	(void)writing;
	(void)arg;
	return 0;
}

static int load_authorities(SSL_CTX *context, const char *file, char *text,
			    size_t text_bytes)
{
	STACK_OF(X509_NAME) * names;

	if (SSL_CTX_load_verify_locations(context, file, NULL) != 1)
		return fail(text, text_bytes, "loading the CA certificate",
			    file);
	names = SSL_load_client_CA_file(file);
	if (names == NULL)
		return fail(text, text_bytes, "loading the CA certificate",
			    file);
	SSL_CTX_set_client_CA_list(context, names);
	return 0;
}

static int load_files(SSL_CTX *context, const struct options *options,
		      char *text, size_t text_bytes)
{
	const char *chain = options->tls_chain_file;
	const char *key = options->tls_key_file;

	SSL_CTX_set_default_passwd_cb(context, no_password);
	if (SSL_CTX_use_certificate_chain_file(context, chain) != 1)
		return fail(text, text_bytes, "loading the certificate chain",
			    chain);
	if (SSL_CTX_use_PrivateKey_file(context, key,
					(int)options->tls_key_format) != 1)
		return fail(text, text_bytes, "loading the key", key);
	if (SSL_CTX_check_private_key(context) != 1)
		return fail(text, text_bytes,
			    "checking the key against the certificate", key);
	if (options->tls_ca_file == NULL)
		return 0;
	return load_authorities(context, options->tls_ca_file, text,
				text_bytes);
}

/* What may be negotiated. */
static int set_terms(SSL_CTX *context, const struct options *options,
		     char *text, size_t text_bytes)
{
	static const int versions[] = {
		[OPTIONS_TLS_1_0] = TLS1_VERSION,
		[OPTIONS_TLS_1_1] = TLS1_1_VERSION,
		[OPTIONS_TLS_1_2] = TLS1_2_VERSION,
		[OPTIONS_TLS_1_3] = TLS1_3_VERSION,
	};
	uint64_t flags = SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION;

	/* A peer that just goes away is no error, as without TLS: only whole
	 * commands are run. */
	flags |= SSL_OP_IGNORE_UNEXPECTED_EOF;
	if (options->tls_kernel)
		flags |= SSL_OP_ENABLE_KTLS;
	/* Sessions are in the cache, where they are counted, or in tickets. */
	if (options->tls_session_cache)
		flags |= SSL_OP_NO_TICKET;
	(void)SSL_CTX_set_options(context, flags);
	if (SSL_CTX_set_min_proto_version(
		    context, versions[options->tls_min_version]) != 1)
		return fail(text, text_bytes, "setting the TLS version", NULL);
	if (options->tls_ciphers != NULL &&
	    SSL_CTX_set_cipher_list(context, options->tls_ciphers) != 1)
		return fail(text, text_bytes, "setting the ciphers",
			    options->tls_ciphers);
	return 0;
}

static void set_manners(SSL_CTX *context, const struct options *options)
{
	/* Idle sessions hold no buffers; a write may stop at a record and go
	 * on from other memory. */
	(void)SSL_CTX_set_mode(context,
			       SSL_MODE_RELEASE_BUFFERS |
				       SSL_MODE_ENABLE_PARTIAL_WRITE |
				       SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
	/* A record in one system call, not first its head. */
	SSL_CTX_set_read_ahead(context, 1);
	(void)SSL_CTX_set_num_tickets(context, 1);
	(void)SSL_CTX_set_session_cache_mode(
		context, options->tls_session_cache ? SSL_SESS_CACHE_SERVER
						    : SSL_SESS_CACHE_OFF);
	(void)SSL_CTX_sess_set_cache_size(context, CACHED_SESSIONS);
}

int tls_context_new(const struct options *options, SSL_CTX **ret, char *text,
		    size_t text_bytes)
{
	SSL_CTX *context;
	int err;

	ERR_clear_error();
	context = SSL_CTX_new(TLS_server_method());
	if (context == NULL)
		return fail(text, text_bytes, "setting up TLS", NULL);
	err = set_terms(context, options, text, text_bytes);
	if (err == 0)
		err = load_files(context, options, text, text_bytes);
	if (err != 0) {
		SSL_CTX_free(context);
		return err;
	}
	set_manners(context, options);
	*ret = context;
	return 0;
}
