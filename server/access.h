/*
 * access.h - which items were fetched, and when: for meta h, l, and dumps.
 *
 * Nothing of this is stored with an item: it would make every get a write.
 * The table has a fixed size and forgets: what it does not know was not
 * fetched, and was last seen when the server started. A slot is one atomic
 * word of a part of the key's hash (the store's), so two keys can be taken for
 * one.
 *
 * Thread: any. Blocks: never.
 */
#ifndef SERVER_ACCESS_H
#define SERVER_ACCESS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ACCESS_WAYS    4
#define ACCESS_BUCKETS (1u << 16) /* 2 MB in all */

struct access_table {
	int64_t started; /* seconds, as `now` below: times count from here */
	_Atomic uint64_t slots[ACCESS_BUCKETS][ACCESS_WAYS];
};

struct access {
	bool fetched; /* since it was stored */
	int64_t last; /* second of the last store or fetch */
};

/* Returns NULL without memory. Owner: the caller; access_free(). */
struct access_table *access_new(int64_t now);
void access_free(struct access_table *table); /* NULL is fine */

/* The key with this hash was stored anew, or fetched, at this second. */
void access_stored(struct access_table *table, uint64_t hash, int64_t now);
void access_fetched(struct access_table *table, uint64_t hash, int64_t now);

/* What is known of the key. */
struct access access_look(struct access_table *table, uint64_t hash);

/* Brings what is known of the key nearer, for one of the above. */
void access_prefetch(const struct access_table *table, uint64_t hash);

#endif
