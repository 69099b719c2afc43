/*
 * meta.c - memcached's meta commands, answered one by one or in silence.
 *
 * "meta" asks for an answer to everything. "meta-quiet" marks every command
 * quiet and ends each batch that is sent with mn, whose answer then stands
 * for all of them: a hit says its key, a miss and a stored item say nothing.
 */
#include <string.h>

#include "bench/dialect.h"

static char *put_set_head(char *out, const struct items *items,
			  const struct request *request)
{
	out = DIALECT_PUT(out, "ms ");
	out = item_put_key(out, items, request->ids[0]);
	*out++ = ' ';
	return dialect_put_number(out, items->value_bytes);
}

static char *put_set_block(char *out, const struct items *items,
			   const struct request *request)
{
	out = DIALECT_PUT(out, "\r\n");
	out = item_put_value(out, items, request->ids[0], request->version);
	return DIALECT_PUT(out, "\r\n");
}

static char *put_set(char *out, const struct items *items,
		     const struct request *request)
{
	out = put_set_head(out, items, request);
	return put_set_block(out, items, request);
}

static char *put_quiet_set(char *out, const struct items *items,
			   const struct request *request)
{
	out = put_set_head(out, items, request);
	out = DIALECT_PUT(out, " q");
	return put_set_block(out, items, request);
}

static char *put_get(char *out, const struct items *items,
		     const struct request *request)
{
	for (uint32_t i = 0; i < request->key_count; i++) {
		out = DIALECT_PUT(out, "mg ");
		out = item_put_key(out, items, request->ids[i]);
		out = DIALECT_PUT(out, " v\r\n");
	}
	return out;
}

static char *put_quiet_get(char *out, const struct items *items,
			   const struct request *request)
{
	for (uint32_t i = 0; i < request->key_count; i++) {
		out = DIALECT_PUT(out, "mg ");
		out = item_put_key(out, items, request->ids[i]);
		out = DIALECT_PUT(out, " v k q\r\n");
	}
	return out;
}

static char *put_barrier(char *out)
{
	return DIALECT_PUT(out, "mn\r\n");
}

static bool line_is(const char *buf, size_t line, const char *text)
{
	return line == strlen(text) && memcmp(buf, text, line) == 0;
}

static bool is_refusal(const char *buf, size_t line)
{
	return line_is(buf, line, "NS\r\n") ||
	       line_is(buf, line, "ERROR\r\n") ||
	       (line > 13 && (memcmp(buf, "CLIENT_ERROR ", 13) == 0 ||
			      memcmp(buf, "SERVER_ERROR ", 13) == 0));
}

/* Reads "VA <bytes>[ k<key>]\r\n" and its block, which `id` is to be. */
static enum reply_event read_value(const char *buf, size_t len, size_t line,
				   uint32_t id, struct reply_part *ret)
{
	const char *at = buf + strlen("VA ");
	size_t bytes;

	if (!dialect_number(&at, buf + line - 2, &bytes))
		return REPLY_BROKEN;
	if (len < line + bytes + 2)
		return REPLY_WAIT;
	ret->consumed = line + bytes + 2;
	ret->id = id;
	ret->value = buf + line;
	ret->value_bytes = bytes;
	return memcmp(buf + line + bytes, "\r\n", 2) == 0 ? REPLY_HIT
							  : REPLY_BROKEN;
}

static enum reply_event read_reply(const char *buf, size_t len,
				   const struct items *items,
				   struct request *request,
				   struct reply_part *ret)
{
	size_t line;

	(void)items; /* every key is answered, in order */
	ret->consumed = 0;
	if (!request->is_set && request->answered == request->key_count)
		return REPLY_DONE;
	line = dialect_line(buf, len);
	if (line == 0)
		return REPLY_WAIT;
	ret->consumed = line;
	if (line < 4 || buf[line - 2] != '\r')
		return REPLY_BROKEN;
	if (is_refusal(buf, line))
		return REPLY_REFUSED;
	if (request->is_set)
		return line_is(buf, line, "HD\r\n") ? REPLY_DONE : REPLY_BROKEN;
	if (line_is(buf, line, "EN\r\n")) {
		request->answered++;
		return REPLY_PART;
	}
	if (memcmp(buf, "VA ", 3) != 0)
		return REPLY_BROKEN;
	switch (read_value(buf, len, line, request->ids[request->answered],
			   ret)) {
	case REPLY_HIT:
		request->answered++;
		return REPLY_HIT;
	case REPLY_WAIT:
		return REPLY_WAIT;
	case REPLY_PART:
	case REPLY_DONE:
	case REPLY_REFUSED:
	case REPLY_BROKEN:
		break;
	}
	return REPLY_BROKEN;
}

/* The key at the end of "VA <bytes> k<key>\r\n" is which one asked for? */
static bool find_key(const char *buf, size_t line, const struct items *items,
		     struct request *request, uint32_t *ret_id)
{
	const char *end = buf + line - 2;
	const char *key = memchr(buf, 'k', line);

	while (key != NULL && request->answered < request->key_count) {
		uint32_t id = request->ids[request->answered];

		if (item_is_key(items, key + 1, (size_t)(end - key - 1), id)) {
			*ret_id = id;
			return true;
		}
		request->answered++;
	}
	return false;
}

static enum reply_event read_quiet_reply(const char *buf, size_t len,
					 const struct items *items,
					 struct request *request,
					 struct reply_part *ret)
{
	size_t line = dialect_line(buf, len);
	enum reply_event event;
	uint32_t id;

	ret->consumed = 0;
	if (line == 0)
		return REPLY_WAIT;
	if (line_is(buf, line, "MN\r\n")) {
		/* It answers the whole batch, and goes with its last one. */
		ret->consumed = request->ends_batch ? line : 0;
		return REPLY_DONE;
	}
	ret->consumed = line;
	if (line < 4 || buf[line - 2] != '\r')
		return REPLY_BROKEN;
	if (is_refusal(buf, line))
		return request->ends_batch ? REPLY_BROKEN : REPLY_REFUSED;
	if (memcmp(buf, "VA ", 3) != 0)
		return REPLY_BROKEN;
	/* A hit of a later one: what stands before it was done in silence. */
	ret->consumed = 0;
	if (request->is_set || !find_key(buf, line, items, request, &id))
		return request->ends_batch ? REPLY_BROKEN : REPLY_DONE;
	event = read_value(buf, len, line, id, ret);
	if (event == REPLY_HIT)
		request->answered++;
	return event;
}

const struct dialect dialect_meta = {
	.name = "meta",
	.set_extra = sizeof("ms  18446744073709551615\r\n\r\n"),
	.get_extra = 0,
	.get_key_extra = sizeof("mg  v\r\n"),
	.put_set = put_set,
	.put_get = put_get,
	.read_reply = read_reply,
};

const struct dialect dialect_meta_quiet = {
	.name = "meta-quiet",
	.set_extra = sizeof("ms  18446744073709551615 q\r\n\r\nmn\r\n"),
	.get_extra = sizeof("mn\r\n"),
	.get_key_extra = sizeof("mg  v k q\r\n"),
	.put_set = put_quiet_set,
	.put_get = put_quiet_get,
	.put_barrier = put_barrier,
	.read_reply = read_quiet_reply,
};
