/*
 * engine.c - what can be measured of the engine, see job.h.
 *
 * Berkeley DB copies its counters under region mutexes, in memory that we
 * free. What would look at the whole cache is asked by maint, now and then.
 */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "storage/reader.h"
#include "storage/store_priv.h"

static uint64_t file_bytes(const char *dir, const char *name)
{
	char *path = home_path(dir, name);
	struct stat st = {.st_size = 0};

	if (path == NULL || stat(path, &st) != 0)
		st.st_size = 0;
	free(path);
	return (uint64_t)st.st_size;
}

static void show_data(struct store_reader *reader, struct store_engine *ret)
{
	const struct store *store = reader->store;
	DB_MPOOLFILE *file = reader->db->get_mpf(reader->db);
	db_pgno_t last = 0;

	ret->hash = !store_has_order(reader);
	(void)reader->db->get_pagesize(reader->db, &ret->page_bytes);
	if (file->get_last_pgno(file, &last) == 0)
		ret->data_pages = (uint64_t)last + 1;
	ret->data_file_bytes =
		file_bytes(store->home.dir, store->config.data_file);
}

static void show_cache(const struct store *store, struct store_engine *ret)
{
	const struct trickle_counts *cache = &store->maint.cache;
	struct store_counts counts;

	store_counts(store, &counts);
	ret->cache_bytes = counts.cache_bytes;
	ret->cache_hits = atomic_load(&cache->hits);
	ret->cache_misses = atomic_load(&cache->misses);
	ret->pages_clean = atomic_load(&cache->clean);
	ret->pages_dirty = atomic_load(&cache->dirty);
	ret->pages_read = atomic_load(&cache->read);
	ret->pages_written = atomic_load(&cache->written);
}

static void show_log_files(const struct store *store, struct store_engine *ret)
{
	DIR *dir = opendir(store->home.log_dir);
	const struct dirent *entry;

	if (dir == NULL)
		return;
	while ((entry = readdir(dir)) != NULL) {
		if (strncmp(entry->d_name, "log.", 4) != 0)
			continue;
		ret->log_files++;
		ret->log_files_bytes +=
			file_bytes(store->home.log_dir, entry->d_name);
	}
	(void)closedir(dir);
}

static void show_log(const struct store *store, struct store_engine *ret)
{
	DB_ENV *db_env = store->env.db_env;
	DB_LOG_STAT *stat;

	show_log_files(store, ret);
	if (db_env->log_stat(db_env, &stat, 0) != 0)
		return;
	ret->log_file = stat->st_cur_file;
	ret->log_offset = stat->st_cur_offset;
	ret->log_bytes =
		((uint64_t)stat->st_wc_mbytes << 20) + stat->st_wc_bytes;
	free(stat);
}

static void show_checkpoints(const struct store *store,
			     struct store_engine *ret)
{
	const struct maint *maint = &store->maint;
	int64_t age_ms =
		thread_now_ms() - atomic_load(&maint->checkpoint_ended_ms);

	ret->checkpoints = atomic_load(&maint->checkpoints);
	ret->checkpoint_age_seconds = (uint64_t)age_ms / 1000;
}

static void show_txns(const struct store *store, struct store_engine *ret)
{
	DB_ENV *db_env = store->env.db_env;
	DB_TXN_STAT *stat;

	if (db_env->txn_stat(db_env, &stat, 0) != 0)
		return;
	ret->checkpoint_file = stat->st_last_ckp.file;
	ret->checkpoint_offset = stat->st_last_ckp.offset;
	ret->txns_active = stat->st_nactive;
	ret->txns_begun = stat->st_nbegins;
	ret->txns_committed = stat->st_ncommits;
	ret->txns_aborted = stat->st_naborts;
	free(stat);
}

static void show_locks(const struct store *store, struct store_engine *ret)
{
	DB_ENV *db_env = store->env.db_env;
	DB_LOCK_STAT *stat;

	if (db_env->lock_stat(db_env, &stat, 0) != 0)
		return;
	ret->locks = stat->st_nlocks;
	ret->locks_max = stat->st_maxlocks;
	ret->lock_requests = stat->st_nrequests;
	ret->lock_waits = stat->st_lock_wait;
	ret->deadlocks = stat->st_ndeadlocks;
	free(stat);
}

static void show_writing(const struct store *store, struct store_engine *ret)
{
	const struct published *published = &store->writer.published;
	const struct flusher *flusher = &store->flusher;

	ret->queued = atomic_load(&store->writer.queued);
	ret->batches = atomic_load(&published->batches);
	ret->batched_ops = atomic_load(&published->ops);
	ret->batch_last = atomic_load(&published->batch_last);
	ret->batch_max = atomic_load(&published->batch_max);
	ret->next_cas = atomic_load(&published->next_stamp);
	ret->flushes = atomic_load(&flusher->syncs);
	ret->flush_p50_us = latency_at(&flusher->latency, 500);
	ret->flush_p99_us = latency_at(&flusher->latency, 990);
	ret->flush_max_us = atomic_load(&flusher->latency.max_us);
}

void store_engine(struct store_reader *reader, struct store_engine *ret)
{
	const struct store *store = reader->store;

	memset(ret, 0, sizeof(*ret));
	show_data(reader, ret);
	show_cache(store, ret);
	show_log(store, ret);
	show_checkpoints(store, ret);
	show_txns(store, ret);
	show_locks(store, ret);
	show_writing(store, ret);
}
