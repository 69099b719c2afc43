/*
 * packet.c - the binary dialect: from a result to bytes.
 *
 * A result has a status number and a text; two tables turn a code into them.
 * Only a success carries an id, extras or a key, but for the key of a miss.
 */
#include "protocol/packet.h"

#include <assert.h>
#include <string.h>

#include "protocol/wire.h"

#define MAGIC_RESPONSE 0x81
#define FLAGS_BYTES    4
#define NUMBER_BYTES   8

struct status {
	uint16_t number;
	struct proto_slice text;
};

#define STATUS(number, text)                   \
	{                                      \
		number,                        \
		{                              \
			text, sizeof(text) - 1 \
		}                              \
	}

static const struct status success = STATUS(0x00, "");
static const struct status not_found = STATUS(0x01, "Not found");
static const struct status exists = STATUS(0x02, "Data exists for key.");
static const struct status too_large = STATUS(0x03, "Too large.");
static const struct status invalid = STATUS(0x04, "Invalid arguments");
static const struct status not_stored = STATUS(0x05, "Not stored.");
static const struct status not_number =
	STATUS(0x06, "Non-numeric server-side value for incr or decr");
static const struct status logged_in = STATUS(0x00, "Authenticated");
/* Also of what is not allowed at all, as memcached does with a flush. */
static const struct status not_allowed = STATUS(0x20, "Auth failure.");
static const struct status login_more = STATUS(0x21, "");
static const struct status unknown = STATUS(0x81, "Unknown command");
static const struct status no_memory = STATUS(0x82, "Out of memory");
static const struct status internal = STATUS(0x84, "Internal error");

/* What is not here is `invalid`. */
static const struct status *const statuses[PROTO_CODE_COUNT] = {
	[PROTO_DONE] = &success,
	[PROTO_NOT_FOUND] = &not_found,
	[PROTO_EXISTS] = &exists,
	[PROTO_NOT_STORED] = &not_stored,
	[PROTO_END] = &success,
	[PROTO_RESET] = &success,
	[PROTO_LOGIN_MORE] = &login_more,
	[PROTO_ERR_UNKNOWN] = &unknown,
	[PROTO_ERR_NOT_NUMBER] = &not_number,
	[PROTO_ERR_TOO_LARGE] = &too_large,
	[PROTO_ERR_NO_MEMORY] = &no_memory,
	[PROTO_ERR_STORAGE] = &internal,
	[PROTO_ERR_READ_ONLY] = &not_allowed,
	[PROTO_ERR_FLUSH_DISABLED] = &not_allowed,
	[PROTO_ERR_UNAUTHENTICATED] = &not_allowed,
	[PROTO_ERR_LOGIN_FAILED] = &not_allowed,
	[PROTO_ERR_LOGIN_FORMAT] = &not_allowed,
	[PROTO_ERR_LOGIN_END] = &not_allowed,
	[PROTO_ERR_LOGIN_LONG] = &not_allowed,
};

/* Commands whose success tells the id of the item. */
static const bool tells_cas[PROTO_VERB_COUNT + 1] = {
	[PROTO_GET] = true,	[PROTO_GAT] = true,	[PROTO_SET] = true,
	[PROTO_ADD] = true,	[PROTO_REPLACE] = true, [PROTO_APPEND] = true,
	[PROTO_PREPEND] = true, [PROTO_CAS] = true,	[PROTO_INCR] = true,
	[PROTO_DECR] = true,	[PROTO_TOUCH] = true,
};

/* A code that means another thing after some verbs. */
static const struct {
	enum proto_code code;
	enum proto_verb verb;
	const struct status *status;
} exceptions[] = {
	{PROTO_NOT_STORED, PROTO_ADD, &exists},
	{PROTO_NOT_STORED, PROTO_REPLACE, &not_found},
	{PROTO_NOT_FOUND, PROTO_APPEND, &not_stored},
	{PROTO_NOT_FOUND, PROTO_PREPEND, &not_stored},
	{PROTO_DONE, PROTO_SASL_START, &logged_in},
	{PROTO_DONE, PROTO_SASL_STEP, &logged_in},
};

#define EXCEPTION_COUNT (sizeof(exceptions) / sizeof(exceptions[0]))

