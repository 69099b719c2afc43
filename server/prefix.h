/*
 * prefix.h - counts per key prefix, for `stats detail`.
 *
 * Off unless asked for, and then bounded: beyond PREFIX_MAX prefixes new ones
 * are not counted. Thread: any. Blocks: on the lock, only while on.
 */
#ifndef SERVER_PREFIX_H
#define SERVER_PREFIX_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PREFIX_MAX 10000

struct prefix;

enum prefix_event {
	PREFIX_GET,
	PREFIX_HIT,
	PREFIX_SET,
	PREFIX_DEL,
	PREFIX_EVENT_COUNT
};

struct prefixes {
	atomic_bool on;
	char delimiter;
	pthread_mutex_t lock; /* protects the table */
	struct prefix *table;
};

/* One line of `stats detail dump`; return false to stop. */
typedef bool (*prefix_visit_fn)(void *arg, const char *name, size_t bytes,
				const uint64_t counts[PREFIX_EVENT_COUNT]);

/* Thread: main, before and after the others. */
void prefixes_init(struct prefixes *prefixes, char delimiter, bool on);
void prefixes_done(struct prefixes *prefixes);

/* Counts an event of a key; nothing happens while off. */
void prefixes_count(struct prefixes *prefixes, enum prefix_event event,
		    const char *key, size_t key_bytes);

/* Forgets all counts. */
void prefixes_reset(struct prefixes *prefixes);

/* Shows all of them while holding the lock. False if stopped. */
bool prefixes_each(struct prefixes *prefixes, prefix_visit_fn visit, void *arg);

#endif
