/*
 * exec_admin.c - commands about the server, not about items.
 */
#include "server/exec.h"

#include <string.h>

#include "server/shared.h"
#include "server/tls.h"
#include "server/version.h"

/* As memcached: less cannot work; more must have been meant as bytes. */
#define MEMLIMIT_MIN_MB 8
#define MEMLIMIT_MAX_MB 1000000000
#define VERBOSITY_MAX	2

enum conn_next exec_version(struct conn *conn, const struct proto_request *req)
{
	static const char number[] = MEMCACHEDB_VERSION;
	static const char line[] = "VERSION " MEMCACHEDB_VERSION "\r\n";
	char packet[PROTO_PACKET_HEAD + sizeof(number) - 1];

	if (req->form.dialect != PROTO_BINARY)
		return exec_write(conn,
				  (struct proto_slice){line, sizeof(line) - 1});
	proto_packet_head(packet, &req->form, PROTO_DONE, 0,
			  sizeof(number) - 1);
	memcpy(packet + PROTO_PACKET_HEAD, number, sizeof(number) - 1);
	return exec_write(conn, (struct proto_slice){packet, sizeof(packet)});
}

enum conn_next exec_noop(struct conn *conn, const struct proto_request *req)
{
	return exec_answer(conn, &req->form, PROTO_DONE);
}

enum conn_next exec_verbosity(struct conn *conn,
			      const struct proto_request *req)
{
	uint64_t level;

	if (!proto_parse_u64(req->args[0], &level))
		return exec_answer(conn, &req->form, PROTO_ERR_FORMAT);
	log_set_verbosity(&conn->worker->server->log,
			  level > VERBOSITY_MAX ? VERBOSITY_MAX
						: (uint32_t)level);
	return exec_answer(conn, &req->form, PROTO_DONE);
}

static enum proto_code set_memlimit(struct conn *conn, uint64_t megabytes)
{
	struct server *server = conn->worker->server;
	uint64_t bytes = megabytes << 20;

	if (megabytes < MEMLIMIT_MIN_MB)
		return PROTO_ERR_MEMLIMIT_SMALL;
	if (megabytes > MEMLIMIT_MAX_MB)
		return PROTO_ERR_MEMLIMIT_UNIT;
	if (store_resize_cache(server->store, bytes) != 0)
		return PROTO_ERR_MEMLIMIT_FIXED;
	atomic_store(&server->memory_limit_bytes, bytes);
	exec_log(conn, &server->memlimit_pace, "cache resized to %llu MB",
		 (unsigned long long)megabytes);
	return PROTO_DONE;
}

enum conn_next exec_memlimit(struct conn *conn, const struct proto_request *req)
{
	uint64_t megabytes;

	if (!proto_parse_u64(req->args[0], &megabytes))
		return exec_answer(conn, &req->form, PROTO_ERR_UNKNOWN);
	return exec_answer(conn, &req->form, set_memlimit(conn, megabytes));
}

enum conn_next exec_shutdown(struct conn *conn, const struct proto_request *req)
{
	struct server *server = conn->worker->server;

	if (!server->options->shutdown_enabled)
		return exec_answer(conn, &req->form,
				   PROTO_ERR_SHUTDOWN_DISABLED);
	if (req->arg_count > 0 && !proto_slice_is(req->args[0], "graceful"))
		return exec_answer(conn, &req->form, PROTO_ERR_SHUTDOWN_MODE);
	log_write(&server->log, LOG_LEVEL_INFO, "shutdown asked for by %s",
		  conn->addr);
	server_request(server, SERVER_STOP);
	conn_shut(conn);
	return CONN_AGAIN;
}

enum conn_next exec_refresh_certs(struct conn *conn,
				  const struct proto_request *req)
{
	struct tls *tls = conn->worker->server->tls;

	if (tls == NULL)
		return exec_answer(conn, &req->form, PROTO_ERR_NO_TLS);
	return exec_answer(conn, &req->form,
			   tls_refresh(tls) == 0 ? PROTO_DONE
						 : PROTO_ERR_CERTS);
}

/* debugtime <seconds>: forward; p: stop; r: go on from there. */
enum conn_next exec_debugtime(struct conn *conn,
			      const struct proto_request *req)
{
	struct server *server = conn->worker->server;
	uint32_t seconds;

	if (!server->options->debug_enabled || req->arg_count == 0)
		return exec_answer(conn, &req->form, PROTO_ERR_UNKNOWN);
	if (proto_slice_is(req->args[0], "p"))
		clock_stop(&server->clock);
	else if (proto_slice_is(req->args[0], "r"))
		clock_resume(&server->clock);
	else if (proto_parse_u32(req->args[0], &seconds))
		clock_move(&server->clock, (int64_t)seconds * 1000000);
	else
		return exec_answer(conn, &req->form, PROTO_ERR_UNKNOWN);
	return exec_answer(conn, &req->form, PROTO_DONE);
}

enum conn_next exec_quit(struct conn *conn, const struct proto_request *req)
{
	enum conn_next next = CONN_AGAIN;

	if (req->form.dialect == PROTO_BINARY)
		next = exec_answer(conn, &req->form, PROTO_DONE);
	conn_shut(conn);
	return next;
}
