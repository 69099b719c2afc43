/*
 * exec.h - commands: the only code that knows protocol AND storage.
 *
 * exec_start() looks the verb up in the table in exec.c; each verb family has
 * a file: exec_get.c, exec_gat.c, exec_write.c, exec_meta.c (reads) and
 * exec_meta_write.c, exec_admin.c, exec_stats.c, exec_login.c.
 * What becomes of a write until it is answered is in pending.c. A command
 * answers through the helpers below: it does not know in which dialect.
 *
 * Thread: the connection's worker. Blocks: on page reads, in reads only.
 */
#ifndef SERVER_EXEC_H
#define SERVER_EXEC_H

#include "server/conn.h"

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

/* The block of a store command has come whole: conn->op is complete. */
enum conn_next exec_value_complete(struct conn *conn);

/*
 * Refuses a command whose block comes all the same: skips that, then answers.
 */
enum conn_next exec_skip_block(struct conn *conn, enum proto_code code);

/* A write has come back: counts it and answers. The op may be freed. */
void exec_finish(struct store_op *op);

/*
 * Queues an answer without a number, unless it is a silent one. DROP without
 * memory, else AGAIN.
 */
enum conn_next exec_answer(struct conn *conn, const struct proto_form *form,
			   enum proto_code code);

/* Queues bytes as they are; nothing if there are none. The same result. */
enum conn_next exec_write(struct conn *conn, struct proto_slice bytes);

/* What became of an op, as the client is told; failures are counted. */
enum proto_code exec_code(struct worker *worker, enum store_status status);

/* Counts what a get has found, or not. */
void exec_count_get(struct conn *conn, struct proto_slice key,
		    enum store_status status, const struct store_item *item);

/* One verb each; the table in exec.c. */
enum conn_next exec_get(struct conn *conn, const struct proto_request *req);
enum conn_next exec_gat(struct conn *conn, const struct proto_request *req);
enum conn_next exec_store(struct conn *conn, const struct proto_request *req);
enum conn_next exec_arith(struct conn *conn, const struct proto_request *req);
enum conn_next exec_touch(struct conn *conn, const struct proto_request *req);
enum conn_next exec_delete(struct conn *conn, const struct proto_request *req);
enum conn_next exec_meta_get(struct conn *conn,
			     const struct proto_request *req);
enum conn_next exec_meta_set(struct conn *conn,
			     const struct proto_request *req);
enum conn_next exec_meta_delete(struct conn *conn,
				const struct proto_request *req);
enum conn_next exec_meta_arith(struct conn *conn,
			       const struct proto_request *req);
enum conn_next exec_meta_debug(struct conn *conn,
			       const struct proto_request *req);
enum conn_next exec_noop(struct conn *conn, const struct proto_request *req);
enum conn_next exec_flush(struct conn *conn, const struct proto_request *req);
enum conn_next exec_stats(struct conn *conn, const struct proto_request *req);
enum conn_next exec_version(struct conn *conn, const struct proto_request *req);
enum conn_next exec_verbosity(struct conn *conn,
			      const struct proto_request *req);
enum conn_next exec_memlimit(struct conn *conn,
			     const struct proto_request *req);
enum conn_next exec_shutdown(struct conn *conn,
			     const struct proto_request *req);
enum conn_next exec_quit(struct conn *conn, const struct proto_request *req);
enum conn_next exec_login(struct conn *conn, const struct proto_request *req);
enum conn_next exec_login_list(struct conn *conn,
			       const struct proto_request *req);

enum conn_next exec_slabs(struct conn *conn, const struct proto_request *req);
enum conn_next exec_lru(struct conn *conn, const struct proto_request *req);
enum conn_next exec_crawler(struct conn *conn, const struct proto_request *req);
enum conn_next exec_debugtime(struct conn *conn,
			      const struct proto_request *req);

enum conn_next exec_rget(struct conn *conn, const struct proto_request *req);
enum conn_next exec_pget(struct conn *conn, const struct proto_request *req);
enum conn_next exec_pdelete(struct conn *conn,
			    const struct proto_request *req);
enum conn_next exec_db_checkpoint(struct conn *conn,
				  const struct proto_request *req);
enum conn_next exec_db_archive(struct conn *conn,
			       const struct proto_request *req);
enum conn_next exec_db_compact(struct conn *conn,
			       const struct proto_request *req);
enum conn_next exec_watch(struct conn *conn, const struct proto_request *req);

/*
 * Lines for those who watch: a get (before that, one line for what a store
 * found), a change, a connection. item may be NULL; reason too.
 */
void exec_watch_get(struct conn *conn, struct proto_slice key, bool found,
		    size_t value_bytes);
void exec_watch_write(const struct store_op *op, enum proto_verb verb);
void exec_watch_conn(struct conn *conn, const char *what, const char *reason);

/* Groups and subcommands that are walks: stats cachedump, lru_crawler. */
enum conn_next exec_cachedump(struct conn *conn,
			      const struct proto_request *req);
enum conn_next exec_metadump(struct conn *conn,
			     const struct proto_request *req);
enum conn_next exec_mgdump(struct conn *conn, const struct proto_request *req);

#endif
