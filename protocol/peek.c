/*
 * peek.c - finds the gets that stand in a buffer, without parsing them.
 *
 * Who knows what will soon be asked for can have it brought nearer. So it may
 * overlook a get that is written in an unusual way, and may take a bad one
 * for good: the parsers decide, later.
 */
#include "protocol/opcodes.h"
#include "protocol/wire.h"

#include <string.h>

/* Lengths of "get ", "gets " and "mg ", or 0. */
static size_t word_of_get(const char *buf)
{
	if (memcmp(buf, "get ", 4) == 0)
		return 4;
	if (memcmp(buf, "mg ", 3) == 0)
		return 3;
	return memcmp(buf, "gets ", 5) == 0 ? 5 : 0;
}

size_t proto_text_peek(const char *buf, size_t len, struct proto_slice *ret_key)
{
	const char *key, *line_end, *end;
	size_t word;

	if (len < sizeof("mg k"))
		return 0;
	word = word_of_get(buf);
	if (word == 0)
		return 0;
	key = buf + word;
	line_end = memchr(key, '\n', len - word);
	if (line_end == NULL)
		return 0;
	end = memchr(key, ' ', (size_t)(line_end - key));
	if (end == NULL)
		end = line_end[-1] == '\r' ? line_end - 1 : line_end;
	if (end == key || end - key > PROTO_KEY_MAX)
		return 0;
	*ret_key = (struct proto_slice){key, (size_t)(end - key)};
	return (size_t)(line_end - buf) + 1;
}

size_t proto_binary_peek(const char *buf, size_t len,
			 struct proto_slice *ret_key)
{
	const struct proto_opcode *opcode;
	size_t key_bytes;

	if (len < PROTO_PACKET_HEAD || !proto_is_binary(*buf))
		return 0;
	opcode = proto_opcode_find((uint8_t)buf[1]);
	key_bytes = wire_get_u16(buf + 2);
	if (opcode == NULL || opcode->verb != PROTO_GET || key_bytes == 0 ||
	    key_bytes > PROTO_KEY_MAX || wire_get_u32(buf + 8) != key_bytes ||
	    len - PROTO_PACKET_HEAD < key_bytes)
		return 0;
	*ret_key = (struct proto_slice){buf + PROTO_PACKET_HEAD, key_bytes};
	return PROTO_PACKET_HEAD + key_bytes;
}
