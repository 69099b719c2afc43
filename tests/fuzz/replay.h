/*
 * replay.h - a main() that gives a fuzz target the files and folders it is
 * called with.
 *
 * For targets that are built without libFuzzer, which has its own main(): they
 * include it at their end if FUZZ_REPLAY is defined.
 */
#ifndef TESTS_FUZZ_REPLAY_H
#define TESTS_FUZZ_REPLAY_H

#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static inline int replay_file(const char *path)
{
	FILE *file = fopen(path, "rb");
	uint8_t *data = NULL;
	long size;
	int r = -EIO;

	if (!file)
		return -errno;
	if (fseek(file, 0, SEEK_END) != 0 || (size = ftell(file)) < 0 ||
	    fseek(file, 0, SEEK_SET) != 0)
		goto out_close;
	data = malloc((size_t)size + (size == 0));
	if (!data)
		goto out_close;
	if (fread(data, 1, (size_t)size, file) != (size_t)size)
		goto out_free;
	LLVMFuzzerTestOneInput(data, (size_t)size);
	r = 0;
out_free:
	free(data);
out_close:
	fclose(file);
	return r;
}

/* Replays a file, or every file of a folder. */
static inline int replay(const char *path, size_t *count)
{
	DIR *folder = opendir(path);
	struct dirent *entry;
	char name[4096];
	int r = 0;

	if (!folder) {
		++*count;
		return errno == ENOTDIR ? replay_file(path) : -errno;
	}
	while (r == 0 && (entry = readdir(folder)) != NULL) {
		if (entry->d_name[0] == '.')
			continue;
		snprintf(name, sizeof(name), "%s/%s", path, entry->d_name);
		r = replay_file(name);
		++*count;
	}
	closedir(folder);
	return r;
}

int main(int argc, char **argv)
{
	size_t count = 0;
	int i, r;

	for (i = 1; i < argc; i++) {
		r = replay(argv[i], &count);
		if (r < 0) {
			fprintf(stderr, "%s: %s\n", argv[i], strerror(-r));
			return EXIT_FAILURE;
		}
	}
	printf("%zu inputs replayed\n", count);
	return count > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

#endif
