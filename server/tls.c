/*
 * tls.c - see tls.h.
 */
#include "server/tls.h"

#include <errno.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/clock.h"
#include "server/log.h"
#include "server/tls_context.h"

/* Clients can ask for a refresh, but not fill the log by that. */
#define REFRESH_LOG_MS 1000

struct tls {
	const struct options *options;
	const struct log *log;
	struct log_pace refused_pace, read_pace;
	pthread_mutex_t lock;	 /* protects the pointer; innermost */
	SSL_CTX *context;	 /* of new sessions */
	_Atomic int64_t read_us; /* monotonic: when the files were read */
};

int tls_new(const struct options *options, const struct log *log,
	    struct tls **ret)
{
	struct tls *tls = calloc(1, sizeof(*tls));
	char why[512] = "no memory";
	int err = -ENOMEM;

	if (tls != NULL)
		err = tls_context_new(options, &tls->context, why, sizeof(why));
	if (err != 0) {
		log_write(log, LOG_LEVEL_ERROR, "TLS: %s", why);
		free(tls);
		return err;
	}
	tls->options = options;
	tls->log = log;
	(void)pthread_mutex_init(&tls->lock, NULL);
	atomic_init(&tls->read_us, clock_monotonic_us());
	*ret = tls;
	return 0;
}

void tls_free(struct tls *tls)
{
	if (tls == NULL)
		return;
	SSL_CTX_free(tls->context);
	(void)pthread_mutex_destroy(&tls->lock);
	free(tls);
}

int tls_refresh(struct tls *tls)
{
	SSL_CTX *fresh, *old;
	char why[512];
	uint64_t held_back;
	int err = tls_context_new(tls->options, &fresh, why, sizeof(why));

	if (err != 0) {
		if (log_pace(&tls->refused_pace, REFRESH_LOG_MS, &held_back))
			log_write(tls->log, LOG_LEVEL_ERROR,
				  "TLS: the certificates stay those of before: "
				  "%s",
				  why);
		return err;
	}
	(void)pthread_mutex_lock(&tls->lock);
	old = tls->context;
	tls->context = fresh;
	(void)pthread_mutex_unlock(&tls->lock);
	/* Goes with its last connection. */
	SSL_CTX_free(old);
	atomic_store(&tls->read_us, clock_monotonic_us());
	if (log_pace(&tls->read_pace, REFRESH_LOG_MS, &held_back))
		log_write(tls->log, LOG_LEVEL_INFO,
			  "TLS: certificates read again");
	return 0;
}

uint64_t tls_age_seconds(const struct tls *tls)
{
	int64_t age = clock_monotonic_us() - atomic_load(&tls->read_us);

	return (uint64_t)age / 1000000;
}

/* A context that stays while we make a session of it. */
static SSL_CTX *current_context(struct tls *tls)
{
	SSL_CTX *context;

	(void)pthread_mutex_lock(&tls->lock);
	context = tls->context;
	(void)SSL_CTX_up_ref(context);
	(void)pthread_mutex_unlock(&tls->lock);
	return context;
}

/* What a client's certificate is good for on such a listener. */
static int verify_flags(const struct options *options, enum options_tls mode)
{
	static const int flags[] = {
		SSL_VERIFY_NONE,
		SSL_VERIFY_PEER,
		SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT,
		SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT |
			SSL_VERIFY_CLIENT_ONCE,
	};

	switch (mode) {
	case OPTIONS_TLS_OFF:
	case OPTIONS_TLS_BASIC:
		return SSL_VERIFY_NONE;
	case OPTIONS_TLS_MUTUAL:
		return flags[2];
	case OPTIONS_TLS_DEFAULT:
		break;
	}
	return flags[options->tls_verify_mode];
}

/*
 * Sessions are resumed only where the same was asked of the client: who has
 * shown no certificate to one listener does not get around it at another.
 */
static bool set_verify(SSL *ssl, int flags)
{
	char name[32];
	int len = snprintf(name, sizeof(name), "memcachedb/%d", flags);

	SSL_set_verify(ssl, flags, NULL);
	return SSL_set_session_id_context(ssl, (const unsigned char *)name,
					  (unsigned)len) == 1;
}

SSL *tls_session_new(struct tls *tls, enum options_tls mode, int fd)
{
	SSL_CTX *context = current_context(tls);
	SSL *ssl = SSL_new(context);

	SSL_CTX_free(context);
	if (ssl == NULL)
		return NULL;
	if (SSL_set_fd(ssl, fd) != 1 ||
	    !set_verify(ssl, verify_flags(tls->options, mode))) {
		SSL_free(ssl);
		ERR_clear_error();
		return NULL;
	}
	SSL_set_accept_state(ssl);
	return ssl;
}