static const struct status *find_status(const struct proto_form *form,
					enum proto_code code)
{
	for (size_t i = 0; i < EXCEPTION_COUNT; i++) {
		if (exceptions[i].code == code &&
		    exceptions[i].verb == form->verb)
			return exceptions[i].status;
	}
	return statuses[code] != NULL ? statuses[code] : &invalid;
}

/* The lengths of the parts that follow a head. */
struct parts {
	size_t extras_bytes;
	size_t key_bytes;
	size_t value_bytes;
};

static void put_head(char *buf, const struct proto_form *form,
		     const struct status *status, struct parts parts,
		     uint64_t cas)
{
	const size_t body_bytes =
		parts.extras_bytes + parts.key_bytes + parts.value_bytes;

	assert(parts.extras_bytes <= UINT8_MAX);
	assert(parts.key_bytes <= UINT16_MAX && body_bytes <= UINT32_MAX);
	buf[0] = (char)MAGIC_RESPONSE;
	buf[1] = (char)form->opcode;
	wire_put_u16(buf + 2, (uint16_t)parts.key_bytes);
	buf[4] = (char)parts.extras_bytes;
	buf[5] = 0;
	wire_put_u16(buf + 6, status->number);
	wire_put_u32(buf + 8, (uint32_t)body_bytes);
	wire_put_u32(buf + 12, form->opaque);
	wire_put_u64(buf + 16, cas);
}

void proto_packet_head(char *buf, const struct proto_form *form,
		       enum proto_code code, size_t key_bytes,
		       size_t body_bytes)
{
	const struct parts parts = {.key_bytes = key_bytes,
				    .value_bytes = body_bytes - key_bytes};

	assert(key_bytes <= body_bytes);
	put_head(buf, form, find_status(form, code), parts, 0);
}

size_t packet_answer(char *buf, const struct proto_form *form,
		     enum proto_code code, uint64_t cas)
{
	const struct status *status = find_status(form, code);
	const struct parts parts = {.value_bytes = status->text.len};

	if (status != &success || !tells_cas[form->verb])
		cas = 0;
	put_head(buf, form, status, parts, cas);
	memcpy(buf + PROTO_PACKET_HEAD, status->text.data, status->text.len);
	return PROTO_PACKET_HEAD + status->text.len;
}

size_t packet_number(char *buf, const struct proto_form *form, uint64_t number,
		     uint64_t cas)
{
	const struct parts parts = {.value_bytes = NUMBER_BYTES};

	put_head(buf, form, &success, parts, cas);
	wire_put_u64(buf + PROTO_PACKET_HEAD, number);
	return PROTO_PACKET_HEAD + NUMBER_BYTES;
}

size_t packet_value(char *buf, const struct proto_form *form,
		    struct proto_slice key, uint32_t flags, size_t value_bytes,
		    uint64_t cas)
{
	const struct parts parts = {
		.extras_bytes = FLAGS_BYTES,
		.key_bytes = form->want_key ? key.len : 0,
		.value_bytes = value_bytes,
	};
	char *at = buf + PROTO_PACKET_HEAD;

	put_head(buf, form, &success, parts, cas);
	wire_put_u32(at, flags);
	at += FLAGS_BYTES;
	memcpy(at, key.data, parts.key_bytes);
	return (size_t)(at - buf) + parts.key_bytes;
}

size_t packet_touched(char *buf, const struct proto_form *form, uint32_t flags,
		      uint64_t cas)
{
	const struct parts parts = {.extras_bytes = FLAGS_BYTES};

	put_head(buf, form, &success, parts, cas);
	wire_put_u32(buf + PROTO_PACKET_HEAD, flags);
	return PROTO_PACKET_HEAD + FLAGS_BYTES;
}

size_t packet_miss(char *buf, const struct proto_form *form,
		   struct proto_slice key)
{
	const struct parts parts = {.key_bytes = key.len};

	if (!form->want_key)
		return packet_answer(buf, form, PROTO_NOT_FOUND, 0);
	put_head(buf, form, &not_found, parts, 0);
	memcpy(buf + PROTO_PACKET_HEAD, key.data, key.len);
	return PROTO_PACKET_HEAD + key.len;
}
