/*
 * meta.h - meta.db: what the data are, and the state of the store.
 *
 * Two small records. "format" is written once by a version. "state" is
 * rewritten in the transaction of every batch of changes, so it is exact after
 * any crash: nothing is recounted and no number is ever given twice.
 *
 * Threads: main while opening, then the writer.
 */
#ifndef STORAGE_META_H
#define STORAGE_META_H

#include <stdint.h>

#include "storage/config.h"
#include "storage/env.h"

struct home;

#define META_FORMAT_VERSION 2
#define META_FORMAT_OLDEST  1 /* that is read, too */
#define META_HISTORY_BYTES  16

/*
 * Every record counts in one of two buckets: live, or hidden by a flush and
 * not yet reclaimed. Expired ones count where they are until they are found.
 */
struct state {
	uint64_t next_stamp; /* for the next change; the next cas id */
	uint64_t live_items, live_bytes;
	uint64_t hidden_items, hidden_bytes;
	uint64_t flush_cutoff; /* records with a lower stamp are hidden */
	int64_t flush_due;     /* seconds: a flush waits for then; 0: none */
	/* Hidden records stay for a grace, see apply_flush.c. */
	uint64_t reclaim_cutoff; /* below: may be reclaimed */
	uint64_t grace_cutoff;	 /* becomes reclaim_cutoff ... */
	int64_t grace_until;	 /* ... at this second; 0: none waits */
	/*
	 * Not 0 while a store serves that shows changes before they are on
	 * disk: after a crash ids may have been seen that are not known here.
	 */
	uint32_t loose;
	uint32_t start; /* number of this start; marks may end with it */
};

struct meta {
	DB *db;
	DBTYPE data_type; /* of the file with the items, once opened */
	unsigned char history[META_HISTORY_BYTES]; /* random, of this store */
};

/*
 * Reads meta.db without the environment, so nothing is changed. Refuses if
 * it says that this version cannot use the data.
 */
int meta_judge(const struct home *home, struct store_refused *refused);

/* Makes meta.db with a new history id and *state. 0 or an engine error. */
int meta_create(struct meta *meta, struct env *env, DB_TXN *txn, bool hash,
		const struct state *state);

/*
 * Opens meta.db and reads the state; an older format becomes the one of this
 * version, synced. Returns 0 or refuses.
 */
int meta_open(struct meta *meta, struct env *env, const struct home *home,
	      struct state *ret_state, struct store_refused *refused);

/* 0 or an engine error, after which the transaction is to be aborted. */
int meta_put_state(struct meta *meta, DB_TXN *txn, const struct state *state);

void meta_close(struct meta *meta);

#endif
