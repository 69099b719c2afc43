/*
 * token.c - walking a line by runs of SPACE, and strict integers.
 *
 * One table classifies bytes, so that a key is measured and checked in the
 * same pass; words of 8 bytes that are in no class are passed over. Nothing
 * here reads a byte outside the slice it was given.
 */
#include "protocol/token.h"

#include <string.h>

enum byte_class {
	BYTE_BLANK = 1,
	BYTE_FORBIDDEN = 2 /* in a key; LF ends the line before we look */
};

static const unsigned char byte_classes[256] = {
	[' '] = BYTE_BLANK,
	['\0'] = BYTE_FORBIDDEN,
	['\r'] = BYTE_FORBIDDEN,
	['\n'] = BYTE_FORBIDDEN,
};

/* All 8 bytes of a word with this value. */
#define EACH(byte) (UINT64_MAX / 255 * (byte))

/* True if one of the next 8 bytes may be in a class: it is small. */
static bool has_small(const char *bytes)
{
	uint64_t word;

	memcpy(&word, bytes, sizeof(word));
	/* The highest bit of a byte says that it was less. */
	return ((word - EACH(' ' + 1)) & ~word & EACH(0x80)) != 0;
}

/* Returns how many bytes, from `from` on, are in none of the classes. */
static size_t span(struct proto_slice text, size_t from, unsigned int classes)
{
	const unsigned char *bytes = (const unsigned char *)text.data;

	while (text.len - from >= sizeof(uint64_t) &&
	       !has_small(text.data + from))
		from += sizeof(uint64_t);
	while (from < text.len && !(byte_classes[bytes[from]] & classes))
		from++;
	return from;
}

static void skip_blanks(struct proto_slice *rest)
{
	while (rest->len > 0 && *rest->data == ' ') {
		rest->data++;
		rest->len--;
	}
}

static struct proto_slice take_bytes(struct proto_slice *rest, size_t len)
{
	struct proto_slice taken = {rest->data, len};

	rest->data += len;
	rest->len -= len;
	return taken;
}

bool proto_token_take(struct proto_slice *rest, struct proto_slice *ret)
{
	skip_blanks(rest);
	if (rest->len == 0)
		return false;
	*ret = take_bytes(rest, span(*rest, 0, BYTE_BLANK));
	return true;
}

enum proto_key_state proto_token_take_key(struct proto_slice *rest,
					  struct proto_slice *ret)
{
	size_t clean, len;

	skip_blanks(rest);
	if (rest->len == 0)
		return PROTO_KEY_NONE;
	clean = span(*rest, 0, BYTE_BLANK | BYTE_FORBIDDEN);
	len = span(*rest, clean, BYTE_BLANK);
	*ret = take_bytes(rest, len);
	return clean == len && len <= PROTO_KEY_MAX ? PROTO_KEY_GOOD
						    : PROTO_KEY_BAD;
}

bool proto_next_token(struct proto_slice *list, struct proto_slice *ret)
{
	return proto_token_take(list, ret);
}

void proto_token_trim(struct proto_slice *rest)
{
	while (rest->len > 0 && rest->data[rest->len - 1] == ' ')
		rest->len--;
}

void proto_token_take_args(struct proto_slice *rest,
			   struct proto_request *request)
{
	size_t *count = &request->arg_count;

	while (*count < PROTO_ARGS_MAX &&
	       proto_token_take(rest, &request->args[*count])) {
		if (++*count == 1)
			request->rest = *rest;
	}
}

bool proto_token_cut_noreply(struct proto_slice *rest)
{
	static const char word[] = "noreply";
	const size_t word_len = sizeof(word) - 1;
	size_t start;

	if (rest->len < word_len)
		return false;
	start = rest->len - word_len;
	if (memcmp(rest->data + start, word, word_len) != 0)
		return false;
	if (start > 0 && rest->data[start - 1] != ' ')
		return false;
	rest->len = start;
	proto_token_trim(rest);
	return true;
}

bool proto_slice_is(struct proto_slice text, const char *word)
{
	return text.len == strlen(word) &&
	       memcmp(text.data, word, text.len) == 0;
}

bool proto_parse_u64(struct proto_slice text, uint64_t *ret)
{
	uint64_t value = 0;

	if (text.len == 0)
		return false;
	for (size_t i = 0; i < text.len; i++) {
		unsigned int digit = (unsigned char)text.data[i] - '0';

		if (digit > 9 || value > UINT64_MAX / 10)
			return false;
		value *= 10;
		if (value > UINT64_MAX - digit)
			return false;
		value += digit;
	}
	*ret = value;
	return true;
}

bool proto_parse_u32(struct proto_slice text, uint32_t *ret)
{
	uint64_t value;

	if (!proto_parse_u64(text, &value) || value > UINT32_MAX)
		return false;
	*ret = (uint32_t)value;
	return true;
}

bool proto_parse_i64(struct proto_slice text, int64_t *ret)
{
	bool negative = text.len > 0 && *text.data == '-';
	uint64_t size;

	if (negative)
		take_bytes(&text, 1);
	if (!proto_parse_u64(text, &size))
		return false;
	if (size > (uint64_t)INT64_MAX + negative)
		return false;
	/* INT64_MIN has no positive counterpart to negate. */
	if (negative && size > 0)
		*ret = -(int64_t)(size - 1) - 1;
	else
		*ret = (int64_t)size;
	return true;
}
