/*
 * fuzz_login.c - any bytes to the parser of a text client's login.
 *
 * What must hold whatever the bytes are: a line gives the same result alone as
 * with more behind it; a piece of it is waited for, or closes; and what is
 * taken for a login is a `set` with four words, of which the last is a length
 * within its bound.
 */
#include "protocol/protocol.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Small, so that short inputs reach it. */
static const struct proto_limits limits = {
	.value_max_bytes = 64,
	.line_max_bytes = 48,
	.get_line_max_bytes = 600,
};

static void check_login(struct proto_slice line,
			const struct proto_request *request)
{
	struct proto_slice word;
	uint32_t length;

	assert(request->form.dialect == PROTO_CLASSIC);
	assert(request->form.verb == PROTO_SASL_START);
	assert(!request->form.quiet && request->has_value);
	assert(request->value_tail == 2);
	assert(request->value_bytes <= PROTO_LOGIN_MAX);
	assert(proto_next_token(&line, &word) && proto_slice_is(word, "set"));
	for (int i = 0; i < 4; i++)
		assert(proto_next_token(&line, &word));
	assert(proto_parse_u32(word, &length));
	assert(length == request->value_bytes);
}

/* The same line in memory of exactly its size. */
static void check_alone(const char *bytes, size_t len, enum proto_event event,
			const struct proto_parsed *parsed)
{
	struct proto_parsed alone;
	char *copy = malloc(len);

	if (copy == NULL)
		abort();
	memcpy(copy, bytes, len);
	assert(proto_login_parse(copy, len, 0, &limits, &alone) == event);
	if (event == PROTO_COMMAND || event == PROTO_REFUSED) {
		assert(alone.consumed == parsed->consumed);
		assert(alone.code == parsed->code);
		assert(alone.request.value_bytes ==
		       parsed->request.value_bytes);
	}
	free(copy);
}

/* Checks the first line; returns what is used up, 0: nothing more follows. */
static size_t check_first(const char *bytes, size_t size)
{
	const char *lf = memchr(bytes, '\n', size);
	size_t len = lf != NULL ? (size_t)(lf - bytes) + 1 : size;
	struct proto_parsed parsed;
	enum proto_event event =
		proto_login_parse(bytes, size, 0, &limits, &parsed);
	struct proto_slice line = {bytes, len - 1};

	check_alone(bytes, len, event, &parsed);
	switch (event) {
	case PROTO_WAIT:
		assert(lf == NULL && parsed.scanned == size);
		return 0;
	case PROTO_HANGUP:
		assert(proto_is_binary(*bytes) || len <= 6 ||
		       (lf == NULL && size > limits.line_max_bytes));
		return 0;
	case PROTO_COMMAND:
		assert(parsed.consumed == len);
		if (line.data[line.len - 1] == '\r')
			line.len--;
		check_login(line, &parsed.request);
		return len + parsed.request.value_bytes + 2;
	case PROTO_REFUSED:
		assert(parsed.consumed == len && parsed.swallow == 0);
		assert(parsed.code == PROTO_ERR_UNAUTHENTICATED ||
		       parsed.code == PROTO_ERR_LOGIN_LONG);
		return len;
	}
	abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *bytes = (const char *)data;

	while (size > 0) {
		size_t used = check_first(bytes, size);

		if (used == 0 || used > size)
			break;
		bytes += used;
		size -= used;
	}
	return 0;
}

#ifdef FUZZ_REPLAY
#include "tests/fuzz/replay.h"
#endif
