/*
 * reply.h - the answers of the text dialects, and how bytes are put together.
 *
 * Private to protocol/: answer.c, which chooses the dialect, calls these.
 * Nothing here looks at whether the command was a quiet one.
 */
#ifndef PROTOCOL_REPLY_H
#define PROTOCOL_REPLY_H

#include "protocol/protocol.h"

/* The line of a code that carries no number, CRLF included. Static. */
struct proto_slice text_answer(const struct proto_form *form,
			       enum proto_code code);

/* The number and CRLF, in `room`, which has PROTO_ANSWER_MAX bytes. */
struct proto_slice text_number(uint64_t number, char *room);

/*
 * Writes "VALUE <key> <flags> <bytes>[ <cas>]" and CRLF to buf, which has room
 * for PROTO_VALUE_HEAD_MAX. Returns its length. The value and CRLF follow.
 */
size_t text_value(char *buf, const struct proto_form *form,
		  struct proto_slice key, uint32_t flags, size_t value_bytes,
		  uint64_t cas);

/*
 * Write to `at` and return the end of what was written: the number in
 * decimal, of at most 20 digits; a '-' in front if it is negative; the bytes.
 */
char *put_number(char *at, uint64_t number);
char *put_signed(char *at, int64_t number);
char *put_bytes(char *at, const char *bytes, size_t len);
static inline char *put_slice(char *at, struct proto_slice slice)
{
	return put_bytes(at, slice.data, slice.len);
}

#endif
