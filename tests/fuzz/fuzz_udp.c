/*
 * fuzz_udp.c - any datagram to the server's way of reading it.
 *
 * An input is one datagram. What must hold whatever its bytes are:
 *
 * - it is dropped, or it has a frame that says it is whole, and a payload;
 * - the frame of an answer repeats the id, and reads back as it was written;
 * - the first byte of the payload chooses its dialect, and the parser of that
 *   stays inside the datagram, which lies in memory of just its size.
 *
 * Built with libFuzzer it searches; built with -DFUZZ_REPLAY it replays the
 * files and folders it is given.
 */
#include "protocol/protocol.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static const struct proto_limits limits = {
	.value_max_bytes = 64,
	.line_max_bytes = 48,
	.get_line_max_bytes = 600,
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_frame(const char *datagram, const struct proto_frame *frame)
{
	struct proto_frame answer = *frame, back;
	char head[PROTO_FRAME_HEAD + 1];

	assert(frame->count == 1);
	assert(datagram[4] == 0 && datagram[5] == 1);
	answer.sequence = 0;
	proto_frame_write(head, &answer);
	assert(memcmp(head, datagram, 2) == 0);
	assert(head[2] == 0 && head[3] == 0 && head[6] == 0 && head[7] == 0);
	head[PROTO_FRAME_HEAD] = 'x';
	assert(proto_frame_parse(head, sizeof(head), &back));
	assert(back.request_id == frame->request_id && back.sequence == 0);
	assert(back.count == 1);
}

/* Returns how many bytes of the payload the server would go on by. */
static size_t check_payload(const char *bytes, size_t len, bool binary)
{
	struct proto_parsed parsed;
	enum proto_event event =
		binary ? proto_binary_parse(bytes, len, 0, &limits, &parsed)
		       : proto_text_parse(bytes, len, 0, &limits, &parsed);

	switch (event) {
	case PROTO_WAIT:
	case PROTO_HANGUP:
		return 0;
	case PROTO_COMMAND:
	case PROTO_REFUSED:
		break;
	}
	assert((parsed.request.form.dialect == PROTO_BINARY) == binary);
	assert(parsed.consumed > 0 && parsed.consumed <= len);
	if (event == PROTO_REFUSED)
		return parsed.close ? 0
				    : parsed.consumed + (size_t)parsed.swallow;
	return parsed.consumed + parsed.request.value_bytes +
	       parsed.request.value_tail;
}

static void check_payloads(const char *bytes, size_t len)
{
	const bool binary = proto_is_binary(*bytes);
	size_t step;

	while (len > 0) {
		step = check_payload(bytes, len, binary);
		if (step == 0 || step > len)
			break;
		bytes += step;
		len -= step;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct proto_frame frame;
	char *copy = malloc(size + (size == 0));

	assert(copy);
	memcpy(copy, data, size);
	if (proto_frame_parse(copy, size, &frame)) {
		assert(size > PROTO_FRAME_HEAD);
		check_frame(copy, &frame);
		check_payloads(copy + PROTO_FRAME_HEAD,
			       size - PROTO_FRAME_HEAD);
	}
	free(copy);
	return 0;
}

#ifdef FUZZ_REPLAY
#include "tests/fuzz/replay.h"
#endif
