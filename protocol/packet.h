/*
 * packet.h - the answers of the binary dialect.
 *
 * Private to protocol/: answer.c, which chooses the dialect, calls these.
 * Nothing here looks at whether the command was a quiet one. Each writes one
 * packet, or the head of one, and returns how many bytes it wrote.
 */
#ifndef PROTOCOL_PACKET_H
#define PROTOCOL_PACKET_H

#include "protocol/protocol.h"

/*
 * These three need room for PROTO_ANSWER_MAX. The id is told by a success of a
 * command that is about one item which is there after it.
 */
size_t packet_answer(char *buf, const struct proto_form *form,
		     enum proto_code code, uint64_t cas);
size_t packet_number(char *buf, const struct proto_form *form, uint64_t number,
		     uint64_t cas);
/* Flags, and a value of no bytes. */
size_t packet_touched(char *buf, const struct proto_form *form, uint32_t flags,
		      uint64_t cas);

/* Room for PROTO_VALUE_HEAD_MAX, as of the next. The value follows. */
size_t packet_value(char *buf, const struct proto_form *form,
		    struct proto_slice key, uint32_t flags, size_t value_bytes,
		    uint64_t cas);
/* Repeats the key where a hit would. */
size_t packet_miss(char *buf, const struct proto_form *form,
		   struct proto_slice key);

#endif
