/*
 * record.c - encodes and decodes record heads; see record.h and FORMAT.md.
 */
#include "storage/record.h"

#include <assert.h>
#include <endian.h>
#include <errno.h>
#include <string.h>

static_assert(RECORD_HEAD_MIN == STORE_RECORD_HEAD &&
		      RECORD_HEAD_MAX == STORE_RECORD_HEAD_MAX,
	      "op.h tells others of these");

/* The first byte; the fields that it names follow the cas id in this order. */
enum {
	HAS_FLAGS = 0x01,
	HAS_EXPIRY = 0x02,
	HAS_STAMP = 0x04,
	IS_WON = 0x08, /* has the number of the start */
	IS_STALE = 0x10,
	IS_KEY_BASE64 = 0x20,
	VERSION_2 = 0x80,
	VERSION_BITS = 0xc0
};

/* A head of version 1, which is read only. */
enum {
	OLD_STATE = 1,
	OLD_WON_START = 2,
	OLD_FLAGS = 4,
	OLD_EXPIRY = 8,
	OLD_CAS = 16,
	OLD_STAMP = 24,
	OLD_SHORT = 24,
	OLD_LONG = 32
};

#define OLD_VERSION	     1
#define OLD_EXPLICIT_CAS     0x01
#define OLD_STATE_STALE	     0x02
#define OLD_STATE_WON	     0x04
#define OLD_STATE_KEY_BASE64 0x08
#define OLD_STATE_KNOWN                                       \
	(OLD_EXPLICIT_CAS | OLD_STATE_STALE | OLD_STATE_WON | \
	 OLD_STATE_KEY_BASE64)

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

static unsigned char first_byte(const struct record *record)
{
	return (unsigned char)(VERSION_2 |
			       (record->flags != 0 ? HAS_FLAGS : 0) |
			       (record->expiry != 0 ? HAS_EXPIRY : 0) |
			       (record->stamp != record->cas ? HAS_STAMP : 0) |
			       (record->won ? IS_WON : 0) |
			       (record->stale ? IS_STALE : 0) |
			       (record->key_base64 ? IS_KEY_BASE64 : 0));
}

static size_t bytes_of_head(unsigned char first)
{
	return RECORD_HEAD_MIN + (first & HAS_FLAGS ? 4u : 0u) +
	       (first & HAS_EXPIRY ? 8u : 0u) + (first & HAS_STAMP ? 8u : 0u) +
	       (first & IS_WON ? 2u : 0u);
}

size_t record_head_bytes(const struct record *record)
{
	return bytes_of_head(first_byte(record));
}

unsigned char *record_encode(const struct record *record, void *value)
{
	unsigned char first = first_byte(record);
	unsigned char *head = (unsigned char *)value - bytes_of_head(first);
	unsigned char *p = head;

	*p++ = first;
	record_put64(p, record->cas);
	p += 8;
	if (first & HAS_FLAGS) {
		record_put32(p, record->flags);
		p += 4;
	}
	if (first & HAS_EXPIRY) {
		record_put64(p, (uint64_t)record->expiry);
		p += 8;
	}
	if (first & HAS_STAMP) {
		record_put64(p, record->stamp);
		p += 8;
	}
	if (first & IS_WON) {
		p[0] = (unsigned char)record->won_start;
		p[1] = (unsigned char)(record->won_start >> 8);
	}
	return head;
}

static void decode_fields(const unsigned char *p, struct record *ret)
{
	unsigned char first = *p++;

	ret->flags = 0;
	ret->expiry = 0;
	ret->won_start = 0;
	ret->cas = record_get64(p);
	ret->stamp = ret->cas;
	p += 8;
	if (first & HAS_FLAGS) {
		ret->flags = record_get32(p);
		p += 4;
	}
	if (first & HAS_EXPIRY) {
		ret->expiry = (int64_t)record_get64(p);
		p += 8;
	}
	if (first & HAS_STAMP) {
		ret->stamp = record_get64(p);
		p += 8;
	}
	if (first & IS_WON)
		ret->won_start = (uint16_t)(p[0] | p[1] << 8);
	ret->key_base64 = (first & IS_KEY_BASE64) != 0;
	ret->stale = (first & IS_STALE) != 0;
	ret->won = (first & IS_WON) != 0;
}

static int decode_old(const unsigned char *p, size_t size, struct record *ret)
{
	size_t head_bytes = OLD_SHORT;

	if (size < OLD_SHORT || (p[OLD_STATE] & ~OLD_STATE_KNOWN) != 0)
		return -EBADMSG;
	if (p[OLD_STATE] & OLD_EXPLICIT_CAS)
		head_bytes = OLD_LONG;
	if (size < head_bytes)
		return -EBADMSG;
	ret->flags = record_get32(p + OLD_FLAGS);
	ret->expiry = (int64_t)record_get64(p + OLD_EXPIRY);
	ret->cas = record_get64(p + OLD_CAS);
	ret->stamp = ret->cas;
	if (head_bytes == OLD_LONG)
		ret->stamp = record_get64(p + OLD_STAMP);
	ret->key_base64 = (p[OLD_STATE] & OLD_STATE_KEY_BASE64) != 0;
	ret->stale = (p[OLD_STATE] & OLD_STATE_STALE) != 0;
	ret->won = (p[OLD_STATE] & OLD_STATE_WON) != 0;
	ret->won_start =
		(uint16_t)(p[OLD_WON_START] | p[OLD_WON_START + 1] << 8);
	ret->head_bytes = head_bytes;
	return 0;
}

int record_decode(const void *bytes, size_t size, struct record *ret)
{
	const unsigned char *p = bytes;
	size_t head_bytes;

	if (size == 0)
		return -EBADMSG;
	if (p[0] == OLD_VERSION)
		return decode_old(p, size, ret);
	head_bytes = bytes_of_head(p[0]);
	if ((p[0] & VERSION_BITS) != VERSION_2 || size < head_bytes)
		return -EBADMSG;
	decode_fields(p, ret);
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
