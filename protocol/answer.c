/*
 * answer.c - chooses the formatter by the dialect a command came in.
 *
 * What is said is decided here, how it is said in reply.c (lines) and packet.c
 * (packets). The answers of meta commands other than refusals have a form of
 * their own: meta_reply.c.
 */
#include <assert.h>

#include "protocol/packet.h"
#include "protocol/reply.h"

static const struct proto_slice nothing = {"", 0};
static const struct proto_slice crlf = {"\r\n", 2};
static const struct proto_slice end_line = {"END\r\n", 5};

static bool is_binary(const struct proto_form *form)
{
	return form->dialect == PROTO_BINARY;
}

/* Of meta commands q hides what a client expects anyway. */
static bool is_expected_meta(enum proto_verb verb, enum proto_code code)
{
	if (verb == PROTO_META_GET)
		return code == PROTO_END;
	return code == PROTO_DONE &&
	       (verb == PROTO_META_SET || verb == PROTO_META_DELETE ||
		verb == PROTO_META_ARITH);
}

bool proto_is_silent(const struct proto_form *form, enum proto_code code)
{
	if (!form->quiet)
		return false;
	switch (form->dialect) {
	case PROTO_CLASSIC:
		return true;
	case PROTO_META:
		return is_expected_meta(form->verb, code);
	case PROTO_BINARY:
		if (form->verb == PROTO_GET || form->verb == PROTO_GAT)
			return code == PROTO_NOT_FOUND;
		return code == PROTO_DONE;
	}
	assert(!"a dialect of request.h");
	return false;
}

struct proto_slice proto_answer(const struct proto_form *form,
				enum proto_code code, uint64_t cas, char *room)
{
	if (!is_binary(form))
		return text_answer(form, code);
	return (struct proto_slice){room, packet_answer(room, form, code, cas)};
}

struct proto_slice proto_number(const struct proto_form *form, uint64_t number,
				uint64_t cas, char *room)
{
	if (!is_binary(form))
		return text_number(number, room);
	return (struct proto_slice){room,
				    packet_number(room, form, number, cas)};
}

struct proto_slice proto_touched(const struct proto_form *form, uint32_t flags,
				 uint64_t cas, char *room)
{
	if (!is_binary(form))
		return text_answer(form, PROTO_DONE);
	return (struct proto_slice){room,
				    packet_touched(room, form, flags, cas)};
}

size_t proto_value(char *buf, const struct proto_form *form,
		   struct proto_slice key, uint32_t flags, size_t value_bytes,
		   uint64_t cas)
{
	if (!is_binary(form))
		return text_value(buf, form, key, flags, value_bytes, cas);
	return packet_value(buf, form, key, flags, value_bytes, cas);
}

struct proto_slice proto_value_tail(const struct proto_form *form)
{
	return is_binary(form) ? nothing : crlf;
}

/* Lines name the keys that are there; packets answer each key. */
size_t proto_value_miss(char *buf, const struct proto_form *form,
			struct proto_slice key)
{
	if (!is_binary(form) || proto_is_silent(form, PROTO_NOT_FOUND))
		return 0;
	return packet_miss(buf, form, key);
}

struct proto_slice proto_value_end(const struct proto_form *form)
{
	return form->dialect == PROTO_CLASSIC ? end_line : nothing;
}
