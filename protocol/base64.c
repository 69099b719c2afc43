/*
 * base64.c - three bytes are four characters of six bits.
 *
 * The last group may stand for one or two bytes: then '=' fills it up.
 */
#include "protocol/base64.h"

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
			       "abcdefghijklmnopqrstuvwxyz"
			       "0123456789+/";

size_t proto_base64_encode(struct proto_slice bytes, char *to)
{
	const unsigned char *at = (const unsigned char *)bytes.data;
	size_t left = bytes.len;
	char *start = to;

	for (; left > 0; at += 3, to += 4) {
		unsigned int group = (unsigned int)at[0] << 16;

		if (left > 1)
			group |= (unsigned int)at[1] << 8;
		if (left > 2)
			group |= at[2];
		to[0] = alphabet[group >> 18];
		to[1] = alphabet[group >> 12 & 63];
		to[2] = left > 1 ? alphabet[group >> 6 & 63] : '=';
		to[3] = left > 2 ? alphabet[group & 63] : '=';
		left -= left > 2 ? 3 : left;
	}
	return (size_t)(to - start);
}

/* Returns the six bits of a character, or -1. */
static int sextet(char c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	if (c == '+')
		return 62;
	return c == '/' ? 63 : -1;
}

bool base64_decode(struct proto_slice text, char *to, size_t *ret_len)
{
	unsigned int group = 0;
	size_t padding = 0;
	char *start = to;

	if (text.len == 0 || text.len % 4 != 0)
		return false;
	while (padding < 2 && text.data[text.len - 1 - padding] == '=')
		padding++;
	for (size_t i = 0; i < text.len; i++) {
		bool pad = i >= text.len - padding;
		int bits = pad ? 0 : sextet(text.data[i]);

		if (bits < 0)
			return false;
		group = group << 6 | (unsigned int)bits;
		if (i % 4 != 3)
			continue;
		*to++ = (char)(group >> 16 & 255);
		*to++ = (char)(group >> 8 & 255);
		*to++ = (char)(group & 255);
	}
	*ret_len = (size_t)(to - start) - padding;
	return true;
}
