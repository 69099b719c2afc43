/*
 * fuzz_binary.c - any bytes to the parser of the binary dialect.
 *
 * An input is what one connection sends. It is walked as the server would
 * walk it: packet by packet, values and refused bodies skipped. For each
 * packet this file checks what must hold whatever the bytes are:
 *
 * - it gives the same result alone, in memory of exactly the size of its head,
 *   extras and key, as with more bytes behind it;
 * - every shorter piece of it is waited for, and feeding it in pieces gives
 *   the same;
 * - slices lie inside it, lengths are in bounds and add up to its body;
 * - numbers are those that a second, naive reader finds;
 * - every answer to it is one packet, fits its room, and echoes its head.
 *
 * Built with libFuzzer it searches; built with -DFUZZ_REPLAY it replays the
 * files and folders it is given.
 */
#include "protocol/protocol.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define BODY_MAX (UINT64_C(1) << 30)

/* Small, so that short inputs reach it. */
static const struct proto_limits limits = {.value_max_bytes = 64};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint64_t number_at(const char *bytes, size_t at, int len)
{
	uint64_t number = 0;

	while (len-- > 0)
		number = number * 256 + (unsigned char)bytes[at++];
	return number;
}

static size_t key_bytes(const char *packet)
{
	return (size_t)number_at(packet, 2, 2);
}

static size_t extras_bytes(const char *packet)
{
	return (size_t)number_at(packet, 4, 1);
}

static uint64_t body_bytes(const char *packet)
{
	return number_at(packet, 8, 4);
}

/* --- the same, however it comes ----------------------------------------- */

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
	assert(a->dialect == b->dialect && a->verb == b->verb);
	assert(a->quiet == b->quiet && a->want_key == b->want_key);
	assert(a->opcode == b->opcode && a->opaque == b->opaque);
}

static void check_same(const struct proto_parsed *a, const char *a_base,
		       const struct proto_parsed *b, const char *b_base)
{
	const struct proto_request *x = &a->request, *y = &b->request;
	size_t i;

	check_same_form(&x->form, &y->form);
	assert(a->consumed == b->consumed && a->code == b->code);
	assert(a->swallow == b->swallow && a->close == b->close);
	check_same_slice(x->key, a_base, y->key, b_base);
	check_same_slice(x->rest, a_base, y->rest, b_base);
	for (i = 0; i < PROTO_ARGS_MAX; i++)
		check_same_slice(x->args[i], a_base, y->args[i], b_base);
	assert(x->arg_count == y->arg_count);
	assert(x->client_flags == y->client_flags);
	assert(x->has_exptime == y->has_exptime && x->exptime == y->exptime);
	assert(x->compare == y->compare && x->cas == y->cas);
	assert(x->delta == y->delta && x->create == y->create);
	assert(x->initial == y->initial);
	assert(x->create_exptime == y->create_exptime);
	assert(x->has_value == y->has_value);
	assert(x->value_bytes == y->value_bytes);
}

/* Alone in memory of just the size, whole and then piece by piece. */
static void check_alone(const char *packet, enum proto_event event,
			const struct proto_parsed *want)
{
	char *copy = malloc(want->consumed);
	struct proto_parsed parsed = {.scanned = 0};
	size_t len;

	assert(copy);
	memcpy(copy, packet, want->consumed);
	for (len = 0; len < want->consumed; len++) {
		assert(proto_binary_parse(copy, len, parsed.scanned, &limits,
					  &parsed) == PROTO_WAIT);
		assert(parsed.scanned == len);
	}
	assert(proto_binary_parse(copy, len, parsed.scanned, &limits,
				  &parsed) == event);
	check_same(want, packet, &parsed, copy);
	free(copy);
}

/* --- what is read ------------------------------------------------------- */

static void check_inside(struct proto_slice key, struct proto_slice part)
{
	assert(part.len == 0 || (part.data >= key.data &&
				 part.data + part.len <= key.data + key.len));
}

static void check_words(const char *packet, const struct proto_request *request)
{
	const struct proto_slice key = {packet + 24 + extras_bytes(packet),
					key_bytes(packet)};
	size_t i;

	assert(request->arg_count <= PROTO_ARGS_MAX);
	for (i = 0; i < request->arg_count; i++) {
		assert(request->args[i].len > 0);
		check_inside(key, request->args[i]);
	}
	check_inside(key, request->rest);
	assert(request->key.len == 0);
}

static void check_cas(const char *packet, const struct proto_request *request)
{
	const uint64_t cas = number_at(packet, 16, 8);

	assert(request->cas == cas && request->compare == (cas != 0));
}

static void check_arith(const char *packet, const struct proto_request *request)
{
	const uint64_t exptime = number_at(packet, 40, 4);

	assert(extras_bytes(packet) == 20);
	assert(request->delta == number_at(packet, 24, 8));
	assert(request->create == (exptime != UINT32_MAX));
	if (request->create) {
		assert(request->initial == number_at(packet, 32, 8));
		assert(request->create_exptime == (int64_t)exptime);
	}
	check_cas(packet, request);
}

