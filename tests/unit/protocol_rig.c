/*
 * protocol_rig.c - see protocol_rig.h.
 */
#include "tests/unit/protocol_rig.h"
#include "tests/unit/test_protocol_guard.h"

#include <check.h>
#include <stdarg.h>
#include <stdio.h>

#define TEXT_MAX   8192
#define GUARD_SIZE 16384

static const struct proto_limits limits = {
	.value_max_bytes = 1000,
	.line_max_bytes = 2048,
	.get_line_max_bytes = 8192,
};

struct text {
	char bytes[TEXT_MAX];
	size_t len;
};

static void __attribute__((format(printf, 2, 3)))
text_add(struct text *text, const char *format, ...)
{
	va_list args;
	int len;

	va_start(args, format);
	len = vsnprintf(text->bytes + text->len,
			sizeof(text->bytes) - text->len, format, args);
	va_end(args);
	ck_assert_int_ge(len, 0);
	text->len += (size_t)len;
	ck_assert_uint_lt(text->len, sizeof(text->bytes));
}

static void text_add_slice(struct text *text, const char *label,
			   struct proto_slice slice)
{
	text_add(text, "%s%.*s", label, (int)slice.len, slice.data);
}

static const char *code_name(enum proto_code code)
{
	static const char *const names[PROTO_CODE_COUNT] = {
		[PROTO_ERR_UNKNOWN] = "unknown",
		[PROTO_ERR_FORMAT] = "format",
		[PROTO_ERR_EXPTIME] = "exptime",
		[PROTO_ERR_DELTA] = "delta",
		[PROTO_ERR_DELETE_USAGE] = "usage",
		[PROTO_ERR_TOO_LARGE] = "too-large",
		[PROTO_ERR_META_DUPLICATE] = "duplicate",
		[PROTO_ERR_META_FLAG] = "flag",
		[PROTO_ERR_META_ARITH_FLAG] = "ma-flag",
		[PROTO_ERR_META_NUMBER] = "number",
		[PROTO_ERR_META_KEY] = "base64",
		[PROTO_ERR_META_OPAQUE] = "opaque",
		[PROTO_ERR_META_MANY] = "many",
		[PROTO_ERR_META_SET_MODE] = "ms-mode",
		[PROTO_ERR_META_ARITH_MODE] = "ma-mode",
	};

	ck_assert_ptr_nonnull(names[code]);
	return names[code];
}

static void text_add_number(struct text *text, const char *label,
			    uint64_t number)
{
	if (number != 0)
		text_add(text, "%s%llu", label, (unsigned long long)number);
}

static void text_add_signed(struct text *text, const char *label,
			    int64_t number)
{
	if (number != 0)
		text_add(text, "%s%lld", label, (long long)number);
}

static void describe_form(struct text *text, const struct proto_form *form)
{
	text_add(text, "%s", proto_verb_name(form->verb));
	if (form->want_cas)
		text_add(text, " +cas");
	if (form->quiet)
		text_add(text, " +quiet");
	ck_assert(!form->want_key);
	ck_assert_uint_eq(form->opcode, 0);
	ck_assert_uint_eq(form->opaque, 0);
	ck_assert_int_ne(form->dialect, PROTO_BINARY);
}

/* The flag letters that are there, in the order of the alphabet. */
static void describe_flags(struct text *text,
			   const struct proto_request *request)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz"
				      "ABCDEFGHIJKLMNOPQRSTUVWXYZ";

	if (request->meta.present != 0)
		text_add(text, " ");
	for (size_t i = 0; letters[i] != '\0'; i++) {
		if (proto_has(request, letters[i]))
			text_add(text, "%c", letters[i]);
	}
}

static void describe_meta(struct text *text,
			  const struct proto_request *request)
{
	const struct proto_meta *meta = &request->meta;
	char room[PROTO_KEY_MAX];
	struct proto_slice key = proto_meta_key(request, room);

	describe_flags(text, request);
	if (key.data != request->key.data)
		text_add_slice(text, " means=", key);
	if (meta->opaque.data)
		text_add_slice(text, " opaque=", meta->opaque);
	if (meta->mode == (request->form.verb == PROTO_META_ARITH ? 'D' : 'E'))
		text_add(text, " mode=%c", meta->mode);
	else if (meta->mode != '\0' && strchr("SI", meta->mode) == NULL)
		text_add(text, " mode=%c", meta->mode);
	text_add_signed(
		text, meta->recache_touched ? " recache-touched=" : " recache=",
		meta->recache_seconds);
	text_add_number(text, " assign=", meta->assign);
	text_add_number(text, " initial=", request->initial);
	if (request->create)
		text_add_signed(text,
				meta->touches_made ? " create-touched="
						   : " create=",
				request->create_exptime);
	ck_assert_int_eq(request->create, proto_has(request, 'N'));
	ck_assert_int_eq(request->has_exptime, proto_has(request, 'T'));
}

