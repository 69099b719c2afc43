/*
 * binary.c - memcached's binary protocol, answered one by one or in silence.
 *
 * "binary" asks for an answer to everything; "binary-quiet" uses the quiet
 * opcodes and ends each batch that is sent with a noop, whose answer then
 * stands for all of them. A get of several keys is a quiet get of each.
 */
#include <string.h>

#include "bench/dialect.h"

#define HEAD_BYTES 24
#define REQUEST	   0x80
#define RESPONSE   0x81
#define OP_GET	   0x00
#define OP_SET	   0x01
#define OP_NOOP	   0x0a
#define OP_GETKQ   0x0d
#define OP_SETQ	   0x11
#define GET_EXTRAS 4
#define SET_EXTRAS 8
#define NOT_FOUND  1

static void put_u32(char *at, uint32_t number)
{
	for (int i = 0; i < 4; i++)
		at[i] = (char)(number >> (24 - 8 * i));
}

static uint32_t get_u32(const char *at)
{
	uint32_t number = 0;

	for (int i = 0; i < 4; i++)
		number = number << 8 | (unsigned char)at[i];
	return number;
}

static uint32_t get_u16(const char *at)
{
	return (uint32_t)(unsigned char)at[0] << 8 | (unsigned char)at[1];
}

static char *put_head(char *out, unsigned opcode, size_t key_bytes,
		      size_t extras, size_t value_bytes)
{
	memset(out, 0, HEAD_BYTES + extras);
	out[0] = (char)REQUEST;
	out[1] = (char)opcode;
	out[2] = (char)(key_bytes >> 8);
	out[3] = (char)key_bytes;
	out[4] = (char)extras;
	put_u32(out + 8, (uint32_t)(extras + key_bytes + value_bytes));
	return out + HEAD_BYTES + extras;
}

static char *put_store(char *out, unsigned opcode, const struct items *items,
		       const struct request *request)
{
	out = put_head(out, opcode, items->key_bytes, SET_EXTRAS,
		       items->value_bytes);
	out = item_put_key(out, items, request->ids[0]);
	return item_put_value(out, items, request->ids[0], request->version);
}

static char *put_set(char *out, const struct items *items,
		     const struct request *request)
{
	return put_store(out, OP_SET, items, request);
}

static char *put_quiet_set(char *out, const struct items *items,
			   const struct request *request)
{
	return put_store(out, OP_SETQ, items, request);
}

static char *put_gets(char *out, unsigned opcode, const struct items *items,
		      const struct request *request)
{
	for (uint32_t i = 0; i < request->key_count; i++) {
		out = put_head(out, opcode, items->key_bytes, 0, 0);
		out = item_put_key(out, items, request->ids[i]);
	}
	return out;
}

static char *put_get(char *out, const struct items *items,
		     const struct request *request)
{
	return put_gets(out, OP_GET, items, request);
}

static char *put_quiet_get(char *out, const struct items *items,
			   const struct request *request)
{
	return put_gets(out, OP_GETKQ, items, request);
}

static char *put_barrier(char *out)
{
	return put_head(out, OP_NOOP, 0, 0, 0);
}

/* A packet that is whole. */
struct packet {
	unsigned opcode, status;
	const char *key, *value;
	size_t key_bytes, value_bytes, bytes;
};

/* Returns DONE if there is one, WAIT if not yet, or BROKEN. */
static enum reply_event read_packet(const char *buf, size_t len,
				    struct packet *ret)
{
	size_t extras, body;

	if (len < HEAD_BYTES)
		return REPLY_WAIT;
	if ((unsigned char)buf[0] != RESPONSE)
		return REPLY_BROKEN;
	ret->opcode = (unsigned char)buf[1];
	ret->key_bytes = get_u16(buf + 2);
	extras = (unsigned char)buf[4];
	ret->status = get_u16(buf + 6);
	body = get_u32(buf + 8);
	if (extras + ret->key_bytes > body)
		return REPLY_BROKEN;
	ret->bytes = HEAD_BYTES + body;
	if (len < ret->bytes)
		return REPLY_WAIT;
	ret->key = buf + HEAD_BYTES + extras;
	ret->value = ret->key + ret->key_bytes;
	ret->value_bytes = body - extras - ret->key_bytes;
	return REPLY_DONE;
}

static enum reply_event hit(const struct packet *packet, uint32_t id,
			    struct request *request, struct reply_part *ret)
{
	ret->consumed = packet->bytes;
	ret->id = id;
	ret->value = packet->value;
	ret->value_bytes = packet->value_bytes;
	request->answered++;
	return REPLY_HIT;
}

static enum reply_event read_reply(const char *buf, size_t len,
				   const struct items *items,
				   struct request *request,
				   struct reply_part *ret)
{
	struct packet packet;
	enum reply_event event;

	(void)items; /* every key is answered, in order */
	ret->consumed = 0;
	if (!request->is_set && request->answered == request->key_count)
		return REPLY_DONE;
	event = read_packet(buf, len, &packet);
	if (event != REPLY_DONE)
		return event;
	if (packet.opcode != (request->is_set ? OP_SET : OP_GET))
		return REPLY_BROKEN;
	ret->consumed = packet.bytes;
	if (!request->is_set && packet.status == NOT_FOUND) {
		request->answered++;
		return REPLY_PART;
	}
	if (packet.status != 0)
		return REPLY_REFUSED;
	if (request->is_set)
		return REPLY_DONE;
	return hit(&packet, request->ids[request->answered], request, ret);
}

static enum reply_event read_quiet_reply(const char *buf, size_t len,
					 const struct items *items,
					 struct request *request,
					 struct reply_part *ret)
{
	struct packet packet;
	enum reply_event event;

	ret->consumed = 0;
	event = read_packet(buf, len, &packet);
	if (event != REPLY_DONE)
		return event;
	if (packet.opcode == OP_NOOP) {
		/* It answers the whole batch, and goes with its last one. */
		ret->consumed = request->ends_batch ? packet.bytes : 0;
		return REPLY_DONE;
	}
	if (packet.status != 0) {
		ret->consumed = packet.bytes;
		return request->ends_batch ? REPLY_BROKEN : REPLY_REFUSED;
	}
	if (packet.opcode != OP_GETKQ)
		return REPLY_BROKEN;
	while (!request->is_set && request->answered < request->key_count) {
		uint32_t id = request->ids[request->answered];

		if (item_is_key(items, packet.key, packet.key_bytes, id))
			return hit(&packet, id, request, ret);
		request->answered++;
	}
	/* A hit of a later one: what stands before it was done in silence. */
	return request->ends_batch ? REPLY_BROKEN : REPLY_DONE;
}

const struct dialect dialect_binary = {
	.name = "binary",
	.set_extra = HEAD_BYTES + SET_EXTRAS,
	.get_extra = 0,
	.get_key_extra = HEAD_BYTES,
	.put_set = put_set,
	.put_get = put_get,
	.read_reply = read_reply,
};

const struct dialect dialect_binary_quiet = {
	.name = "binary-quiet",
	.set_extra = 2 * HEAD_BYTES + SET_EXTRAS,
	.get_extra = HEAD_BYTES,
	.get_key_extra = HEAD_BYTES,
	.put_set = put_quiet_set,
	.put_get = put_quiet_get,
	.put_barrier = put_barrier,
	.read_reply = read_quiet_reply,
};
