/*
 * exec.h - commands: the only code that knows protocol AND storage.
 *
 * exec_start() looks the verb up in the table in exec.c; each verb family has
 * a file: exec_get.c, exec_gat.c, exec_write.c, exec_admin.c, exec_stats.c.
 * What becomes of a write until it is answered is in pending.c. A command
 * answers through the helpers below, so that nobody else formats a reply.
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

/* A write has come back: counts it and answers. The op may be freed. */
void exec_finish(struct store_op *op);

/* Queues an answer line, unless quiet. DROP without memory, else AGAIN. */
enum conn_next exec_answer(struct conn *conn, enum proto_verb verb,
			   enum proto_code code, bool quiet);

/* The code that tells a client of a store status that is a failure. */
enum proto_code exec_failure(enum store_status status);

/* One verb each; the table in exec.c. */
enum conn_next exec_get(struct conn *conn, const struct proto_request *req);
enum conn_next exec_gat(struct conn *conn, const struct proto_request *req);
enum conn_next exec_store(struct conn *conn, const struct proto_request *req);
enum conn_next exec_arith(struct conn *conn, const struct proto_request *req);
enum conn_next exec_touch(struct conn *conn, const struct proto_request *req);
enum conn_next exec_delete(struct conn *conn, const struct proto_request *req);
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

#endif
