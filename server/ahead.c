/*
 * ahead.c - see ahead.h.
 */
#include "server/ahead.h"

#include "server/access.h"
#include "server/shared.h"

void ahead_add(struct ahead *ahead, const struct worker *worker,
	       struct proto_slice key)
{
	uint64_t hash = store_prefetch(worker->reader, key.data, key.len);

	access_prefetch(worker->server->access, hash);
	ahead->hashes[ahead->count++] = hash;
}

void ahead_prefetch(const struct ahead *ahead, const struct worker *worker)
{
	for (unsigned i = 0; i < ahead->count; i++)
		store_prefetch_record(worker->reader, ahead->hashes[i]);
}

void ahead_of_pipeline(struct conn *conn)
{
	const struct worker *worker = conn->worker;
	const char *at = input_data(&conn->in) + conn->parsed.consumed;
	size_t left = input_bytes(&conn->in) - conn->parsed.consumed;
	struct proto_slice key = conn->parsed.request.key;
	struct ahead ahead;
	size_t bytes = 0;

	if (conn->ahead > 0) {
		conn->ahead--;
		return;
	}
	if (left == 0)
		return;
	ahead.count = 0;
	do {
		ahead_add(&ahead, worker, key);
		at += bytes;
		left -= bytes;
		bytes = conn->dialect == CONN_BINARY
				? proto_binary_peek(at, left, &key)
				: proto_text_peek(at, left, &key);
	} while (bytes > 0 && ahead.count < AHEAD_MAX);
	ahead_prefetch(&ahead, worker);
	conn->ahead = ahead.count - 1;
}
