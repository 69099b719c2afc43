/*
 * reader.h - what a reader is, for the files that read.
 *
 * Threads: the owner.
 */
#ifndef STORAGE_READER_H
#define STORAGE_READER_H

#include <db.h>
#include <stdbool.h>
#include <stdint.h>

#include "storage/op.h"
#include "storage/record.h"

struct gather;
struct store;

struct store_reader {
	struct store *store;
	DB *db;
	bool shared;	       /* the handle: it is the writer's */
	struct gather *gather; /* of a walk, made when first needed */
};

/*
 * As store_reader_new(), but on the writer's handle: for those who read seldom.
 * Each handle makes every change dearer, since Berkeley DB looks for cursors at
 * its place in all of them. To be freed before the writer is done.
 */
int reader_new_shared(struct store *store, struct store_reader **ret_reader);

/*
 * Fills *ret from a record that was read just now, all but the value. Returns
 * true if the item is live.
 */
bool reader_judge(const struct store_reader *reader, uint64_t hash,
		  const struct record *record, int64_t now_seconds,
		  struct store_item *ret);

/* Says what went wrong, bounded; returns STORE_FAILED or STORE_NO_MEMORY. */
enum store_status reader_failed(struct store_reader *reader, int error);

#endif
