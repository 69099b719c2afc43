/*
 * verbs.c - the table of words. The only place where a command's name stands.
 *
 * Searched from the top, so the busiest words come first; the first entry of
 * a verb is its name in logs and statistics.
 */
#include "protocol/verbs.h"

#include <string.h>

#define WORD(text, verb_, shape_, ...)                        \
	{                                                     \
		.name = {text, sizeof(text) - 1},             \
		.form = {.verb = PROTO_##verb_, __VA_ARGS__}, \
		.shape = PROTO_SHAPE_##shape_                 \
	}
#define CLASSIC(...)  WORD(__VA_ARGS__, .dialect = PROTO_CLASSIC)
#define WITH_CAS(...) WORD(__VA_ARGS__, .want_cas = true)
#define META(...)     WORD(__VA_ARGS__, .dialect = PROTO_META)

static const struct proto_word words[] = {
	CLASSIC("get", GET, KEYS),
	CLASSIC("set", SET, BLOCK),
	META("mg", META_GET, META),
	META("ms", META_SET, META_BLOCK),
	WITH_CAS("gets", GET, KEYS),
	META("md", META_DELETE, META),
	META("ma", META_ARITH, META),
	META("mn", NOOP, META_NONE),
	META("me", META_DEBUG, META_DEBUG),
	CLASSIC("gat", GAT, EXPTIME_KEYS),
	WITH_CAS("gats", GAT, EXPTIME_KEYS),
	CLASSIC("add", ADD, BLOCK),
	CLASSIC("cas", CAS, CAS),
	CLASSIC("replace", REPLACE, BLOCK),
	CLASSIC("append", APPEND, BLOCK),
	CLASSIC("prepend", PREPEND, BLOCK),
	CLASSIC("incr", INCR, DELTA),
	CLASSIC("decr", DECR, DELTA),
	CLASSIC("touch", TOUCH, TOUCH),
	CLASSIC("delete", DELETE, DELETE),

	CLASSIC("rget", RGET, RANGE),
	CLASSIC("pget", PGET, PREFIX_PAGE),
	CLASSIC("pdelete", PDELETE, PREFIX),

	CLASSIC("flush_all", FLUSH_ALL, FLUSH),
	CLASSIC("stats", STATS, WORDS),
	CLASSIC("version", VERSION, WORDS),
	CLASSIC("verbosity", VERBOSITY, NUMBER),
	CLASSIC("cache_memlimit", CACHE_MEMLIMIT, NUMBER),
	CLASSIC("shutdown", SHUTDOWN, WORDS),
	CLASSIC("quit", QUIT, WORDS),
	CLASSIC("slabs", SLABS, QUIET_WORDS),
	CLASSIC("lru", LRU, QUIET_WORDS),
	CLASSIC("lru_crawler", LRU_CRAWLER, WORDS),
	CLASSIC("watch", WATCH, WORDS),
	CLASSIC("refresh_certs", REFRESH_CERTS, WORDS),
	CLASSIC("debugtime", DEBUGTIME, WORDS),
	CLASSIC("db_checkpoint", DB_CHECKPOINT, WORDS),
	CLASSIC("db_archive", DB_ARCHIVE, WORDS),
	CLASSIC("db_compact", DB_COMPACT, WORDS),
};

#define WORD_COUNT (sizeof(words) / sizeof(words[0]))

const struct proto_word *proto_word_find(struct proto_slice name)
{
	for (size_t i = 0; i < WORD_COUNT; i++) {
		const struct proto_word *word = &words[i];

		if (word->name.len == name.len &&
		    memcmp(word->name.data, name.data, name.len) == 0)
			return word;
	}
	return NULL;
}

const char *proto_verb_name(enum proto_verb verb)
{
	for (size_t i = 0; i < WORD_COUNT; i++) {
		if (words[i].form.verb == verb)
			return words[i].name.data;
	}
	/* Those that only binary has. */
	if (verb == PROTO_SASL_LIST)
		return "sasl_list";
	if (verb == PROTO_SASL_START)
		return "sasl_start";
	if (verb == PROTO_SASL_STEP)
		return "sasl_step";
	return "unknown";
}
