/*
 * pending.h - a write under way: from the op that is made to its answer.
 *
 * A command that changes something becomes a store_op, which goes to the
 * store with this turn's list. Its answer takes its place in the connection's
 * output at once, pending, and lies inside the op itself (struct pending, the
 * op's `user`); pending_finish() fills it when the op has come back. A command
 * that is never answered (noreply) has no place in the output: its op is freed
 * when it comes back. version and mn wait for that, so that a client can tell
 * by their answers that what it sent before is done.
 *
 * Thread: the connection's worker. Blocks: never.
 */
#ifndef SERVER_PENDING_H
#define SERVER_PENDING_H

#include <stdbool.h>
#include <stdint.h>

#include "protocol/protocol.h"
#include "server/conn.h"

struct pending {
	struct conn *conn;
	struct proto_form form;
	bool no_answer;
	size_t held; /* memory of the op, but for its value */
	/* Fills the answer, if it is more than a line. */
	void (*fill)(struct store_op *op, enum proto_code code);
	struct reply reply;
	char text[PROTO_ANSWER_MAX];
	/* gat: one op a key, so there is one answer of many ops */
	bool is_last;
	unsigned list;
	struct reply end; /* what the last key is followed by */
};

/*
 * Makes the op of a command, with what the request says of it, and with
 * more_bytes of room behind struct pending. NULL: no memory. Owner: the
 * caller, until pending_submit(); store_op_free().
 */
struct store_op *pending_new(struct conn *conn, enum store_op_kind kind,
			     const struct proto_request *req,
			     struct proto_slice key, uint32_t value_bytes,
			     size_t more_bytes);

/* The room behind struct pending. */
static inline char *pending_more(struct pending *pending)
{
	return (char *)(pending + 1);
}

/* Takes the answer's place in the output, if there is to be one. */
void pending_expect(struct store_op *op);

/* Adds the op to this turn's list: it is on its way. */
void pending_submit(struct store_op *op);

/* It has come back: counts it and answers. The op may be freed by that. */
void pending_finish(struct store_op *op);

/*
 * True if it stores whatever is there: then the item counts as not fetched
 * from the submit on, so that a get behind it in the pipeline is not forgotten
 * when the op comes back.
 */
bool pending_always_stores(const struct store_op *op);

/* Memory that the op holds until its answer has left. */
size_t pending_held(const struct store_op *op);

/* The absolute second of a client's time; rounded up, to never be early. */
int64_t pending_expiry(const struct conn *conn, int64_t exptime);

#endif
