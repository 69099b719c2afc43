/*
 * redis.c - RESP2: SET, GET, and MGET for several keys.
 *
 * MGET is answered by an array: a head with the count, then a bulk string or
 * a nil for each key, in the order asked.
 */
#include <string.h>

#include "bench/dialect.h"

/* "$<bytes>\r\n" or "*<count>\r\n". */
static char *put_head(char *out, char type, size_t count)
{
	*out++ = type;
	out = dialect_put_number(out, count);
	return DIALECT_PUT(out, "\r\n");
}

static char *put_key(char *out, const struct items *items, uint32_t id)
{
	out = put_head(out, '$', items->key_bytes);
	out = item_put_key(out, items, id);
	return DIALECT_PUT(out, "\r\n");
}

static char *put_set(char *out, const struct items *items,
		     const struct request *request)
{
	out = DIALECT_PUT(out, "*3\r\n$3\r\nSET\r\n");
	out = put_key(out, items, request->ids[0]);
	out = put_head(out, '$', items->value_bytes);
	out = item_put_value(out, items, request->ids[0], request->version);
	return DIALECT_PUT(out, "\r\n");
}

static char *put_get(char *out, const struct items *items,
		     const struct request *request)
{
	out = put_head(out, '*', (size_t)request->key_count + 1);
	if (request->key_count == 1)
		out = DIALECT_PUT(out, "$3\r\nGET\r\n");
	else
		out = DIALECT_PUT(out, "$4\r\nMGET\r\n");
	for (uint32_t i = 0; i < request->key_count; i++)
		out = put_key(out, items, request->ids[i]);
	return out;
}

static enum reply_event read_bulk(const char *buf, size_t len, size_t line,
				  struct request *request,
				  struct reply_part *ret)
{
	const char *at = buf + 1;
	size_t bytes;

	if (request->answered == request->key_count)
		return REPLY_BROKEN;
	if (line == 5 && memcmp(buf, "$-1\r\n", 5) == 0) {
		request->answered++;
		return REPLY_PART;
	}
	if (!dialect_number(&at, buf + line - 2, &bytes) ||
	    at != buf + line - 2)
		return REPLY_BROKEN;
	if (len < line + bytes + 2)
		return REPLY_WAIT;
	ret->consumed = line + bytes + 2;
	ret->id = request->ids[request->answered++];
	ret->value = buf + line;
	ret->value_bytes = bytes;
	return memcmp(buf + line + bytes, "\r\n", 2) == 0 ? REPLY_HIT
							  : REPLY_BROKEN;
}

/* True if the line is the head of the array that answers this MGET. */
static bool is_array_head(const char *buf, size_t line,
			  const struct request *request)
{
	const char *at = buf + 1;
	size_t count;

	return *buf == '*' && request->key_count > 1 && !request->started &&
	       dialect_number(&at, buf + line - 2, &count) &&
	       at == buf + line - 2 && count == request->key_count;
}

static enum reply_event read_reply(const char *buf, size_t len,
				   const struct items *items,
				   struct request *request,
				   struct reply_part *ret)
{
	size_t line;

	(void)items; /* the replies do not repeat the keys */
	ret->consumed = 0;
	if (!request->is_set && request->answered == request->key_count)
		return REPLY_DONE;
	line = dialect_line(buf, len);
	if (line == 0)
		return REPLY_WAIT;
	ret->consumed = line;
	if (line < 4 || buf[line - 2] != '\r')
		return REPLY_BROKEN;
	if (*buf == '-')
		return REPLY_REFUSED;
	if (request->is_set)
		return line == 5 && memcmp(buf, "+OK\r\n", 5) == 0
			       ? REPLY_DONE
			       : REPLY_BROKEN;
	if (is_array_head(buf, line, request)) {
		request->started = true;
		return REPLY_PART;
	}
	if (*buf == '$' && request->started == (request->key_count > 1))
		return read_bulk(buf, len, line, request, ret);
	return REPLY_BROKEN;
}

const struct dialect dialect_redis = {
	.name = "redis",
	.set_extra = 80,
	.get_extra = 40,
	.get_key_extra = 26,
	.put_set = put_set,
	.put_get = put_get,
	.read_reply = read_reply,
};
