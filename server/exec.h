/*
 * exec.h - commands: the only code that knows protocol AND storage.
 *
 * exec_start() looks the verb up in EXEC_COMMANDS; each verb family has a file:
 *
 *   items       exec_get.c, exec_gat.c, exec_write.c, exec_meta.c (reads),
 *               exec_meta_write.c
 *   many items  exec_scan.c, exec_dump.c
 *   the server  exec_admin.c, exec_db.c, exec_slabs.c, exec_stats.c,
 *               exec_watch.c, exec_login.c
 *
 * What becomes of a write until it is answered is in pending.c. A command
 * answers through the helpers below: it does not know in which dialect.
 *
 * Thread: the connection's worker. Blocks: on page reads, in reads only.
 */
#ifndef SERVER_EXEC_H
#define SERVER_EXEC_H

#include "server/conn.h"
#include "server/log.h"

/* What a verb needs before it may start: enum conn_needs. */
unsigned exec_needs(enum proto_verb verb);

/*
 * Runs a parsed command, or starts it: then the step is VALUE or STREAM and
 * conn->parsed is set by the caller. Its line is still in the input.
 */
enum conn_next exec_start(struct conn *conn, const struct proto_request *req);

/* Counts and answers a command that the parser refused. */
enum conn_next exec_refused(struct conn *conn,
			    const struct proto_parsed *parsed);

/*
 * Reads the block of a store command into the op, which is the connection's
 * from now on. If too much is being received already, the op is freed, the
 * block skipped, and the command refused for want of memory.
 */
enum conn_next exec_receive(struct conn *conn, struct store_op *op);

/*
 * Refuses a command whose block comes all the same: skips that, then answers.
 */
enum conn_next exec_skip_block(struct conn *conn, enum proto_code code);

/*
 * Queues an answer without a number, unless it is a silent one. DROP without
 * memory, else AGAIN.
 */
enum conn_next exec_answer(struct conn *conn, const struct proto_form *form,
			   enum proto_code code);

/* Queues bytes as they are; nothing if there are none. The same result. */
enum conn_next exec_write(struct conn *conn, struct proto_slice bytes);

/*
 * The same of what ends a walk. It waits until what the walk did not find is
 * away for good: a delete that a crash takes back would bring it back.
 */
enum conn_next exec_write_end(struct conn *conn, struct proto_slice bytes);

/*
 * Logs what a client has done to all, and who it was: at most once a second for
 * each pace, with how many it left out, so that no client fills the log.
 */
void exec_log(const struct conn *conn, struct log_pace *pace,
	      const char *format, ...) __attribute__((format(printf, 3, 4)));

/* What became of an op, as the client is told; failures are counted. */
enum proto_code exec_code(struct worker *worker, enum store_status status);

/* Counts what a get has found, or not. */
void exec_count_get(struct conn *conn, struct proto_slice key,
		    enum store_status status, const struct store_item *item);

/*
 * Every command: its verb, who does it, and what it needs before it may start.
 */
/* clang-format off */
#define EXEC_COMMANDS(X)                                                      \
	X(GET, exec_get, CONN_NEEDS_APPLIED)                                  \
	X(GAT, exec_gat, CONN_NEEDS_ROOM | CONN_NEEDS_FOUND)                  \
	X(SET, exec_store, CONN_NEEDS_ROOM)                                   \
	X(ADD, exec_store, CONN_NEEDS_ROOM)                                   \
	X(REPLACE, exec_store, CONN_NEEDS_ROOM)                               \
	X(APPEND, exec_store, CONN_NEEDS_ROOM)                                \
	X(PREPEND, exec_store, CONN_NEEDS_ROOM)                               \
	X(CAS, exec_store, CONN_NEEDS_ROOM)                                   \
	X(INCR, exec_arith, CONN_NEEDS_ROOM)                                  \
	X(DECR, exec_arith, CONN_NEEDS_ROOM)                                  \
	X(TOUCH, exec_touch, CONN_NEEDS_ROOM)                                 \
	X(DELETE, exec_delete, CONN_NEEDS_ROOM)                               \
	X(META_GET, exec_meta_get,                                            \
	  CONN_NEEDS_APPLIED | CONN_NEEDS_ROOM | CONN_NEEDS_FOUND)            \
	X(META_SET, exec_meta_set, CONN_NEEDS_ROOM)                           \
	X(META_DELETE, exec_meta_delete, CONN_NEEDS_ROOM)                     \
	X(META_ARITH, exec_meta_arith, CONN_NEEDS_ROOM)                       \
	X(META_DEBUG, exec_meta_debug, CONN_NEEDS_APPLIED)                    \
	X(NOOP, exec_noop, CONN_NEEDS_QUIET)                                  \
	X(RGET, exec_rget, CONN_NEEDS_APPLIED)                                \
	X(PGET, exec_pget, CONN_NEEDS_APPLIED)                                \
	X(PDELETE, exec_pdelete, CONN_NEEDS_APPLIED)                          \
	X(FLUSH_ALL, exec_flush, CONN_NEEDS_ROOM)                             \
	X(STATS, exec_stats, CONN_NEEDS_DONE)                                 \
	X(VERSION, exec_version, CONN_NEEDS_QUIET)                            \
	X(VERBOSITY, exec_verbosity, 0)                                       \
	X(CACHE_MEMLIMIT, exec_memlimit, 0)                                   \
	X(SHUTDOWN, exec_shutdown, 0)                                         \
	X(REFRESH_CERTS, exec_refresh_certs, 0)                               \
	X(QUIT, exec_quit, 0)                                                 \
	X(SLABS, exec_slabs, 0)                                               \
	X(LRU, exec_lru, 0)                                                   \
	X(LRU_CRAWLER, exec_crawler, 0)                                       \
	X(WATCH, exec_watch, CONN_NEEDS_DONE)                                 \
	X(DEBUGTIME, exec_debugtime, CONN_NEEDS_DONE)                         \
	X(DB_CHECKPOINT, exec_db_checkpoint, CONN_NEEDS_APPLIED)              \
	X(DB_ARCHIVE, exec_db_archive, 0)                                     \
	X(DB_COMPACT, exec_db_compact, 0)                                     \
	X(SASL_LIST, exec_login_list, 0)                                      \
	X(SASL_START, exec_login, 0)                                          \
	X(SASL_STEP, exec_login, 0)
/* clang-format on */

#define X(verb, start, needs)                   \
	enum conn_next start(struct conn *conn, \
			     const struct proto_request *req);
EXEC_COMMANDS(X)
#undef X

/*
 * Groups and subcommands that are walks: stats cachedump; lru_crawler, with
 * the classes as the second argument.
 */
enum conn_next exec_cachedump(struct conn *conn,
			      const struct proto_request *req);
enum conn_next exec_metadump(struct conn *conn,
			     const struct proto_request *req);
enum conn_next exec_mgdump(struct conn *conn, const struct proto_request *req);

/*
 * Lines for those who watch: a get (before that, one line for what a store
 * found), a change, a connection; reason may be NULL.
 */
void exec_watch_get(struct conn *conn, struct proto_slice key, bool found,
		    const struct store_item *item);
void exec_watch_write(const struct store_op *op, enum proto_verb verb);
void exec_watch_conn(struct conn *conn, const char *what, const char *reason);

#endif
