/*
 * keys.c - see keys.h.
 *
 * The pattern is the same in every run, so that one run can verify what
 * another one stored.
 */
#include "bench/keys.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bench/rng.h"

/* A value's piece of the pattern can start at so many places. */
#define PATTERN_START_BITS 14
#define PATTERN_STARTS	   (1u << PATTERN_START_BITS)

static const char hex_digits[] = "0123456789abcdef";

static unsigned digits_of(uint32_t number)
{
	unsigned digits = 1;

	while (number >= 10) {
		number /= 10;
		digits++;
	}
	return digits;
}

int items_init(struct items *items, const char *prefix, size_t key_bytes,
	       size_t value_bytes, uint32_t keys)
{
	struct rng rng = {1};
	size_t pattern_bytes = PATTERN_STARTS + value_bytes;

	items->prefix = prefix;
	items->prefix_bytes = strlen(prefix);
	items->key_bytes = key_bytes;
	items->value_bytes = value_bytes;
	if (key_bytes > ITEM_KEY_MAX ||
	    items->prefix_bytes + digits_of(keys - 1) > key_bytes)
		return -EINVAL;
	items->pattern = malloc(pattern_bytes);
	if (items->pattern == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < pattern_bytes; i++)
		items->pattern[i] = (char)(' ' + rng_below(&rng, 95));
	return 0;
}

void items_done(struct items *items)
{
	free(items->pattern);
	items->pattern = NULL;
}

char *item_put_key(char *out, const struct items *items, uint32_t id)
{
	char *end = out + items->key_bytes;
	char *digit = end;

	memcpy(out, items->prefix, items->prefix_bytes);
	while (digit > out + items->prefix_bytes) {
		*--digit = (char)('0' + id % 10);
		id /= 10;
	}
	return end;
}

static void put_hex(char *out, uint64_t number)
{
	for (int i = 15; i >= 0; i--) {
		out[i] = hex_digits[number & 15];
		number >>= 4;
	}
}

static bool read_hex(const char *text, uint64_t *ret)
{
	uint64_t number = 0;

	for (int i = 0; i < 16; i++) {
		const char *digit = memchr(hex_digits, text[i], 16);

		if (digit == NULL)
			return false;
		number = number << 4 | (uint64_t)(digit - hex_digits);
	}
	*ret = number;
	return true;
}

static const char *piece_of(const struct items *items, uint64_t version)
{
	/* Every bit of the version counts. */
	return items->pattern +
	       (version * 0x9e3779b97f4a7c15u >> (64 - PATTERN_START_BITS));
}

char *item_put_value(char *out, const struct items *items, uint32_t id,
		     uint64_t version)
{
	char head[ITEM_VERIFY_MIN];
	size_t head_bytes = items->value_bytes < sizeof(head)
				    ? items->value_bytes
				    : sizeof(head);

	put_hex(head, version);
	put_hex(head + 16, id);
	memcpy(out, head, head_bytes);
	memcpy(out + head_bytes, piece_of(items, version),
	       items->value_bytes - head_bytes);
	return out + items->value_bytes;
}

bool item_is_key(const struct items *items, const char *key, size_t bytes,
		 uint32_t id)
{
	char expected[ITEM_KEY_MAX];

	if (bytes != items->key_bytes)
		return false;
	item_put_key(expected, items, id);
	return memcmp(key, expected, bytes) == 0;
}

bool item_is_value(const struct items *items, const char *value, size_t bytes,
		   uint32_t id)
{
	uint64_t version;
	uint64_t owner;

	if (bytes != items->value_bytes || bytes < ITEM_VERIFY_MIN)
		return false;
	if (!read_hex(value, &version) || !read_hex(value + 16, &owner))
		return false;
	return owner == id &&
	       memcmp(value + ITEM_VERIFY_MIN, piece_of(items, version),
		      bytes - ITEM_VERIFY_MIN) == 0;
}
