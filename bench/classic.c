/*
 * classic.c - memcached's classic text protocol, with answers or noreply.
 *
 * A get is answered by the hits, in the order asked, and END: a key that is
 * passed over is a miss. "classic-quiet" stores with noreply and ends each
 * batch that is sent with mn, whose answer comes when all of it is done. Such
 * a set says nothing when it fails: who stores so looks afterwards.
 */
#include <string.h>

#include "bench/dialect.h"

static char *put_set_head(char *out, const struct items *items,
			  const struct request *request)
{
	out = DIALECT_PUT(out, "set ");
	out = item_put_key(out, items, request->ids[0]);
	out = DIALECT_PUT(out, " 0 0 ");
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
	out = DIALECT_PUT(out, " noreply");
	return put_set_block(out, items, request);
}

static char *put_barrier(char *out)
{
	return DIALECT_PUT(out, "mn\r\n");
}

static char *put_get(char *out, const struct items *items,
		     const struct request *request)
{
	out = DIALECT_PUT(out, "get");
	for (uint32_t i = 0; i < request->key_count; i++) {
		*out++ = ' ';
		out = item_put_key(out, items, request->ids[i]);
	}
	return DIALECT_PUT(out, "\r\n");
}

static bool line_is(const char *buf, size_t line, const char *text)
{
	return line == strlen(text) && memcmp(buf, text, line) == 0;
}

static bool starts_with(const char *buf, size_t len, const char *text)
{
	size_t bytes = strlen(text);

	return len >= bytes && memcmp(buf, text, bytes) == 0;
}

/* Reads "VALUE <key> <flags> <bytes>\r\n" and its block. */
static enum reply_event read_value(const char *buf, size_t len, size_t line,
				   const struct items *items,
				   struct request *request,
				   struct reply_part *ret)
{
	const char *key = buf + strlen("VALUE ");
	const char *end = buf + line - 2;
	const char *at = memchr(key, ' ', (size_t)(end - key));
	size_t key_bytes;
	size_t flags;
	size_t bytes;

	if (at == NULL)
		return REPLY_BROKEN; /* no space behind the key */
	key_bytes = (size_t)(at++ - key);
	if (!dialect_number(&at, end, &flags) || at == end || *at++ != ' ' ||
	    !dialect_number(&at, end, &bytes) || at != end)
		return REPLY_BROKEN;
	if (len < line + bytes + 2)
		return REPLY_WAIT;
	while (request->answered < request->key_count) {
		uint32_t id = request->ids[request->answered++];

		if (!item_is_key(items, key, key_bytes, id))
			continue;
		ret->consumed = line + bytes + 2;
		ret->id = id;
		ret->value = buf + line;
		ret->value_bytes = bytes;
		return memcmp(buf + line + bytes, "\r\n", 2) == 0
			       ? REPLY_HIT
			       : REPLY_BROKEN;
	}
	return REPLY_BROKEN;
}

static enum reply_event read_reply(const char *buf, size_t len,
				   const struct items *items,
				   struct request *request,
				   struct reply_part *ret)
{
	size_t line = dialect_line(buf, len);

	if (line == 0)
		return REPLY_WAIT;
	ret->consumed = line;
	if (line < 5 || buf[line - 2] != '\r')
		return REPLY_BROKEN;
	if (line_is(buf, line, request->is_set ? "STORED\r\n" : "END\r\n"))
		return REPLY_DONE;
	if (!request->is_set && starts_with(buf, line - 2, "VALUE "))
		return read_value(buf, len, line, items, request, ret);
	if (starts_with(buf, line, "ERROR\r\n") ||
	    starts_with(buf, line, "CLIENT_ERROR ") ||
	    starts_with(buf, line, "SERVER_ERROR ") ||
	    (request->is_set && starts_with(buf, line, "NOT_STORED\r\n")))
		return REPLY_REFUSED;
	return REPLY_BROKEN;
}

/* A get has an answer of its own, and behind it that of the batch. */
static enum reply_event read_quiet_get(const char *buf, size_t len,
				       const struct items *items,
				       struct request *request,
				       struct reply_part *ret)
{
	enum reply_event event = read_reply(buf, len, items, request, ret);

	if (event != REPLY_DONE || !request->ends_batch)
		return event;
	request->started = true;
	return REPLY_PART;
}

static enum reply_event read_quiet_reply(const char *buf, size_t len,
					 const struct items *items,
					 struct request *request,
					 struct reply_part *ret)
{
	size_t line = dialect_line(buf, len);

	if (!request->is_set && !request->started)
		return read_quiet_get(buf, len, items, request, ret);
	if (line == 0)
		return REPLY_WAIT;
	/* What follows says that the sets before it were done in silence. */
	ret->consumed = 0;
	if (!request->ends_batch)
		return REPLY_DONE;
	ret->consumed = line;
	return line_is(buf, line, "MN\r\n") ? REPLY_DONE : REPLY_BROKEN;
}

const struct dialect dialect_classic = {
	.name = "classic",
	.set_extra = sizeof("set  0 0 18446744073709551615\r\n\r\n"),
	.get_extra = sizeof("get\r\n"),
	.get_key_extra = 1,
	.put_set = put_set,
	.put_get = put_get,
	.read_reply = read_reply,
};

const struct dialect dialect_classic_quiet = {
	.name = "classic-quiet",
	.set_extra =
		sizeof("set  0 0 18446744073709551615 noreply\r\n\r\nmn\r\n"),
	.get_extra = sizeof("get\r\nmn\r\n"),
	.get_key_extra = 1,
	.put_set = put_quiet_set,
	.put_get = put_get,
	.put_barrier = put_barrier,
	.read_reply = read_quiet_reply,
};
