/*
 * login_sasl.h - logging in by SASL: what we ask of libsasl2.
 *
 * As with memcached the library is told that we are "memcached": it reads
 * memcached.conf in $SASL_CONF_PATH or /etc/sasl2, and the passwords from
 * where that file says; without it from the sasldb. Anonymous logins are never
 * offered.
 *
 * The library is one a process and not asked from several threads at once:
 * login_sasl_open() and _close() belong to main, before and after the login
 * thread; everything else to that thread, unless said.
 */
#ifndef SERVER_LOGIN_SASL_H
#define SERVER_LOGIN_SASL_H

#include <stdbool.h>
#include <stddef.h>

#include "protocol/protocol.h"
#include "server/log.h"

/* Longest name of a user that is told; a longer one cannot log in. */
#define LOGIN_USER_MAX 255

struct login_sasl;	    /* the library */
struct login_sasl_exchange; /* one login of one connection */

/*
 * Starts the library. Returns NULL and says why to the log, if it does not
 * start or has no mechanism at all. Thread: main.
 * Blocks: on reading files, and on the name service for our own name.
 */
struct login_sasl *login_sasl_open(struct log *log);

/* Every exchange must be freed before. NULL is fine. Thread: main. */
void login_sasl_close(struct login_sasl *sasl);

/* The names of the mechanisms, separated by blanks. Thread: any. */
const char *login_sasl_mechanisms(const struct login_sasl *sasl);

/* The realm of a user that is named without one. Thread: any. */
const char *login_sasl_realm(const struct login_sasl *sasl);

enum login_sasl_state { LOGIN_SASL_DONE, LOGIN_SASL_MORE, LOGIN_SASL_FAILED };

/* What is to be sent (MORE), or why it failed. Valid until the next call. */
struct login_sasl_said {
	struct proto_slice answer;
	const char *why;
};

/*
 * Begins an exchange with a client's first message, which may be empty.
 * *ret_exchange is set if the library could make one, whatever the result.
 * Owner of it: the caller. Blocks: on what the library asks: files, sockets.
 */
enum login_sasl_state
login_sasl_begin(struct login_sasl *sasl, const char *mechanism,
		 struct proto_slice message,
		 struct login_sasl_exchange **ret_exchange,
		 struct login_sasl_said *ret_said);

/* Goes on with the next message of the client. */
enum login_sasl_state login_sasl_go_on(struct login_sasl_exchange *exchange,
				       struct proto_slice message,
				       struct login_sasl_said *ret_said);

/* The user who has logged in: after DONE. False: the name is too long. */
bool login_sasl_user(struct login_sasl_exchange *exchange,
		     char ret_user[LOGIN_USER_MAX + 1]);

/* NULL is fine. */
void login_sasl_free(struct login_sasl_exchange *exchange);

#endif
