/*
 * env.h - the Berkeley DB environment: settings, its voice, and fail-stop.
 *
 * Fail-stop: when nobody can know any more what is on disk (a failed fsync, a
 * panic, a commit that failed for no plain reason), env_fail() sets one flag
 * for good and tells the owner of the process once. From then on nothing is
 * made durable and nothing is answered.
 *
 * Threads: open and close by main, all else by any.
 */
#ifndef STORAGE_ENV_H
#define STORAGE_ENV_H

#include <db.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "storage/config.h"

struct home;

/*
 * A page of this size is written by the system in one piece. A bigger one can
 * be torn by a kill or a power cut, which no recovery repairs; it has a
 * checksum, so that it is at least found.
 */
#define ENV_SAFE_PAGE 4096

struct env {
	DB_ENV *db_env;
	const struct store_config *config;
	atomic_bool failed;
	/* Called once when it has failed; set before threads start. */
	void (*on_failed)(void *arg);
	void *on_failed_arg;
	unsigned long failed_syncs; /* of the process when this was opened */
	/* Messages that repeat: so many in a while, then they are counted. */
	pthread_mutex_t message_lock;
	int64_t message_window; /* when it began, monotonic ms */
	unsigned in_window, unsaid;
	/* About a failing open: Berkeley DB's words, or what env_fail() saw. */
	bool opening;
	char words[160];
	int recovered_percent;
};

/* Opens and recovers. Returns 0 or refuses. Owner: env_close(). */
int env_open(struct env *env, const struct store_config *config,
	     const struct home *home, struct store_refused *refused);

/* Returns 0 or -EIO. All handles are closed before. */
int env_close(struct env *env);

/*
 * Opens a database of the environment. txn NULL: no transaction of its own.
 * page_bytes 0: it exists, and is of this type. Returns 0 or Berkeley DB's
 * error.
 */
int env_open_db(struct env *env, DB_TXN *txn, const char *file, DBTYPE type,
		uint32_t page_bytes, uint32_t flags, DB **ret_db);

/* Refuses because `error` came from opening `what`. */
int env_refuse(struct env *env, int error, const char *what,
	       struct store_refused *refused);

/*
 * Ends the store's life: see above. `error` is Berkeley DB's or an errno.
 * While opening it only keeps the reason: whoever opens refuses then.
 */
void env_fail(struct env *env, int error, const char *what);
bool env_failed(const struct env *env);

/*
 * Puts the whole log on stable storage. Returns 0, -ENOSPC if a write did not
 * fit (what is there stays, try again), or -EIO after env_fail().
 */
int env_flush_log(struct env *env);

/*
 * Looks for an fsync that failed inside any other call: Berkeley DB may have
 * gone on after it. Returns true if all is well, else false after env_fail().
 */
bool env_synced(struct env *env);

/* True for errors after which the transaction may simply be tried again. */
bool env_error_is_conflict(int error);
bool env_error_is_space(int error);

/* One line of text to the owner of the process. */
void env_say(struct env *env, enum store_severity severity, const char *format,
	     ...) __attribute__((format(printf, 3, 4)));

/* The same for what may repeat without end: some lines, then a count. */
void env_complain(struct env *env, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

#endif
