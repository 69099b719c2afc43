/*
 * protocol.h - the wire dialects of memcached, as pure functions.
 *
 * The idea: every dialect parses into ONE command model (struct
 * proto_request) and answers from ONE result model (enum proto_code and a few
 * numbers). A dialect is a parser and a formatter; what a command does is
 * nobody's business here.
 *
 *   parsers      text.c (lines, classic) with meta.c; binary.c; udp.c
 *   formatters   answer.c chooses: reply.c (text), meta_reply.c, packet.c
 *
 * Rules for this whole folder: bytes in, values out. No allocation, no I/O,
 * no clock, no globals that change. So every function below may be called by
 * any thread, never blocks, and owns nothing: slices borrow the caller's
 * buffer and end with it.
 */
#ifndef PROTOCOL_PROTOCOL_H
#define PROTOCOL_PROTOCOL_H

#include "protocol/format.h"
#include "protocol/request.h"

struct proto_limits {
	uint32_t value_max_bytes;  /* item limit: the value alone */
	size_t line_max_bytes;	   /* without LF, but for get and gets */
	size_t get_line_max_bytes; /* for get and gets */
};

/* --- parsing ------------------------------------------------------------ */

/* What a parser found at the start of the buffer. */
enum proto_event {
	PROTO_WAIT,    /* no whole command yet: read more, call again */
	PROTO_COMMAND, /* ret->request is one command */
	PROTO_REFUSED, /* skip ret->swallow bytes, then answer ret->code */
	PROTO_HANGUP   /* close without an answer */
};

struct proto_parsed {
	struct proto_request request; /* REFUSED: `form` alone is set */
	size_t consumed; /* COMMAND, REFUSED: bytes of line or packet head */
	size_t scanned;	 /* WAIT: pass it back in, to not look twice */
	enum proto_code code; /* REFUSED */
	uint64_t swallow; /* REFUSED: bytes of block to drop, answer after */
	bool close;	  /* REFUSED: the stream cannot be trusted: close */
};

/*
 * Parses one command from buf[0..len). `scanned` is 0 for a new one, else
 * ret->scanned of the previous PROTO_WAIT on the same bytes. Never reads
 * beyond len. On PROTO_WAIT only ret->scanned is set. What is refused has
 * the verb PROTO_VERB_COUNT in its form if it is not known.
 * proto_text_parse: one line, classic or meta. A get line with one invalid
 * key is refused as a whole.
 * proto_binary_parse: one packet but for its value, which follows.
 * proto_login_parse: what a text client may send before it is logged in, which
 * is `set <any> <any> <any> <bytes>` and a block; its verb is SASL_START.
 */
enum proto_event proto_text_parse(const char *buf, size_t len, size_t scanned,
				  const struct proto_limits *limits,
				  struct proto_parsed *ret);
enum proto_event proto_binary_parse(const char *buf, size_t len, size_t scanned,
				    const struct proto_limits *limits,
				    struct proto_parsed *ret);
enum proto_event proto_login_parse(const char *buf, size_t len, size_t scanned,
				   const struct proto_limits *limits,
				   struct proto_parsed *ret);

/*
 * Looks whether a whole get (get, gets, mg; binary: get and getk, quiet or
 * not) stands at buf. Returns its length, and its first key; else 0. Good for
 * reading ahead only: what it finds is not checked, nor all that there is
 * found.
 */
size_t proto_text_peek(const char *buf, size_t len,
		       struct proto_slice *ret_key);
size_t proto_binary_peek(const char *buf, size_t len,
			 struct proto_slice *ret_key);

/* True if a connection that begins with this byte speaks binary. */
bool proto_is_binary(char first);

/*
 * Takes the next token off a request's `keys` or `rest`. Returns false at the
 * end. The parser has checked all that are keys already.
 */
bool proto_next_token(struct proto_slice *list, struct proto_slice *ret);

/*
 * The key that a meta request means: its key, or what its base64 decodes to,
 * in `room`, which has PROTO_KEY_MAX bytes.
 */
struct proto_slice proto_meta_key(const struct proto_request *request,
				  char *room);

/* True if the meta flag is there. */
static inline bool proto_has(const struct proto_request *request, char flag)
{
	return (request->meta.present & PROTO_FLAG(flag)) != 0;
}

/* A datagram: 8 bytes in front of the payload. */
struct proto_frame {
	uint16_t request_id, sequence, count;
};

/* Reads the frame of a datagram; false: it is to be dropped. */
bool proto_frame_parse(const char *buf, size_t len, struct proto_frame *ret);
void proto_frame_write(char *buf, const struct proto_frame *frame);

/* --- words and numbers -------------------------------------------------- */

/* The verb's name as clients send it ("get"); "unknown" for COUNT. */
const char *proto_verb_name(enum proto_verb verb);

/* True if it changes data, or how the server goes on, whatever is asked. */
bool proto_verb_changes(enum proto_verb verb);

/*
 * Reads an unsigned decimal that fills the slice: digits only, no sign, no
 * blank, not empty, in range. Returns false, and leaves *ret, otherwise.
 */
bool proto_parse_u64(struct proto_slice text, uint64_t *ret);
bool proto_parse_u32(struct proto_slice text, uint32_t *ret);
/* The same with an optional leading '-'. */
bool proto_parse_i64(struct proto_slice text, int64_t *ret);

/* True if the slice spells exactly this word. */
bool proto_slice_is(struct proto_slice text, const char *word);

/* Percent code: at most 3 bytes for each. Returns their number. */
size_t proto_percent_encode(struct proto_slice bytes, char *to);

/* Base64 with padding. Encodes to 4 bytes for every 3 begun; their number. */
size_t proto_base64_encode(struct proto_slice bytes, char *to);

#endif
