/*
 * opcodes.c - the table of opcodes. The only place where their numbers stand.
 *
 * What is not in it is answered "Unknown command". It holds no opcodes of our
 * own: clients and tests count on the free ones being refused.
 */
#include "protocol/opcodes.h"

#define LOUD(verb, body)                              \
	{                                             \
		PROTO_##verb, PROTO_BODY_##body, 0, 0 \
	}
#define QUIET(verb, body)                             \
	{                                             \
		PROTO_##verb, PROTO_BODY_##body, 1, 0 \
	}
#define LOUD_KEY(verb, body)                          \
	{                                             \
		PROTO_##verb, PROTO_BODY_##body, 0, 1 \
	}
#define QUIET_KEY(verb, body)                         \
	{                                             \
		PROTO_##verb, PROTO_BODY_##body, 1, 1 \
	}

static const struct proto_opcode opcodes[] = {
	[0x00] = LOUD(GET, KEY),
	[0x01] = LOUD(SET, STORE),
	[0x02] = LOUD(ADD, STORE),
	[0x03] = LOUD(REPLACE, STORE),
	[0x04] = LOUD(DELETE, KEY),
	[0x05] = LOUD(INCR, ARITH),
	[0x06] = LOUD(DECR, ARITH),
	[0x07] = LOUD(QUIT, EMPTY),
	[0x08] = LOUD(FLUSH_ALL, FLUSH),
	[0x09] = QUIET(GET, KEY),
	[0x0a] = LOUD(NOOP, EMPTY),
	[0x0b] = LOUD(VERSION, EMPTY),
	[0x0c] = LOUD_KEY(GET, KEY),
	[0x0d] = QUIET_KEY(GET, KEY),
	[0x0e] = LOUD(APPEND, CONCAT),
	[0x0f] = LOUD(PREPEND, CONCAT),
	[0x10] = LOUD(STATS, STAT),
	[0x11] = QUIET(SET, STORE),
	[0x12] = QUIET(ADD, STORE),
	[0x13] = QUIET(REPLACE, STORE),
	[0x14] = QUIET(DELETE, KEY),
	[0x15] = QUIET(INCR, ARITH),
	[0x16] = QUIET(DECR, ARITH),
	[0x17] = QUIET(QUIT, EMPTY),
	[0x18] = QUIET(FLUSH_ALL, FLUSH),
	[0x19] = QUIET(APPEND, CONCAT),
	[0x1a] = QUIET(PREPEND, CONCAT),
	[0x1c] = LOUD(TOUCH, EXPTIME_KEY),
	[0x1d] = LOUD(GAT, EXPTIME_KEY),
	[0x1e] = QUIET(GAT, EXPTIME_KEY),
	[0x20] = LOUD(SASL_LIST, EMPTY),
	[0x21] = LOUD(SASL_START, LOGIN),
	[0x22] = LOUD(SASL_STEP, LOGIN),
	[0x23] = LOUD_KEY(GAT, EXPTIME_KEY),
	[0x24] = QUIET_KEY(GAT, EXPTIME_KEY),
};

/* The lengths of the parts of a body. */
static const struct {
	uint8_t extras_bytes;
	bool without_extras; /* or none */
	uint8_t key_min_bytes, key_max_bytes;
	bool value; /* of any length; else none */
} bodies[PROTO_BODY_COUNT] = {
	[PROTO_BODY_KEY] = {0, false, 1, PROTO_KEY_MAX, false},
	[PROTO_BODY_EXPTIME_KEY] = {4, false, 1, PROTO_KEY_MAX, false},
	[PROTO_BODY_STORE] = {8, false, 1, PROTO_KEY_MAX, true},
	[PROTO_BODY_CONCAT] = {0, false, 1, PROTO_KEY_MAX, true},
	[PROTO_BODY_ARITH] = {20, false, 1, PROTO_KEY_MAX, false},
	[PROTO_BODY_FLUSH] = {4, true, 0, 0, false},
	[PROTO_BODY_STAT] = {0, false, 0, PROTO_KEY_MAX, false},
	[PROTO_BODY_LOGIN] = {0, false, 1, PROTO_KEY_MAX, true},
};

const struct proto_opcode *proto_opcode_find(uint8_t number)
{
	if (number >= sizeof(opcodes) / sizeof(opcodes[0]) ||
	    opcodes[number].body == PROTO_BODY_UNKNOWN)
		return NULL;
	return &opcodes[number];
}

bool proto_body_fits(enum proto_body body, size_t extras_bytes,
		     size_t key_bytes, size_t value_bytes)
{
	if (extras_bytes != bodies[body].extras_bytes &&
	    !(extras_bytes == 0 && bodies[body].without_extras))
		return false;
	return key_bytes >= bodies[body].key_min_bytes &&
	       key_bytes <= bodies[body].key_max_bytes &&
	       (value_bytes == 0 || bodies[body].value);
}
