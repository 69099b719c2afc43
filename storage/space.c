/*
 * space.c - see space.h.
 */
#include "storage/space.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "storage/thread.h"

#define BALLAST_FILE   "ballast"
#define BALLAST_EXTRA  (UINT64_C(1) << 20)
#define RECOVERY_BYTES (UINT64_C(4) << 20)
/* How long a look is good if so much is left: to fill it takes 5 GB a second */
#define GOOD_MS	       50
#define FAR_MORE_BYTES (UINT64_C(256) << 20)
#define LITTLE_BYTES   (UINT64_C(1) << 20) /* what most batches need */

static uint64_t free_bytes(const char *dir)
{
	struct statvfs fs;

	/* An error here says nothing about the space. */
	if (statvfs(dir, &fs) != 0)
		return UINT64_MAX;
	return (uint64_t)fs.f_bavail * fs.f_frsize;
}

static uint64_t minus(uint64_t from, uint64_t bytes)
{
	return from > bytes ? from - bytes : 0;
}

/* Bytes of the data file, with all pages that are allocated. */
static uint64_t data_bytes(DB *data)
{
	DB_MPOOLFILE *pool = data->get_mpf(data);
	db_pgno_t last_page;
	uint32_t page_bytes;

	if (pool->get_last_pgno(pool, &last_page) != 0 ||
	    data->get_pagesize(data, &page_bytes) != 0)
		return 0;
	return ((uint64_t)last_page + 1) * page_bytes;
}

/* What the data file has been promised, but was not written yet. */
static uint64_t data_promise(const struct space *space, uint64_t bytes)
{
	struct stat st;

	if (stat(space->data_path, &st) != 0)
		return 0;
	return minus(bytes, (uint64_t)st.st_blocks * 512);
}

/* What the newest log file will still take. */
static uint64_t log_promise(const struct space *space)
{
	DB_ENV *db_env = space->env->db_env;
	uint64_t bytes = space->env->config->log_file_bytes;
	DB_LOG_STAT *stat;

	if (db_env->log_stat(db_env, &stat, 0) != 0)
		return bytes;
	bytes = minus(bytes, stat->st_cur_offset);
	free(stat);
	return bytes;
}

/* What is left when `data` and `log` more bytes are in their files. */
static uint64_t least_left(const struct space *space, uint64_t data,
			   uint64_t log)
{
	const struct home *home = space->home;
	uint64_t left;

	if (strcmp(home->dir, home->log_dir) == 0)
		return minus(free_bytes(home->dir), data + log);
	log = minus(free_bytes(home->log_dir), log);
	left = minus(free_bytes(home->dir), data);
	return left < log ? left : log;
}

static bool make_ballast(const struct space *space)
{
	int fd = open(space->ballast_path,
		      O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0640);
	int error;

	if (fd < 0)
		return false;
	error = posix_fallocate(fd, 0, (off_t)space->ballast_bytes);
	(void)close(fd);
	if (error != 0)
		(void)unlink(space->ballast_path);
	return error == 0;
}

bool space_has_room(const struct space *space, uint64_t bytes)
{
	uint64_t left = free_bytes(space->home->log_dir);

	return minus(left, space->reserve_bytes) >=
	       2 * space->ballast_bytes + bytes;
}

void space_renew_ballast(struct space *space)
{
	(void)pthread_mutex_lock(&space->lock);
	if (!space->ballast && space_has_room(space, 0))
		space->ballast = make_ballast(space);
	(void)pthread_mutex_unlock(&space->lock);
}

void space_prepare(const struct home *home)
{
	char *path;

	if (free_bytes(home->log_dir) >= RECOVERY_BYTES)
		return;
	path = home_path(home->log_dir, BALLAST_FILE);
	if (path != NULL)
		(void)unlink(path);
	free(path);
}

int space_init(struct space *space, struct env *env, const struct home *home)
{
	memset(space, 0, sizeof(*space));
	space->env = env;
	space->home = home;
	space->reserve_bytes = env->config->reserve_bytes;
	/* Applied but unwritten is at most one log buffer. */
	space->ballast_bytes = env->config->log_buffer_bytes + BALLAST_EXTRA;
	space->ballast_path = home_path(home->log_dir, BALLAST_FILE);
	space->data_path = home_path(home->dir, env->config->data_file);
	if (space->ballast_path == NULL || space->data_path == NULL) {
		free(space->ballast_path);
		free(space->data_path);
		return -ENOMEM;
	}
	(void)pthread_mutex_init(&space->lock, NULL);
	space_renew_ballast(space);
	return 0;
}

void space_done(struct space *space)
{
	(void)pthread_mutex_destroy(&space->lock);
	free(space->ballast_path);
	free(space->data_path);
}

/*
 * Is there room inside the data file? Berkeley DB does not count its free
 * pages. But as long as there are any the file does not grow: so what counts
 * is how much less there is now than when it last grew.
 */
static bool fits_inside(struct space *space, const struct space_use *use,
			uint64_t data)
{
	if (space->full_at == 0 || data > space->data_bytes)
		space->full_at = use->item_bytes;
	space->data_bytes = data;
	return use->item_bytes + use->needed <=
	       space->full_at - space->full_at / 16;
}

static bool is_still_good(const struct space *space,
			  const struct space_use *use)
{
	return use->needed <= LITTLE_BYTES &&
	       thread_now_ms() < space->good_until_ms;
}

static void note_look(struct space *space, uint64_t left)
{
	bool much = minus(left, space->reserve_bytes) >= FAR_MORE_BYTES;

	space->good_until_ms = much ? thread_now_ms() + GOOD_MS : 0;
}

enum space_level space_check(struct space *space, const struct space_use *use)
{
	uint64_t data, promise, left;
	bool inside;

	if (space->reserve_bytes == 0)
		return SPACE_PLENTY;
	data = data_bytes(use->data);
	inside = fits_inside(space, use, data);
	if (is_still_good(space, use))
		return SPACE_PLENTY;
	promise = data_promise(space, data);
	/* The plain case needs no look at the log. */
	left = least_left(space, promise, space->env->config->log_file_bytes);
	note_look(space, left);
	if (minus(left, use->needed) >= space->reserve_bytes)
		return SPACE_PLENTY;
	left = least_left(space, promise, log_promise(space));
	if (minus(left, use->needed) >= space->reserve_bytes)
		return SPACE_PLENTY;
	if (left < space->reserve_bytes / 4)
		return SPACE_EXHAUSTED;
	return inside && left >= space->reserve_bytes / 2 ? SPACE_PLENTY
							  : SPACE_LOW;
}

void space_say(struct space *space, enum space_level level)
{
	bool low = level != SPACE_PLENTY;

	if (low == space->low)
		return;
	space->low = low;
	env_complain(space->env,
		     low ? "%s: the disk space is low; writes are refused "
			   "until there is more"
			 : "%s: there is disk space again; writes are accepted",
		     space->home->dir);
}

bool space_give_up_ballast(struct space *space)
{
	bool had;

	(void)pthread_mutex_lock(&space->lock);
	had = space->ballast;
	if (had)
		(void)unlink(space->ballast_path);
	space->ballast = false;
	(void)pthread_mutex_unlock(&space->lock);
	if (had)
		env_complain(space->env,
			     "%s: the disk is full; the reserve kept for this "
			     "is used now",
			     space->home->log_dir);
	return had;
}
