/*
 * store_priv.h - the whole store, for the files that work on all of it.
 *
 * Locks; none is taken while another is held, except as said:
 *   writer.lock       the queue
 *   clients.lock      the list of clients, publishing; wake() runs under it
 *   flusher.round     one round of flushing; inside: clients.lock,
 *                     flusher.lock, space.lock
 *   flusher.lock      the flusher's flags
 *   maint.lock        its flags, and the answers to those who want room
 *   agent.lock        flags of the sweep, and of the jobs; inside clients.lock,
 *                     by their wake()
 *   purge.lock        the queue of prefixes to delete
 *   space.lock        the ballast
 *   spare.lock        that a spare log file is wanted
 *   cache_shard.lock  a part of the cache of records; innermost
 *   env.message_lock  how many messages there were; innermost
 *   arena.lock        places of cached pages; of the process; innermost
 */
#ifndef STORAGE_STORE_PRIV_H
#define STORAGE_STORE_PRIV_H

#include "storage/cache.h"
#include "storage/change.h"
#include "storage/client.h"
#include "storage/env.h"
#include "storage/flusher.h"
#include "storage/home.h"
#include "storage/jobs.h"
#include "storage/maint.h"
#include "storage/meta.h"
#include "storage/space.h"
#include "storage/spare.h"
#include "storage/storage.h"
#include "storage/sweep.h"
#include "storage/thread.h"
#include "storage/writer.h"

struct store {
	struct store_config config;
	struct home home;
	struct env env;
	struct meta meta;
	struct space space;
	struct spare spare;
	struct change_table *changes;
	struct cache cache;
	struct clients clients;
	struct writer writer;
	struct flusher flusher;
	struct maint maint;
	struct sweep sweep;
	struct jobs jobs;
};

/* Microseconds as seconds, rounded down. */
int64_t store_seconds(int64_t us);

/* The clock of expiry: seconds since 1970, rounded down. Thread: any. */
int64_t store_now_seconds(const struct store *store);

#endif
