/*
 * buckets.c - see buckets.h.
 */
#include "storage/buckets.h"

#include <stdlib.h>

uint32_t buckets_hash(DB *db, const char *key, size_t key_bytes)
{
	uint32_t (*hash)(DB *, const void *, uint32_t) = NULL;

	(void)db->get_h_hash(db, &hash);
	return hash(db, key, (uint32_t)key_bytes);
}

int buckets_count(DB *db, uint32_t *ret_count)
{
	DB_HASH_STAT *stat;
	int error = db->stat(db, NULL, &stat, DB_FAST_STAT);

	if (error != 0)
		return error;
	*ret_count = stat->hash_buckets;
	free(stat);
	return 0;
}

/* The least power of two that is not below: so many bits of a hash count. */
static uint64_t round_up(uint32_t count)
{
	uint64_t bits = count - 1;

	for (unsigned shift = 1; shift < 32; shift *= 2)
		bits |= bits >> shift;
	return bits + 1;
}

uint32_t buckets_of(uint32_t hash, uint32_t count)
{
	uint64_t power = round_up(count);
	uint64_t bucket = hash & (power - 1);

	return (uint32_t)(bucket < count ? bucket : bucket - power / 2);
}

/* The next new bucket that takes keys from this one. */
static uint64_t next_child(uint32_t bucket, uint32_t count)
{
	uint64_t step = round_up(count) / 2;

	if (bucket >= step || bucket + step < count)
		step *= 2;
	return bucket + (step > 0 ? step : 1);
}

bool buckets_split(uint32_t bucket, uint32_t then, uint32_t now)
{
	return next_child(bucket, then) < now;
}

bool buckets_stays(uint32_t hash, uint32_t count)
{
	uint32_t bucket = buckets_of(hash, count);
	uint64_t child = next_child(bucket, count);

	return child > UINT32_MAX - 1 ||
	       buckets_of(hash, (uint32_t)child + 1) == bucket;
}
