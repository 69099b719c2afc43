/*
 * storage.h - a durable key/value store with memcached's semantics, on one
 * Berkeley DB environment.
 *
 * The idea: any thread reads through a store_reader of its own; every change
 * is a store_op handed to the ONE writer thread. Ops of one store_client are
 * applied, and become durable, in the order they were submitted.
 *
 *   submit --> [queue] --> writer: applied --> flusher: durable --> reap
 *
 * Nothing is shown before it is durable (STORE_SYNC_ALWAYS): a read says
 * from which durable position on its result may be sent.
 *
 * Functions that return int give 0 or a negative errno. store_status tells
 * answers (the command's own yes or no) from failures (neither).
 * Threads: "owner" is the one thread that made the reader or client.
 */
#ifndef STORAGE_STORAGE_H
#define STORAGE_STORAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "storage/config.h"
#include "storage/job.h"
#include "storage/op.h"

struct store;
struct store_reader;
struct store_client;

/*
 * Opens the environment, recovers it, starts the store's threads. On failure
 * nothing runs, files are as they were, and *refused says why.
 * Owner: *ret_store is ended by store_close(). config is copied; the strings
 * and callbacks it points to must outlive the store.
 * Thread: main. Blocks: on recovery, as long as that takes.
 */
int store_open(const struct store_config *config, struct store **ret_store,
	       struct store_refused *refused);

/*
 * Applies and flushes what was submitted, ends the threads, and makes a
 * checkpoint if config.close_ms is time enough. All readers and clients are
 * freed before. Returns -EIO if the last flush or the checkpoint failed
 * (acknowledged data are safe in the log).
 * Thread: main. Blocks: on the disk.
 */
int store_close(struct store *store);

/*
 * A reader has its own database handle, so that readers never meet.
 * Thread: the owner, for all three. Blocks: store_get on page reads only.
 */
int store_reader_new(struct store *store, struct store_reader **ret_reader);
void store_reader_free(struct store_reader *reader); /* NULL is fine */

/*
 * Reads one item into buf: its value lies somewhere inside, at least
 * head_room bytes from the start. Returns OK, NOT_FOUND, GROW (ret->value_bytes
 * says what the value needs beside head_room + STORE_RECORD_HEAD_MAX) or a
 * failure. NOT_FOUND, too, must wait for ret->shown_from.
 */
enum store_status store_get(struct store_reader *reader, const char *key,
			    size_t key_bytes, char *buf, size_t buf_bytes,
			    size_t head_room, struct store_item *ret);

/*
 * Both prefetch for a store_get(): long before it, where the record is, which
 * returns the hash of the key; then the record. Thread: owner. Never block.
 */
uint64_t store_prefetch(const struct store_reader *reader, const char *key,
			size_t key_bytes);
void store_prefetch_record(const struct store_reader *reader, uint64_t hash);

/*
 * Where a walk stands. Zeroed: at the start; with only a key set: at the first
 * item that is not before it; with `started`, too: at the first one behind it.
 * Plain data, freely copied.
 */
struct store_cursor {
	char key[STORE_KEY_MAX];
	size_t key_bytes;
	bool started, done, back; /* back, and all below: see gather.h */
	uint64_t cas, before_cas;
	size_t before_bytes, anchor_bytes, buckets;
	char before[STORE_KEY_MAX], anchor[STORE_KEY_MAX];
};

/*
 * Sees one live item of a walk. Returns false to stop behind it. No lock is
 * held meanwhile: it may use the reader for all but another walk.
 */
typedef bool (*store_visit_fn)(void *arg, const char *key, size_t key_bytes,
			       const struct store_item *item);

/*
 * One bounded step of a walk over the live items in key order: looks at no
 * more than max_rows records, sets cursor->done at the end. No value is shown.
 * Items that change meanwhile are seen before or after. In a hash, which has
 * no such order, some are seen twice, then beyond max_rows; and one deleted
 * and stored anew may not be seen. Thread: owner. Blocks: on page reads.
 */
enum store_status store_walk(struct store_reader *reader,
			     struct store_cursor *cursor, size_t max_rows,
			     store_visit_fn visit, void *arg);

/* Where a scan ends. */
struct store_limit {
	enum {
		STORE_TO_END,
		STORE_TO_KEY,	  /* with the key itself */
		STORE_BEFORE_KEY, /* without it */
		STORE_WITH_PREFIX /* behind the last key that begins so */
	} kind;
	const char *key;
	size_t key_bytes;
};

/* True if there is key order, so that scans are possible: not in a hash. */
bool store_has_order(const struct store_reader *reader);

/*
 * One bounded step of a walk that shows values, too, up to a limit; at which
 * cursor->done is set, too. item->value lies in the reader's memory until
 * visit returns; it is NULL if the record is too big for that (64 KB at most):
 * store_get() has it. What is shown waits for item->shown_from, as in a get.
 * Needs order, see above. Thread: owner. Blocks: on page reads.
 */
enum store_status store_scan(struct store_reader *reader,
			     struct store_cursor *cursor,
			     const struct store_limit *limit, size_t max_rows,
			     store_visit_fn visit, void *arg);

/*
 * From which position on it may be told that nothing else is there than what a
 * walk has shown; 0: now. Asked when it is done. Thread: owner. Blocks: never.
 */
uint64_t store_scanned(const struct store_reader *reader);

/*
 * Makes an op with room for key, value and user_bytes (zeroed) in one piece;
 * copies the key. NULL: no memory. Owner: caller; store_op_free(). Thread: any.
 */
struct store_op *store_op_new(enum store_op_kind kind, const char *key,
			      size_t key_bytes, uint32_t value_bytes,
			      size_t user_bytes);
void store_op_free(struct store_op *op); /* NULL is fine */

/*
 * A submitter of changes. wake(arg) is called by a thread of the store when
 * there is something to reap, or when a wanted position was reached; it must
 * not block and not call the store. Thread: the owner, for all of these.
 */
int store_client_new(struct store *store, void (*wake)(void *arg), void *arg,
		     struct store_client **ret_client);
/* Waits until nothing of this client is in flight; it must be reaped first. */
void store_client_free(struct store_client *client);

/* Hands over a list of ops (linked by next), in order. Never blocks. */
void store_submit(struct store_client *client, struct store_op *first);

/* Gives back the oldest op that is durable and so may be answered, or NULL. */
struct store_op *store_reap(struct store_client *client);

/* Ops submitted and not yet reaped. */
size_t store_in_flight(const struct store_client *client);

/*
 * True if every op this client has submitted up to `ticket` (op->ticket, set
 * by store_submit) is applied, so that reads see it. If not: wake() will come.
 */
bool store_applied(struct store_client *client, uint64_t ticket);

/* True if a shown_from position is durable. If not: wake() will come. */
bool store_shown(struct store_client *client, uint64_t shown_from);

struct store_counts {
	uint64_t items, bytes;	   /* live: key, value and record head */
	uint64_t total_items;	   /* stores since the start */
	uint64_t expired, flushed; /* swept since the start */
	uint64_t cache_bytes;
	uint64_t ops, commits, syncs; /* since the start */
};

/* Thread: any. Blocks: never. */
void store_counts(const struct store *store, struct store_counts *ret);

/*
 * Resizes the cache of the running store. 0 if that is its size; -EINVAL:
 * Berkeley DB cannot go there, a restart can. Thread: any. Blocks: never.
 */
int store_resize_cache(struct store *store, uint64_t cache_bytes);

/* Berkeley DB's version, "5.3.28"; static. */
const char *store_engine_version(void);

#endif
