/*
 * keys.h - the names of the items and what is stored under them.
 *
 * A key is a prefix and its number in decimal, padded with zeros to one size.
 *
 * A value says what it is: its first 32 bytes are the key's number and a
 * version in hexadecimal, and the rest is a piece of a fixed pattern that the
 * version chooses. So any reader can tell a value of another key, or a mix of
 * two versions, without knowing who stored it. Values that are too small for
 * that are cut off and cannot be verified.
 *
 * Never changed after items_init(): all threads share one.
 */
#ifndef BENCH_KEYS_H
#define BENCH_KEYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ITEM_KEY_MAX	250
#define ITEM_VERIFY_MIN 32

struct items {
	const char *prefix;
	size_t prefix_bytes;
	size_t key_bytes;
	size_t value_bytes;
	char *pattern;
};

/*
 * prefix is borrowed. Returns 0, -EINVAL if the numbers below `keys` do not
 * fit behind the prefix, -ENOMEM. Ended by items_done().
 */
int items_init(struct items *items, const char *prefix, size_t key_bytes,
	       size_t value_bytes, uint32_t keys);
void items_done(struct items *items);

/* Writes the key of number `id`; returns the byte behind it. */
char *item_put_key(char *out, const struct items *items, uint32_t id);

/* Writes the value of `id` in this version; returns the byte behind it. */
char *item_put_value(char *out, const struct items *items, uint32_t id,
		     uint64_t version);

/* True if these bytes are the key of number `id`. */
bool item_is_key(const struct items *items, const char *key, size_t bytes,
		 uint32_t id);

/* True if these bytes are a whole value of `id`, in whatever version. */
bool item_is_value(const struct items *items, const char *value, size_t bytes,
		   uint32_t id);

#endif
