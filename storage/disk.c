/*
 * disk.c - see disk.h.
 */
#define _GNU_SOURCE /* SEEK_HOLE, sync_file_range() */
#include "storage/disk.h"

#include <db.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "storage/spare.h"

/* Globals, because a hook has no other memory. */
static atomic_ulong failed_syncs, logs_made;
static atomic_bool broken;
static atomic_int paced = -1;
/* Of the thread that paces: others pause to wait for memory, or a page. */
static _Thread_local unsigned long logs_due = ULONG_MAX;

unsigned long disk_failed_syncs(void)
{
	return atomic_load(&failed_syncs);
}

unsigned long disk_logs_made(void)
{
	return atomic_load_explicit(&logs_made, memory_order_relaxed);
}

int disk_sync(int fd)
{
	int error;

	if (atomic_load(&broken))
		return EIO;
	do {
		error = fdatasync(fd) == 0 ? 0 : errno;
	} while (error == EINTR);
	if (error == 0)
		return 0;
	atomic_store(&broken, true);
	atomic_fetch_add(&failed_syncs, 1);
	return error == ENOSPC || error == EDQUOT ? EIO : error;
}

/* Writes zeros where there are blocks already, so it cannot lack space. */
static void write_zeros(int fd, size_t bytes, off_t at)
{
	const char zeros[4096] = {0};

	while (bytes > 0) {
		size_t part = bytes < sizeof(zeros) ? bytes : sizeof(zeros);
		ssize_t done = pwrite(fd, zeros, part, at);

		if (done <= 0)
			return;
		bytes -= (size_t)done;
		at += done;
	}
}

/* Asks through a descriptor of its own: the other's place is in use. */
static bool is_hole(int fd, off_t at)
{
	char name[32];
	bool hole;
	int other;

	(void)snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	other = open(name, O_RDONLY | O_CLOEXEC);
	if (other < 0)
		return false;
	hole = lseek(other, at, SEEK_HOLE) == at;
	(void)close(other);
	return hole;
}

/*
 * Only the first `done` bytes fitted. If the file ends there now, or has a
 * hole, this place was never written before: it becomes so again. Otherwise
 * there are old bytes, and nothing better than to write it all once more.
 */
static void undo_part(int fd, size_t done, off_t at)
{
	off_t end = at + (off_t)done;
	struct stat st;

	if (fstat(fd, &st) != 0)
		return;
	if (st.st_size == end) {
		if (ftruncate(fd, at) != 0)
			write_zeros(fd, done, at);
	} else if (is_hole(fd, end)) {
		write_zeros(fd, done, at);
	}
}

/*
 * All or nothing, if that is possible. With this hook Berkeley DB moves the
 * file to the place before each write.
 */
static ssize_t write_here(int fd, const void *bytes, size_t size)
{
	const char *from = bytes;
	size_t done = 0;

	while (done < size) {
		ssize_t part = write(fd, from + done, size - done);
		int error = part < 0 ? errno : ENOSPC;

		if (part < 0 && error == EINTR)
			continue;
		if (part <= 0) {
			if (done > 0)
				undo_part(fd, done,
					  lseek(fd, 0, SEEK_CUR) - (off_t)done);
			errno = error;
			return -1;
		}
		done += (size_t)part;
	}
	return (ssize_t)size;
}

static int open_file(const char *path, int flags, ...)
{
	unsigned mode = 0;
	bool made = false;
	va_list args;
	int fd;

	if ((flags & O_CREAT) != 0) {
		va_start(args, flags);
		mode = va_arg(args, unsigned);
		va_end(args);
	}
	fd = spare_open(path, flags, mode, &made);
	if (made)
		atomic_fetch_add(&logs_made, 1);
	return fd;
}

void disk_pace(int fd, unsigned long due)
{
	logs_due = due;
	atomic_store(&paced, fd);
}

static bool is_late(void)
{
	return atomic_load(&logs_made) >= logs_due;
}

/*
 * Begins to write what came since the last pause, and waits for what that one
 * began, unless the checkpoint is late. An error is no matter here: the sync of
 * Berkeley DB's own descriptor meets it, too.
 */
static void begin_writing(int fd, bool late)
{
	unsigned wait = late ? 0 : SYNC_FILE_RANGE_WAIT_BEFORE;

	(void)sync_file_range(fd, 0, 0, wait | SYNC_FILE_RANGE_WRITE);
}

/* A pause is one between two portions of pages, or else all must wait. */
static int pause_or_yield(u_long seconds, u_long us)
{
	const struct timespec pause = {
		.tv_sec = (time_t)seconds + (time_t)(us / 1000000),
		.tv_nsec = (long)(us % 1000000) * 1000,
	};
	int fd = atomic_load(&paced);
	bool late = is_late();

	if (seconds == 0 && us == 0)
		return sched_yield();
	if (fd >= 0)
		begin_writing(fd, late);
	return late ? 0 : nanosleep(&pause, NULL);
}

void disk_install(void)
{
	atomic_store(&broken, false);
	(void)db_env_set_func_open(open_file);
	(void)db_env_set_func_fsync(disk_sync);
	(void)db_env_set_func_write(write_here);
	(void)db_env_set_func_yield(pause_or_yield);
}
