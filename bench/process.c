/*
 * process.c - see process.h.
 */
#include "bench/process.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

int process_cpu_us(uint32_t pid, uint64_t *ret_us)
{
	char path[32];
	char text[512];
	const char *fields;
	uint64_t user;
	uint64_t system;
	size_t bytes;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/stat", pid);
	file = fopen(path, "r");
	if (file == NULL)
		return -errno;
	bytes = fread(text, 1, sizeof(text) - 1, file);
	fclose(file);
	text[bytes] = '\0';
	/* The name, in brackets, may hold anything: begin behind it. */
	fields = strrchr(text, ')');
	if (fields == NULL ||
	    sscanf(fields + 1,
		   " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %" SCNu64
		   " %" SCNu64,
		   &user, &system) != 2)
		return -EIO;
	*ret_us = (user + system) * 1000000 / (uint64_t)sysconf(_SC_CLK_TCK);
	return 0;
}

static uint64_t to_us(struct timeval time)
{
	return (uint64_t)time.tv_sec * 1000000 + (uint64_t)time.tv_usec;
}

uint64_t process_own_cpu_us(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return to_us(usage.ru_utime) + to_us(usage.ru_stime);
}
