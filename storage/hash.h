/*
 * hash.h - the one hash of a key: of the table of changes and of the cache.
 * Pure. Threads: any.
 */
#ifndef STORAGE_HASH_H
#define STORAGE_HASH_H

#include <stddef.h>
#include <stdint.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

static inline uint64_t key_hash(const char *key, size_t key_bytes)
{
	return XXH3_64bits(key, key_bytes);
}

#endif
