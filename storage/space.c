/*
 * space.c - see space.h.
 */
#include "storage/space.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define BALLAST_FILE  "ballast"
#define BALLAST_EXTRA (UINT64_C(1) << 20)

static uint64_t free_bytes(const char *dir)
{
	struct statvfs fs;

	/* An error here says nothing about the space. */
	if (statvfs(dir, &fs) != 0)
		return UINT64_MAX;
	return (uint64_t)fs.f_bavail * fs.f_frsize;
}

static uint64_t least_free(const struct space *space)
{
	uint64_t data = free_bytes(space->home->dir);
	uint64_t log = data;

	if (strcmp(space->home->dir, space->home->log_dir) != 0)
		log = free_bytes(space->home->log_dir);
	return data < log ? data : log;
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

/* Room for the ballast, and as much again above the reserve. */
static bool is_plenty(const struct space *space)
{
	uint64_t left = free_bytes(space->home->log_dir);

	return left >= space->reserve_bytes &&
	       left - space->reserve_bytes >= 2 * space->ballast_bytes;
}

void space_renew_ballast(struct space *space)
{
	(void)pthread_mutex_lock(&space->lock);
	if (!space->ballast && is_plenty(space))
		space->ballast = make_ballast(space);
	(void)pthread_mutex_unlock(&space->lock);
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
	if (space->ballast_path == NULL)
		return -ENOMEM;
	(void)pthread_mutex_init(&space->lock, NULL);
	space_renew_ballast(space);
	return 0;
}

void space_done(struct space *space)
{
	if (space->ballast_path == NULL)
		return;
	(void)pthread_mutex_destroy(&space->lock);
	free(space->ballast_path);
	space->ballast_path = NULL;
}

bool space_low(struct space *space)
{
	uint64_t left = least_free(space);
	bool low = left < space->reserve_bytes;

	if (low != space->low) {
		space->low = low;
		if (low)
			env_complain(space->env,
				     "%s: only %llu MB of disk space left; "
				     "writes are refused until there is more",
				     space->home->dir,
				     (unsigned long long)(left >> 20));
		else
			env_complain(space->env,
				     "%s: there is disk space again; writes "
				     "are accepted",
				     space->home->dir);
	}
	return low;
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
