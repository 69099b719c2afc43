/*
 * exec_db.c - db_checkpoint, db_archive, db_compact: MemcacheDB's commands
 * about its database.
 *
 * The first two are answered when they are done; the connection waits for
 * that in a stream. A compaction takes long: its answer says that it has
 * begun, and `stats bdb` how far it is.
 */
#include <errno.h>

#include "server/exec.h"
#include "server/shared.h"

static bool job_has_ended(struct conn *conn)
{
	return store_job_result(conn->worker->client, conn->job) !=
	       STORE_JOB_RUNNING;
}

static enum conn_next job_more(struct conn *conn)
{
	bool is_done = store_job_result(conn->worker->client, conn->job) ==
		       STORE_JOB_DONE;

	return exec_answer(conn, &conn->parsed.request.form,
			   is_done ? PROTO_DONE : PROTO_ERR_STORAGE);
}

static enum conn_next start_job(struct conn *conn, enum store_job job)
{
	conn->job = store_job_begin(conn->worker->client, job);
	conn_await(conn, job_has_ended);
	conn->stream = job_more;
	conn_set_step(conn, CONN_STREAM);
	return CONN_AGAIN;
}

enum conn_next exec_db_checkpoint(struct conn *conn,
				  const struct proto_request *req)
{
	(void)req;
	return start_job(conn, STORE_CHECKPOINT);
}

enum conn_next exec_db_archive(struct conn *conn,
			       const struct proto_request *req)
{
	(void)req;
	return start_job(conn, STORE_ARCHIVE);
}

enum conn_next exec_db_compact(struct conn *conn,
			       const struct proto_request *req)
{
	struct server *server = conn->worker->server;
	int err = store_compact(server->store);

	if (err != 0)
		return exec_answer(conn, &req->form,
				   err == -ENOTSUP ? PROTO_ERR_HASH
						   : PROTO_BUSY);
	exec_log(conn, &server->compact_pace, "db_compact");
	return exec_answer(conn, &req->form, PROTO_DONE);
}
