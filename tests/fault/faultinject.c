/*
 * faultinject.c - a library to preload into the unmodified server: it stands
 * in for libc's file functions and lets the rules of a test (rules.c) decide
 * what becomes of each call, and keeps what a power cut would undo (undo.c).
 *
 * A sanitizer's stand-ins may lie before or behind ours: each of ours calls
 * the next in line. Built without sanitizers; any thread may call anything.
 */
#include "tests/fault/faultinject.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/uio.h>
#include <unistd.h>

/* The functions behind ours, in the order of their names below. */
enum next {
	NEXT_OPEN,
	NEXT_OPENAT,
	NEXT_CLOSE,
	NEXT_READ,
	NEXT_PREAD,
	NEXT_WRITE,
	NEXT_PWRITE,
	NEXT_WRITEV,
	NEXT_FSYNC,
	NEXT_FDATASYNC,
	NEXT_SYNC_FILE_RANGE,
	NEXT_FTRUNCATE,
	NEXT_FALLOCATE,
	NEXT_POSIX_FALLOCATE,
	NEXT_UNLINK,
	NEXT_STATVFS,
	NEXT_COUNT
};

union function {
	void *symbol;
	int (*open)(const char *path, int flags, ...);
	int (*openat)(int dir, const char *path, int flags, ...);
	int (*close)(int fd);
	ssize_t (*read)(int fd, void *to, size_t bytes);
	ssize_t (*pread)(int fd, void *to, size_t bytes, off_t offset);
	ssize_t (*write)(int fd, const void *from, size_t bytes);
	ssize_t (*pwrite)(int fd, const void *from, size_t bytes, off_t offset);
	ssize_t (*writev)(int fd, const struct iovec *iov, int count);
	int (*sync)(int fd);
	int (*sync_file_range)(int fd, off_t from, off_t bytes, unsigned flags);
	int (*ftruncate)(int fd, off_t size);
	int (*fallocate)(int fd, int mode, off_t offset, off_t bytes);
	int (*posix_fallocate)(int fd, off_t offset, off_t bytes);
	int (*unlink)(const char *path);
	int (*statvfs)(const char *path, struct statvfs *ret);
};

/* off_t has 64 bits on every machine this runs on: one function for both. */
_Static_assert(sizeof(off_t) == 8, "needs 64-bit file offsets");

static union function next(enum next which)
{
	static const char *const names[NEXT_COUNT] = {
		[NEXT_OPEN] = "open",
		[NEXT_OPENAT] = "openat",
		[NEXT_CLOSE] = "close",
		[NEXT_READ] = "read",
		[NEXT_PREAD] = "pread",
		[NEXT_WRITE] = "write",
		[NEXT_PWRITE] = "pwrite",
		[NEXT_WRITEV] = "writev",
		[NEXT_FSYNC] = "fsync",
		[NEXT_FDATASYNC] = "fdatasync",
		[NEXT_SYNC_FILE_RANGE] = "sync_file_range",
		[NEXT_FTRUNCATE] = "ftruncate",
		[NEXT_FALLOCATE] = "fallocate",
		[NEXT_POSIX_FALLOCATE] = "posix_fallocate",
		[NEXT_UNLINK] = "unlink",
		[NEXT_STATVFS] = "statvfs",
	};
	static _Atomic(void *) found[NEXT_COUNT];
	union function function = {.symbol = atomic_load(&found[which])};

	if (function.symbol == NULL) {
		function.symbol = dlsym(RTLD_NEXT, names[which]);
		if (function.symbol == NULL)
			abort();
		atomic_store(&found[which], function.symbol);
	}
	return function;
}

/* Judges a call; true if it fails, with errno set. Halves *bytes if told. */
static bool fails_at(unsigned calls, const char *name, off_t offset,
		     size_t *bytes)
{
	int error;

	switch (fault_judge(calls, name, offset, &error)) {
	case FAULT_PASS:
		break;
	case FAULT_FAIL:
		errno = error;
		return true;
	case FAULT_HALF:
		if (bytes != NULL)
			*bytes = (*bytes + 1) / 2;
		break;
	}
	return false;
}

static bool fails(enum fault_call call, const char *name)
{
	return fails_at(call, name, 0, NULL);
}

/* --- open and close ---------------------------------------------------- */

