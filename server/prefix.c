/*
 * prefix.c - see prefix.h.
 */
#include "server/prefix.h"

#include <stdlib.h>
#include <string.h>

/* Without memory a prefix is not counted; the default would exit. */
#define HASH_NONFATAL_OOM 1
#include <uthash.h>

struct prefix {
	UT_hash_handle hh;
	uint64_t counts[PREFIX_EVENT_COUNT];
	size_t bytes;
	char name[];
};

void prefixes_init(struct prefixes *prefixes, char delimiter, bool on)
{
	prefixes->table = NULL;
	prefixes->delimiter = delimiter;
	atomic_init(&prefixes->on, on);
	(void)pthread_mutex_init(&prefixes->lock, NULL);
}

static void prefixes_clear(struct prefixes *prefixes)
{
	struct prefix *prefix, *next;

	HASH_ITER (hh, prefixes->table, prefix, next) {
		HASH_DEL(prefixes->table, prefix);
		free(prefix);
	}
}

void prefixes_done(struct prefixes *prefixes)
{
	prefixes_clear(prefixes);
	(void)pthread_mutex_destroy(&prefixes->lock);
}

static struct prefix *prefixes_find(struct prefixes *prefixes, const char *name,
				    size_t bytes)
{
	struct prefix *prefix;

	HASH_FIND(hh, prefixes->table, name, bytes, prefix);
	if (prefix != NULL || HASH_COUNT(prefixes->table) >= PREFIX_MAX)
		return prefix;
	prefix = calloc(1, sizeof(*prefix) + bytes);
	if (prefix == NULL)
		return NULL;
	prefix->bytes = bytes;
	memcpy(prefix->name, name, bytes);
	HASH_ADD(hh, prefixes->table, name[0], bytes, prefix);
	if (prefix->hh.tbl == NULL) {
		free(prefix);
		return NULL;
	}
	return prefix;
}

void prefixes_count(struct prefixes *prefixes, enum prefix_event event,
		    const char *key, size_t key_bytes)
{
	const char *end;
	struct prefix *prefix;

	if (!atomic_load_explicit(&prefixes->on, memory_order_relaxed))
		return;
	end = memchr(key, prefixes->delimiter, key_bytes);
	if (end == NULL)
		return;
	(void)pthread_mutex_lock(&prefixes->lock);
	prefix = prefixes_find(prefixes, key, (size_t)(end - key));
	if (prefix != NULL)
		prefix->counts[event]++;
	(void)pthread_mutex_unlock(&prefixes->lock);
}

void prefixes_reset(struct prefixes *prefixes)
{
	(void)pthread_mutex_lock(&prefixes->lock);
	prefixes_clear(prefixes);
	(void)pthread_mutex_unlock(&prefixes->lock);
}

bool prefixes_each(struct prefixes *prefixes, prefix_visit_fn visit, void *arg)
{
	struct prefix *prefix, *next;
	bool go_on = true;

	(void)pthread_mutex_lock(&prefixes->lock);
	HASH_ITER (hh, prefixes->table, prefix, next) {
		go_on = visit(arg, prefix->name, prefix->bytes, prefix->counts);
		if (!go_on)
			break;
	}
	(void)pthread_mutex_unlock(&prefixes->lock);
	return go_on;
}
