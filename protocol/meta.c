/*
 * meta.c - the meta commands: their arguments.
 *
 * Behind the key, and the length of ms, each token is a flag: a letter with
 * its argument glued on. All flags that any meta command has are understood
 * by all of them; who has no use for one ignores it, but for the check of its
 * number. Errors of the flags are found before anything is done, and those of
 * ms still skip its block.
 */
#include "protocol/base64.h"
#include "protocol/line.h"
#include "protocol/token.h"

#include <assert.h>
#include <string.h>

/* Tokens of a line, the word included. */
#define TOKENS_MAX 20
/* An opaque with its letter. */
#define OPAQUE_MAX 32

#define IS_DIGIT(c)  ((c) >= '0' && (c) <= '9')
#define IS_LETTER(c) (((c) >= 'a' && (c) <= 'z') || ((c) >= 'A' && (c) <= 'Z'))

#define F(letter) PROTO_FLAG(letter)
static const uint64_t known_flags = F('b') | F('c') | F('f') | F('h') | F('k') |
				    F('l') | F('q') | F('s') | F('t') | F('u') |
				    F('v') | F('x') | F('C') | F('D') | F('E') |
				    F('F') | F('I') | F('J') | F('L') | F('M') |
				    F('N') | F('O') | F('P') | F('R') | F('T');
#undef F

static enum proto_code checked(bool good)
{
	return good ? PROTO_DONE : PROTO_ERR_META_NUMBER;
}

static enum proto_code set_opaque(struct proto_meta *meta,
				  struct proto_slice argument)
{
	meta->opaque = argument;
	return argument.len < OPAQUE_MAX ? PROTO_DONE : PROTO_ERR_META_OPAQUE;
}

/*
 * T behind N also decides for an item that is made; before N it does not, and
 * never for one that an append makes.
 */
static enum proto_code set_ttl(struct proto_request *request,
			       struct proto_slice argument)
{
	request->has_exptime = true;
	if (!proto_parse_i64(argument, &request->exptime))
		return PROTO_ERR_META_NUMBER;
	request->meta.touches_made =
		request->create && request->form.verb != PROTO_META_SET;
	return PROTO_DONE;
}

/* Sets what a flag stands for. Returns what is wrong with its argument. */
static enum proto_code set_flag(struct proto_request *request, char letter,
				struct proto_slice argument)
{
	switch (letter) {
	case 'q':
		request->form.quiet = true;
		return PROTO_DONE;
	case 'O':
		return set_opaque(&request->meta, argument);
	case 'T':
		return set_ttl(request, argument);
	case 'C':
		request->compare = true;
		return checked(proto_parse_u64(argument, &request->cas));
	case 'N':
		request->create = true;
		return checked(
			proto_parse_i64(argument, &request->create_exptime));
	case 'R':
		request->meta.recache_touched = request->has_exptime;
		return checked(proto_parse_i64(argument,
					       &request->meta.recache_seconds));
	case 'E':
		return checked(
			proto_parse_u64(argument, &request->meta.assign));
	case 'D':
		return checked(proto_parse_u64(argument, &request->delta));
	case 'J':
		return checked(proto_parse_u64(argument, &request->initial));
	case 'M':
		request->meta.mode = argument.len > 0 ? *argument.data : '\0';
		return PROTO_DONE;
	case 'F':
		return proto_parse_u32(argument, &request->client_flags)
			       ? PROTO_DONE
			       : PROTO_ERR_FORMAT;
	default: /* the letter says it all */
		return PROTO_DONE;
	}
}

/* Notes that a flag is there. Returns what is wrong with that. */
static enum proto_code note_flag(struct proto_meta *meta, char letter)
{
	uint64_t bit = PROTO_FLAG(letter);

	if (!IS_LETTER(letter))
		return IS_DIGIT(letter) ? PROTO_ERR_META_FLAG
					: PROTO_ERR_FORMAT;
	if ((known_flags & bit) == 0)
		return PROTO_ERR_META_FLAG;
	if ((meta->present & bit) != 0)
		return PROTO_ERR_META_DUPLICATE;
	meta->present |= bit;
	return PROTO_DONE;
}

/* Reads all flags. A wrong letter outranks a wrong argument. */
static enum proto_code take_flags(struct line *line, size_t max)
{
	struct proto_request *request = &line->ret->request;
	enum proto_code letter_error = PROTO_DONE, error = PROTO_DONE;
	struct proto_slice token;
	enum proto_code code;
	size_t count = 0;

	while (proto_token_take(&line->rest, &token)) {
		char letter = *token.data;

		if (++count > max)
			return PROTO_ERR_META_MANY;
		code = note_flag(&request->meta, letter);
		if (letter_error == PROTO_DONE)
			letter_error = code;
		token.data++;
		token.len--;
		if (code == PROTO_DONE)
			code = set_flag(request, letter, token);
		if (error == PROTO_DONE)
			error = code;
	}
	return letter_error != PROTO_DONE ? letter_error : error;
}

