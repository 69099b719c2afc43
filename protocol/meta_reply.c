/*
 * meta_reply.c - the meta commands: from a result to bytes.
 *
 * The flags of the request are walked in their order, so the answer has them
 * in that order. A key that would break the line it stands in is written as
 * base64, whatever way it came.
 */
#include "protocol/base64.h"
#include "protocol/reply.h"
#include "protocol/token.h"

#include <assert.h>
#include <string.h>

/* One answer line in the making. */
struct reply {
	char *at; /* where the next byte goes */
	const struct proto_request *request;
	struct proto_slice key; /* the item's, decoded */
	const struct proto_meta_result *result;
	int64_t ttl; /* as of the flag that is next: T and N change it */
};

/* The flags that an answer to a verb shows, if asked for, as letters. */
static const char *shown_flags(enum proto_verb verb, bool done)
{
	if (verb == PROTO_META_SET)
		return "Okcs";
	if (done && verb == PROTO_META_GET)
		return "Okfctshl";
	return done && verb == PROTO_META_ARITH ? "Okct" : "Ok";
}

/* EN is the miss of those that only look. */
static const char *status_word(enum proto_verb verb, enum proto_code code)
{
	bool looks = verb == PROTO_META_GET || verb == PROTO_META_DEBUG;

	if (code == PROTO_DONE)
		return verb == PROTO_NOOP ? "MN" : "HD";
	if (code == PROTO_EXISTS)
		return "EX";
	if (code == PROTO_NOT_STORED)
		return "NS";
	assert(code == PROTO_NOT_FOUND || code == PROTO_END);
	return looks ? "EN" : "NF";
}

/* Writes a decoded key. Returns true if it had to be encoded. */
static bool put_key(struct reply *reply)
{
	if (!reply->result->key_base64 && !proto_key_breaks_line(reply->key)) {
		reply->at = put_slice(reply->at, reply->key);
		return false;
	}
	reply->at += proto_base64_encode(reply->key, reply->at);
	return true;
}

static void put_text(struct reply *reply, const char *text)
{
	reply->at = put_bytes(reply->at, text, strlen(text));
}

/* A miss shows the key as it was sent. */
static void put_key_flag(struct reply *reply)
{
	const struct proto_request *request = reply->request;
	bool encoded;

	*reply->at++ = 'k';
	if (reply->result->code == PROTO_DONE) {
		encoded = put_key(reply);
	} else {
		reply->at = put_slice(reply->at, request->key);
		encoded = proto_has(request, 'b');
	}
	if (encoded)
		put_text(reply, " b");
}

static void put_number_flag(struct reply *reply, char letter, uint64_t number)
{
	*reply->at++ = letter;
	reply->at = put_number(reply->at, number);
}

static void put_flag(struct reply *reply, struct proto_slice token)
{
	const struct proto_meta_result *result = reply->result;
	bool done = result->code == PROTO_DONE;
	char letter = *token.data;

	*reply->at++ = ' ';
	switch (letter) {
	case 'O':
		reply->at = put_slice(reply->at, token);
		break;
	case 'k':
		put_key_flag(reply);
		break;
	case 'c':
		put_number_flag(reply, letter, done ? result->cas : 0);
		break;
	case 's':
		put_number_flag(reply, letter,
				done ? result->value_bytes
				     : reply->request->value_bytes);
		break;
	case 'f':
		put_number_flag(reply, letter, result->flags);
		break;
	case 't':
		*reply->at++ = letter;
		reply->at = put_signed(reply->at, reply->ttl);
		break;
	case 'h':
		put_number_flag(reply, letter, result->fetched_before);
		break;
	case 'l':
		put_number_flag(reply, letter, result->idle_seconds);
		break;
	default:
		assert(!"a letter of shown_flags()");
	}
}

static void put_flags(struct reply *reply)
{
	const struct proto_request *request = reply->request;
	const struct proto_meta_result *result = reply->result;
	const char *shown =
		shown_flags(request->form.verb, result->code == PROTO_DONE);
	struct proto_slice flags = request->meta.flags, token;

	reply->ttl = result->made || proto_has(request, 'T')
			     ? result->ttl_before
			     : result->ttl;
	while (proto_token_take(&flags, &token)) {
		if (*token.data == 'T')
			reply->ttl = result->ttl;
		if (*token.data == 'N' && result->made)
			reply->ttl = result->ttl_made;
		if (strchr(shown, *token.data) != NULL)
			put_flag(reply, token);
	}
}

/* Who won the right to compute the value anew, and whether it is stale. */
static void put_marks(struct reply *reply)
{
	const struct proto_meta_result *result = reply->result;

	if (result->won && !result->win)
		put_text(reply, " Z");
	if (result->stale)
		put_text(reply, " X");
	if (result->win)
		put_text(reply, " W");
}

size_t proto_meta_answer(char *buf, const struct proto_request *request,
			 struct proto_slice key,
			 const struct proto_meta_result *result)
{
	struct reply reply = {buf, request, key, result, result->ttl};
	bool done = result->code == PROTO_DONE;

	/* That an item was made is news. */
	if (proto_is_silent(&request->form, result->code) && !result->made)
		return 0;
	if (done && result->with_value) {
		put_text(&reply, "VA ");
		reply.at = put_number(reply.at, result->value_bytes);
	} else {
		put_text(&reply, status_word(request->form.verb, result->code));
	}
	put_flags(&reply);
	if (done && request->form.verb == PROTO_META_GET)
		put_marks(&reply);
	put_text(&reply, "\r\n");
	return (size_t)(reply.at - buf);
}

size_t proto_meta_debug(char *buf, const struct proto_request *request,
			struct proto_slice key,
			const struct proto_meta_result *result)
{
	struct reply reply = {buf, request, key, result, result->ttl};

	put_text(&reply, "ME ");
	put_key(&reply);
	put_text(&reply, " exp=");
	reply.at = put_signed(reply.at, result->ttl);
	put_text(&reply, " la=");
	reply.at = put_number(reply.at, result->idle_seconds);
	put_text(&reply, " cas=");
	reply.at = put_number(reply.at, result->cas);
	put_text(&reply, result->fetched_before ? " fetch=yes" : " fetch=no");
	put_text(&reply, " cls=1 size=");
	reply.at = put_number(reply.at, result->value_bytes);
	put_text(&reply, "\r\n");
	return (size_t)(reply.at - buf);
}
