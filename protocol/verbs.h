/*
 * verbs.h - the words that can start a line, and what follows them.
 *
 * Private to protocol/. The table has one entry per spelling: "get" and
 * "gets" are two entries with one verb. A new text command is a new entry,
 * and a new shape only if its arguments look like nobody else's.
 */
#ifndef PROTOCOL_VERBS_H
#define PROTOCOL_VERBS_H

#include "protocol/protocol.h"

/* What the arguments of a word look like. */
enum proto_shape {
	PROTO_SHAPE_KEYS,	  /* <key>+ */
	PROTO_SHAPE_EXPTIME_KEYS, /* <exptime> <key>+ */
	PROTO_SHAPE_BLOCK,	 /* <key> <flags> <exptime> <bytes> [noreply] */
	PROTO_SHAPE_CAS,	 /* the same with <id> after <bytes> */
	PROTO_SHAPE_DELTA,	 /* <key> <delta> [noreply] */
	PROTO_SHAPE_TOUCH,	 /* <key> <exptime> [noreply] */
	PROTO_SHAPE_DELETE,	 /* <key> [0] [noreply] */
	PROTO_SHAPE_FLUSH,	 /* [<exptime>] [noreply] */
	PROTO_SHAPE_NUMBER,	 /* <number> [noreply]; the server reads it */
	PROTO_SHAPE_WORDS,	 /* anything, the server looks at it */
	PROTO_SHAPE_QUIET_WORDS, /* the same with [noreply] */
	/* Keys, flags and numbers checked, all of them in args[]. */
	PROTO_SHAPE_RANGE,	 /* <start> <end> <0|1> <0|1> <number> */
	PROTO_SHAPE_PREFIX,	 /* <key> */
	PROTO_SHAPE_PREFIX_PAGE, /* <key> <number> [<key>] */
	/* Of meta commands. */
	PROTO_SHAPE_META,	/* <key> <flag>* */
	PROTO_SHAPE_META_BLOCK, /* <key> <bytes> <flag>* */
	PROTO_SHAPE_META_DEBUG, /* <key> [b] */
	PROTO_SHAPE_META_NONE	/* what follows means nothing */
};

struct proto_word {
	struct proto_slice name;
	struct proto_form form; /* that of a command of this word */
	enum proto_shape shape;
};

/* What the success of a verb says in text, CRLF included. Static. */
struct proto_slice proto_verb_done(enum proto_verb verb);

/* Returns the entry of a word, or NULL if no command is called that. */
const struct proto_word *proto_word_find(struct proto_slice name);

#endif