static bool takes_mode(int flags)
{
	return (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE;
}

int open(const char *path, int flags, ...)
{
	mode_t mode = 0;
	va_list args;
	int fd;

	if (takes_mode(flags)) {
		va_start(args, flags);
		mode = va_arg(args, mode_t);
		va_end(args);
	}
	if (fails(FAULT_OPEN, fault_tail(path)))
		return -1;
	fd = next(NEXT_OPEN).open(path, flags, mode);
	if (fd >= 0)
		fault_note_open(fd, path);
	return fd;
}

int openat(int dir, const char *path, int flags, ...)
{
	mode_t mode = 0;
	va_list args;
	int fd;

	if (takes_mode(flags)) {
		va_start(args, flags);
		mode = va_arg(args, mode_t);
		va_end(args);
	}
	if (fails(FAULT_OPEN, fault_tail(path)))
		return -1;
	fd = next(NEXT_OPENAT).openat(dir, path, flags, mode);
	if (fd >= 0)
		fault_note_open(fd, path);
	return fd;
}

int close(int fd)
{
	fault_note_close(fd);
	return next(NEXT_CLOSE).close(fd);
}

/* --- read and write ---------------------------------------------------- */

/* Where the next read or write goes to; 0 in what has no position. */
static off_t position(int fd)
{
	int kept = errno;
	off_t offset = lseek(fd, 0, SEEK_CUR);

	errno = kept;
	return offset >= 0 ? offset : 0;
}

/* What a write is: does it make the file longer? */
static unsigned write_calls(int fd, off_t offset, size_t bytes)
{
	struct stat st;

	if (fault_name(fd)[0] == '\0' || fstat(fd, &st) != 0 ||
	    offset + (off_t)bytes <= st.st_size)
		return FAULT_WRITE;
	return FAULT_WRITE | FAULT_GROW;
}

ssize_t read(int fd, void *to, size_t bytes)
{
	if (fault_name(fd)[0] != '\0' &&
	    fails_at(FAULT_READ, fault_name(fd), position(fd), &bytes))
		return -1;
	return next(NEXT_READ).read(fd, to, bytes);
}

ssize_t pread(int fd, void *to, size_t bytes, off_t offset)
{
	if (fails_at(FAULT_READ, fault_name(fd), offset, &bytes))
		return -1;
	return next(NEXT_PREAD).pread(fd, to, bytes, offset);
}

ssize_t write(int fd, const void *from, size_t bytes)
{
	off_t offset;
	ssize_t done;
	bool begun;

	if (fault_name(fd)[0] == '\0')
		return next(NEXT_WRITE).write(fd, from, bytes);
	offset = position(fd);
	if (fails_at(write_calls(fd, offset, bytes), fault_name(fd), offset,
		     &bytes))
		return -1;
	begun = undo_begin(UNDO_WRITE, fd, offset, bytes);
	done = next(NEXT_WRITE).write(fd, from, bytes);
	undo_end(begun);
	return done;
}

ssize_t pwrite(int fd, const void *from, size_t bytes, off_t offset)
{
	ssize_t done;
	bool begun;

	if (fails_at(write_calls(fd, offset, bytes), fault_name(fd), offset,
		     &bytes))
		return -1;
	begun = undo_begin(UNDO_WRITE, fd, offset, bytes);
	done = next(NEXT_PWRITE).pwrite(fd, from, bytes, offset);
	undo_end(begun);
	return done;
}

/* Nobody writes a file of the store with it; a socket has no name. */
ssize_t writev(int fd, const struct iovec *iov, int count)
{
	if (fails(FAULT_WRITE, fault_name(fd)))
		return -1;
	return next(NEXT_WRITEV).writev(fd, iov, count);
}

/* --- sync -------------------------------------------------------------- */

static int sync_by(enum next which, int fd)
{
	uint64_t number;
	int rc;

	if (fails(FAULT_SYNC, fault_name(fd)))
		return -1;
	number = undo_before_sync();
	rc = next(which).sync(fd);
	if (rc == 0)
		undo_synced(fd, number);
	return rc;
}

int fsync(int fd)
{
	return sync_by(NEXT_FSYNC, fd);
}

int fdatasync(int fd)
{
	return sync_by(NEXT_FDATASYNC, fd);
}

/* What it does makes nothing lasting. */
int sync_file_range(int fd, off_t from, off_t bytes, unsigned int flags)
{
	if (fails(FAULT_BEGIN, fault_name(fd)))
		return -1;
	return next(NEXT_SYNC_FILE_RANGE)
		.sync_file_range(fd, from, bytes, flags);
}

/* --- size and space ---------------------------------------------------- */

int ftruncate(int fd, off_t size)
{
	struct stat st;
	bool begun;
	int rc;

	if (fails(FAULT_SIZE, fault_name(fd)))
		return -1;
	if (fstat(fd, &st) != 0)
		return -1;
	begun = undo_begin(UNDO_CUT, fd, size,
			   st.st_size > size ? (size_t)(st.st_size - size) : 0);
	rc = next(NEXT_FTRUNCATE).ftruncate(fd, size);
	undo_end(begun);
	return rc;
}

int fallocate(int fd, int mode, off_t offset, off_t bytes)
{
	if (fails(FAULT_SIZE, fault_name(fd)))
		return -1;
	return next(NEXT_FALLOCATE).fallocate(fd, mode, offset, bytes);
}

int posix_fallocate(int fd, off_t offset, off_t bytes)
{
	int kept = errno, error;

	if (fails(FAULT_SIZE, fault_name(fd))) {
		error = errno;
		errno = kept;
		return error;
	}
	return next(NEXT_POSIX_FALLOCATE).posix_fallocate(fd, offset, bytes);
}

int unlink(const char *path)
{
	if (fails(FAULT_REMOVE, fault_tail(path)))
		return -1;
	return next(NEXT_UNLINK).unlink(path);
}

int statvfs(const char *path, struct statvfs *ret)
{
	const struct fault_control *control = fault_control();
	int rc = next(NEXT_STATVFS).statvfs(path, ret);
	uint64_t free_bytes;

	if (rc != 0 || control == NULL)
		return rc;
	free_bytes = atomic_load(&control->free_bytes);
	if (free_bytes != UINT64_MAX) {
		ret->f_bfree = free_bytes / ret->f_frsize;
		ret->f_bavail = ret->f_bfree;
	}
	return 0;
}

/* --- the same under their other names ---------------------------------- */

extern __typeof__(open) open64 __attribute__((alias("open")));
extern __typeof__(openat) openat64 __attribute__((alias("openat")));
extern __typeof__(pread) pread64 __attribute__((alias("pread")));
extern __typeof__(pwrite) pwrite64 __attribute__((alias("pwrite")));
extern __typeof__(ftruncate) ftruncate64 __attribute__((alias("ftruncate")));
extern __typeof__(fallocate) fallocate64 __attribute__((alias("fallocate")));
extern __typeof__(posix_fallocate) posix_fallocate64
	__attribute__((alias("posix_fallocate")));
