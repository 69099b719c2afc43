/*
 * disk.c - see disk.h.
 */
#define _GNU_SOURCE /* SEEK_HOLE */
#include "storage/disk.h"

#include <db.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

/* The only mutable globals of the folder: a hook has no other memory. */
static atomic_ulong failed_syncs;
static atomic_bool broken;

unsigned long disk_failed_syncs(void)
{
	return atomic_load(&failed_syncs);
}

/*
 * ENOSPC becomes EIO, so that ENOSPC from the log always means that a write
 * did not fit. After one failure all syncs fail: so Berkeley DB writes no page
 * whose log may be lost.
 */
static int sync_file(int fd)
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

/* All or nothing, if that is possible. Returns 0 or an errno. */
static int write_all(int fd, const char *bytes, size_t size, off_t at)
{
	size_t done = 0;
	int error;

	while (done < size) {
		ssize_t part =
			pwrite(fd, bytes + done, size - done, at + (off_t)done);

		if (part < 0 && errno == EINTR)
			continue;
		if (part <= 0) {
			error = part < 0 ? errno : ENOSPC;
			if (done > 0)
				undo_part(fd, done, at);
			return error;
		}
		done += (size_t)part;
	}
	return 0;
}

static ssize_t write_at(int fd, const void *bytes, size_t size, off_t at)
{
	int error = write_all(fd, bytes, size, at);

	if (error == 0)
		return (ssize_t)size;
	errno = error;
	return -1;
}

/* Berkeley DB's second way to write; the file has its place itself. */
static ssize_t write_here(int fd, const void *bytes, size_t size)
{
	off_t at = lseek(fd, 0, SEEK_CUR);

	if (at < 0)
		return write(fd, bytes, size);
	if (write_at(fd, bytes, size, at) < 0)
		return -1;
	(void)lseek(fd, at + (off_t)size, SEEK_SET);
	return (ssize_t)size;
}

void disk_install(void)
{
	atomic_store(&broken, false);
	(void)db_env_set_func_fsync(sync_file);
	(void)db_env_set_func_pwrite(write_at);
	(void)db_env_set_func_write(write_here);
}
