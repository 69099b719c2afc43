/*
 * fuzz_text.c - any bytes to the parser of the text dialects.
 *
 * An input is what one connection sends. It is walked as the server would
 * walk it: command by command, values and refused blocks skipped. For each
 * command this file checks what must hold whatever the bytes are:
 *
 * - a line gives the same result alone, in memory of exactly its size, as
 *   with more bytes behind it, and as fed byte by byte;
 * - every shorter piece of it is waited for, or was too long already;
 * - slices lie inside the line, keys are legal, lengths are in bounds;
 * - keys, flags and numbers are those that a second, naive reader finds;
 * - what a meta command is answered fits its room and is one line.
 *
 * Built with libFuzzer it searches; built with -DFUZZ_REPLAY it replays the
 * files and folders it is given.
 */
#include "protocol/protocol.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* Small, so that short inputs reach them. */
static const struct proto_limits limits = {
	.value_max_bytes = 64,
	.line_max_bytes = 48,
	.get_line_max_bytes = 600,
};

struct line {
	const char *bytes;
	size_t len; /* with its LF */
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The naive reader: the n-th token of a line, empty if there is none. */
static struct proto_slice nth_token(struct line line, size_t n)
{
	size_t at = 0, end = line.len - 1, start;

	if (end > 0 && line.bytes[end - 1] == '\r')
		end--;
	for (;;) {
		while (at < end && line.bytes[at] == ' ')
			at++;
		start = at;
		while (at < end && line.bytes[at] != ' ')
			at++;
		if (n-- == 0 || start == end)
			break;
	}
	return (struct proto_slice){line.bytes + start, at - start};
}

static void check_same_slice(struct proto_slice a, const char *a_base,
			     struct proto_slice b, const char *b_base)
{
	assert(a.len == b.len);
	assert(!a.data == !b.data);
	assert(!a.data || a.data - a_base == b.data - b_base);
}

static void check_same_form(const struct proto_form *a,
			    const struct proto_form *b)
{
	assert(a->verb == b->verb && a->dialect == b->dialect);
	assert(a->quiet == b->quiet && a->want_cas == b->want_cas);
	assert(!a->want_key && a->opcode == 0 && a->opaque == 0);
}

static void check_same_meta(const struct proto_meta *a, const char *a_base,
			    const struct proto_meta *b, const char *b_base)
{
	check_same_slice(a->flags, a_base, b->flags, b_base);
	check_same_slice(a->opaque, a_base, b->opaque, b_base);
	assert(a->present == b->present && a->mode == b->mode);
	assert(a->recache_seconds == b->recache_seconds);
	assert(a->assign == b->assign);
}

static void check_same_request(const struct proto_request *a,
			       const char *a_base,
			       const struct proto_request *b,
			       const char *b_base)
{
	check_same_form(&a->form, &b->form);
	check_same_meta(&a->meta, a_base, &b->meta, b_base);
	assert(a->has_value == b->has_value);
	assert(a->value_bytes == b->value_bytes);
	assert(a->value_tail == b->value_tail);
	assert(a->client_flags == b->client_flags && a->cas == b->cas);
	assert(a->compare == b->compare && a->delta == b->delta);
	assert(a->has_exptime == b->has_exptime && a->exptime == b->exptime);
	assert(a->create == b->create && a->initial == b->initial);
	assert(a->create_exptime == b->create_exptime);
	assert(a->arg_count == b->arg_count);
	check_same_slice(a->key, a_base, b->key, b_base);
	check_same_slice(a->keys, a_base, b->keys, b_base);
	check_same_slice(a->rest, a_base, b->rest, b_base);
	for (size_t i = 0; i < PROTO_ARGS_MAX; i++)
		check_same_slice(a->args[i], a_base, b->args[i], b_base);
}

static void check_same(enum proto_event event, const struct proto_parsed *a,
		       const char *a_base, const struct proto_parsed *b,
		       const char *b_base)
{
	if (event == PROTO_HANGUP)
		return;
	assert(a->consumed == b->consumed);
	if (event == PROTO_COMMAND) {
		check_same_request(&a->request, a_base, &b->request, b_base);
		return;
	}
	check_same_form(&a->request.form, &b->request.form);
	assert(a->code == b->code && a->swallow == b->swallow);
	assert(a->close == b->close);
}

/* The line alone, in memory of its size, and byte by byte into the same. */
static void check_alone(struct line line, enum proto_event event,
			const struct proto_parsed *want)
{
	char *copy = malloc(line.len);
	struct proto_parsed parsed = {.scanned = 0};
	enum proto_event got = PROTO_WAIT;
	size_t len;

	assert(copy);
	memcpy(copy, line.bytes, line.len);
	assert(proto_text_parse(copy, line.len, 0, &limits, &parsed) == event);
	check_same(event, want, line.bytes, &parsed, copy);

	parsed.scanned = 0;
	for (len = 1; len <= line.len && got == PROTO_WAIT; len++) {
		got = proto_text_parse(copy, len, parsed.scanned, &limits,
				       &parsed);
		assert(got != PROTO_WAIT || parsed.scanned == len);
		if (len < line.len)
			assert(got == PROTO_WAIT ||
			       (got == PROTO_HANGUP &&
				len > limits.line_max_bytes));
	}
	if (len > line.len) {
		assert(got == event);
		check_same(event, want, line.bytes, &parsed, copy);
	}
	free(copy);
}

static void check_key(struct line line, struct proto_slice key)
{
	static const struct proto_form form = {.want_cas = true};
	char head[PROTO_VALUE_HEAD_MAX];
	size_t len, i;

	assert(key.len >= 1 && key.len <= PROTO_KEY_MAX);
	assert(key.data >= line.bytes);
	assert(key.data + key.len < line.bytes + line.len);
	for (i = 0; i < key.len; i++)
		assert(key.data[i] != ' ' && key.data[i] != '\0' &&
		       key.data[i] != '\r' && key.data[i] != '\n');
	len = proto_value(head, &form, key, UINT32_MAX, SIZE_MAX, UINT64_MAX);
	assert(len <= sizeof(head));
	assert(memcmp(head + 6, key.data, key.len) == 0);
}

static void check_keys(struct line line, const struct proto_request *request,
		       size_t first)
{
	struct proto_slice keys = request->keys, key = request->key, want;
	size_t n = first;

	do {
		check_key(line, key);
		want = nth_token(line, n++);
		assert(want.data == key.data && want.len == key.len);
	} while (proto_next_token(&keys, &key));
	assert(nth_token(line, n).len == 0);
}

/* A number as the C library reads it, from a token of digits. */
static uint64_t naive_number(struct line line, size_t n)
{
	struct proto_slice token = nth_token(line, n);
	char text[64] = "";
	const char *digits = text;

	/* Longer ones are leading zeros, and out of reach for strtoull(). */
	while (token.len >= sizeof(text)) {
		assert(*token.data == '0');
		token.data++;
		token.len--;
	}
	memcpy(text, token.data, token.len);
	assert(token.len > 0 && strspn(digits, "0123456789") == token.len);
	return strtoull(digits, NULL, 10);
}

static void check_one_key(struct line line, const struct proto_request *request)
{
	struct proto_slice want = nth_token(line, 1);

	check_key(line, request->key);
	assert(want.data == request->key.data);
	assert(want.len == request->key.len);
	assert(request->keys.len == 0);
}

static void check_block(struct line line, const struct proto_request *request)
{
	check_one_key(line, request);
	assert(request->has_value && request->value_tail == 2);
	assert(request->value_bytes <= limits.value_max_bytes);
	assert(request->value_bytes == naive_number(line, 4));
	assert(request->client_flags == naive_number(line, 2));
	assert(request->compare == (request->form.verb == PROTO_CAS));
	if (request->compare)
		assert(request->cas == naive_number(line, 5));
}

static void check_args(struct line line, const struct proto_request *request)
{
	struct proto_slice rest = request->rest, word, want;
	size_t i;

	assert(request->arg_count <= PROTO_ARGS_MAX);
	for (i = 0; i < request->arg_count; i++) {
		want = nth_token(line, i + 1);
		assert(want.data == request->args[i].data);
		assert(want.len == request->args[i].len && want.len > 0);
	}
	for (i = 2; proto_next_token(&rest, &word); i++) {
		want = nth_token(line, i);
		assert(want.data == word.data && want.len == word.len);
	}
}

static void check_range(struct line line, const struct proto_request *request)
{
	check_args(line, request);
	assert(request->arg_count == 5 && nth_token(line, 6).len == 0);
	check_key(line, request->args[0]);
	check_key(line, request->args[1]);
	assert(naive_number(line, 3) <= 1 && naive_number(line, 4) <= 1);
	assert(naive_number(line, 5) <= UINT32_MAX);
}

static void check_prefix(struct line line, const struct proto_request *request)
{
	check_args(line, request);
	check_key(line, request->args[0]);
	if (request->form.verb == PROTO_PDELETE) {
		assert(request->arg_count == 1);
		return;
	}
	assert(request->arg_count == 2 || request->arg_count == 3);
	assert(naive_number(line, 2) <= UINT32_MAX);
	if (request->arg_count == 3)
		check_key(line, request->args[2]);
}

static void check_quiet(struct line line, const struct proto_request *request)
{
	struct proto_slice token = nth_token(line, 0), last = token;
	size_t n = 0;

	while (token.len > 0) {
		last = token;
		token = nth_token(line, ++n);
	}
	assert(proto_slice_is(last, "noreply"));
	/* The word, the key and this. */
	assert(n >= (request->key.data ? 3 : 2));
}

/* What an answer may be about, at its longest. */
static struct proto_meta_result longest_result(enum proto_code code)
{
	return (struct proto_meta_result){.code = code,
					  .value_bytes = SIZE_MAX,
					  .with_value = code == PROTO_DONE,
					  .flags = UINT32_MAX,
					  .cas = UINT64_MAX,
					  .ttl = INT64_MIN,
					  .ttl_before = INT64_MIN,
					  .fetched_before = true,
					  .idle_seconds = UINT64_MAX,
					  .win = true,
					  .stale = true};
}

/* One line, in its room, of words that are separated by one blank. */
static void check_line(const char *text, size_t len)
{
	assert(len >= 4 && len <= PROTO_META_HEAD_MAX);
	assert(memchr(text, '\n', len) == text + len - 1);
	assert(text[len - 2] == '\r' && text[len - 3] != ' ');
	for (size_t i = 1; i < len; i++)
		assert(text[i] != ' ' || text[i - 1] != ' ');
}

/* The key as it is and at its longest, in each way a command may end. */
static void check_answers(const struct proto_request *request)
{
	char room[PROTO_KEY_MAX], full[PROTO_KEY_MAX];
	struct proto_slice key = proto_meta_key(request, room);
	char answer[PROTO_META_HEAD_MAX];
	size_t len;

	assert(key.len >= 1 && key.len <= PROTO_KEY_MAX);
	memset(full, '\r', sizeof(full));
	for (int code = PROTO_DONE; code <= PROTO_END; code++) {
		struct proto_meta_result result =
			longest_result((enum proto_code)code);

		len = proto_meta_answer(answer, request, key, &result);
		if (len > 0)
			check_line(answer, len);
		result.key_base64 = true;
		len = proto_meta_answer(
			answer, request,
			(struct proto_slice){full, sizeof(full)}, &result);
		if (len > 0)
			check_line(answer, len);
		assert(len > 0 || request->form.quiet);
		len = proto_meta_debug(answer, request, key, &result);
		check_line(answer, len);
	}
}

/* The flags that stand behind the first tokens, each of them once. */
static void check_flags(struct line line, const struct proto_request *request,
			size_t first)
{
	struct proto_slice token, flags = request->meta.flags, word;
	uint64_t present = 0;
	size_t n = first;

	for (; (token = nth_token(line, n)).len > 0; n++) {
		uint64_t bit = PROTO_FLAG(*token.data);

		assert((*token.data | 32) >= 'a' && (*token.data | 32) <= 'z');
		assert((present & bit) == 0);
		present |= bit;
		assert(proto_next_token(&flags, &word));
		assert(word.data == token.data && word.len == token.len);
		if (*token.data == 'O')
			assert(token.len <= 32 &&
			       request->meta.opaque.data == token.data + 1);
	}
	assert(n <= 20 && !proto_next_token(&flags, &word));
	assert(present == request->meta.present);
	assert(request->form.quiet == proto_has(request, 'q'));
	assert(request->compare == proto_has(request, 'C'));
	assert(request->create == proto_has(request, 'N'));
	assert(request->has_exptime == proto_has(request, 'T'));
}

static void check_meta(struct line line, const struct proto_request *request)
{
	const enum proto_verb verb = request->form.verb;

	check_one_key(line, request);
	check_answers(request);
	assert(request->has_value == (verb == PROTO_META_SET));
	if (verb == PROTO_META_DEBUG)
		return;
	check_flags(line, request, request->has_value ? 3 : 2);
	if (verb == PROTO_META_ARITH)
		assert(request->meta.mode == 'I' || request->meta.mode == 'D');
	if (!request->has_value)
		return;
	assert(request->value_tail == 2);
	assert(request->value_bytes <= limits.value_max_bytes);
	assert(request->value_bytes == naive_number(line, 2));
	assert(request->meta.mode && strchr("SEAPR", request->meta.mode));
}

static void check_get(struct line line, const struct proto_request *request)
{
	assert(!request->form.quiet);
	check_keys(line, request, 1);
}

static void check_gat(struct line line, const struct proto_request *request)
{
	assert(!request->form.quiet);
	check_keys(line, request, 2);
}

static void check_delta(struct line line, const struct proto_request *request)
{
	assert(request->delta == naive_number(line, 2));
	check_one_key(line, request);
}

static void check_nothing(struct line line, const struct proto_request *request)
{
	assert(nth_token(line, 0).len > 0);
	assert(request->arg_count == 0 && !request->key.data);
}

/* The check of each verb that a line can have. */
static void (*const checks[PROTO_VERB_COUNT])(struct line line,
					      const struct proto_request *) = {
	[PROTO_GET] = check_get,
	[PROTO_GAT] = check_gat,
	[PROTO_SET] = check_block,
	[PROTO_ADD] = check_block,
	[PROTO_REPLACE] = check_block,
	[PROTO_APPEND] = check_block,
	[PROTO_PREPEND] = check_block,
	[PROTO_CAS] = check_block,
	[PROTO_INCR] = check_delta,
	[PROTO_DECR] = check_delta,
	[PROTO_TOUCH] = check_one_key,
	[PROTO_DELETE] = check_one_key,
	[PROTO_META_GET] = check_meta,
	[PROTO_META_SET] = check_meta,
	[PROTO_META_DELETE] = check_meta,
	[PROTO_META_ARITH] = check_meta,
	[PROTO_META_DEBUG] = check_meta,
	[PROTO_NOOP] = check_nothing,
	[PROTO_FLUSH_ALL] = check_nothing,
	[PROTO_STATS] = check_args,
	[PROTO_VERSION] = check_args,
	[PROTO_VERBOSITY] = check_args,
	[PROTO_CACHE_MEMLIMIT] = check_args,
	[PROTO_SHUTDOWN] = check_args,
	[PROTO_QUIT] = check_args,
	[PROTO_SLABS] = check_args,
	[PROTO_LRU] = check_args,
	[PROTO_LRU_CRAWLER] = check_args,
	[PROTO_WATCH] = check_args,
	[PROTO_REFRESH_CERTS] = check_args,
	[PROTO_DEBUGTIME] = check_args,
	[PROTO_RGET] = check_range,
	[PROTO_PGET] = check_prefix,
	[PROTO_PDELETE] = check_prefix,
	[PROTO_DB_CHECKPOINT] = check_args,
	[PROTO_DB_ARCHIVE] = check_args,
	[PROTO_DB_COMPACT] = check_args,
};

static void check_command(struct line line, const struct proto_request *request)
{
	const struct proto_form *form = &request->form;
	struct proto_slice word = nth_token(line, 0);

	assert(word.data == line.bytes);
	if (form->want_cas)
		word.len--;
	assert(proto_slice_is(word, proto_verb_name(form->verb)));
	if (form->quiet && form->dialect == PROTO_CLASSIC)
		check_quiet(line, request);
	assert(form->verb < PROTO_VERB_COUNT && checks[form->verb]);
	checks[form->verb](line, request);
}

static void check_refusal(const struct proto_parsed *parsed)
{
	const struct proto_form *form = &parsed->request.form;
	char room[PROTO_ANSWER_MAX];
	struct proto_slice answer = proto_answer(form, parsed->code, 0, room);
	bool meta = form->dialect == PROTO_META;

	assert(parsed->code > PROTO_DONE && parsed->code < PROTO_CODE_COUNT);
	assert(answer.len > 2 && answer.data[answer.len - 1] == '\n');
	assert(parsed->swallow == 0 || parsed->swallow >= 2);
	assert(parsed->swallow <= INT32_MAX);
	assert(!meta || !proto_is_silent(form, parsed->code));
	/* A client that cannot go on must learn why. */
	if (parsed->close)
		assert(parsed->swallow == 0 && !form->quiet);
	if (form->verb == PROTO_VERB_COUNT)
		assert(parsed->swallow == 0 && !form->quiet);
}

/* Returns how many bytes the server would go on by; 0: it would not. */
static size_t check_first(const char *bytes, size_t len)
{
	const char *lf = memchr(bytes, '\n', len);
	struct proto_parsed parsed;
	enum proto_event event =
		proto_text_parse(bytes, len, 0, &limits, &parsed);
	struct line line = {bytes, lf ? (size_t)(lf - bytes) + 1 : len};

	if (!lf) {
		assert(event == PROTO_WAIT || event == PROTO_HANGUP);
		assert(event == PROTO_HANGUP || parsed.scanned == len);
		return 0;
	}
	check_alone(line, event, &parsed);
	switch (event) {
	case PROTO_WAIT:
		abort();
	case PROTO_HANGUP:
		return 0;
	case PROTO_COMMAND:
		assert(parsed.consumed == line.len);
		check_command(line, &parsed.request);
		return line.len + parsed.request.value_bytes +
		       parsed.request.value_tail;
	case PROTO_REFUSED:
		assert(parsed.consumed == line.len);
		check_refusal(&parsed);
		return parsed.close ? 0 : line.len + (size_t)parsed.swallow;
	}
	abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *bytes = (const char *)data;
	size_t step;

	while (size > 0) {
		step = check_first(bytes, size);
		if (step == 0 || step > size)
			break;
		bytes += step;
		size -= step;
	}
	return 0;
}

#ifdef FUZZ_REPLAY
#include "tests/fuzz/replay.h"
#endif
