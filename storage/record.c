/*
 * record.c - encodes and decodes record heads; see record.h and FORMAT.md.
 */
#include "storage/record.h"

#include <assert.h>
#include <endian.h>
#include <errno.h>
#include <string.h>

static_assert(RECORD_HEAD_SHORT == STORE_RECORD_HEAD &&
		      RECORD_HEAD_LONG == STORE_RECORD_HEAD_MAX,
	      "op.h tells others of these");

enum {
	AT_VERSION = 0,
	AT_STATE = 1,
	AT_WON_START = 2,
	AT_FLAGS = 4,
	AT_EXPIRY = 8,
	AT_CAS = 16,
	AT_STAMP = 24
};

#define STATE_EXPLICIT_CAS 0x01
#define STATE_STALE	   0x02
#define STATE_WON	   0x04
#define STATE_KEY_BASE64   0x08
#define STATE_KNOWN \
	(STATE_EXPLICIT_CAS | STATE_STALE | STATE_WON | STATE_KEY_BASE64)

void record_put32(void *to, uint32_t value)
{
	value = htole32(value);
	memcpy(to, &value, sizeof(value));
}

void record_put64(void *to, uint64_t value)
{
	value = htole64(value);
	memcpy(to, &value, sizeof(value));
}

uint32_t record_get32(const void *from)
{
	uint32_t value;

	memcpy(&value, from, sizeof(value));
	return le32toh(value);
}

uint64_t record_get64(const void *from)
{
	uint64_t value;

	memcpy(&value, from, sizeof(value));
	return le64toh(value);
}

size_t record_head_bytes(const struct record *record)
{
	return record->stamp == record->cas ? RECORD_HEAD_SHORT
					    : RECORD_HEAD_LONG;
}

static unsigned char state_of(const struct record *record, bool explicit_cas)
{
	return (unsigned char)((explicit_cas ? STATE_EXPLICIT_CAS : 0) |
			       (record->stale ? STATE_STALE : 0) |
			       (record->won ? STATE_WON : 0) |
			       (record->key_base64 ? STATE_KEY_BASE64 : 0));
}

unsigned char *record_encode(const struct record *record, void *value)
{
	size_t head_bytes = record_head_bytes(record);
	unsigned char *p = (unsigned char *)value - head_bytes;
	bool explicit_cas = head_bytes == RECORD_HEAD_LONG;
	unsigned int won_start = record->won ? record->won_start : 0;

	p[AT_VERSION] = RECORD_VERSION;
	p[AT_STATE] = state_of(record, explicit_cas);
	p[AT_WON_START] = (unsigned char)won_start;
	p[AT_WON_START + 1] = (unsigned char)(won_start >> 8);
	record_put32(p + AT_FLAGS, record->flags);
	record_put64(p + AT_EXPIRY, (uint64_t)record->expiry);
	record_put64(p + AT_CAS, record->cas);
	if (explicit_cas)
		record_put64(p + AT_STAMP, record->stamp);
	return p;
}

int record_decode(const void *bytes, size_t size, struct record *ret)
{
	const unsigned char *p = bytes;
	size_t head_bytes = RECORD_HEAD_SHORT;

	if (size < RECORD_HEAD_SHORT || p[AT_VERSION] != RECORD_VERSION)
		return -EBADMSG;
	if ((p[AT_STATE] & ~STATE_KNOWN) != 0)
		return -EBADMSG;
	if (p[AT_STATE] & STATE_EXPLICIT_CAS)
		head_bytes = RECORD_HEAD_LONG;
	if (size < head_bytes)
		return -EBADMSG;
	ret->flags = record_get32(p + AT_FLAGS);
	ret->expiry = (int64_t)record_get64(p + AT_EXPIRY);
	ret->cas = record_get64(p + AT_CAS);
	ret->stamp = ret->cas;
	if (head_bytes == RECORD_HEAD_LONG)
		ret->stamp = record_get64(p + AT_STAMP);
	ret->key_base64 = (p[AT_STATE] & STATE_KEY_BASE64) != 0;
	ret->stale = (p[AT_STATE] & STATE_STALE) != 0;
	ret->won = (p[AT_STATE] & STATE_WON) != 0;
	ret->won_start = (uint16_t)(p[AT_WON_START] | p[AT_WON_START + 1] << 8);
	ret->head_bytes = head_bytes;
	return 0;
}

bool record_expired(const struct record *record, int64_t now_seconds)
{
	return record->expiry != 0 && record->expiry <= now_seconds;
}

bool record_flushed(const struct record *record, uint64_t cutoff)
{
	return record->stamp < cutoff;
}

bool record_won(const struct record *record, uint32_t start)
{
	return record->won && record->won_start == (uint16_t)start;
}

void record_set_won(struct record *record, uint32_t start)
{
	record->won = true;
	record->won_start = (uint16_t)start;
}

void record_show(const struct record *record, uint32_t start,
		 struct store_item *item)
{
	item->flags = record->flags;
	item->expiry = record->expiry;
	item->cas = record->cas;
	item->key_base64 = record->key_base64;
	item->stale = record->stale;
	item->won = record_won(record, start);
}
