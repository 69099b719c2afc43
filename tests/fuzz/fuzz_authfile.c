/*
 * fuzz_authfile.c - any bytes as a file of users and passwords.
 *
 * What must hold whatever the bytes are:
 *
 * - it is taken, or refused with a reason and a line that is there;
 * - what is taken lets in each line's user with that line's password, as a
 *   second, naive reader finds them, and not with a little more or less;
 * - the bytes are not changed, and nothing beyond them is read.
 *
 * Hashes are not computed: what they cost is in the bytes, and may be hours.
 */
#include "server/authfile.h"

#include <assert.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Lets the line's user in, if it is one, and with nothing but its password. */
static void check_line(const struct authfile *file,
		       struct authfile_checker *checker, const char *line,
		       size_t len)
{
	const char *colon = memchr(line, ':', len);
	struct proto_slice user, password;
	char *longer;

	assert(colon != NULL && colon > line && colon + 1 < line + len);
	user = (struct proto_slice){line, (size_t)(colon - line)};
	password = (struct proto_slice){colon + 1, len - user.len - 1};
	assert(authfile_check(file, checker, user, password));

	longer = malloc(password.len + 1);
	if (longer == NULL)
		abort();
	memcpy(longer, password.data, password.len);
	longer[password.len] = '\n'; /* no password ends like this */
	assert(!authfile_check(file, checker, user,
			       (struct proto_slice){longer, password.len + 1}));
	free(longer);
	assert(!authfile_check(file, checker, user,
			       (struct proto_slice){password.data, 0}));
}

/* Sees every line that is not empty; returns how many there are. */
static size_t walk(const char *bytes, size_t size, const struct authfile *file,
		   struct authfile_checker *checker)
{
	size_t lines = 0;

	while (size > 0) {
		const char *lf = memchr(bytes, '\n', size);
		size_t len = lf != NULL ? (size_t)(lf - bytes) : size;
		size_t used = lf != NULL ? len + 1 : len;

		if (len > 0 && bytes[len - 1] == '\r')
			len--;
		if (len > 0 && checker != NULL)
			check_line(file, checker, bytes, len);
		lines += len > 0;
		bytes += used;
		size -= used;
	}
	return lines;
}

static size_t count_lines(const char *bytes, size_t size)
{
	size_t count = 1;

	for (size_t i = 0; i < size; i++)
		count += bytes[i] == '\n';
	return count;
}

static void check_file(const char *bytes, size_t size,
		       const struct authfile *file)
{
	struct authfile_checker *checker = NULL;

	assert(authfile_plain_count(file) <= authfile_count(file));
	/* Comparing is quadratic. */
	if (authfile_plain_count(file) == authfile_count(file) &&
	    authfile_count(file) <= 20) {
		checker = authfile_checker_new();
		if (checker == NULL)
			abort();
	}
	assert(walk(bytes, size, file, checker) == authfile_count(file));
	authfile_checker_free(checker);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct authfile *file = NULL;
	struct authfile_refused refused = {0};
	char *bytes = malloc(size + (size == 0));

	if (bytes == NULL)
		abort();
	if (size > 0)
		memcpy(bytes, data, size);
	if (authfile_parse(bytes, size, &file, &refused) == 0) {
		check_file(bytes, size, file);
	} else {
		assert(file == NULL && refused.why != NULL);
		assert(refused.line <= count_lines(bytes, size));
	}
	assert(size == 0 || memcmp(bytes, data, size) == 0);
	authfile_free(file);
	free(bytes);
	return 0;
}

#ifdef FUZZ_REPLAY
#include "tests/fuzz/replay.h"
#endif
