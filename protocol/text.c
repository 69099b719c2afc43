/*
 * text.c - the text dialects: from bytes to a line, and to its first word.
 *
 * A line ends at LF, one CR before that is dropped, and a line that does not
 * end within its limit ends the connection. Its first token selects an entry
 * of the table in verbs.c, which says who reads the arguments.
 */
#include "protocol/line.h"
#include "protocol/token.h"

#include <assert.h>
#include <string.h>

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
	struct proto_form *form = &line->ret->request.form;
	const struct proto_word *word = NULL;
	struct proto_slice name;

	form->verb = PROTO_VERB_COUNT;
	if (line->rest.len < 2)
		return line_refuse(line, PROTO_ERR_FORMAT);
	proto_token_trim(&line->rest);
	/* A blank in front makes any word an unknown one. */
	if (line->rest.len > 0 && *line->rest.data != ' ' &&
	    proto_token_take(&line->rest, &name))
		word = proto_word_find(name);
	if (word == NULL && ends_like_http(line->rest))
		return PROTO_HANGUP;
	if (word == NULL)
		return line_refuse(line, PROTO_ERR_UNKNOWN);
	*form = word->form;
	if (form->dialect == PROTO_META)
		return meta_parse(line, word->shape);
	return classic_parse(line, word->shape);
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

enum proto_event proto_text_parse(const char *buf, size_t len, size_t scanned,
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
