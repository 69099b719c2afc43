/*
 * request.h - the command model: what is asked, whatever the dialect.
 *
 * Part of the public face: protocol.h includes it, nobody else outside does.
 */
#ifndef PROTOCOL_REQUEST_H
#define PROTOCOL_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "protocol/verb_table.h"

#define PROTO_KEY_MAX	 250
#define PROTO_FRAME_HEAD 8 /* of a datagram */
/* Tokens after the verb that administrative commands get to see. */
#define PROTO_ARGS_MAX 5
/* Bytes of a login (text) or of a SASL message (binary), at most. */
#define PROTO_LOGIN_MAX	    16384
#define PROTO_MECHANISM_MAX 32

/* Borrowed bytes, not terminated. Valid as long as the buffer they lie in. */
struct proto_slice {
	const char *data;
	size_t len;
};

/* What is asked: PROTO_GET and so on, see verb_table.h. */
enum proto_verb {
#define VERB(verb, ...) PROTO_##verb,
#define WORD(...)
	PROTO_VERB_TABLE(VERB, WORD)
#undef VERB
#undef WORD
		PROTO_VERB_COUNT
};

enum proto_dialect { PROTO_CLASSIC, PROTO_META, PROTO_BINARY };

/* How a command is to be answered. Kept until it is; see answer.c. */
struct proto_form {
	enum proto_dialect dialect;
	enum proto_verb verb;
	bool quiet;	/* what is not said then: proto_is_silent() */
	bool want_cas;	/* classic: gets, gats */
	bool want_key;	/* binary: getk, gatk */
	uint8_t opcode; /* binary: echoed, as the next */
	uint32_t opaque;
};

/* A flag letter as a bit of proto_meta.present. */
#define PROTO_FLAG(letter) (UINT64_C(1) << ((letter)&63))

/* The flags of a meta command; the other fields are in the request. */
struct proto_meta {
	struct proto_slice flags;  /* as sent: answers are in this order */
	uint64_t present;	   /* PROTO_FLAG() of each that is there */
	struct proto_slice opaque; /* O, without the letter */
	int64_t recache_seconds;   /* R */
	bool recache_touched;	   /* R is about the expiry that T sets */
	bool touches_made;	   /* T is about what N makes, too */
	uint64_t assign;	   /* E: the id to give; 0: the next */
	char mode; /* M: ms S E A P R, ma I D; the default if not given */
};

/* One parsed command. Only the fields its verb uses are set. */
struct proto_request {
	struct proto_form form;
	struct proto_slice key;	 /* the first key; with meta b in base64 */
	struct proto_slice keys; /* the others, if any: proto_next_token() */
	struct proto_slice args[PROTO_ARGS_MAX]; /* administrative verbs */
	size_t arg_count;
	struct proto_slice rest; /* their arguments behind the first */
	uint32_t client_flags;	 /* also meta F */
	bool has_exptime;	 /* one was given: meta T, binary flush */
	int64_t exptime; /* as sent: 0, relative, absolute or negative */
	bool compare;	 /* act only if the item's id is `cas` */
	uint64_t cas;
	uint64_t delta;	  /* incr, decr, ma */
	bool create;	  /* incr, decr, meta N: make a missing item ... */
	uint64_t initial; /* ... with this number, or this empty ... */
	int64_t create_exptime;
	struct proto_meta meta;
	bool has_value; /* value_bytes follow, and value_tail more */
	uint32_t value_bytes;
	uint32_t value_tail; /* 2: CRLF, in text; 0 in binary */
};

/* What is answered. Answers first, then refusals; the texts are in reply.c. */
enum proto_code {
	PROTO_DONE = 0, /* STORED, DELETED, TOUCHED, OK: the verb decides */
	PROTO_NOT_FOUND,
	PROTO_EXISTS,
	PROTO_NOT_STORED,
	PROTO_END,	  /* end of a list */
	PROTO_RESET,	  /* stats reset */
	PROTO_BUSY,	  /* the same work is under way already */
	PROTO_LOGIN_MORE, /* SASL: a step is to follow */

	PROTO_ERR_UNKNOWN,    /* ERROR */
	PROTO_ERR_FORMAT,     /* bad command line format */
	PROTO_ERR_CHUNK,      /* bad data chunk */
	PROTO_ERR_EXPTIME,    /* invalid exptime argument */
	PROTO_ERR_DELTA,      /* invalid numeric delta argument */
	PROTO_ERR_NOT_NUMBER, /* incr or decr on something else */
	PROTO_ERR_DELETE_USAGE,
	PROTO_ERR_TOO_LARGE, /* value over the item limit */
	PROTO_ERR_NO_MEMORY, /* no memory, or no space on the disk */
	PROTO_ERR_STORAGE,   /* the engine failed: neither yes nor no */
	PROTO_ERR_READ_ONLY, /* this user may not change anything */
	PROTO_ERR_FLUSH_DISABLED,
	PROTO_ERR_SHUTDOWN_DISABLED,
	PROTO_ERR_SHUTDOWN_MODE,
	PROTO_ERR_CACHEDUMP_DISABLED,
	PROTO_ERR_METADUMP_DISABLED,
	PROTO_ERR_MGDUMP_DISABLED,
	PROTO_ERR_METADUMP_PIPELINED,
	PROTO_ERR_MGDUMP_PIPELINED,
	PROTO_ERR_DETAIL_DISABLED,
	PROTO_ERR_DETAIL_USAGE,
	PROTO_ERR_CACHEDUMP_LINE,
	PROTO_ERR_CACHEDUMP_CLASS,
	PROTO_ERR_CLASS, /* BADCLASS */
	PROTO_ERR_CRAWLER_SLEEP,
	PROTO_ERR_CRAWLER_DISABLED,
	PROTO_ERR_CRAWLER_ENABLED,
	PROTO_ERR_AUTOMOVE_WINDOW,
	PROTO_ERR_NO_SPARE_PAGE, /* slabs reassign */
	PROTO_ERR_SAME_CLASS,
	PROTO_ERR_WATCH_DISABLED,
	PROTO_ERR_WATCH_PIPELINED,
	PROTO_ERR_WATCH_MANY,
	PROTO_ERR_NO_TLS,
	PROTO_ERR_CERTS, /* they could not be read again */
	PROTO_ERR_MEMLIMIT_SMALL,
	PROTO_ERR_MEMLIMIT_UNIT,
	PROTO_ERR_MEMLIMIT_FIXED, /* the cache cannot be resized to that */
	PROTO_ERR_NO_ORDER,	  /* a scan of a store that has no order */
	PROTO_ERR_HASH,		  /* what can be done to a B-tree only */
	PROTO_ERR_META_DUPLICATE,
	PROTO_ERR_META_FLAG,
	PROTO_ERR_META_ARITH_FLAG, /* ma: either of the two */
	PROTO_ERR_META_NUMBER,
	PROTO_ERR_META_KEY,    /* not base64 */
	PROTO_ERR_META_OPAQUE, /* too long */
	PROTO_ERR_META_MANY,   /* too many flags */
	PROTO_ERR_META_SET_MODE,
	PROTO_ERR_META_ARITH_MODE,
	PROTO_ERR_UNAUTHENTICATED,
	PROTO_ERR_LOGIN_FAILED, /* text: wrong; binary: or not logged in */
	PROTO_ERR_LOGIN_FORMAT,
	PROTO_ERR_LOGIN_END, /* not ended by CRLF */
	PROTO_ERR_LOGIN_LONG,
	PROTO_ERR_SHAPE, /* binary: lengths that do not fit the opcode */
	PROTO_CODE_COUNT
};

#endif
