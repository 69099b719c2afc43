/*
 * verb_table.h - every verb and every word of text, in one table.
 *
 * Part of the public face: request.h includes it for enum proto_verb, verbs.c
 * for the words. What binary calls a verb is in opcodes.c.
 *
 *   VERB(verb, name, answer, access)
 *	name	in logs and statistics
 *	answer	what its success says in text: OK, STORED, DELETED, TOUCHED, MN
 *	access	READS, or CHANGES: not for users that may only read
 *   WORD(verb, text, dialect, shape, form)
 *	shape	what follows the word, see verbs.h
 *	form	more of its struct proto_form, or 0
 *
 * Words are searched from the top, so the busiest come first.
 */
#ifndef PROTOCOL_VERB_TABLE_H
#define PROTOCOL_VERB_TABLE_H

/* clang-format off */
#define PROTO_VERB_TABLE(VERB, WORD)                                          \
	VERB(GET, "get", OK, READS)                                           \
	WORD(GET, "get", CLASSIC, KEYS, .want_cas = false)                    \
	VERB(SET, "set", STORED, CHANGES)                                     \
	WORD(SET, "set", CLASSIC, BLOCK, 0)                                   \
	VERB(META_GET, "mg", OK, READS)                                       \
	WORD(META_GET, "mg", META, META, 0)                                   \
	VERB(META_SET, "ms", OK, CHANGES)                                     \
	WORD(META_SET, "ms", META, META_BLOCK, 0)                             \
	WORD(GET, "gets", CLASSIC, KEYS, .want_cas = true)                    \
	VERB(META_DELETE, "md", OK, CHANGES)                                  \
	WORD(META_DELETE, "md", META, META, 0)                                \
	VERB(META_ARITH, "ma", OK, CHANGES)                                   \
	WORD(META_ARITH, "ma", META, META, 0)                                 \
	VERB(NOOP, "mn", MN, READS)                                           \
	WORD(NOOP, "mn", META, META_NONE, 0)                                  \
	VERB(META_DEBUG, "me", OK, READS)                                     \
	WORD(META_DEBUG, "me", META, META_DEBUG, 0)                           \
	VERB(GAT, "gat", OK, CHANGES)                                         \
	WORD(GAT, "gat", CLASSIC, EXPTIME_KEYS, .want_cas = false)            \
	WORD(GAT, "gats", CLASSIC, EXPTIME_KEYS, .want_cas = true)            \
	VERB(ADD, "add", STORED, CHANGES)                                     \
	WORD(ADD, "add", CLASSIC, BLOCK, 0)                                   \
	VERB(CAS, "cas", STORED, CHANGES)                                     \
	WORD(CAS, "cas", CLASSIC, CAS, 0)                                     \
	VERB(REPLACE, "replace", STORED, CHANGES)                             \
	WORD(REPLACE, "replace", CLASSIC, BLOCK, 0)                           \
	VERB(APPEND, "append", STORED, CHANGES)                               \
	WORD(APPEND, "append", CLASSIC, BLOCK, 0)                             \
	VERB(PREPEND, "prepend", STORED, CHANGES)                             \
	WORD(PREPEND, "prepend", CLASSIC, BLOCK, 0)                           \
	VERB(INCR, "incr", OK, CHANGES)                                       \
	WORD(INCR, "incr", CLASSIC, DELTA, 0)                                 \
	VERB(DECR, "decr", OK, CHANGES)                                       \
	WORD(DECR, "decr", CLASSIC, DELTA, 0)                                 \
	VERB(TOUCH, "touch", TOUCHED, CHANGES)                                \
	WORD(TOUCH, "touch", CLASSIC, TOUCH, 0)                               \
	VERB(DELETE, "delete", DELETED, CHANGES)                              \
	WORD(DELETE, "delete", CLASSIC, DELETE, 0)                            \
                                                                              \
	VERB(RGET, "rget", OK, READS)                                         \
	WORD(RGET, "rget", CLASSIC, RANGE, 0)                                 \
	VERB(PGET, "pget", OK, READS)                                         \
	WORD(PGET, "pget", CLASSIC, PREFIX_PAGE, 0)                           \
	VERB(PDELETE, "pdelete", OK, CHANGES)                                 \
	WORD(PDELETE, "pdelete", CLASSIC, PREFIX, 0)                          \
                                                                              \
	VERB(FLUSH_ALL, "flush_all", OK, CHANGES)                             \
	WORD(FLUSH_ALL, "flush_all", CLASSIC, FLUSH, 0)                       \
	VERB(STATS, "stats", OK, READS)                                       \
	WORD(STATS, "stats", CLASSIC, WORDS, 0)                               \
	VERB(VERSION, "version", OK, READS)                                   \
	WORD(VERSION, "version", CLASSIC, WORDS, 0)                           \
	VERB(VERBOSITY, "verbosity", OK, CHANGES)                             \
	WORD(VERBOSITY, "verbosity", CLASSIC, NUMBER, 0)                      \
	VERB(CACHE_MEMLIMIT, "cache_memlimit", OK, CHANGES)                   \
	WORD(CACHE_MEMLIMIT, "cache_memlimit", CLASSIC, NUMBER, 0)            \
	VERB(SHUTDOWN, "shutdown", OK, CHANGES)                               \
	WORD(SHUTDOWN, "shutdown", CLASSIC, WORDS, 0)                         \
	VERB(QUIT, "quit", OK, READS)                                         \
	WORD(QUIT, "quit", CLASSIC, WORDS, 0)                                 \
	VERB(SLABS, "slabs", OK, READS)                                       \
	WORD(SLABS, "slabs", CLASSIC, QUIET_WORDS, 0)                         \
	VERB(LRU, "lru", OK, READS)                                           \
	WORD(LRU, "lru", CLASSIC, QUIET_WORDS, 0)                             \
	VERB(LRU_CRAWLER, "lru_crawler", OK, READS)                           \
	WORD(LRU_CRAWLER, "lru_crawler", CLASSIC, WORDS, 0)                   \
	VERB(WATCH, "watch", OK, READS)                                       \
	WORD(WATCH, "watch", CLASSIC, WORDS, 0)                               \
	VERB(REFRESH_CERTS, "refresh_certs", OK, CHANGES)                     \
	WORD(REFRESH_CERTS, "refresh_certs", CLASSIC, WORDS, 0)               \
	VERB(DEBUGTIME, "debugtime", OK, CHANGES)                             \
	WORD(DEBUGTIME, "debugtime", CLASSIC, WORDS, 0)                       \
	VERB(DB_CHECKPOINT, "db_checkpoint", OK, CHANGES)                     \
	WORD(DB_CHECKPOINT, "db_checkpoint", CLASSIC, WORDS, 0)               \
	VERB(DB_ARCHIVE, "db_archive", OK, CHANGES)                           \
	WORD(DB_ARCHIVE, "db_archive", CLASSIC, WORDS, 0)                     \
	VERB(DB_COMPACT, "db_compact", OK, CHANGES)                           \
	WORD(DB_COMPACT, "db_compact", CLASSIC, WORDS, 0)                     \
                                                                              \
	/* Only in binary; a login in text looks like a set. */               \
	VERB(SASL_LIST, "sasl_list", OK, READS)                               \
	VERB(SASL_START, "sasl_start", STORED, READS)                         \
	VERB(SASL_STEP, "sasl_step", OK, READS)
/* clang-format on */

#endif
