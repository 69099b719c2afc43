/*
 * exec_watch.c - the watch command, and the lines that watchers are shown.
 *
 * A watcher is a connection whose answer never ends: a stream that is parked
 * until its buffer holds lines. What it sends from then on is dropped.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "server/exec.h"
#include "server/pending.h"
#include "server/shared.h"
#include "server/slab_class.h"

#define KEY_BYTES (3 * PROTO_KEY_MAX + 1)

static bool has_lines(struct conn *conn)
{
	return watcher_has_lines(&conn->worker->server->watch, conn->watcher);
}

static enum conn_next watch_more(struct conn *conn)
{
	struct watch_hub *hub = &conn->worker->server->watch;
	size_t room;
	char *to = output_room(&conn->out, OUTPUT_ROOM_MAX, &room);

	if (to == NULL)
		return CONN_DROP;
	output_keep(&conn->out, watcher_take(hub, conn->watcher, to, room), 0);
	return CONN_PARK;
}

/* 0: a word is the name of no stream. */
static unsigned streams_of(const struct proto_request *req)
{
	struct proto_slice rest = req->rest, word;
	unsigned stream, streams = 0;

	if (req->arg_count == 0)
		return WATCH_FETCHERS;
	word = req->args[0];
	do {
		stream = watch_stream_named(word.data, word.len);
		if (stream == 0)
			return 0;
		streams |= stream;
	} while (proto_next_word(&rest, &word));
	return streams;
}

enum conn_next exec_watch(struct conn *conn, const struct proto_request *req)
{
	struct server *server = conn->worker->server;
	unsigned streams = streams_of(req);
	enum conn_next next;
	int err;

	if (conn->udp != NULL)
		return exec_answer(conn, &req->form, PROTO_ERR_UNKNOWN);
	if (!server->options->watch_enabled)
		return exec_answer(conn, &req->form, PROTO_ERR_WATCH_DISABLED);
	if (conn->out.head != NULL)
		return exec_answer(conn, &req->form, PROTO_ERR_WATCH_PIPELINED);
	if (streams == 0)
		return exec_answer(conn, &req->form, PROTO_ERR_UNKNOWN);
	err = watcher_new(&server->watch, streams, worker_wake, conn->worker,
			  &conn->watcher);
	if (err != 0)
		return exec_answer(conn, &req->form,
				   err == -EUSERS ? PROTO_ERR_WATCH_MANY
						  : PROTO_ERR_NO_MEMORY);
	next = exec_answer(conn, &req->form, PROTO_DONE);
	conn_await(conn, has_lines);
	conn->stream = watch_more;
	conn_set_step(conn, CONN_STREAM);
	return next;
}

/* --- lines -------------------------------------------------------------- */

static const char *show_key(char *buf, const char *key, size_t key_bytes)
{
	struct proto_slice bytes = {key, key_bytes};

	buf[proto_percent_encode(bytes, buf)] = '\0';
	return buf;
}

void exec_watch_get(struct conn *conn, struct proto_slice key, bool found,
		    size_t value_bytes)
{
	struct server *server = conn->worker->server;
	char text[KEY_BYTES];

	if (!watch_wants(&server->watch, WATCH_FETCHERS))
		return;
	watch_say(&server->watch, WATCH_FETCHERS, clock_now_us(&server->clock),
		  "item_get key=%s status=%s clsid=%d cfd=%d size=%zu",
		  show_key(text, key.data, key.len),
		  found ? "found" : "not_found", found ? SLAB_CLASS_OURS : 0,
		  conn->transport.fd, found ? value_bytes : 0);
}

static const char *status_word(enum store_status status)
{
	switch (status) {
	case STORE_OK:
		return "stored";
	case STORE_EXISTS:
		return "exists";
	case STORE_NOT_FOUND:
		return "not_found";
	case STORE_NOT_STORED:
		return "not_stored";
	case STORE_TOO_LARGE:
		return "too_large";
	case STORE_NO_SPACE:
	case STORE_NO_MEMORY:
		return "no_memory";
	case STORE_NOT_NUMBER:
	case STORE_GROW:
	case STORE_FAILED:
		break;
	}
	return "unknown";
}

static void say_stored(struct conn *conn, const struct store_op *op,
		       enum proto_verb verb)
{
	struct server *server = conn->worker->server;
	int64_t now_us = clock_now_us(&server->clock);
	char text[KEY_BYTES];

	if (!watch_wants(&server->watch, WATCH_MUTATIONS))
		return;
	watch_say(&server->watch, WATCH_MUTATIONS, now_us,
		  "item_store key=%s status=%s cmd=%s ttl=%lld clsid=%d cfd=%d "
		  "size=%u",
		  show_key(text, op->key, op->key_bytes),
		  status_word(op->status), proto_verb_name(verb),
		  op->expiry == 0 ? 0LL
				  : (long long)(op->expiry - now_us / 1000000),
		  SLAB_CLASS_OURS, conn->transport.fd, op->value_bytes);
}

static void say_deleted(struct conn *conn, const struct store_op *op,
			enum proto_verb verb)
{
	struct server *server = conn->worker->server;
	char text[KEY_BYTES];

	if (!watch_wants(&server->watch, WATCH_DELETIONS) ||
	    op->status != STORE_OK)
		return;
	watch_say(&server->watch, WATCH_DELETIONS, clock_now_us(&server->clock),
		  "deleted key=%s cmd=%s clsid=%d size=%zu",
		  show_key(text, op->key, op->key_bytes), proto_verb_name(verb),
		  SLAB_CLASS_OURS, op->found.value_bytes);
}

void exec_watch_write(const struct store_op *op, enum proto_verb verb)
{
	const struct pending *pending = op->user;
	struct proto_slice key = {op->key, op->key_bytes};

	if (op->kind == STORE_FLUSH || op->kind == STORE_LEASE)
		return; /* a lease is counted, and shown, as a get */
	exec_watch_get(pending->conn, key, op->was_live, op->found.value_bytes);
	if (op->kind == STORE_DELETE)
		say_deleted(pending->conn, op, verb);
	else
		say_stored(pending->conn, op, verb);
}

/* Takes "tcp:1.2.3.4:567" apart, where it can be. */
static void split_addr(const char *addr, char *host, size_t host_bytes,
		       char *port, size_t port_bytes)
{
	const char *start = strchr(addr, ':'), *end = strrchr(addr, ':');

	if (start == NULL || end <= start || *addr == 'u') {
		(void)snprintf(host, host_bytes, "%s", addr);
		(void)snprintf(port, port_bytes, "0");
		return;
	}
	(void)snprintf(host, host_bytes, "%.*s", (int)(end - start - 1),
		       start + 1);
	(void)snprintf(port, port_bytes, "%s", end + 1);
}

void exec_watch_conn(struct conn *conn, const char *what, const char *reason)
{
	struct server *server = conn->worker->server;
	char host[REGISTRY_ADDR_BYTES], port[8];

	if (!watch_wants(&server->watch, WATCH_CONNEVENTS))
		return;
	split_addr(conn->addr, host, sizeof(host), port, sizeof(port));
	watch_say(&server->watch, WATCH_CONNEVENTS,
		  clock_now_us(&server->clock),
		  "%s rip=%s rport=%s transport=%s%s%s cfd=%d", what, host,
		  port, *conn->addr == 'u' ? "local" : "tcp",
		  reason != NULL ? " reason=" : "",
		  reason != NULL ? reason : "", conn->transport.fd);
}
