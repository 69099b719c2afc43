/*
 * exec_watch.c - the watch command, and the lines that watchers are shown.
 *
 * A watcher is a connection whose answer never ends: a stream that is parked
 * until its buffer holds lines. What it sends from then on is dropped.
 */
#include "server/exec.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "server/conn_io.h"
#include "server/pending.h"
#include "server/shared.h"
#include "server/slab_class.h"

#define KEY_BYTES (3 * PROTO_KEY_MAX + 1)

/* A watcher that does not read holds its buffer, and no more. */
static bool has_lines(struct conn *conn)
{
	return conn->out.head == NULL &&
	       watcher_has_lines(&conn->worker->server->watch, conn->watcher);
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
	} while (proto_next_token(&rest, &word));
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
	conn_want_input(conn, true); /* or its end would not be seen */
	conn->stream = watch_more;
	conn_set_step(conn, CONN_WATCHING);
	return next;
}

/* --- lines -------------------------------------------------------------- */

static const char *show_key(char *buf, const char *key, size_t key_bytes)
{
	struct proto_slice bytes = {key, key_bytes};

	buf[proto_percent_encode(bytes, buf)] = '\0';
	return buf;
}

static const char *found_word(bool found, const struct store_item *item)
{
	if (found)
		return "found";
	if (item->flushed)
		return "flushed";
	return item->expired ? "expired" : "not_found";
}

void exec_watch_get(struct conn *conn, struct proto_slice key, bool found,
		    const struct store_item *item)
{
	struct server *server = conn->worker->server;
	char text[KEY_BYTES];

	if (!watch_wants(&server->watch, WATCH_FETCHERS))
		return;
	watch_say(&server->watch, WATCH_FETCHERS, clock_now_us(&server->clock),
		  "item_get key=%s status=%s clsid=%d cfd=%d size=%zu",
		  show_key(text, key.data, key.len), found_word(found, item),
		  found ? SLAB_CLASS_OURS : 0, conn->transport.fd,
		  found ? item->value_bytes : 0);
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

/* By what it does, in every dialect; NULL: it stores nothing. */
static const char *store_word(const struct store_op *op)
{
	switch (op->kind) {
	case STORE_SET:
		return op->compare ? "cas" : "set";
	case STORE_ADD:
		return "add";
	case STORE_REPLACE:
		return "replace";
	case STORE_APPEND:
		return "append";
	case STORE_PREPEND:
		return "prepend";
	case STORE_INCR:
		return op->status == STORE_OK ? "incr" : NULL;
	case STORE_DECR:
		return op->status == STORE_OK ? "decr" : NULL;
	case STORE_TOUCH:
	case STORE_GET_AND_TOUCH:
	case STORE_LEASE:
	case STORE_DELETE:
	case STORE_INVALIDATE:
	case STORE_FLUSH:
	case STORE_RECLAIM:
	case STORE_DELETE_OLDER:
		break;
	}
	return NULL;
}

/* Bytes of the value that is there now; of a refused one: that was sent. */
static uint64_t stored_bytes(const struct store_op *op)
{
	bool grew = op->kind == STORE_APPEND || op->kind == STORE_PREPEND;
	bool counted = op->kind == STORE_INCR || op->kind == STORE_DECR;

	if (counted)
		return (uint64_t)snprintf(NULL, 0, "%" PRIu64, op->number);
	return grew && op->status == STORE_OK ? op->number : op->value_bytes;
}

/* Seconds that are left, as the client has given them; -1: it has expired. */
static int64_t ttl_of(const struct store_op *op, int64_t now_us)
{
	int64_t left = op->expiry - (now_us + 999999) / 1000000;

	if (op->expiry == 0)
		return 0;
	return left > 0 ? left : -1;
}

static void say_stored(struct conn *conn, const struct store_op *op)
{
	struct server *server = conn->worker->server;
	int64_t now_us = clock_now_us(&server->clock);
	const char *word = store_word(op);
	char text[KEY_BYTES];

	if (word == NULL || !watch_wants(&server->watch, WATCH_MUTATIONS))
		return;
	watch_say(&server->watch, WATCH_MUTATIONS, now_us,
		  "item_store key=%s status=%s cmd=%s ttl=%" PRId64
		  " clsid=%d cfd=%d size=%" PRIu64,
		  show_key(text, op->key, op->key_bytes),
		  status_word(op->status), word, ttl_of(op, now_us),
		  SLAB_CLASS_OURS, conn->transport.fd, stored_bytes(op));
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
	exec_watch_get(pending->conn, key, op->was_live, &op->found);
	if (op->kind == STORE_DELETE)
		say_deleted(pending->conn, op, verb);
	else
		say_stored(pending->conn, op);
}

static bool is_local(const char *addr)
{
	return strncmp(addr, "unix:", 5) == 0;
}

/* Takes "tcp:1.2.3.4:567" and "tcp6:[::1]:567" apart; others have no name. */
static void split_addr(const char *addr, char *host, size_t host_bytes,
		       char *port, size_t port_bytes)
{
	const char *start = strchr(addr, ':'), *end = strrchr(addr, ':');

	if (is_local(addr) || start == NULL || end <= start) {
		(void)snprintf(host, host_bytes, "unix");
		(void)snprintf(port, port_bytes, "0");
		return;
	}
	(void)snprintf(port, port_bytes, "%s", end + 1);
	if (*++start == '[') {
		start++;
		end--;
	}
	(void)snprintf(host, host_bytes, "%.*s", (int)(end - start), start);
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
		  port, is_local(conn->addr) ? "local" : "tcp",
		  reason != NULL ? " reason=" : "",
		  reason != NULL ? reason : "", conn->transport.fd);
}
