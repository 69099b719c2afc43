/*
 * classic.c - the classic and administrative words: their arguments.
 *
 * The word's shape selects the function below that reads them. What the
 * server alone can judge it finds in args[] and rest, as sent.
 */
#include "protocol/line.h"
#include "protocol/token.h"

#include <assert.h>

/* Moves the key list of get and gat, all checked, into the request. */
static enum proto_event parse_keys(struct line *line)
{
	struct proto_request *request = &line->ret->request;
	struct proto_slice key;
	enum proto_key_state state;

	state = proto_token_take_key(&line->rest, &request->key);
	if (state == PROTO_KEY_NONE)
		return line_refuse(line, PROTO_ERR_FORMAT);
	request->keys = line->rest;
	while (state == PROTO_KEY_GOOD)
		state = proto_token_take_key(&line->rest, &key);
	if (state == PROTO_KEY_BAD)
		return line_refuse(line, PROTO_ERR_FORMAT);
	return PROTO_COMMAND;
}

static enum proto_event parse_exptime_keys(struct line *line)
{
	struct proto_request *request = &line->ret->request;
	struct proto_slice exptime;

	if (!proto_token_take(&line->rest, &exptime) || line->rest.len == 0)
		return line_refuse(line, PROTO_ERR_FORMAT);
	if (!proto_parse_i64(exptime, &request->exptime))
		return line_refuse(line, PROTO_ERR_EXPTIME);
	return parse_keys(line);
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
		return line_refuse(line, PROTO_ERR_FORMAT);
	/* Three may be a line with an empty key: then a block follows. */
	if (!proto_token_take(&line->rest, &bytes) ||
	    !line_block_length(bytes, &length))
		return line_refuse_and_close(line);

	request->form.quiet = proto_token_cut_noreply(&line->rest);
	if (key == PROTO_KEY_BAD ||
	    !proto_parse_u32(flags, &request->client_flags) ||
	    !proto_parse_i64(exptime, &request->exptime))
		return line_refuse_block(line, PROTO_ERR_FORMAT, length);
	if (has_id && (!proto_token_take(&line->rest, &id) ||
		       !proto_parse_u64(id, &request->cas)))
		return line_refuse_block(line, PROTO_ERR_FORMAT, length);
	request->compare = has_id;
	return line_expect_block(line, length);
}

/* Takes "<key> <text> ... [noreply]". Returns false on bad format. */
static bool take_key_and_text(struct line *line, struct proto_slice *ret_text)
{
	struct proto_request *request = &line->ret->request;
	enum proto_key_state key;

	key = proto_token_take_key(&line->rest, &request->key);
	request->form.quiet = proto_token_cut_noreply(&line->rest);
	return key == PROTO_KEY_GOOD && proto_token_take(&line->rest, ret_text);
}

static enum proto_event parse_delta(struct line *line)
{
	struct proto_slice delta;

	if (!take_key_and_text(line, &delta))
		return line_refuse(line, PROTO_ERR_FORMAT);
	if (!proto_parse_u64(delta, &line->ret->request.delta))
		return line_refuse(line, PROTO_ERR_DELTA);
	return PROTO_COMMAND;
}

static enum proto_event parse_touch(struct line *line)
{
	struct proto_slice exptime;

	if (!take_key_and_text(line, &exptime))
		return line_refuse(line, PROTO_ERR_FORMAT);
	if (!proto_parse_i64(exptime, &line->ret->request.exptime))
		return line_refuse(line, PROTO_ERR_EXPTIME);
	return PROTO_COMMAND;
}

/* Old clients send a hold time behind the key; only "0" means nothing. */
static enum proto_event parse_delete(struct line *line)
{
	struct proto_request *request = &line->ret->request;
	struct proto_slice hold;
	enum proto_key_state key;

	key = proto_token_take_key(&line->rest, &request->key);
	request->form.quiet = proto_token_cut_noreply(&line->rest);
	if (key != PROTO_KEY_GOOD)
		return line_refuse(line, PROTO_ERR_FORMAT);
	if (proto_token_take(&line->rest, &hold) &&
	    (!proto_slice_is(hold, "0") || line->rest.len > 0))
		return line_refuse(line, PROTO_ERR_DELETE_USAGE);
	return PROTO_COMMAND;
}

