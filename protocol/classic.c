/*
 * classic.c - the classic text dialect: from bytes to a request.
 *
 * Two levels. Framing finds the line: it ends at LF, one CR before that is
 * dropped, and a line that does not end within its limit ends the connection.
 * Then the first token selects an entry of the table in verbs.c, whose shape
 * selects the function below that reads the arguments.
 *
 * The rule that outranks all others: the bytes of a value must never be run
 * as commands. So a storage line that is refused still says how many bytes of
 * block to skip, and if its length cannot be trusted, the connection closes.
 */
#include "protocol/token.h"
#include "protocol/verbs.h"

#include <assert.h>
#include <string.h>

/* The largest length that is believed: 2^31 - 1 less the CRLF behind it. */
#define BLOCK_MAX_BYTES (INT32_MAX - 2)

/* One line at work. */
struct line {
	struct proto_slice rest; /* the tokens not taken yet */
	const struct proto_limits *limits;
	struct proto_parsed *ret;
};

static enum proto_event refuse(struct line *line, enum proto_code code)
{
	struct proto_parsed *ret = line->ret;

	ret->code = code;
	ret->verb = ret->request.verb;
	ret->quiet = ret->request.quiet;
	return PROTO_REFUSED;
}

/* Moves the key list of get and gat, all checked, into the request. */
static enum proto_event parse_keys(struct line *line)
{
	struct proto_request *request = &line->ret->request;
	struct proto_slice key;
	enum proto_key_state state;

	state = proto_token_take_key(&line->rest, &request->key);
	if (state == PROTO_KEY_NONE)
		return refuse(line, PROTO_ERR_FORMAT);
	request->keys = line->rest;
	while (state == PROTO_KEY_GOOD)
		state = proto_token_take_key(&line->rest, &key);
	if (state == PROTO_KEY_BAD)
		return refuse(line, PROTO_ERR_FORMAT);
	return PROTO_COMMAND;
}

static enum proto_event parse_exptime_keys(struct line *line)
{
	struct proto_request *request = &line->ret->request;
	struct proto_slice exptime;

	if (!proto_token_take(&line->rest, &exptime) || line->rest.len == 0)
		return refuse(line, PROTO_ERR_FORMAT);
	if (!proto_parse_i64(exptime, &request->exptime))
		return refuse(line, PROTO_ERR_EXPTIME);
	return parse_keys(line);
}

/* Refuses a storage line whose block has a known length. */
static enum proto_event refuse_block(struct line *line, enum proto_code code,
				     uint32_t block_bytes)
{
	line->ret->swallow = (uint64_t)block_bytes + 2;
	return refuse(line, code);
}

/* Refuses a storage line behind which a block of unknown length may come. */
static enum proto_event refuse_and_close(struct line *line)
{
	line->ret->close = true;
	return refuse(line, PROTO_ERR_FORMAT);
}

static enum proto_event parse_block(struct line *line, bool has_id)
{
	struct proto_request *request = &line->ret->request;
	struct proto_slice flags, exptime, bytes, id;
	enum proto_key_state key;
	uint32_t length;

	key = proto_token_take_key(&line->rest, &request->key);
	if (key == PROTO_KEY_NONE || !proto_token_take(&line->rest, &flags) ||
	    !proto_token_take(&line->rest, &exptime))
		return refuse(line, PROTO_ERR_FORMAT);
	/* Three may be a line with an empty key: then a block follows. */
	if (!proto_token_take(&line->rest, &bytes) ||
	    !proto_parse_u32(bytes, &length) || length > BLOCK_MAX_BYTES)
		return refuse_and_close(line);

	request->quiet = proto_token_cut_noreply(&line->rest);
	if (key == PROTO_KEY_BAD ||
	    !proto_parse_u32(flags, &request->client_flags) ||
	    !proto_parse_i64(exptime, &request->exptime))
		return refuse_block(line, PROTO_ERR_FORMAT, length);
	if (has_id && (!proto_token_take(&line->rest, &id) ||
		       !proto_parse_u64(id, &request->cas)))
		return refuse_block(line, PROTO_ERR_FORMAT, length);
	if (length > line->limits->value_max_bytes)
		return refuse_block(line, PROTO_ERR_TOO_LARGE, length);
	request->value_bytes = length;
	request->has_value = true;
	return PROTO_COMMAND;
}

/* Takes "<key> <text> ... [noreply]". Returns false on bad format. */
static bool take_key_and_text(struct line *line, struct proto_slice *ret_text)
{
	struct proto_request *request = &line->ret->request;
	enum proto_key_state key;

	key = proto_token_take_key(&line->rest, &request->key);
	request->quiet = proto_token_cut_noreply(&line->rest);
	return key == PROTO_KEY_GOOD && proto_token_take(&line->rest, ret_text);
}

static enum proto_event parse_delta(struct line *line)
{
	struct proto_slice delta;

	if (!take_key_and_text(line, &delta))
		return refuse(line, PROTO_ERR_FORMAT);
	if (!proto_parse_u64(delta, &line->ret->request.delta))
		return refuse(line, PROTO_ERR_DELTA);
	return PROTO_COMMAND;
}

static enum proto_event parse_touch(struct line *line)
{
	struct proto_slice exptime;

	if (!take_key_and_text(line, &exptime))
		return refuse(line, PROTO_ERR_FORMAT);
	if (!proto_parse_i64(exptime, &line->ret->request.exptime))
		return refuse(line, PROTO_ERR_EXPTIME);
	return PROTO_COMMAND;
}