static void describe_arguments(struct text *text,
			       const struct proto_request *request)
{
	struct proto_slice keys = request->keys, key;

	if (request->key.data)
		text_add_slice(text, " key=", request->key);
	while (proto_next_token(&keys, &key))
		text_add_slice(text, ",", key);
	text_add_number(text, " flags=", request->client_flags);
	text_add_signed(text, " exptime=", request->exptime);
	if (request->compare)
		text_add(text, " cas=%llu", (unsigned long long)request->cas);
	else
		ck_assert_uint_eq(request->cas, 0);
	for (size_t i = 0; i < request->arg_count; i++)
		text_add_slice(text, i == 0 ? " args=" : ",", request->args[i]);
}

/* `rest` has all words behind the first, also those beyond args[]. */
static void describe_more(struct text *text,
			  const struct proto_request *request)
{
	struct proto_slice rest = request->rest, word;

	for (size_t i = 1; i < request->arg_count && rest.data; i++) {
		ck_assert(proto_next_token(&rest, &word));
		ck_assert_ptr_eq(word.data, request->args[i].data);
		ck_assert_uint_eq(word.len, request->args[i].len);
	}
	for (int i = 0; proto_next_token(&rest, &word); i++)
		text_add_slice(text, i == 0 ? " more=" : ",", word);
}

/* Fields that are 0, or what a flag has without being asked, are left out. */
static void describe_command(struct text *text,
			     const struct proto_request *request)
{
	bool meta = request->form.dialect == PROTO_META;

	describe_form(text, &request->form);
	describe_arguments(text, request);
	describe_more(text, request);
	if (meta)
		describe_meta(text, request);
	if (!meta || proto_has(request, 'D'))
		text_add_number(text, " delta=", request->delta);
	if (request->has_value)
		text_add(text, " value=%u", request->value_bytes);
	else
		ck_assert_uint_eq(request->value_bytes, 0);
	ck_assert_uint_eq(request->value_tail, request->has_value ? 2 : 0);
}

static void describe_refusal(struct text *text,
			     const struct proto_parsed *parsed)
{
	const struct proto_form *form = &parsed->request.form;

	text_add(text, "refused ");
	describe_form(text, form);
	text_add(text, " %s", code_name(parsed->code));
	text_add_number(text, " swallow=", parsed->swallow);
	if (parsed->close)
		text_add(text, " +close");
}

static void describe(struct text *text, enum proto_event event,
		     const struct proto_parsed *parsed)
{
	text->len = 0;
	switch (event) {
	case PROTO_WAIT:
		text_add(text, "wait");
		break;
	case PROTO_COMMAND:
		describe_command(text, &parsed->request);
		break;
	case PROTO_REFUSED:
		describe_refusal(text, parsed);
		break;
	case PROTO_HANGUP:
		text_add(text, "hangup");
		break;
	}
}

/* Parses and compares with what is wanted. Returns the bytes consumed. */
static void expect(const char *buf, size_t len, size_t scanned,
		   const struct parse_case *want)
{
	struct proto_parsed parsed;
	enum proto_event event;
	struct text got;

	memset(&parsed, 0xA5, sizeof(parsed));
	event = proto_text_parse(buf, len, scanned, &limits, &parsed);
	describe(&got, event, &parsed);
	ck_assert_str_eq(got.bytes, want->want);
	if (event != PROTO_HANGUP)
		ck_assert_uint_eq(parsed.consumed, want->line.len);
}

static void check_whole(struct guard *guard, const struct parse_case *want)
{
	expect(guard_at_start(guard, want->line.data, want->line.len),
	       want->line.len, 0, want);
	expect(guard_at_end(guard, want->line.data, want->line.len),
	       want->line.len, 0, want);
}

static void check_with_more_behind(struct guard *guard,
				   const struct parse_case *want)
{
	static const char more[] = "\r\nnoreply HTTP/1.1\r\n";
	const size_t len = want->line.len;

	memset(guard->data, 'z', guard->size);
	guard_at_start(guard, want->line.data, len);
	expect(guard->data, len + 1, 0, want);
	memcpy(guard->data + len, more, sizeof(more));
	expect(guard->data, len + sizeof(more), 0, want);
}

static void check_split(struct guard *guard, const struct parse_case *want,
			size_t len)
{
	const char *buf = guard_at_end(guard, want->line.data, len);
	struct proto_parsed parsed;

	ck_assert_int_eq(proto_text_parse(buf, len, 0, &limits, &parsed),
			 PROTO_WAIT);
	ck_assert_uint_eq(parsed.scanned, len);
	ck_assert_int_eq(proto_text_parse(buf, len, len, &limits, &parsed),
			 PROTO_WAIT);
	ck_assert_uint_eq(parsed.scanned, len);
	buf = guard_at_end(guard, want->line.data, want->line.len);
	expect(buf, want->line.len, len, want);
}

void rig_check_line(const struct parse_case *want)
{
	struct guard guard;
	size_t len;

	guard_open(&guard, GUARD_SIZE);
	check_whole(&guard, want);
	check_with_more_behind(&guard, want);
	for (len = 0; len < want->line.len; len++)
		check_split(&guard, want, len);
	guard_close(&guard);
}
