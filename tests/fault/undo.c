/*
 * undo.c - remembers what a power cut would take back.
 *
 * kill -9 leaves the system's page cache as it is; a power cut loses what was
 * not synced. So before each change of a file below data/ the old bytes are
 * appended to the undo file, and after each successful sync a note that they
 * are no longer needed. A test that has killed the server undoes, newest
 * first, whatever no sync covers; see tests/harness/faults.py.
 *
 * One lock orders records and changes alike: the old bytes of a record are
 * those left by all records before it.
 */
#include "tests/fault/faultinject.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define FOLDER "data/"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t undo_once = PTHREAD_ONCE_INIT;
static int undo_fd = -1;
static uint64_t next_number = 1;

static void die(const char *what)
{
	perror(what);
	abort();
}

/* System calls, not libc's functions: those lead back to this library. */
static void open_undo(void)
{
	const char *path = getenv("FAULT_UNDO");

	if (path == NULL)
		return;
	undo_fd = (int)syscall(SYS_openat, AT_FDCWD, path,
			       O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	if (undo_fd < 0)
		die("faultinject: $FAULT_UNDO");
}

static int undo_file(int fd)
{
	if (strncmp(fault_name(fd), FOLDER, strlen(FOLDER)) != 0)
		return -1;
	(void)pthread_once(&undo_once, open_undo);
	return undo_fd;
}

static void append(struct undo_record *record, int fd, void *bytes)
{
	struct iovec iov[2] = {{record, sizeof(*record)},
			       {bytes, record->bytes}};
	size_t whole = sizeof(*record) + record->bytes;

	(void)snprintf(record->name, sizeof(record->name), "%s",
		       fault_name(fd));
	if (syscall(SYS_writev, undo_fd, iov, 2) != (long)whole)
		die("faultinject: writing the undo file");
}

static void append_change(enum undo_kind kind, int fd, off_t offset,
			  size_t length)
{
	struct undo_record record = {.kind = kind,
				     .number = next_number++,
				     .offset = (uint64_t)offset,
				     .length = length};
	struct stat st;
	char *old;
	long got;

	if (fstat(fd, &st) != 0)
		die("faultinject: fstat");
	record.old_size = (uint64_t)st.st_size;
	old = malloc(length + 1);
	if (old == NULL)
		die("faultinject: malloc");
	got = syscall(SYS_pread64, fd, old, length, offset);
	if (got < 0)
		die("faultinject: reading what was there");
	record.bytes = (uint64_t)got;
	append(&record, fd, old);
	free(old);
}

bool undo_begin(enum undo_kind kind, int fd, off_t offset, size_t length)
{
	int kept = errno;

	if (undo_file(fd) < 0)
		return false;
	(void)pthread_mutex_lock(&lock);
	append_change(kind, fd, offset, length);
	errno = kept;
	return true;
}

void undo_end(bool begun)
{
	if (begun)
		(void)pthread_mutex_unlock(&lock);
}

uint64_t undo_before_sync(void)
{
	uint64_t number;

	(void)pthread_mutex_lock(&lock);
	number = next_number;
	(void)pthread_mutex_unlock(&lock);
	return number;
}

void undo_synced(int fd, uint64_t number)
{
	struct undo_record record = {.kind = UNDO_SYNC, .number = number};
	int kept = errno;

	if (undo_file(fd) < 0)
		return;
	(void)pthread_mutex_lock(&lock);
	append(&record, fd, NULL);
	(void)pthread_mutex_unlock(&lock);
	errno = kept;
}
