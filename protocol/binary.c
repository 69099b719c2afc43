/*
 * binary.c - the binary dialect: from bytes to a request.
 *
 * A packet is a head of 24 bytes that says how long its parts are, and then
 * extras, key and value. Everything that can be refused is refused by the head
 * alone, so what is said about a packet never depends on how much of it has
 * come. Then extras and key are waited for, but never the value.
 *
 * Lengths that contradict each other, or do not fit the opcode, end the
 * connection: where the next packet begins is then anybody's guess. All other
 * refusals skip exactly the body.
 */
#include "protocol/opcodes.h"
#include "protocol/token.h"
#include "protocol/wire.h"

#include <assert.h>

#define MAGIC_REQUEST  0x80
#define BODY_MAX_BYTES (UINT32_C(1) << 30)
#define NO_CREATION    UINT32_MAX /* as the exptime of incr and decr */

struct head {
	uint8_t opcode;
	uint8_t extras_bytes;
	uint16_t key_bytes;
	uint32_t value_bytes; /* set once the lengths are found to agree */
	uint32_t body_bytes;  /* all three */
	uint32_t opaque;
	uint64_t cas;
};

bool proto_is_binary(char first)
{
	return (unsigned char)first == MAGIC_REQUEST;
}

/* The type of the data, at 5, and the bucket, at 6, mean nothing to us. */
static struct head read_head(const char *buf)
{
	return (struct head){
		.opcode = (uint8_t)buf[1],
		.key_bytes = wire_get_u16(buf + 2),
		.extras_bytes = (uint8_t)buf[4],
		.body_bytes = wire_get_u32(buf + 8),
		.opaque = wire_get_u32(buf + 12),
		.cas = wire_get_u64(buf + 16),
	};
}

static enum proto_event refuse(const struct head *head, enum proto_code code,
			       struct proto_parsed *ret)
{
	ret->code = code;
	ret->swallow = head->body_bytes;
	return PROTO_REFUSED;
}

static enum proto_event refuse_and_close(enum proto_code code,
					 struct proto_parsed *ret)
{
	ret->code = code;
	ret->close = true;
	return PROTO_REFUSED;
}

/* PROTO_COMMAND: the lengths are those of a command that may go on. */
static enum proto_event check_head(struct head *head,
				   const struct proto_opcode *opcode,
				   const struct proto_limits *limits,
				   struct proto_parsed *ret)
{
	const size_t front_bytes = (size_t)head->extras_bytes + head->key_bytes;

	if (front_bytes > head->body_bytes)
		return refuse_and_close(PROTO_ERR_UNKNOWN, ret);
	if (head->body_bytes > BODY_MAX_BYTES ||
	    head->key_bytes > PROTO_KEY_MAX)
		return refuse_and_close(PROTO_ERR_SHAPE, ret);
	if (opcode == NULL)
		return refuse(head, PROTO_ERR_UNKNOWN, ret);
	head->value_bytes = head->body_bytes - (uint32_t)front_bytes;
	if (!proto_body_fits(opcode->body, head->extras_bytes, head->key_bytes,
			     head->value_bytes))
		return refuse_and_close(PROTO_ERR_SHAPE, ret);
	if (opcode->body != PROTO_BODY_LOGIN)
		return head->value_bytes <= limits->value_max_bytes
			       ? PROTO_COMMAND
			       : refuse(head, PROTO_ERR_TOO_LARGE, ret);
	/* Nobody who is not logged in yet makes us read more than this. */
	if (head->value_bytes > PROTO_LOGIN_MAX)
		return refuse_and_close(PROTO_ERR_SHAPE, ret);
	return head->key_bytes <= PROTO_MECHANISM_MAX
		       ? PROTO_COMMAND
		       : refuse(head, PROTO_ERR_SHAPE, ret);
}

static void read_compare(const struct head *head, struct proto_request *request)
{
	request->compare = head->cas != 0;
	request->cas = head->cas;
}

