/*
 * format.h - the answers, in the dialect of the question.
 *
 * Part of the public face: protocol.h includes it, nobody else outside does.
 * Its rules hold here, too: every function is pure, and any thread may call
 * it. What is written goes to room that the caller has.
 */
#ifndef PROTOCOL_FORMAT_H
#define PROTOCOL_FORMAT_H

#include "protocol/request.h"

/* Rooms for what the formatters write, at most. */
#define PROTO_ANSWER_MAX     128		  /* proto_answer() */
#define PROTO_VALUE_HEAD_MAX (PROTO_KEY_MAX + 64) /* proto_value() */
#define PROTO_META_HEAD_MAX  768		  /* proto_meta_answer() */
#define PROTO_DUMP_LINE_MAX  (3 * PROTO_KEY_MAX + 192)
#define PROTO_PACKET_HEAD    24

/* True if this is not said: the command was a quiet one. */
bool proto_is_silent(const struct proto_form *form, enum proto_code code);

/*
 * The answer of a code that carries no number but, in binary, the item's id.
 * Either static or in `room`, which has PROTO_ANSWER_MAX bytes. Of meta only
 * refusals: the rest is proto_meta_answer()'s.
 */
struct proto_slice proto_answer(const struct proto_form *form,
				enum proto_code code, uint64_t cas, char *room);

/* The same of a new number. */
struct proto_slice proto_number(const struct proto_form *form, uint64_t number,
				uint64_t cas, char *room);

/* The same of a touch that was made: in binary it tells the item's flags. */
struct proto_slice proto_touched(const struct proto_form *form, uint32_t flags,
				 uint64_t cas, char *room);

/*
 * Writes what stands before the value of a get or gat to buf, which has room
 * for PROTO_VALUE_HEAD_MAX. Returns its length. value and tail follow.
 */
size_t proto_value(char *buf, const struct proto_form *form,
		   struct proto_slice key, uint32_t flags, size_t value_bytes,
		   uint64_t cas);
/* What follows a value: CRLF, or nothing. Static. */
struct proto_slice proto_value_tail(const struct proto_form *form);
/* The answer to a key of a get that is not there; the same room. */
size_t proto_value_miss(char *buf, const struct proto_form *form,
			struct proto_slice key);
/* What ends a get: END, or nothing. Static. */
struct proto_slice proto_value_end(const struct proto_form *form);

/*
 * The head of a binary answer, of PROTO_PACKET_HEAD bytes. A body of so many
 * bytes follows, the first key_bytes of which are a key.
 */
void proto_packet_head(char *buf, const struct proto_form *form,
		       enum proto_code code, size_t key_bytes,
		       size_t body_bytes);

/* True if a text line cannot hold the key as it is. */
bool proto_key_breaks_line(struct proto_slice key);

/* What the meta flags of an answer are about. */
struct proto_meta_result {
	enum proto_code code; /* DONE, NOT_FOUND, EXISTS, NOT_STORED, END */
	size_t value_bytes;   /* s, and the length of VA */
	bool with_value;      /* VA and the value follow; else HD */
	uint32_t flags;
	uint64_t cas;
	int64_t ttl;	    /* t: seconds left, -1: never; behind a T, if any */
	int64_t ttl_before; /* in front of T, or of an N that made the item */
	int64_t ttl_made;   /* behind that N */
	bool fetched_before;
	uint64_t idle_seconds;
	bool key_base64; /* the item's; without one: that the request had b */
	bool win, won, stale;
	bool made; /* there was none: N has made it */
};

/*
 * Writes the answer line of a meta command to buf, which has room for
 * PROTO_META_HEAD_MAX. Returns its length: 0 if it is a silent one. `key`:
 * the item's, decoded. proto_meta_debug: the ME line of a hit.
 */
size_t proto_meta_answer(char *buf, const struct proto_request *request,
			 struct proto_slice key,
			 const struct proto_meta_result *result);
size_t proto_meta_debug(char *buf, const struct proto_request *request,
			struct proto_slice key,
			const struct proto_meta_result *result);

/* What a dump says of an item. */
struct proto_dump_item {
	struct proto_slice key;
	bool key_base64, fetched;
	uint32_t flags;
	uint64_t cas;
	size_t bytes;		     /* of the item */
	int64_t expiry, last_access; /* seconds since 1970; expiry 0: none */
};

/*
 * Write a line of lru_crawler metadump (key in percent code, ends with LF), or
 * mgdump, to buf (PROTO_DUMP_LINE_MAX). Returns its length.
 */
size_t proto_metadump_line(char *buf, const struct proto_dump_item *item);
size_t proto_mgdump_line(char *buf, const struct proto_dump_item *item);

#endif
