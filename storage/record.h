/*
 * record.h - the bytes of one stored item: a head, then the value.
 *
 * Pure functions: no allocation, no clock, no state. FORMAT.md has the table.
 * Threads: any.
 */
#ifndef STORAGE_RECORD_H
#define STORAGE_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "storage/op.h"

#define RECORD_HEAD_MIN 9  /* a cas id, and all else as usual */
#define RECORD_HEAD_MAX 32 /* of any version */

/* A decoded head. */
struct record {
	uint32_t flags;
	int64_t expiry; /* absolute seconds, 0 never */
	uint64_t cas;
	uint64_t stamp;	    /* place in the order of all stores */
	bool key_base64;    /* its key was given as base64 */
	bool stale;	    /* invalidated, not yet stored anew */
	bool won;	    /* see record_won() */
	uint16_t won_start; /* low bits of the start that won counts in */
	size_t head_bytes;  /* set by record_decode() */
};

/* Bytes of the head that record_encode() writes for this record. */
size_t record_head_bytes(const struct record *record);

/*
 * Writes the head so that it ends where `value` begins; needs
 * record_head_bytes() free bytes in front of it. Returns where it begins.
 */
unsigned char *record_encode(const struct record *record, void *value);

/*
 * Decodes the head at `bytes`; looks at `size` bytes at most. Returns 0, or
 * -EBADMSG: too short, or of a version or state that is not known.
 */
int record_decode(const void *bytes, size_t size, struct record *ret);

/* True if it is dead at now_seconds: at the second of its expiry, or later. */
bool record_expired(const struct record *record, int64_t now_seconds);

/* True if a flush hides it: it was stored before the cut-off. */
bool record_flushed(const struct record *record, uint64_t cutoff);

/*
 * True if somebody has the right to compute the value anew. The right ends
 * with the run of the server that gave it: who has it may be gone by then.
 */
bool record_won(const struct record *record, uint32_t start);
void record_set_won(struct record *record, uint32_t start);

/*
 * Sets what a head says of an item; `start` as of record_won(). The other
 * fields stay as they are.
 */
void record_show(const struct record *record, uint32_t start,
		 struct store_item *item);

/* Little-endian numbers at any alignment, for every format of the store. */
void record_put32(void *to, uint32_t value);
void record_put64(void *to, uint64_t value);
uint32_t record_get32(const void *from);
uint64_t record_get64(const void *from);

#endif
