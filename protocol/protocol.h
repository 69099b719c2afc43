/*
 * protocol.h - the wire dialects of memcached, as pure functions.
 *
 * The idea: every dialect parses into ONE command model (struct
 * proto_request) and answers from ONE result model (enum proto_code and a few
 * numbers). A dialect is a parser and a formatter; what a command does is
 * nobody's business here.
 *
 * Rules for this whole folder: bytes in, values out. No allocation, no I/O,
 * no clock, no globals that change. So every function below may be called by
 * any thread, never blocks, and owns nothing: slices borrow the caller's
 * buffer and end with it.
 */
#ifndef PROTOCOL_PROTOCOL_H
#define PROTOCOL_PROTOCOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PROTO_KEY_MAX 250
/* Tokens after the verb that administrative commands get to see. */
#define PROTO_ARGS_MAX 4
/* Largest text of proto_classic_value(): VALUE, key, flags, length, cas. */
#define PROTO_VALUE_HEAD_MAX (PROTO_KEY_MAX + 64)
/* Largest text of proto_classic_number(): 20 digits and CRLF. */
#define PROTO_NUMBER_MAX 22

/* Borrowed bytes, not terminated. Valid as long as the buffer they lie in. */
struct proto_slice {
	const char *data;
	size_t len;
};

/* What is asked, whatever the dialect. The table in verbs.c describes each. */
enum proto_verb {
	PROTO_GET, /* get, gets */
	PROTO_GAT, /* gat, gats */
	PROTO_SET,
	PROTO_ADD,
	PROTO_REPLACE,
	PROTO_APPEND,
	PROTO_PREPEND,
	PROTO_CAS,
	PROTO_INCR,
	PROTO_DECR,
	PROTO_TOUCH,
	PROTO_DELETE,
	PROTO_FLUSH_ALL,
	PROTO_STATS,
	PROTO_VERSION,
	PROTO_VERBOSITY,
	PROTO_CACHE_MEMLIMIT,
	PROTO_SHUTDOWN,
	PROTO_QUIT,
	PROTO_VERB_COUNT
};

/* What is answered. Answers first, then refusals; the lines are in reply.c. */
enum proto_code {
	PROTO_DONE = 0, /* STORED, DELETED, TOUCHED, OK: the verb decides */
	PROTO_NOT_FOUND,
	PROTO_EXISTS,
	PROTO_NOT_STORED,
	PROTO_END,   /* end of a list */
	PROTO_RESET, /* stats reset */

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
	PROTO_ERR_FLUSH_DISABLED,
	PROTO_ERR_SHUTDOWN_DISABLED,
	PROTO_ERR_SHUTDOWN_MODE,
	PROTO_ERR_DUMP_DISABLED,
	PROTO_ERR_DETAIL_DISABLED,
	PROTO_ERR_DETAIL_USAGE,
	PROTO_ERR_CACHEDUMP_LINE,
	PROTO_ERR_CACHEDUMP_CLASS,
	PROTO_ERR_MEMLIMIT_SMALL,
	PROTO_ERR_MEMLIMIT_UNIT,
	PROTO_ERR_MEMLIMIT_FIXED, /* the cache cannot be resized to that */
	PROTO_CODE_COUNT
};

struct proto_limits {
	uint32_t value_max_bytes;  /* item limit: the value alone */
	size_t line_max_bytes;	   /* without LF, but for get and gets */
	size_t get_line_max_bytes; /* for get and gets */
};

/* One parsed command. Only the fields its verb uses are set. */
struct proto_request {
	enum proto_verb verb;
	bool quiet;		 /* noreply: no answer, neither yes nor no */
	bool want_cas;		 /* gets, gats */
	struct proto_slice key;	 /* the first key */
	struct proto_slice keys; /* the others; len 0: none. proto_next_key() */
	struct proto_slice args[PROTO_ARGS_MAX]; /* administrative verbs */
	size_t arg_count;
	uint32_t client_flags;
	int64_t exptime;      /* as sent: 0, relative, absolute or negative */
	uint64_t cas;	      /* cas: the id to compare with */
	uint64_t delta;	      /* incr, decr */
	uint32_t value_bytes; /* a block of this size and CRLF follows */
	bool has_value;
};

/* What a parser found at the start of the buffer. */
enum proto_event {
	PROTO_WAIT,    /* no whole line yet: read more, call again */
	PROTO_COMMAND, /* ret->request is one command */
	PROTO_REFUSED, /* skip ret->swallow bytes, then answer ret->code */
	PROTO_HANGUP   /* close without an answer */
};

struct proto_parsed {
	struct proto_request request;
	size_t consumed;      /* COMMAND, REFUSED: bytes of the line */
	size_t scanned;	      /* WAIT: pass it back in, to not look twice */
	enum proto_code code; /* REFUSED */
	enum proto_verb verb; /* REFUSED: what was asked, COUNT if unknown */
	uint64_t swallow; /* REFUSED: bytes of block to drop, answer after */
	bool quiet;	  /* REFUSED: noreply was understood: no answer */
	bool close;	  /* REFUSED: the stream cannot be trusted: close */
};

/*
 * Parses one classic text command from buf[0..len). `scanned` is 0 for a new
 * line, else ret->scanned of the previous PROTO_WAIT on the same line.
 * Never reads beyond len. On PROTO_WAIT only ret->scanned is set.
 * A get line with one invalid key is refused as a whole.
 */
enum proto_event proto_classic_parse(const char *buf, size_t len,
				     size_t scanned,
				     const struct proto_limits *limits,
				     struct proto_parsed *ret);

/*
 * Takes the next key off a request's `keys`. Returns false at the end of the
 * list. The parser has checked every key already.
 */
bool proto_next_key(struct proto_slice *keys, struct proto_slice *ret_key);

/* The verb's name as clients send it ("get"); "unknown" for COUNT. */
const char *proto_verb_name(enum proto_verb verb);

/*
 * The whole answer line, CRLF included, of a code that carries no number.
 * The text is static: it is never freed and never changes.
 */
struct proto_slice proto_classic_line(enum proto_verb verb,
				      enum proto_code code);

/*
 * Writes "VALUE <key> <flags> <bytes>[ <cas>]\r\n" to buf, which has room for
 * PROTO_VALUE_HEAD_MAX. Returns its length. The value and CRLF follow.
 */
size_t proto_classic_value(char *buf, struct proto_slice key, uint32_t flags,
			   size_t value_bytes, bool with_cas, uint64_t cas);

/* Writes the number and CRLF to buf (PROTO_NUMBER_MAX). Returns its length. */
size_t proto_classic_number(char *buf, uint64_t number);

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

#endif