static void check_extras(const char *packet,
			 const struct proto_request *request)
{
	switch (request->form.verb) {
	case PROTO_SET:
	case PROTO_ADD:
	case PROTO_REPLACE:
		assert(request->client_flags == number_at(packet, 24, 4));
		assert(request->exptime == (int64_t)number_at(packet, 28, 4));
		check_cas(packet, request);
		break;
	case PROTO_APPEND:
	case PROTO_PREPEND:
	case PROTO_DELETE:
		check_cas(packet, request);
		break;
	case PROTO_INCR:
	case PROTO_DECR:
		check_arith(packet, request);
		break;
	case PROTO_TOUCH:
	case PROTO_GAT:
		assert(request->exptime == (int64_t)number_at(packet, 24, 4));
		break;
	case PROTO_FLUSH_ALL:
		if (request->has_exptime)
			assert(request->exptime ==
			       (int64_t)number_at(packet, 24, 4));
		break;
	case PROTO_STATS:
		check_words(packet, request);
		break;
	default:
		assert(request->exptime == 0 && !request->compare);
	}
}

static void check_command(const char *packet, const struct proto_parsed *parsed)
{
	const struct proto_request *request = &parsed->request;
	const size_t front = extras_bytes(packet) + key_bytes(packet);

	assert(request->form.verb < PROTO_VERB_COUNT);
	assert(parsed->consumed == 24 + front);
	assert(request->has_value || request->value_bytes == 0);
	assert(request->value_bytes == body_bytes(packet) - front);
	assert(request->value_bytes <= PROTO_LOGIN_MAX);
	assert(request->value_tail == 0);
	if (request->form.verb != PROTO_STATS) {
		assert(request->key.len == key_bytes(packet));
		assert(request->key.len <= PROTO_KEY_MAX);
		assert(request->key.len == 0 ||
		       request->key.data == packet + 24 + extras_bytes(packet));
	}
	check_extras(packet, request);
}

static void check_refusal(const char *packet, const struct proto_parsed *parsed)
{
	assert(parsed->consumed == 24);
	if (parsed->close)
		assert(parsed->swallow == 0);
	else
		assert(parsed->swallow == body_bytes(packet) &&
		       parsed->swallow <= BODY_MAX);
	/* Nobody is left to guess why. */
	assert(!proto_is_silent(&parsed->request.form, parsed->code));
	assert(parsed->code >= PROTO_ERR_UNKNOWN);
}

/* --- what is answered --------------------------------------------------- */

static void check_packet(const char *request, const char *answer, size_t len)
{
	assert(len >= 24 && number_at(answer, 0, 1) == 0x81);
	assert(answer[1] == request[1]);
	assert(memcmp(answer + 12, request + 12, 4) == 0);
	assert(extras_bytes(answer) + key_bytes(answer) <= body_bytes(answer));
}

static void check_answers(const char *packet, const struct proto_form *form,
			  struct proto_slice key)
{
	char room[PROTO_ANSWER_MAX], head[PROTO_VALUE_HEAD_MAX];
	struct proto_slice answer;
	size_t len;
	int code;

	for (code = 0; code < PROTO_CODE_COUNT; code++) {
		answer = proto_answer(form, (enum proto_code)code, 7, room);
		assert(answer.len <= sizeof(room));
		assert(answer.len == 24 + body_bytes(answer.data));
		check_packet(packet, answer.data, answer.len);
	}
	answer = proto_number(form, 7, 8, room);
	assert(answer.len == 24 + body_bytes(answer.data));
	check_packet(packet, answer.data, answer.len);
	if (key.len == 0 ||
	    (form->verb != PROTO_GET && form->verb != PROTO_GAT))
		return;
	len = proto_value(head, form, key, 9, 1000, 10);
	assert(len <= sizeof(head) && len + 1000 == 24 + body_bytes(head));
	check_packet(packet, head, len);
	len = proto_value_miss(head, form, key);
	assert(len <= sizeof(head) && (len == 0) == form->quiet);
	if (len > 0)
		check_packet(packet, head, len);
}

/* Returns how many bytes the server would go on by; 0: it would not. */
static size_t check_first(const char *bytes, size_t len)
{
	struct proto_parsed parsed;
	enum proto_event event =
		proto_binary_parse(bytes, len, 0, &limits, &parsed);

	switch (event) {
	case PROTO_WAIT:
		assert(parsed.scanned == len);
		assert(len < 24 + 255 + PROTO_KEY_MAX);
		return 0;
	case PROTO_HANGUP:
		assert(len >= 24 && !proto_is_binary(*bytes));
		return 0;
	case PROTO_COMMAND:
	case PROTO_REFUSED:
		break;
	}
	assert(proto_is_binary(*bytes));
	assert(parsed.request.form.dialect == PROTO_BINARY);
	check_alone(bytes, event, &parsed);
	check_answers(bytes, &parsed.request.form, parsed.request.key);
	if (event == PROTO_COMMAND) {
		check_command(bytes, &parsed);
		return parsed.consumed + parsed.request.value_bytes;
	}
	check_refusal(bytes, &parsed);
	return parsed.close ? 0 : parsed.consumed + (size_t)parsed.swallow;
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
