/*
 * udp.c - the frame that every datagram begins with.
 *
 * Four numbers: the client's id of the request, which answers repeat; the
 * place of this datagram in its message; of how many; and one that is unused.
 *
 * A server of UDP answers to whatever address a datagram claims to come from,
 * and that may be another such server. Both would answer each other's errors
 * for ever: so what looks like an error is not answered.
 */
#include "protocol/protocol.h"

#include <string.h>

#include "protocol/wire.h"

static bool is_error(const char *payload, size_t len)
{
	static const char *const words[] = {"ERROR", "CLIENT_ERROR ",
					    "SERVER_ERROR "};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		size_t bytes = strlen(words[i]);

		if (len >= bytes && memcmp(payload, words[i], bytes) == 0)
			return true;
	}
	return false;
}

/* A request is one datagram; its place and the unused number do not count. */
bool proto_frame_parse(const char *buf, size_t len, struct proto_frame *ret)
{
	struct proto_frame frame;

	if (len <= PROTO_FRAME_HEAD)
		return false;
	frame = (struct proto_frame){
		.request_id = wire_get_u16(buf),
		.sequence = wire_get_u16(buf + 2),
		.count = wire_get_u16(buf + 4),
	};
	if (frame.count != 1 ||
	    is_error(buf + PROTO_FRAME_HEAD, len - PROTO_FRAME_HEAD))
		return false;
	*ret = frame;
	return true;
}

void proto_frame_write(char *buf, const struct proto_frame *frame)
{
	wire_put_u16(buf, frame->request_id);
	wire_put_u16(buf + 2, frame->sequence);
	wire_put_u16(buf + 4, frame->count);
	wire_put_u16(buf + 6, 0);
}
