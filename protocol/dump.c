/*
 * dump.c - the lines of lru_crawler's dumps.
 *
 * A key may hold any byte, and a line is read by scripts: so metadump writes
 * keys in percent code, and mgdump those that a line cannot hold in base64.
 */
#include "protocol/protocol.h"
#include "protocol/reply.h"

/* True for the bytes that percent code leaves as they are. */
static bool is_plain(unsigned char byte)
{
	return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
	       (byte >= '0' && byte <= '9') || byte == '-' || byte == '.' ||
	       byte == '_' || byte == '~';
}

size_t proto_percent_encode(struct proto_slice bytes, char *to)
{
	static const char digits[] = "0123456789ABCDEF";
	char *at = to;

	for (size_t i = 0; i < bytes.len; i++) {
		unsigned char byte = (unsigned char)bytes.data[i];

		if (is_plain(byte)) {
			*at++ = (char)byte;
			continue;
		}
		*at++ = '%';
		*at++ = digits[byte >> 4];
		*at++ = digits[byte & 15];
	}
	return (size_t)(at - to);
}

#define PUT(text) put_bytes(at, (text), sizeof(text) - 1)

size_t proto_metadump_line(char *buf, const struct proto_dump_item *item)
{
	char *at = buf;

	at = PUT("key=");
	at += proto_percent_encode(item->key, at);
	at = PUT(" exp=");
	at = put_signed(at, item->expiry == 0 ? -1 : item->expiry);
	at = PUT(" la=");
	at = put_signed(at, item->last_access);
	at = PUT(" cas=");
	at = put_number(at, item->cas);
	at = item->fetched ? PUT(" fetch=yes") : PUT(" fetch=no");
	at = PUT(" cls=1 size=");
	at = put_number(at, item->bytes);
	at = PUT(" flags=");
	at = put_number(at, item->flags);
	at = PUT(" \n");
	return (size_t)(at - buf);
}

size_t proto_mgdump_line(char *buf, const struct proto_dump_item *item)
{
	char *at = buf;

	at = PUT("mg ");
	if (item->key_base64 || proto_key_breaks_line(item->key)) {
		at += proto_base64_encode(item->key, at);
		at = PUT(" b");
	} else {
		at = put_slice(at, item->key);
	}
	at = PUT("\r\n");
	return (size_t)(at - buf);
}
