/*
 * compact.h - merges pages that are not full, and gives free ones back.
 *
 * Two phases, each in steps over a range of keys:
 *
 * MERGE       neighbours are merged into full pages; the emptied ones go to the
 *             list of free pages. A step locks a few pages at a time.
 * GIVE_BACK   pages near the end of the file are moved into free ones, and the
 *             end is cut off. Every step reads and sorts the list of free pages
 *             while nobody can take one: if it is long, steps are done only
 *             while nobody changes anything, or not at all. Several passes:
 *             what one empties, the next one cuts off.
 *
 * A hash is not compacted: Berkeley DB 5.3 loses its way among the pages of a
 * bucket, and follows a pointer to nowhere, whether or not others change it.
 *
 * Berkeley DB does it in transactions of its own. MERGE runs beside the writer;
 * if they meet in a deadlock one of them does its work again. GIVE_BACK is run
 * by the writer between two batches: beside it, it would make the writer wait
 * in the middle of one, and readers for the pages that are changed there.
 *
 * Threads: asking by any, stepping by the jobs thread.
 */
#ifndef STORAGE_COMPACT_H
#define STORAGE_COMPACT_H

#include <db.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "storage/agent.h"
#include "storage/storage.h"

struct compact {
	atomic_bool running;
	/* the jobs thread's */
	DB *db; /* NULL: not begun */
	bool giving_back;
	uint32_t page_bytes;
	struct store_cursor place; /* where the next step begins */
	uint64_t kept;	   /* about so many pages are in use after MERGE */
	uint64_t returned; /* pages, in this pass */
	bool many;	   /* pages are to be given back: wait for quiet */
	uint64_t ops_seen;
	int64_t quiet_since_ms, give_up_ms;
	int passes;
	int failures; /* in a row */
	/* progress */
	_Atomic uint64_t done, failed, examined, freed, given;
};

/* Starts a run. 0 or -EALREADY. Thread: any. */
int compact_ask(struct compact *compact);

/*
 * Does a step. Returns false if there is nothing to do now. Thread: the jobs
 * thread. Blocks: on page locks and reads, milliseconds.
 */
bool compact_step(struct compact *compact, struct agent *agent);

/* Closes what an unfinished run has open. */
void compact_done(struct compact *compact);

#endif
