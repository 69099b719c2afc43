/*
 * checksum.c - see checksum.h.
 *
 * A word of 8 bytes is summed in three steps. Each adds neighbours up, in lanes
 * twice as wide: bytes to pairs, pairs to quads, quads to the word. A quad is
 * less than 2^24, so no lane runs over into the next one. The rest is modulo
 * 2^32, as the sum itself. The words of a block do not depend on each other, so
 * the processor sums them at the same time.
 */
#include "storage/checksum.h"

#include <endian.h>
#include <string.h>

#define WORD  8u
#define BLOCK (4 * WORD)

/* Powers of 33, modulo 2^32: what a byte weighs with so many behind it. */
#define POWER_1	 33u
#define POWER_2	 (POWER_1 * POWER_1)
#define POWER_4	 (POWER_2 * POWER_2)
#define POWER_8	 (POWER_4 * POWER_4)
#define POWER_16 (POWER_8 * POWER_8)
#define POWER_24 (POWER_16 * POWER_8)
#define POWER_32 (POWER_16 * POWER_16)

static inline uint32_t sum_word(const unsigned char *bytes)
{
	const uint64_t low_8 = UINT64_C(0x00ff00ff00ff00ff);
	const uint64_t low_16 = UINT64_C(0x0000ffff0000ffff);
	/* The upper half of the product: the second, 33^4 times the first. */
	const uint64_t join = ((uint64_t)POWER_4 << 32) + 1;
	uint64_t word, pairs, quads;

	memcpy(&word, bytes, sizeof(word));
	word = le64toh(word); /* the first byte is the lowest */
	pairs = (word & low_8) * POWER_1 + ((word >> 8) & low_8);
	quads = (pairs & low_16) * POWER_2 + ((pairs >> 16) & low_16);
	return (uint32_t)((quads * join) >> 32);
}

/* Weak: it gives way to that of a Berkeley DB which is linked in. */
__attribute__((weak)) uint32_t checksum_of(DB *db, const void *bytes,
					   uint32_t size)
{
	const unsigned char *p = bytes;
	uint32_t sum = 0;

	(void)db;
	for (; size >= BLOCK; size -= BLOCK, p += BLOCK)
		sum = sum * POWER_32 + sum_word(p) * POWER_24 +
		      sum_word(p + WORD) * POWER_16 +
		      sum_word(p + 2 * WORD) * POWER_8 + sum_word(p + 3 * WORD);
	for (; size >= WORD; size -= WORD, p += WORD)
		sum = sum * POWER_8 + sum_word(p);
	for (; size > 0; size--, p++)
		sum = sum * POWER_1 + *p;
	return sum;
}

void checksum_link(void)
{
}
