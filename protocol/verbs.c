/*
 * verbs.c - what verb_table.h describes, as tables to look things up in.
 */
#include "protocol/verbs.h"

#include <assert.h>
#include <string.h>

#define NOTHING(...)

/* --- words -------------------------------------------------------------- */

#define WORD(verb_, text, dialect_, shape_, ...) \
	{.name = {text, sizeof(text) - 1},       \
	 .form = {.dialect = PROTO_##dialect_,   \
		  .verb = PROTO_##verb_,         \
		  __VA_ARGS__},                  \
	 .shape = PROTO_SHAPE_##shape_},

static const struct proto_word words[] = {PROTO_VERB_TABLE(NOTHING, WORD)};

const struct proto_word *proto_word_find(struct proto_slice name)
{
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		const struct proto_word *word = &words[i];

		if (word->name.len == name.len &&
		    memcmp(word->name.data, name.data, name.len) == 0)
			return word;
	}
	return NULL;
}

/* --- verbs -------------------------------------------------------------- */

#define LINE(text)                                   \
	{                                            \
		text "\r\n", sizeof(text "\r\n") - 1 \
	}
#define READS	false
#define CHANGES true

struct verb {
	const char *name;
	struct proto_slice done; /* what its success says in text */
	bool changes;
};

static const struct verb verbs[PROTO_VERB_COUNT + 1] = {
#define VERB(verb_, name_, answer, access) \
	[PROTO_##verb_] = {name_, LINE(#answer), access},
	PROTO_VERB_TABLE(VERB, NOTHING)
#undef VERB
		[PROTO_VERB_COUNT] = {"unknown", LINE("OK"), CHANGES},
};

const char *proto_verb_name(enum proto_verb verb)
{
	assert(verb <= PROTO_VERB_COUNT);
	return verbs[verb].name;
}

bool proto_verb_changes(enum proto_verb verb)
{
	assert(verb <= PROTO_VERB_COUNT);
	return verbs[verb].changes;
}

struct proto_slice proto_verb_done(enum proto_verb verb)
{
	assert(verb <= PROTO_VERB_COUNT);
	return verbs[verb].done;
}
