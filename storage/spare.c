/*
 * spare.c - see spare.h.
 */
#include "storage/spare.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "storage/disk.h"
#include "storage/thread.h"

#define SPARE_FILE     "spare"
#define SPARE_NEW_FILE "spare.new"
#define LOG_PREFIX     "log."
/* So much at a time, with pauses, so that nobody feels it. */
#define PIECE_BYTES (256U << 10)
#define PAUSE_MS    2
/* More than this a sync, on average, and zeros cost more than they save. */
#define SYNC_BYTES_MAX (32U << 10)
/* Until it is tried again where there was no room. */
#define NO_ROOM_MS 5000

/* ---- use ---------------------------------------------------------------- */

static int sync_directory(const char *dir)
{
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int error;

	if (fd < 0)
		return errno;
	error = disk_sync(fd);
	(void)close(fd);
	return error;
}

/* Splits a path of a log file; false: it is none. */
static bool split(const char *path, char *dir, size_t room)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash != NULL ? slash + 1 : path;
	int bytes = slash != NULL ? (int)(slash - path) : 1;

	if (strncmp(name, LOG_PREFIX, strlen(LOG_PREFIX)) != 0)
		return false;
	return snprintf(dir, room, "%.*s", bytes, slash != NULL ? path : ".") <
	       (int)room;
}

int spare_open(const char *path, int flags, unsigned mode, bool *ret_made)
{
	char dir[4096], spare[4096 + sizeof(SPARE_FILE)];
	bool make = (flags & O_CREAT) != 0 && split(path, dir, sizeof(dir)) &&
		    access(path, F_OK) != 0 && errno == ENOENT;
	int fd, error;

	if (make) {
		(void)snprintf(spare, sizeof(spare), "%s/" SPARE_FILE, dir);
		(void)rename(spare, path);
	}
	fd = open(path, flags | O_CLOEXEC, mode);
	if (fd < 0 || !make)
		return fd;
	error = sync_directory(dir);
	if (error != 0) {
		(void)close(fd);
		errno = error;
		return -1;
	}
	*ret_made = true;
	return fd;
}

void spare_prepare(const struct home *home, uint64_t log_file_bytes)
{
	char *path = home_path(home->log_dir, SPARE_FILE);
	char *new_path = home_path(home->log_dir, SPARE_NEW_FILE);
	struct stat st;

	if (new_path != NULL)
		(void)unlink(new_path);
	if (path != NULL && lstat(path, &st) == 0 &&
	    (!S_ISREG(st.st_mode) || (uint64_t)st.st_size != log_file_bytes))
		(void)unlink(path);
	free(new_path);
	free(path);
}

/* ---- making it ---------------------------------------------------------- */

/* Lets `ms` pass. Returns false when it is time to end. */
static bool go_on(struct spare *spare, int64_t ms)
{
	bool stop;

	(void)pthread_mutex_lock(&spare->lock);
	if (!spare->stop)
		thread_wait_ms(&spare->work, &spare->lock, ms);
	stop = spare->stop;
	(void)pthread_mutex_unlock(&spare->lock);
	return !stop;
}

/* Returns false if it cannot be made, or is not wanted any more. */
static bool fill(struct spare *spare, int fd, const char *zeros)
{
	uint64_t done = 0;

	while (done < spare->bytes) {
		size_t piece = PIECE_BYTES;
		ssize_t part;

		if (piece > spare->bytes - done)
			piece = (size_t)(spare->bytes - done);
		part = pwrite(fd, zeros, piece, (off_t)done);
		if (part <= 0 || fdatasync(fd) != 0)
			return false;
		done += (uint64_t)part;
		if (!space_has_room(spare->space, spare->bytes - done))
			return false;
		if (!go_on(spare, PAUSE_MS))
			return false;
	}
	return true;
}

/*
 * An error is no error of the store. One of the disk will be met again where
 * it matters.
 */
static bool make_spare(struct spare *spare)
{
	char *zeros = calloc(1, PIECE_BYTES);
	int fd =
		open(spare->new_path,
		     O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0640);
	bool made = false;

	if (fd >= 0 && zeros != NULL)
		made = fill(spare, fd, zeros);
	if (fd >= 0)
		(void)close(fd);
	free(zeros);
	if (made && rename(spare->new_path, spare->path) == 0)
		return true;
	(void)unlink(spare->new_path);
	return false;
}

static bool wait_until_wanted(struct spare *spare)
{
	bool stop;

	(void)pthread_mutex_lock(&spare->lock);
	while (!spare->wanted && !spare->stop)
		(void)pthread_cond_wait(&spare->work, &spare->lock);
	spare->wanted = false;
	stop = spare->stop;
	(void)pthread_mutex_unlock(&spare->lock);
	return !stop;
}

static void *spare_main(void *arg)
{
	struct spare *spare = arg;

	while (wait_until_wanted(spare)) {
		while (access(spare->path, F_OK) != 0 &&
		       !(space_has_room(spare->space, spare->bytes) &&
			 make_spare(spare)))
			if (!go_on(spare, NO_ROOM_MS))
				break;
	}
	return NULL;
}

void spare_look(struct spare *spare, uint64_t syncs)
{
	unsigned long made = disk_logs_made();
	uint64_t since = syncs - spare->seen_syncs;

	if (made == spare->seen)
		return;
	spare->seen = made;
	spare->seen_syncs = syncs;
	if (since < spare->bytes / SYNC_BYTES_MAX)
		return;
	(void)pthread_mutex_lock(&spare->lock);
	spare->wanted = true;
	(void)pthread_cond_signal(&spare->work);
	(void)pthread_mutex_unlock(&spare->lock);
}

bool spare_give_up(struct spare *spare)
{
	return unlink(spare->path) == 0;
}

/* ---- start and stop ----------------------------------------------------- */

static void done(struct spare *spare)
{
	(void)pthread_mutex_destroy(&spare->lock);
	(void)pthread_cond_destroy(&spare->work);
	free(spare->path);
	free(spare->new_path);
}

int spare_start(struct spare *spare, const struct home *home,
		const struct space *space, uint64_t log_file_bytes)
{
	int rc;

	memset(spare, 0, sizeof(*spare));
	rc = thread_cond_init(&spare->work);
	if (rc != 0)
		return rc;
	(void)pthread_mutex_init(&spare->lock, NULL);
	spare->space = space;
	spare->bytes = log_file_bytes;
	spare->seen = disk_logs_made();
	spare->path = home_path(home->log_dir, SPARE_FILE);
	spare->new_path = home_path(home->log_dir, SPARE_NEW_FILE);
	rc = -ENOMEM;
	if (spare->path != NULL && spare->new_path != NULL)
		rc = thread_start(&spare->thread, "spare", spare_main, spare);
	if (rc != 0)
		done(spare);
	return rc;
}

void spare_stop(struct spare *spare)
{
	(void)pthread_mutex_lock(&spare->lock);
	spare->stop = true;
	(void)pthread_cond_broadcast(&spare->work);
	(void)pthread_mutex_unlock(&spare->lock);
	(void)pthread_join(spare->thread, NULL);
	done(spare);
}
