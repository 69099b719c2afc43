/*
 * login_thread.h - the one thread that checks passwords.
 *
 * Hashes are slow by design, and libsasl2 waits for files and sockets: so a
 * login is checked here, and its connection is parked until it has come back.
 *
 *   worker --(login_thread_submit)--> queue --> thread
 *   worker <--(worker_post_login)---------------'
 *
 * An attempt belongs to one side at a time. The thread never looks at its
 * connection, which may be gone when the attempt comes back. How many may be
 * in the queue is limited by the workers (login.h).
 */
#ifndef SERVER_LOGIN_THREAD_H
#define SERVER_LOGIN_THREAD_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/queue.h>

#include "protocol/protocol.h"
#include "server/authfile.h"
#include "server/login_sasl.h"

#define LOGIN_WHY_MAX 127

struct conn;
struct worker;
struct login_thread;

enum login_kind {
	LOGIN_PASSWORD, /* of the auth file: data is "user password" */
	LOGIN_BEGIN,	/* SASL: data is the first message */
	LOGIN_STEP,	/* SASL: data is the next one of `exchange` */
	LOGIN_FORGET	/* only to be freed: nothing comes back */
};

enum login_verdict { LOGIN_DENIED, LOGIN_MORE, LOGIN_GRANTED };

struct login_attempt {
	STAILQ_ENTRY(login_attempt) link;
	struct worker *worker; /* whom it comes back to */

	/* Of the worker alone. */
	struct conn *conn; /* NULL: it has been closed */
	struct proto_form form;

	enum login_kind kind;
	char mechanism[PROTO_MECHANISM_MAX + 1];

	enum login_verdict verdict;
	char user[LOGIN_USER_MAX + 1]; /* empty: not known */
	char why[LOGIN_WHY_MAX + 1];   /* DENIED */
	char *answer;		       /* MORE: own memory */
	size_t answer_bytes;
	struct login_sasl_exchange *exchange; /* MORE: goes on with STEP */

	size_t bytes;
	char data[]; /* what the client sent, and room for its line end */
};

/*
 * Makes an attempt with room for so many bytes. NULL: no memory. Owner: the
 * caller, until login_thread_submit(); login_thread_drop().
 */
struct login_attempt *login_attempt_new(size_t room);

/*
 * Starts the thread with one of the two; from now on it owns what it is given.
 * Returns 0 or -errno. Thread: main.
 */
int login_thread_start(struct authfile *file, struct login_sasl *sasl,
		       struct login_thread **ret);

/* What login_thread_start() was given. Thread: any. */
const struct login_sasl *login_thread_sasl(const struct login_thread *thread);

/* Uses another file from the next check on. Thread: main. Blocks: briefly. */
void login_thread_set_file(struct login_thread *thread, struct authfile *file);

/* Gives an attempt to the thread. Thread: any. Blocks: briefly, on the lock. */
void login_thread_submit(struct login_thread *thread,
			 struct login_attempt *attempt);

/* Frees an attempt that is not with the thread. NULL is fine. As submit. */
void login_thread_drop(struct login_thread *thread,
		       struct login_attempt *attempt);

/*
 * Ends the thread; attempts do not come back any more. Returns false if it is
 * busy with a check that does not end: it is left to the process's end.
 * Thread: main. Blocks: at most a second.
 */
bool login_thread_stop(struct login_thread *thread);

/* Frees what was stopped in time. NULL is fine. Thread: main. */
void login_thread_free(struct login_thread *thread);

#endif
