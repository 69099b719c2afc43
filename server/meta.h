/*
 * meta.h - what the meta commands share: from an item to their answer.
 *
 * Private to exec_meta.c (reads) and exec_meta_write.c.
 */
#ifndef SERVER_META_H
#define SERVER_META_H

#include "protocol/protocol.h"
#include "server/conn.h"

/* What the flags of an answer can say about an item; `code` is DONE. */
struct proto_meta_result meta_result_of(const struct conn *conn, uint64_t hash,
					const struct store_item *item);

/* Seconds from now to an expiry; -1: never. */
int64_t meta_ttl(const struct conn *conn, int64_t expiry);

/* Hands an mg that changes something to the writer. The result of exec_*. */
enum conn_next meta_lease(struct conn *conn, const struct proto_request *req,
			  struct proto_slice key);

#endif
