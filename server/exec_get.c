/*
 * exec_get.c - get and gets: any number of keys, some of them each turn.
 */
#include "server/ahead.h"
#include "server/exec.h"
#include "server/fetch.h"
#include "server/shared.h"

/* Keys of one turn; a longer list gives way to other connections. */
#define GET_KEYS_A_TURN 64

static size_t get_head(struct conn *conn, char *buf, struct proto_slice key,
		       struct store_item *item, bool *with_value)
{
	bool cas_enabled = conn->worker->server->options->cas_enabled;

	(void)with_value;
	return proto_value(buf, &conn->parsed.request.form, key, item->flags,
			   item->value_bytes, cas_enabled ? item->cas : 0);
}

static size_t get_miss(struct conn *conn, char *buf, struct proto_slice key)
{
	return proto_value_miss(buf, &conn->parsed.request.form, key);
}

void exec_count_get(struct conn *conn, struct proto_slice key,
		    enum store_status status, const struct store_item *item)
{
	struct worker *worker = conn->worker;
	struct prefixes *prefixes = &worker->server->prefixes;

	COUNT(worker, cmd_get);
	exec_watch_get(conn, key, status == STORE_OK, item);
	prefixes_count(prefixes, PREFIX_GET, key.data, key.len);
	if (status == STORE_OK) {
		COUNT(worker, get_hits);
		COUNT_N(worker, item_cache_hits, item->cached);
		prefixes_count(prefixes, PREFIX_HIT, key.data, key.len);
		return;
	}
	COUNT(worker, get_misses);
	if (item->expired)
		COUNT(worker, get_expired);
	if (item->flushed)
		COUNT(worker, get_flushed);
}

static bool is_answer(enum store_status status)
{
	return status == STORE_OK || status == STORE_NOT_FOUND;
}

static enum store_status get_one(struct conn *conn, struct proto_slice key)
{
	const struct fetch fetch = {
		PROTO_VALUE_HEAD_MAX, get_head, get_miss,
		proto_value_tail(&conn->parsed.request.form)};
	struct worker *worker = conn->worker;
	struct store_item item;
	enum store_status status = fetch_item(conn, key, &fetch, &item);

	if (status == STORE_OK)
		access_fetched(worker->server->access, item.hash,
			       worker->now_seconds);
	if (is_answer(status))
		exec_count_get(conn, key, status, &item);
	return status;
}

static void look_ahead(const struct conn *conn)
{
	const struct proto_request *req = &conn->parsed.request;
	struct proto_slice key = req->key, keys = req->keys;
	struct ahead ahead = {0};

	do {
		ahead_add(&ahead, conn->worker, key);
	} while (ahead.count < AHEAD_MAX && proto_next_token(&keys, &key));
	ahead_prefetch(&ahead, conn->worker);
}

/* The end of the command; after a failure what was found stays an answer. */
static enum conn_next get_end(struct conn *conn, enum store_status status)
{
	const struct proto_form *form = &conn->parsed.request.form;

	if (is_answer(status))
		return exec_write(conn, proto_value_end(form));
	return exec_answer(conn, form, exec_code(conn->worker, status));
}

static enum conn_next get_more(struct conn *conn)
{
	struct proto_request *req = &conn->parsed.request;
	unsigned left = GET_KEYS_A_TURN;

	while (left-- > 0) {
		enum store_status status;

		if (left % AHEAD_MAX == AHEAD_MAX - 1 && req->keys.len > 0)
			look_ahead(conn);
		status = get_one(conn, req->key);
		if (!is_answer(status) ||
		    !proto_next_token(&req->keys, &req->key))
			return get_end(conn, status);
		if (!conn_can_go_on(conn, 0))
			return CONN_PARK;
	}
	return CONN_YIELD;
}

enum conn_next exec_get(struct conn *conn, const struct proto_request *req)
{
	if (req->keys.len == 0) {
		ahead_of_pipeline(conn);
		return get_end(conn, get_one(conn, req->key));
	}
	/* req is conn->parsed.request, which a stream keeps. */
	conn->stream = get_more;
	conn_set_step(conn, CONN_STREAM);
	return CONN_AGAIN;
}