/* Old clients send a hold time behind the key; only "0" means nothing. */
static enum proto_event parse_delete(struct line *line)
{
	struct proto_request *request = &line->ret->request;
	struct proto_slice hold;
	enum proto_key_state key;

	key = proto_token_take_key(&line->rest, &request->key);
	request->quiet = proto_token_cut_noreply(&line->rest);
	if (key != PROTO_KEY_GOOD)
		return refuse(line, PROTO_ERR_FORMAT);
	if (proto_token_take(&line->rest, &hold) &&
	    (!proto_slice_is(hold, "0") || line->rest.len > 0))
		return refuse(line, PROTO_ERR_DELETE_USAGE);
	return PROTO_COMMAND;
}

static enum proto_event parse_flush(struct line *line)
{
	struct proto_request *request = &line->ret->request;
	struct proto_slice exptime;

	request->quiet = proto_token_cut_noreply(&line->rest);
	if (proto_token_take(&line->rest, &exptime) &&
	    !proto_parse_i64(exptime, &request->exptime))
		return refuse(line, PROTO_ERR_EXPTIME);
	return PROTO_COMMAND;
}

static enum proto_event parse_words(struct line *line)
{
	struct proto_request *request = &line->ret->request;

	while (request->arg_count < PROTO_ARGS_MAX &&
	       proto_token_take(&line->rest,
				&request->args[request->arg_count]))
		request->arg_count++;
	return PROTO_COMMAND;
}

static enum proto_event parse_number(struct line *line)
{
	struct proto_request *request = &line->ret->request;

	request->quiet = proto_token_cut_noreply(&line->rest);
	if (line->rest.len == 0 && request->verb == PROTO_CACHE_MEMLIMIT)
		return refuse(line, PROTO_ERR_UNKNOWN);
	if (line->rest.len == 0)
		return refuse(line, PROTO_ERR_FORMAT);
	return parse_words(line);
}

static enum proto_event parse_arguments(struct line *line,
					enum proto_shape shape)
{
	switch (shape) {
	case PROTO_SHAPE_KEYS:
		return parse_keys(line);
	case PROTO_SHAPE_EXPTIME_KEYS:
		return parse_exptime_keys(line);
	case PROTO_SHAPE_BLOCK:
		return parse_block(line, false);
	case PROTO_SHAPE_CAS:
		return parse_block(line, true);
	case PROTO_SHAPE_DELTA:
		return parse_delta(line);
	case PROTO_SHAPE_TOUCH:
		return parse_touch(line);
	case PROTO_SHAPE_DELETE:
		return parse_delete(line);
	case PROTO_SHAPE_FLUSH:
		return parse_flush(line);
	case PROTO_SHAPE_NUMBER:
		return parse_number(line);
	case PROTO_SHAPE_WORDS:
		return parse_words(line);
	}
	assert(!"a shape of verbs.h");
	return PROTO_HANGUP;
}

/* True if tokens follow, and the last one is an HTTP version. */
static bool ends_like_http(struct proto_slice rest)
{
	static const char prefix[] = "HTTP/";
	const size_t prefix_len = sizeof(prefix) - 1;
	size_t start = rest.len;

	while (start > 0 && rest.data[start - 1] != ' ')
		start--;
	return rest.len - start >= prefix_len &&
	       memcmp(rest.data + start, prefix, prefix_len) == 0;
}

static enum proto_event parse_line(struct line *line)
{
	struct proto_request *request = &line->ret->request;
	const struct proto_word *word = NULL;
	struct proto_slice name;

	request->verb = PROTO_VERB_COUNT;
	if (line->rest.len < 2)
		return refuse(line, PROTO_ERR_FORMAT);
	proto_token_trim(&line->rest);
	/* A blank in front makes any word an unknown one. */
	if (line->rest.len > 0 && *line->rest.data != ' ' &&
	    proto_token_take(&line->rest, &name))
		word = proto_word_find(name);
	if (word == NULL && ends_like_http(line->rest))
		return PROTO_HANGUP;
	if (word == NULL)
		return refuse(line, PROTO_ERR_UNKNOWN);
	request->verb = word->verb;
	request->want_cas = word->want_cas;
	return parse_arguments(line, word->shape);
}

/* True if a line of which so much came may still be waited for. */
static bool may_grow(struct proto_slice start,
		     const struct proto_limits *limits)
{
	const struct proto_word *word;
	struct proto_slice name;

	if (start.len <= limits->line_max_bytes)
		return true;
	if (start.len > limits->get_line_max_bytes || *start.data == ' ')
		return false;
	if (!proto_token_take(&start, &name))
		return false;
	word = proto_word_find(name);
	return word != NULL && word->shape == PROTO_SHAPE_KEYS;
}

enum proto_event proto_classic_parse(const char *buf, size_t len,
				     size_t scanned,
				     const struct proto_limits *limits,
				     struct proto_parsed *ret)
{
	struct line line = {.limits = limits, .ret = ret};
	const char *end = NULL;

	assert(scanned <= len);
	if (scanned < len)
		end = memchr(buf + scanned, '\n', len - scanned);
	if (end == NULL) {
		if (!may_grow((struct proto_slice){buf, len}, limits))
			return PROTO_HANGUP;
		ret->scanned = len;
		return PROTO_WAIT;
	}
	*ret = (struct proto_parsed){.consumed = (size_t)(end - buf) + 1};
	if (end > buf && end[-1] == '\r')
		end--;
	line.rest = (struct proto_slice){buf, (size_t)(end - buf)};
	return parse_line(&line);
}