static bool is_base64_key(const struct proto_request *request)
{
	char room[PROTO_KEY_MAX];
	size_t len;

	return base64_decode(request->key, room, &len);
}

/* Gives the mode its one spelling. Returns false if there is no such mode. */
static bool settle_mode(struct proto_request *request)
{
	char *mode = &request->meta.mode;

	if (request->form.verb == PROTO_META_SET)
		return *mode != '\0' && strchr("SEAPR", *mode) != NULL;
	if (request->form.verb != PROTO_META_ARITH)
		return true;
	if (*mode == '+')
		*mode = 'I';
	if (*mode == '-')
		*mode = 'D';
	return *mode == 'I' || *mode == 'D';
}

/* Reads what stands behind key and length. Returns what is wrong with it. */
static enum proto_code parse_flags(struct line *line, size_t tokens_before)
{
	struct proto_request *request = &line->ret->request;
	bool arith = request->form.verb == PROTO_META_ARITH;
	enum proto_code code;

	request->delta = 1;
	request->meta.mode = arith ? 'I' : 'S';
	request->meta.flags = line->rest;
	code = take_flags(line, TOKENS_MAX - tokens_before);
	if (code == PROTO_DONE && proto_has(request, 'b') &&
	    !is_base64_key(request))
		code = PROTO_ERR_META_KEY;
	if (code != PROTO_DONE)
		return arith && code != PROTO_ERR_META_MANY
			       ? PROTO_ERR_META_ARITH_FLAG
			       : code;
	if (settle_mode(request))
		return PROTO_DONE;
	return arith ? PROTO_ERR_META_ARITH_MODE : PROTO_ERR_META_SET_MODE;
}

static enum proto_event parse_key_flags(struct line *line)
{
	struct proto_request *request = &line->ret->request;
	enum proto_code code;

	if (proto_token_take_key(&line->rest, &request->key) != PROTO_KEY_GOOD)
		return line_refuse(line, PROTO_ERR_FORMAT);
	code = parse_flags(line, 2);
	return code == PROTO_DONE ? PROTO_COMMAND : line_refuse(line, code);
}

static bool has_digit(struct proto_slice text)
{
	for (size_t i = 0; i < text.len; i++) {
		if (IS_DIGIT(text.data[i]))
			return true;
	}
	return false;
}

static enum proto_event parse_key_block_flags(struct line *line)
{
	struct proto_request *request = &line->ret->request;
	struct proto_slice all = line->rest, bytes;
	enum proto_key_state key;
	enum proto_code code;
	uint32_t length;

	key = proto_token_take_key(&line->rest, &request->key);
	if (!proto_token_take(&line->rest, &bytes) ||
	    !line_block_length(bytes, &length)) {
		/* Without a digit, no block has been announced at all. */
		return has_digit(all) ? line_refuse_and_close(line)
				      : line_refuse(line, PROTO_ERR_FORMAT);
	}
	if (key != PROTO_KEY_GOOD)
		return line_refuse_block(line, PROTO_ERR_FORMAT, length);
	code = parse_flags(line, 3);
	if (code != PROTO_DONE)
		return line_refuse_block(line, code, length);
	return line_expect_block(line, length);
}

/* Looks for nothing but b among what stands behind the key. */
static enum proto_event parse_key_base64(struct line *line)
{
	struct proto_request *request = &line->ret->request;
	struct proto_slice token;

	if (proto_token_take_key(&line->rest, &request->key) != PROTO_KEY_GOOD)
		return line_refuse(line, PROTO_ERR_FORMAT);
	while (proto_token_take(&line->rest, &token)) {
		if (*token.data == 'b')
			request->meta.present = PROTO_FLAG('b');
	}
	if (proto_has(request, 'b') && !is_base64_key(request))
		return line_refuse(line, PROTO_ERR_META_KEY);
	return PROTO_COMMAND;
}

enum proto_event meta_parse(struct line *line, enum proto_shape shape)
{
	if (shape == PROTO_SHAPE_META)
		return parse_key_flags(line);
	if (shape == PROTO_SHAPE_META_BLOCK)
		return parse_key_block_flags(line);
	if (shape == PROTO_SHAPE_META_DEBUG)
		return parse_key_base64(line);
	assert(shape == PROTO_SHAPE_META_NONE);
	return PROTO_COMMAND;
}

struct proto_slice proto_meta_key(const struct proto_request *request,
				  char *room)
{
	struct proto_slice key = request->key;

	if (proto_has(request, 'b') && base64_decode(key, room, &key.len))
		key.data = room;
	return key;
}
