/*
 * rawsync.c - see rawsync.h.
 */
#define _GNU_SOURCE /* O_TMPFILE */
#include "bench/rawsync.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/clock.h"

static int time_rounds(int fd, const char *buf, uint32_t rounds, uint32_t bytes,
		       struct histogram *ret)
{
	memset(ret, 0, sizeof(*ret));
	for (uint32_t i = 0; i < rounds; i++) {
		uint64_t begin = clock_ns();
		ssize_t wrote = pwrite(fd, buf, bytes, (off_t)i * bytes);

		if (wrote < 0)
			return -errno;
		if ((uint32_t)wrote != bytes)
			return -ENOSPC;
		if (fdatasync(fd) != 0)
			return -errno;
		histogram_record(ret, clock_ns() - begin);
	}
	return 0;
}

int rawsync_measure(const char *dir, uint32_t rounds, uint32_t bytes,
		    struct rawsync *ret)
{
	char *buf;
	int error;
	int fd;

	fd = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	buf = calloc(1, bytes);
	if (buf == NULL) {
		close(fd);
		return -ENOMEM;
	}
	error = time_rounds(fd, buf, rounds, bytes, &ret->append_ns);
	if (error == 0)
		error = time_rounds(fd, buf, rounds, bytes, &ret->overwrite_ns);
	free(buf);
	close(fd);
	return error;
}
