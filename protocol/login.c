/*
 * login.c - the one line that a text client may send before it is logged in.
 *
 *   set <any> <any> <any> <bytes> [...]
 *   <user> <password>
 *
 * It looks like a storage command, so that clients that know nothing of
 * passwords can send it. Nothing of it is stored, and noreply means nothing.
 */
#include "protocol/line.h"
#include "protocol/token.h"

#include <assert.h>
#include <string.h>

/* A shorter line (CR counts, LF does not) cannot become a login. */
#define LOGIN_LINE_MIN 6

static enum proto_event parse_login(struct line *line)
{
	struct proto_request *request = &line->ret->request;
	struct proto_slice token = {0};
	uint32_t length;

	request->form = (struct proto_form){.verb = PROTO_SASL_START};
	if (!proto_token_take(&line->rest, &token) ||
	    !proto_slice_is(token, "set"))
		return line_refuse(line, PROTO_ERR_UNAUTHENTICATED);
	for (int i = 0; i < 4; i++)
		if (!proto_token_take(&line->rest, &token))
			return line_refuse(line, PROTO_ERR_UNAUTHENTICATED);
	if (!proto_parse_u32(token, &length))
		return line_refuse(line, PROTO_ERR_UNAUTHENTICATED);
	if (length > PROTO_LOGIN_MAX)
		return line_refuse(line, PROTO_ERR_LOGIN_LONG);
	request->has_value = true;
	request->value_bytes = length;
	request->value_tail = 2;
	return PROTO_COMMAND;
}

enum proto_event proto_login_parse(const char *buf, size_t len, size_t scanned,
				   const struct proto_limits *limits,
				   struct proto_parsed *ret)
{
	struct line line = {.limits = limits, .ret = ret};
	const char *end = NULL;
	size_t bytes;

	assert(scanned <= len);
	if (len > 0 && proto_is_binary(*buf))
		return PROTO_HANGUP;
	if (scanned < len)
		end = memchr(buf + scanned, '\n', len - scanned);
	if (end == NULL) {
		if (len > limits->line_max_bytes)
			return PROTO_HANGUP;
		ret->scanned = len;
		return PROTO_WAIT;
	}
	bytes = (size_t)(end - buf);
	if (bytes < LOGIN_LINE_MIN)
		return PROTO_HANGUP;
	*ret = (struct proto_parsed){.consumed = bytes + 1};
	if (end[-1] == '\r')
		bytes--;
	line.rest = (struct proto_slice){buf, bytes};
	return parse_login(&line);
}
