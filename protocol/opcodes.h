/*
 * opcodes.h - the opcodes of the binary dialect, and what a packet of each
 * carries.
 *
 * Private to protocol/. The binary sister of verbs.h: a new command is a new
 * entry, and a new body only if its packet looks like nobody else's.
 */
#ifndef PROTOCOL_OPCODES_H
#define PROTOCOL_OPCODES_H

#include "protocol/protocol.h"

/* What stands behind the head of a packet; extras with their bytes. */
enum proto_body {
	PROTO_BODY_UNKNOWN, /* no opcode has this */
	PROTO_BODY_EMPTY,
	PROTO_BODY_KEY,		/* key */
	PROTO_BODY_EXPTIME_KEY, /* exptime 4; key */
	PROTO_BODY_STORE,	/* flags 4, exptime 4; key; value */
	PROTO_BODY_CONCAT,	/* key; value */
	PROTO_BODY_ARITH,	/* delta 8, initial 8, exptime 4; key */
	PROTO_BODY_FLUSH,	/* exptime 4, or nothing */
	PROTO_BODY_STAT,	/* key: words, or nothing */
	PROTO_BODY_LOGIN,	/* key: mechanism; value */
	PROTO_BODY_COUNT
};

struct proto_opcode {
	enum proto_verb verb;
	enum proto_body body;
	bool quiet;
	bool want_key; /* its answer repeats the key */
};

/* Returns the entry of an opcode, or NULL if no command has it. */
const struct proto_opcode *proto_opcode_find(uint8_t number);

/* True if a body may have parts of these lengths, in bytes. */
bool proto_body_fits(enum proto_body body, size_t extras_bytes,
		     size_t key_bytes, size_t value_bytes);

#endif