static enum proto_event parse_flush(struct line *line)
{
	struct proto_request *request = &line->ret->request;
	struct proto_slice exptime;

	request->form.quiet = proto_token_cut_noreply(&line->rest);
	if (!proto_token_take(&line->rest, &exptime))
		return PROTO_COMMAND;
	if (!proto_parse_i64(exptime, &request->exptime))
		return line_refuse(line, PROTO_ERR_EXPTIME);
	request->has_exptime = true;
	return PROTO_COMMAND;
}

static enum proto_event parse_words(struct line *line)
{
	proto_token_take_args(&line->rest, &line->ret->request);
	return PROTO_COMMAND;
}

static enum proto_event parse_quiet_words(struct line *line)
{
	line->ret->request.form.quiet = proto_token_cut_noreply(&line->rest);
	return parse_words(line);
}

static enum proto_event parse_number(struct line *line)
{
	struct proto_request *request = &line->ret->request;

	parse_quiet_words(line);
	if (request->arg_count > 0)
		return PROTO_COMMAND;
	return line_refuse(line, request->form.verb == PROTO_CACHE_MEMLIMIT
					 ? PROTO_ERR_UNKNOWN
					 : PROTO_ERR_FORMAT);
}

static bool is_flag(struct proto_slice word)
{
	return proto_slice_is(word, "0") || proto_slice_is(word, "1");
}

/* Takes the next word into args[] as a key. Returns false if it is none. */
static bool take_key_arg(struct line *line)
{
	struct proto_request *request = &line->ret->request;
	struct proto_slice *arg = &request->args[request->arg_count];

	if (proto_token_take_key(&line->rest, arg) != PROTO_KEY_GOOD)
		return false;
	request->arg_count++;
	return true;
}

static bool take_arg(struct line *line)
{
	struct proto_request *request = &line->ret->request;
	struct proto_slice *arg = &request->args[request->arg_count];

	if (!proto_token_take(&line->rest, arg))
		return false;
	request->arg_count++;
	return true;
}

static enum proto_event parse_range(struct line *line)
{
	const struct proto_slice *args = line->ret->request.args;
	uint32_t max;

	if (!take_key_arg(line) || !take_key_arg(line) || !take_arg(line) ||
	    !is_flag(args[2]) || !take_arg(line) || !is_flag(args[3]) ||
	    !take_arg(line) || !proto_parse_u32(args[4], &max) ||
	    line->rest.len > 0)
		return line_refuse(line, PROTO_ERR_FORMAT);
	return PROTO_COMMAND;
}

static enum proto_event parse_prefix(struct line *line)
{
	if (!take_key_arg(line) || line->rest.len > 0)
		return line_refuse(line, PROTO_ERR_FORMAT);
	return PROTO_COMMAND;
}

static enum proto_event parse_prefix_page(struct line *line)
{
	const struct proto_slice *args = line->ret->request.args;
	uint32_t max;

	if (!take_key_arg(line) || !take_arg(line) ||
	    !proto_parse_u32(args[1], &max))
		return line_refuse(line, PROTO_ERR_FORMAT);
	if (line->rest.len > 0 && (!take_key_arg(line) || line->rest.len > 0))
		return line_refuse(line, PROTO_ERR_FORMAT);
	return PROTO_COMMAND;
}

enum proto_event classic_parse(struct line *line, enum proto_shape shape)
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
	case PROTO_SHAPE_QUIET_WORDS:
		return parse_quiet_words(line);
	case PROTO_SHAPE_WORDS:
		return parse_words(line);
	case PROTO_SHAPE_RANGE:
		return parse_range(line);
	case PROTO_SHAPE_PREFIX:
		return parse_prefix(line);
	case PROTO_SHAPE_PREFIX_PAGE:
		return parse_prefix_page(line);
	case PROTO_SHAPE_META:
	case PROTO_SHAPE_META_BLOCK:
	case PROTO_SHAPE_META_DEBUG:
	case PROTO_SHAPE_META_NONE:
		break;
	}
	assert(!"a classic shape of verbs.h");
	return PROTO_HANGUP;
}
