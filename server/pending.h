/*
 * pending.h - a write under way: from the op that is made to its answer.
 *
 * A command that changes something becomes a store_op, which goes to the
 * store with this turn's list. Its answer takes its place in the connection's
 * output at once, pending, and lies inside the op itself (struct pending, the
 * op's `user`); exec_finish() fills it when the op has come back. A quiet
 * command has no place in the output: its op is freed when it comes back.
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
	struct op_reply answer;
	enum proto_verb verb;
	bool quiet, want_cas;
	/* Fills the answer, if it is more than a line. */
	void (*fill)(struct store_op *op, enum proto_code code);
	/* gat: one op a key; what follows the value, and END after the last */
	struct op_reply rest;
	bool is_last;
	unsigned list;
};

/*
 * Makes the op of a command. NULL: no memory. Owner: the caller, until
 * pending_submit(); store_op_free().
 */
struct store_op *pending_new(struct conn *conn, enum store_op_kind kind,
			     const struct proto_request *req,
			     uint32_t value_bytes);

/* Takes the answer's place in the output, unless quiet. */
void pending_expect(struct store_op *op);

/* Adds the op to this turn's list: it is on its way. */
void pending_submit(struct store_op *op);

/* Memory that the op holds until its answer has left. */
size_t pending_held(const struct store_op *op);

/* The absolute second of a client's time; rounded up, to never be early. */
int64_t pending_expiry(int64_t exptime);

#endif
