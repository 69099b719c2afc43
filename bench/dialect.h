/*
 * dialect.h - how a request is spelled and a reply is read, per protocol.
 *
 * The idea: the generator knows requests (struct request), a dialect knows
 * bytes. A new protocol is a file with three functions and one more line in
 * the table of dialect.c.
 *
 * Pure functions: they own nothing, never block, and any thread may call
 * them.
 */
#ifndef BENCH_DIALECT_H
#define BENCH_DIALECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bench/keys.h"

/* One request in flight. */
struct request {
	bool is_set;
	bool is_hot;	 /* a get of one of the hottest keys */
	bool ends_batch; /* a barrier was sent behind it */
	bool started;	 /* a dialect's own: the head of the reply was read */
	uint32_t key_count;
	uint32_t answered; /* keys whose part of the reply was read */
	uint32_t hits;
	uint32_t *ids; /* key_count of them */
	uint64_t version;
	uint64_t sent_ns;
};

enum reply_event {
	REPLY_WAIT,    /* not all there: read more, call again */
	REPLY_PART,    /* something was read; more of this reply follows */
	REPLY_HIT,     /* as PART, and ret->id has this value */
	REPLY_DONE,    /* the reply has ended well */
	REPLY_REFUSED, /* the server said no; the reply has ended */
	REPLY_BROKEN   /* not an answer to this request: trust no more */
};

struct reply_part {
	size_t consumed; /* bytes read; on REFUSED they are what was said */
	uint32_t id;
	const char *value; /* borrowed from the buffer */
	size_t value_bytes;
};

struct dialect {
	const char *name;
	/* Most bytes around the key and value of a set. */
	size_t set_extra;
	/* Most bytes of a get, beside get_key_extra and the key for each. */
	size_t get_extra;
	size_t get_key_extra;
	/* Each writes one request; returns the byte behind it. */
	char *(*put_set)(char *out, const struct items *items,
			 const struct request *request);
	char *(*put_get)(char *out, const struct items *items,
			 const struct request *request);
	/*
	 * Quiet dialects: what is written behind a batch of requests, so that
	 * its answer tells that they are done. NULL: each has an answer.
	 */
	char *(*put_barrier)(char *out);
	/* Reads the next part of the reply to `request`, which it updates. */
	enum reply_event (*read_reply)(const char *buf, size_t len,
				       const struct items *items,
				       struct request *request,
				       struct reply_part *ret);
};

extern const struct dialect dialect_classic;
extern const struct dialect dialect_classic_quiet;
extern const struct dialect dialect_meta;
extern const struct dialect dialect_meta_quiet;
extern const struct dialect dialect_binary;
extern const struct dialect dialect_binary_quiet;
extern const struct dialect dialect_redis;

/* NULL if there is none of this name. */
const struct dialect *dialect_find(const char *name);

/* The i-th dialect of the table, NULL behind the last one. */
const struct dialect *dialect_at(size_t i);

/*
 * Length of the first line in buf, its CRLF included; 0 if its end is not
 * there yet.
 */
size_t dialect_line(const char *buf, size_t len);

/* Reads decimal digits at *text up to `end`; false without any, or too many. */
bool dialect_number(const char **text, const char *end, size_t *ret);

/* Each writes to `out` and returns the byte behind it. */
char *dialect_put_number(char *out, size_t number);
char *dialect_put_text(char *out, const char *text, size_t bytes);

/* The same for a string literal. */
#define DIALECT_PUT(out, literal) \
	dialect_put_text(out, literal, sizeof(literal) - 1)

#endif
