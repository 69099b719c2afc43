/*
 * token.h - a command line as a list of tokens.
 *
 * Private to protocol/. Tokens are separated by runs of SPACE, by nothing
 * else: a TAB is an ordinary byte. A walker is a slice of what is left of the
 * line; taking a token moves its start.
 */
#ifndef PROTOCOL_TOKEN_H
#define PROTOCOL_TOKEN_H

#include "protocol/protocol.h"

/* What stood where a key was looked for. */
enum proto_key_state {
	PROTO_KEY_NONE, /* nothing: the line has ended */
	PROTO_KEY_GOOD,
	PROTO_KEY_BAD /* longer than PROTO_KEY_MAX, or it has NUL or CR */
};

/*
 * Takes the next token off *rest. Returns false at the end of the line, and
 * leaves *ret as it was.
 */
bool proto_token_take(struct proto_slice *rest, struct proto_slice *ret);

/*
 * The same for a token that is to be a key: finds its end and checks its
 * bytes in one go. Also a bad key is taken off *rest and put into *ret.
 */
enum proto_key_state proto_token_take_key(struct proto_slice *rest,
					  struct proto_slice *ret);

/*
 * Cuts a trailing "noreply" off *rest. Returns false, and changes nothing, if
 * the last token is another. Blanks at the end must be gone already.
 */
bool proto_token_cut_noreply(struct proto_slice *rest);

/* Cuts the blanks at the end off *rest. */
void proto_token_trim(struct proto_slice *rest);

/* Takes the tokens as the arguments of a request, PROTO_ARGS_MAX at most. */
void proto_token_take_args(struct proto_slice *rest,
			   struct proto_request *request);

#endif
