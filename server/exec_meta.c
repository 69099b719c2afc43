/*
 * exec_meta.c - mg and me: reads, until there is something to change.
 *
 * An mg is a get of the worker as long as it leaves the item alone. What
 * sets an expiry (T), makes a missing item (N), or gives out the right to
 * compute a value anew (a stale item, R) is a lease, decided by the writer:
 * exec_meta_write.c.
 */
#include "server/ahead.h"
#include "server/exec.h"
#include "server/fetch.h"
#include "server/meta.h"
#include "server/shared.h"

/* Enough to read the head of an item whose value nobody asked for. */
#define PEEK_BYTES (STORE_RECORD_HEAD_MAX + 512)

int64_t meta_ttl(const struct conn *conn, int64_t expiry)
{
	const struct clock *clock = &conn->worker->server->clock;
	int64_t left;

	if (expiry == 0)
		return -1;
	/* As it was rounded up when it was set. */
	left = expiry - clock_next_second(clock);
	return left > 0 ? left : 0;
}

struct proto_meta_result meta_result_of(const struct conn *conn, uint64_t hash,
					const struct store_item *item)
{
	const struct server *server = conn->worker->server;
	struct access access = access_look(server->access, hash);
	int64_t idle = conn->worker->now_seconds - access.last;

	return (struct proto_meta_result){
		.code = PROTO_DONE,
		.value_bytes = item->value_bytes,
		.flags = item->flags,
		.cas = server->options->cas_enabled ? item->cas : 0,
		.ttl = meta_ttl(conn, item->expiry),
		.ttl_before = meta_ttl(conn, item->expiry),
		.fetched_before = access.fetched,
		.idle_seconds = idle > 0 ? (uint64_t)idle : 0,
		.key_base64 = item->key_base64,
		.win = item->win,
		.won = item->won,
		.stale = item->stale,
	};
}

/* --- mg ----------------------------------------------------------------- */

/*
 * True if this mg gets the right to compute the value anew. Not of use to one
 * who may not store it: he sees it as it is, and the next one wins.
 */
static bool would_win(const struct conn *conn, const struct store_item *item)
{
	const struct proto_request *req = &conn->parsed.request;
	int64_t now = clock_now_seconds(&conn->worker->server->clock);

	if (item->won || conn->login.read_only)
		return false;
	return item->stale || (proto_has(req, 'R') && item->expiry != 0 &&
			       item->expiry - now < req->meta.recache_seconds);
}

static bool wants_value(const struct proto_request *req, uint64_t cas)
{
	return proto_has(req, 'v') && !(req->compare && req->cas == cas);
}

/* Decides who answers, once: a moment later it may be another. */
static size_t meta_head(struct conn *conn, char *buf, struct proto_slice key,
			struct store_item *item, bool *with_value)
{
	const struct proto_request *req = &conn->parsed.request;
	struct proto_meta_result result;

	item->win = would_win(conn, item);
	if (item->win) {
		*with_value = false;
		return 0;
	}
	result = meta_result_of(conn, item->hash, item);
	result.with_value = *with_value && wants_value(req, item->cas);
	*with_value = result.with_value;
	return proto_meta_answer(buf, req, key, &result);
}

static size_t meta_miss(struct conn *conn, char *buf, struct proto_slice key)
{
	const struct proto_request *req = &conn->parsed.request;
	struct proto_meta_result result = {.code = PROTO_END,
					   .key_base64 = proto_has(req, 'b')};

	if (req->create)
		return 0;
	return proto_meta_answer(buf, req, key, &result);
}

/* Without v: the head of the record is enough. */
static enum store_status look_at(struct conn *conn, struct proto_slice key,
				 struct store_item *item)
{
	char record[PEEK_BYTES], *to;
	enum store_status status =
		store_get(conn->worker->reader, key.data, key.len, record,
			  sizeof(record), 0, item);
	bool with_value = false;
	size_t room, bytes;

	if (status == STORE_GROW)
		status = STORE_OK;
	if (status != STORE_OK && status != STORE_NOT_FOUND)
		return status;
	to = output_room(&conn->out, PROTO_META_HEAD_MAX, &room);
	if (to == NULL)
		return STORE_NO_MEMORY;
	bytes = status == STORE_OK ? meta_head(conn, to, key, item, &with_value)
				   : meta_miss(conn, to, key);
	output_keep(&conn->out, bytes, item->shown_from);
	return status;
}

enum conn_next exec_meta_get(struct conn *conn, const struct proto_request *req)
{
	static const struct fetch fetch = {
		PROTO_META_HEAD_MAX, meta_head, meta_miss, {"\r\n", 2}};
	struct worker *worker = conn->worker;
	char room[PROTO_KEY_MAX];
	struct proto_slice key = proto_meta_key(req, room);
	struct store_item item;
	enum store_status status;

	if (req->has_exptime)
		return meta_lease(conn, req, key);
	ahead_of_pipeline(conn);
	status = proto_has(req, 'v') ? fetch_item(conn, key, &fetch, &item)
				     : look_at(conn, key, &item);
	if (status != STORE_OK && status != STORE_NOT_FOUND)
		return exec_answer(conn, &req->form, exec_code(worker, status));
	if (status == STORE_OK ? item.win : req->create)
		return meta_lease(conn, req, key);
	if (status == STORE_OK && !proto_has(req, 'u'))
		access_fetched(worker->server->access, item.hash,
			       worker->now_seconds);
	exec_count_get(conn, key, status, &item);
	return CONN_AGAIN;
}

/* --- me ----------------------------------------------------------------- */

enum conn_next exec_meta_debug(struct conn *conn,
			       const struct proto_request *req)
{
	struct worker *worker = conn->worker;
	char room[PROTO_KEY_MAX], record[PEEK_BYTES], *to;
	struct proto_slice key = proto_meta_key(req, room);
	struct proto_meta_result result = {.code = PROTO_END};
	struct store_item item;
	enum store_status status = store_get(worker->reader, key.data, key.len,
					     record, sizeof(record), 0, &item);
	bool is_there = status == STORE_OK || status == STORE_GROW;
	size_t room_bytes, bytes;

	COUNT(worker, cmd_meta);
	if (!is_there && status != STORE_NOT_FOUND)
		return exec_answer(conn, &req->form, exec_code(worker, status));
	to = output_room(&conn->out, PROTO_META_HEAD_MAX, &room_bytes);
	if (to == NULL)
		return CONN_DROP;
	if (is_there) {
		result = meta_result_of(conn, item.hash, &item);
		bytes = proto_meta_debug(to, req, key, &result);
	} else {
		bytes = proto_meta_answer(to, req, key, &result);
	}
	output_keep(&conn->out, bytes, item.shown_from);
	return CONN_AGAIN;
}
