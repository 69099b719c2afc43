/*
 * protocol_rig.h - a text line, and what the parser makes of it, as text.
 *
 * The tests of the text dialects are tables of these.
 */
#ifndef TESTS_UNIT_PROTOCOL_RIG_H
#define TESTS_UNIT_PROTOCOL_RIG_H

#include "protocol/protocol.h"

/* A slice of a string literal, which may hold NUL. */
#define L(text)                        \
	{                              \
		text, sizeof(text) - 1 \
	}
/* Keys of 50 and 250 bytes. */
#define K50  "kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk"
#define K250 K50 K50 K50 K50 K50

struct parse_case {
	struct proto_slice line;
	const char *want;
};

/*
 * Parses the line whole, with other bytes behind it, split at every byte, and
 * between two unreadable pages; a check fails if the result is not as wanted.
 * The item limit is 1000 bytes, that of lines 2048.
 */
void rig_check_line(const struct parse_case *want);

#endif
