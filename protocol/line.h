/*
 * line.h - one text line at work, and the two parsers it is given to.
 *
 * Private to protocol/. text.c cuts a line out of the stream and looks up its
 * first word; classic.c or meta.c reads the arguments into line->ret, of
 * which everything but `consumed` and the request's form is zero then.
 *
 * The rule that outranks all others: the bytes of a value must never be run
 * as commands. So a storage line that is refused still says how many bytes of
 * block to skip, and if its length cannot be trusted, the connection closes.
 */
#ifndef PROTOCOL_LINE_H
#define PROTOCOL_LINE_H

#include "protocol/protocol.h"
#include "protocol/verbs.h"

struct line {
	struct proto_slice rest; /* the tokens not taken yet; trimmed */
	const struct proto_limits *limits;
	struct proto_parsed *ret;
};

/* The arguments behind a classic or administrative word. */
enum proto_event classic_parse(struct line *line, enum proto_shape shape);

/* The arguments behind a meta word. */
enum proto_event meta_parse(struct line *line, enum proto_shape shape);

/* Refuses a line behind which no block comes. */
static inline enum proto_event line_refuse(struct line *line,
					   enum proto_code code)
{
	line->ret->code = code;
	return PROTO_REFUSED;
}

/* Refuses a storage line whose block has a known length. */
static inline enum proto_event
line_refuse_block(struct line *line, enum proto_code code, uint32_t block_bytes)
{
	line->ret->swallow = (uint64_t)block_bytes + 2;
	return line_refuse(line, code);
}

/* Refuses a storage line behind which a block of unknown length may come. */
static inline enum proto_event line_refuse_and_close(struct line *line)
{
	line->ret->close = true;
	return line_refuse(line, PROTO_ERR_FORMAT);
}

/* The length of a block: false if it cannot be trusted. */
static inline bool line_block_length(struct proto_slice text, uint32_t *ret)
{
	uint32_t length;

	/* With its CRLF it is at most 2^31 - 1. */
	if (!proto_parse_u32(text, &length) || length > INT32_MAX - 2)
		return false;
	*ret = length;
	return true;
}

/* The last step of a storage line: the block that is to come. */
static inline enum proto_event line_expect_block(struct line *line,
						 uint32_t length)
{
	if (length > line->limits->value_max_bytes)
		return line_refuse_block(line, PROTO_ERR_TOO_LARGE, length);
	line->ret->request.value_bytes = length;
	line->ret->request.value_tail = 2;
	line->ret->request.has_value = true;
	return PROTO_COMMAND;
}

#endif
