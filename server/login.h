/*
 * login.h - who may be a client, and what of.
 *
 * Without -S and -Y everybody may do everything. With one of them a
 * connection can do nothing but log in until it has; then a user named by
 * --read-only-user can change nothing. A connection that begins another login
 * is nobody again.
 *
 *   READING --> WAITING --> PLACED --> CHECKING --> CHECKED --> NONE
 *
 * A worker has few attempts in the hands of the login thread at a time: the
 * next wait here, parked, in the order in which they came. So a flood of
 * logins holds up nothing but logins, and takes no memory but for what each
 * connection has sent.
 *
 * Thread: the connection's worker, unless said. Blocks: never.
 */
#ifndef SERVER_LOGIN_H
#define SERVER_LOGIN_H

#include <stdbool.h>

#include "protocol/protocol.h"

/* Attempts of one worker that the login thread has at a time. */
#define LOGIN_PLACES 16

struct conn;
struct login_attempt;
struct server;
struct worker;

enum login_step {
	LOGIN_NONE,	/* attempt: one half done, to go on with, or NULL */
	LOGIN_READING,	/* its block comes */
	LOGIN_WAITING,	/* for one of the places */
	LOGIN_PLACED,	/* has one */
	LOGIN_CHECKING, /* is with the login thread */
	LOGIN_CHECKED	/* is back, and to be answered */
};

/* The part of a connection. Zeroed: nobody. */
struct login {
	enum login_step step;
	struct login_attempt *attempt;
	bool granted, read_only;
};

/* True if what a text client sends now must be a login. */
bool login_is_due(const struct conn *conn);

/*
 * PROTO_DONE if the connection may run this command; else what it is told:
 * after ERR_LOGIN_FAILED the connection is to be closed.
 */
enum proto_code login_allows(const struct conn *conn,
			     const struct proto_request *req);

/* True if the login under way can go on; takes a place if it needs one. */
bool login_can_go_on(struct conn *conn);

/* Notes who has logged in. */
void login_grant(struct conn *conn, const char *user);

/* An attempt has come back from the login thread: counts and logs it. */
void login_checked(struct worker *worker, struct login_attempt *attempt);

/* Gives up what is under way: the connection closes, or begins anew. */
void login_leave(struct conn *conn);

/* --- the server's part; thread: main ------------------------------------ */

/*
 * Loads the auth file or starts SASL, and starts the login thread, if asked
 * for. Logs its own trouble; returns an exit status: EX_OK, EX_CONFIG...
 * Blocks: on reading files.
 */
int login_open(struct server *server);

/* SIGHUP: loads the auth file again; one that is bad changes nothing. */
void login_reload(struct server *server);

/*
 * When the workers have finished. False: a check does not end; the process
 * has to end without waiting for it. Blocks: at most a second.
 */
bool login_stop(struct server *server);

/* After login_stop() was true and the connections are gone. */
void login_close(struct server *server);

#endif
