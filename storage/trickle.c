/*
 * trickle.c - see trickle.h.
 */
#include "storage/trickle.h"

#include <fcntl.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "storage/thread.h"

#define STEP_PERCENT 10
/* So few that it is not worth looking at the clock. */
#define FEW_PAGES 1024
/* Looking at the cache may take this share of one processor: a hundredth. */
#define LOOK_SHARE 100

static int clean_percent(const DB_MPOOL_STAT *stat)
{
	if (stat->st_pages == 0)
		return 100;
	return 100 -
	       (int)((uint64_t)stat->st_page_dirty * 100 / stat->st_pages);
}

static void note(struct trickle_counts *counts, const DB_MPOOL_STAT *stat)
{
	atomic_store(&counts->hits, stat->st_cache_hit);
	atomic_store(&counts->misses, stat->st_cache_miss);
	atomic_store(&counts->clean, stat->st_page_clean);
	atomic_store(&counts->dirty, stat->st_page_dirty);
	atomic_store(&counts->read, stat->st_page_in);
	atomic_store(&counts->written, stat->st_page_out);
}

/*
 * As long as no page had to give way to another one nobody waits for clean
 * ones, and a page that is changed again and again is best written once, by
 * the checkpoint.
 */
static bool is_full(struct trickle_counts *counts, const DB_MPOOL_STAT *stat)
{
	uint64_t evicted = stat->st_ro_evict + stat->st_rw_evict;
	bool full = evicted != counts->evicted;

	counts->evicted = evicted;
	return full;
}

/* What this thread has had of the processor, not what it has waited for. */
static int64_t worked_us(void)
{
	struct timespec worked;

	if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &worked) != 0)
		return 0;
	return (int64_t)worked.tv_sec * 1000000 + worked.tv_nsec / 1000;
}

/* The next look is the later the more this one has cost. */
static int look(DB_ENV *db_env, struct trickle_counts *counts,
		DB_MPOOL_STAT **ret_stat)
{
	int64_t before_us = worked_us();
	int error = db_env->memp_stat(db_env, ret_stat, NULL, 0);

	counts->next_look_us =
		thread_now_us() + (worked_us() - before_us) * LOOK_SHARE;
	return error;
}

void trickle_step(struct env *env, struct trickle_counts *counts)
{
	DB_ENV *db_env = env->db_env;
	int percent = (int)env->config->trickle_percent;
	DB_MPOOL_STAT *stat;
	int clean;
	bool full;

	if (thread_now_us() < counts->next_look_us ||
	    look(db_env, counts, &stat) != 0)
		return;
	note(counts, stat);
	clean = clean_percent(stat);
	full = is_full(counts, stat);
	free(stat);
	if (!full || clean >= percent)
		return;
	if (clean + STEP_PERCENT < percent)
		percent = clean + STEP_PERCENT;
	(void)db_env->memp_trickle(db_env, percent, NULL);
}

/*
 * What the system has taken over is not on the disk yet. An error is met again
 * by Berkeley DB's own sync, or does not matter: the log has it all.
 */
static void sync_file(const char *path)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);

	if (fd < 0)
		return;
	(void)fdatasync(fd);
	(void)close(fd);
}

/* Writes about a hundredth of the cache. Returns how many pages were left. */
static uint64_t write_some(DB_ENV *db_env)
{
	DB_MPOOL_STAT *stat;
	uint64_t dirty;
	int percent;

	if (db_env->memp_stat(db_env, &stat, NULL, 0) != 0)
		return UINT64_MAX;
	dirty = stat->st_page_dirty;
	percent = clean_percent(stat) + 1;
	free(stat);
	if (dirty <= FEW_PAGES)
		return dirty;
	if (db_env->memp_trickle(db_env, percent > 100 ? 100 : percent, NULL))
		return UINT64_MAX;
	return dirty;
}

bool trickle_out(struct env *env, const char *data_path, int64_t ms)
{
	int64_t until = thread_now_ms() + ms;
	uint64_t dirty;

	(void)env->db_env->set_mp_max_write(env->db_env, 0, 0);
	do {
		dirty = write_some(env->db_env);
		sync_file(data_path);
		if (dirty <= FEW_PAGES)
			return true;
	} while (dirty != UINT64_MAX && thread_now_ms() < until &&
		 env_synced(env));
	return false;
}