static void read_value(const struct head *head, struct proto_request *request)
{
	request->has_value = true;
	request->value_bytes = head->value_bytes;
}

static void read_arith(const char *extras, struct proto_request *request)
{
	const uint32_t exptime = wire_get_u32(extras + 16);

	request->delta = wire_get_u64(extras);
	if (exptime == NO_CREATION)
		return;
	request->create = true;
	request->initial = wire_get_u64(extras + 8);
	request->create_exptime = exptime;
}

/* The words of a key, as if they had come in a line. */
static void read_words(struct proto_slice words, struct proto_request *request)
{
	proto_token_trim(&words);
	proto_token_take_args(&words, request);
}

/* Reads what stands at `extras`, and the key behind it. */
static void read_body(const struct head *head, enum proto_body body,
		      const char *extras, struct proto_request *request)
{
	const struct proto_slice key = {extras + head->extras_bytes,
					head->key_bytes};

	if (body != PROTO_BODY_STAT && key.len > 0)
		request->key = key;
	switch (body) {
	case PROTO_BODY_UNKNOWN:
	case PROTO_BODY_EMPTY:
	case PROTO_BODY_COUNT:
		break;
	case PROTO_BODY_KEY:
		if (request->form.verb == PROTO_DELETE)
			read_compare(head, request);
		break;
	case PROTO_BODY_EXPTIME_KEY:
		request->exptime = wire_get_u32(extras);
		break;
	case PROTO_BODY_STORE:
		request->client_flags = wire_get_u32(extras);
		request->exptime = wire_get_u32(extras + 4);
		read_compare(head, request);
		read_value(head, request);
		break;
	case PROTO_BODY_CONCAT:
		read_compare(head, request);
		read_value(head, request);
		break;
	case PROTO_BODY_ARITH:
		read_arith(extras, request);
		read_compare(head, request);
		break;
	case PROTO_BODY_FLUSH:
		request->has_exptime = head->extras_bytes > 0;
		if (request->has_exptime)
			request->exptime = wire_get_u32(extras);
		break;
	case PROTO_BODY_STAT:
		read_words(key, request);
		break;
	case PROTO_BODY_LOGIN:
		read_value(head, request);
		break;
	}
}

static struct proto_form form_of(const struct head *head,
				 const struct proto_opcode *opcode)
{
	struct proto_form form = {
		.dialect = PROTO_BINARY,
		.verb = PROTO_VERB_COUNT,
		.opcode = head->opcode,
		.opaque = head->opaque,
	};

	if (opcode != NULL) {
		form.verb = opcode->verb;
		form.quiet = opcode->quiet;
		form.want_key = opcode->want_key;
	}
	return form;
}

static enum proto_event wait_for_more(size_t len, struct proto_parsed *ret)
{
	ret->scanned = len;
	return PROTO_WAIT;
}

enum proto_event proto_binary_parse(const char *buf, size_t len, size_t scanned,
				    const struct proto_limits *limits,
				    struct proto_parsed *ret)
{
	const struct proto_opcode *opcode;
	enum proto_event event;
	struct proto_parsed parsed = {.consumed = PROTO_PACKET_HEAD};
	struct head head;

	assert(scanned <= len);
	if (len < PROTO_PACKET_HEAD)
		return wait_for_more(len, ret);
	if (!proto_is_binary(*buf))
		return PROTO_HANGUP;
	head = read_head(buf);
	opcode = proto_opcode_find(head.opcode);
	event = check_head(&head, opcode, limits, &parsed);
	parsed.request.form = form_of(&head, opcode);
	if (event == PROTO_COMMAND) {
		parsed.consumed += (size_t)head.extras_bytes + head.key_bytes;
		if (len < parsed.consumed)
			return wait_for_more(len, ret);
		read_body(&head, opcode->body, buf + PROTO_PACKET_HEAD,
			  &parsed.request);
	}
	*ret = parsed;
	return event;
}
