/*
 * fetch.h - an item read from the store straight into a connection's output.
 *
 * Into a block of the pool, where a head is then put in front of the value
 * and a tail behind it; or, if the value is big, into memory of its own that
 * leaves room for both. What they look like is the caller's business.
 *
 * Thread: the connection's worker. Blocks: on page reads.
 */
#ifndef SERVER_FETCH_H
#define SERVER_FETCH_H

#include "protocol/protocol.h"
#include "server/conn.h"

struct fetch {
	size_t head_max; /* <= FETCH_HEAD_MAX: of head() and miss() */
	/*
	 * Writes what goes in front of the item, to buf; clears *with_value if
	 * the value and the tail are not to follow. 0: nothing is answered.
	 * May note in the item what it has decided.
	 */
	size_t (*head)(struct conn *conn, char *buf, struct proto_slice key,
		       struct store_item *item, bool *with_value);
	/* Writes the answer to a key that is not there. */
	size_t (*miss)(struct conn *conn, char *buf, struct proto_slice key);
	struct proto_slice tail; /* at most FETCH_TAIL_MAX bytes */
};

#define FETCH_HEAD_MAX PROTO_META_HEAD_MAX
#define FETCH_TAIL_MAX 2

/*
 * Queues the answer to one key. Returns OK or NOT_FOUND, and the item as it
 * was read (its value is gone), or a failure: then nothing is queued.
 */
enum store_status fetch_item(struct conn *conn, struct proto_slice key,
			     const struct fetch *fetch, struct store_item *ret);

#endif
