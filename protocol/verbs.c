/*
 * verbs.c - the table of words. The only place where a command's name stands.
 *
 * Searched from the top, so the busiest words come first; the first entry of
 * a verb is its name in logs and statistics.
 */
#include "protocol/verbs.h"

#include <string.h>

#define WORD(text, ...)                                       \
	{                                                     \
		.name = {text, sizeof(text) - 1}, __VA_ARGS__ \
	}

static const struct proto_word words[] = {
	WORD("get", PROTO_GET, PROTO_SHAPE_KEYS, false),
	WORD("set", PROTO_SET, PROTO_SHAPE_BLOCK, false),
	WORD("gets", PROTO_GET, PROTO_SHAPE_KEYS, true),
	WORD("gat", PROTO_GAT, PROTO_SHAPE_EXPTIME_KEYS, false),
	WORD("gats", PROTO_GAT, PROTO_SHAPE_EXPTIME_KEYS, true),
	WORD("add", PROTO_ADD, PROTO_SHAPE_BLOCK, false),
	WORD("cas", PROTO_CAS, PROTO_SHAPE_CAS, false),
	WORD("replace", PROTO_REPLACE, PROTO_SHAPE_BLOCK, false),
	WORD("append", PROTO_APPEND, PROTO_SHAPE_BLOCK, false),
	WORD("prepend", PROTO_PREPEND, PROTO_SHAPE_BLOCK, false),
	WORD("incr", PROTO_INCR, PROTO_SHAPE_DELTA, false),
	WORD("decr", PROTO_DECR, PROTO_SHAPE_DELTA, false),
	WORD("touch", PROTO_TOUCH, PROTO_SHAPE_TOUCH, false),
	WORD("delete", PROTO_DELETE, PROTO_SHAPE_DELETE, false),
	WORD("flush_all", PROTO_FLUSH_ALL, PROTO_SHAPE_FLUSH, false),
	WORD("stats", PROTO_STATS, PROTO_SHAPE_WORDS, false),
	WORD("version", PROTO_VERSION, PROTO_SHAPE_WORDS, false),
	WORD("verbosity", PROTO_VERBOSITY, PROTO_SHAPE_NUMBER, false),
	WORD("cache_memlimit", PROTO_CACHE_MEMLIMIT, PROTO_SHAPE_NUMBER, false),
	WORD("shutdown", PROTO_SHUTDOWN, PROTO_SHAPE_WORDS, false),
	WORD("quit", PROTO_QUIT, PROTO_SHAPE_WORDS, false),
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
		if (words[i].verb == verb)
			return words[i].name.data;
	}
	return "unknown";
}
