/*
 * authfile.c - see authfile.h.
 *
 * The entries point into a copy of the file's text, in which every name and
 * password is ended by NUL.
 */
#include "server/authfile.h"

#include <crypt.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct entry {
	struct proto_slice user, password;
	bool hashed;
};

struct authfile {
	char *text;
	size_t text_bytes;
	struct entry *entries;
	size_t count, plain_count;
	bool open;
	unsigned hashes; /* of the user who has most: computed for everyone */
	/* Is computed in place of those that are not there. */
	const char *dummy;
};

struct authfile_checker {
	struct crypt_data crypt;
	char password[CRYPT_MAX_PASSPHRASE_SIZE + 1];
};

/* --- parsing ------------------------------------------------------------ */

static bool is_hash(const char *password)
{
	const char *id_end;

	if (password[0] != '$')
		return false;
	id_end = strchr(password + 1, '$');
	if (id_end == NULL || id_end == password + 1)
		return false;
	switch (crypt_checksalt(password)) {
	case CRYPT_SALT_OK:
	case CRYPT_SALT_METHOD_LEGACY:
	case CRYPT_SALT_TOO_CHEAP:
		return true;
	}
	return false;
}

/* Takes a line apart. Returns NULL, or what is wrong with it. */
static const char *parse_line(char *line, size_t len, struct entry *ret)
{
	char *colon = memchr(line, ':', len);
	struct entry entry;

	if (len > AUTHFILE_LINE_MAX)
		return "the line is too long";
	if (memchr(line, '\0', len) != NULL)
		return "there is a NUL in it";
	if (colon == NULL)
		return "there is no colon behind a user name";
	if (colon == line)
		return "there is no user name";
	if (colon - line > AUTHFILE_NAME_MAX)
		return "the user name is too long";
	if (memchr(line, ' ', (size_t)(colon - line)) != NULL)
		return "there is a blank in the user name";
	if (colon + 1 == line + len)
		return "the password is empty";
	entry.user = (struct proto_slice){line, (size_t)(colon - line)};
	entry.password = (struct proto_slice){
		colon + 1, (size_t)(line + len - (colon + 1))};
	*colon = '\0';
	line[len] = '\0';
	entry.hashed = is_hash(entry.password.data);
	*ret = entry;
	return NULL;
}

static bool slices_are_equal(struct proto_slice a, struct proto_slice b)
{
	return a.len == b.len && memcmp(a.data, b.data, a.len) == 0;
}

/* Keeps what authfile_check() must know of the file as a whole. */
static void count_entry(struct authfile *file, const struct entry *entry)
{
	unsigned hashes = 0;

	if (!entry->hashed) {
		file->plain_count++;
		return;
	}
	for (size_t i = 0; i < file->count; i++)
		hashes += file->entries[i].hashed &&
			  slices_are_equal(file->entries[i].user, entry->user);
	if (hashes > file->hashes)
		file->hashes = hashes;
	if (file->dummy == NULL)
		file->dummy = entry->password.data;
}

static const char *parse_lines(struct authfile *file, unsigned *ret_line)
{
	char *at = file->text, *end = at + file->text_bytes;

	for (unsigned line = 1; at < end; line++) {
		char *lf = memchr(at, '\n', (size_t)(end - at));
		char *stop = lf != NULL ? lf : end;
		size_t len = (size_t)(stop - at);
		const char *why;

		if (len > 0 && at[len - 1] == '\r')
			len--;
		*ret_line = line;
		if (len > 0) {
			if (file->count == AUTHFILE_USERS_MAX)
				return "there are too many users";
			why = parse_line(at, len, &file->entries[file->count]);
			if (why != NULL)
				return why;
			file->count++;
			count_entry(file, &file->entries[file->count - 1]);
		}
		at = stop + 1;
	}
	*ret_line = 0;
	return file->count > 0 ? NULL : "there is no user in it";
}

static size_t count_lines(const char *bytes, size_t len)
{
	size_t count = 1;

	for (size_t i = 0; i < len; i++)
		count += bytes[i] == '\n';
	return count < AUTHFILE_USERS_MAX ? count : AUTHFILE_USERS_MAX;
}

int authfile_parse(const char *bytes, size_t len, struct authfile **ret,
		   struct authfile_refused *ret_refused)
{
	struct authfile *file = calloc(1, sizeof(*file));

	*ret_refused = (struct authfile_refused){0, "out of memory"};
	if (file == NULL)
		return -ENOMEM;
	file->entries = calloc(count_lines(bytes, len), sizeof(struct entry));
	file->text = malloc(len + 1);
	if (file->entries == NULL || file->text == NULL) {
		authfile_free(file);
		return -ENOMEM;
	}
	memcpy(file->text, bytes, len);
	file->text[len] = '\0';
	file->text_bytes = len;
	ret_refused->why = parse_lines(file, &ret_refused->line);
	if (ret_refused->why != NULL) {
		authfile_free(file);
		return -EINVAL;
	}
	*ret = file;
	return 0;
}

void authfile_free(struct authfile *file)
{
	if (file == NULL)
		return;
	if (file->text != NULL)
		explicit_bzero(file->text, file->text_bytes);
	free(file->text);
	free(file->entries);
	free(file);
}

size_t authfile_count(const struct authfile *file)
{
	return file->count;
}

size_t authfile_plain_count(const struct authfile *file)
{
	return file->plain_count;
}

bool authfile_is_open(const struct authfile *file)
{
	return file->open;
}

/* --- loading ------------------------------------------------------------ */

/* Fills buf, or less at the end of the file. Returns the bytes, or -errno. */
static ssize_t read_all(int fd, char *buf, size_t buf_bytes)
{
	size_t got = 0;

	while (got < buf_bytes) {
		ssize_t n = read(fd, buf + got, buf_bytes - got);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		got += (size_t)n;
	}
	return (ssize_t)got;
}

static int load_from(int fd, struct authfile **ret,
		     struct authfile_refused *ret_refused)
{
	struct stat st;
	ssize_t got;
	char *buf;
	int err;

	if (fstat(fd, &st) < 0)
		return -errno;
	*ret_refused = (struct authfile_refused){0, "it is not a file"};
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	buf = malloc(AUTHFILE_BYTES_MAX + 1);
	if (buf == NULL)
		return -ENOMEM;
	got = read_all(fd, buf, AUTHFILE_BYTES_MAX + 1);
	if (got < 0) {
		err = (int)got;
	} else if (got > AUTHFILE_BYTES_MAX) {
		*ret_refused = (struct authfile_refused){0, "it is too big"};
		err = -EINVAL;
	} else {
		err = authfile_parse(buf, (size_t)got, ret, ret_refused);
	}
	explicit_bzero(buf, AUTHFILE_BYTES_MAX + 1);
	free(buf);
	if (err == 0)
		(*ret)->open = (st.st_mode & (S_IRGRP | S_IROTH)) != 0;
	return err;
}

int authfile_load(const char *path, struct authfile **ret,
		  struct authfile_refused *ret_refused)
{
	/* A pipe must not hold us up. */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	int err = fd < 0 ? -errno : load_from(fd, ret, ret_refused);

	if (err != 0 && err != -EINVAL)
		*ret_refused = (struct authfile_refused){0, strerror(-err)};
	if (fd >= 0)
		(void)close(fd);
	return err;
}

/* --- checking ----------------------------------------------------------- */

struct authfile_checker *authfile_checker_new(void)
{
	return calloc(1, sizeof(struct authfile_checker));
}

void authfile_checker_free(struct authfile_checker *checker)
{
	if (checker != NULL)
		explicit_bzero(checker, sizeof(*checker));
	free(checker);
}

/* Takes a time that depends on `offered` alone. `wanted` is not empty. */
static bool is_same(struct proto_slice wanted, struct proto_slice offered)
{
	size_t differs = wanted.len ^ offered.len;

	for (size_t i = 0; i < offered.len; i++)
		differs |= (unsigned char)(wanted.data[i % wanted.len] ^
					   offered.data[i]);
	return differs == 0;
}

/* Computes the hash of checker->password the way `wanted` was computed. */
static bool is_hash_of(struct authfile_checker *checker, const char *wanted)
{
	const char *made = crypt_rn(checker->password, wanted, &checker->crypt,
				    (int)sizeof(checker->crypt));

	if (made == NULL)
		return false;
	return is_same((struct proto_slice){wanted, strlen(wanted)},
		       (struct proto_slice){made, strlen(made)});
}

/* What no hash can have been made of: compares false at the same cost. */
static bool fits_crypt(struct proto_slice password)
{
	return password.len < CRYPT_MAX_PASSPHRASE_SIZE &&
	       memchr(password.data, '\0', password.len) == NULL;
}

bool authfile_check(const struct authfile *file,
		    struct authfile_checker *checker, struct proto_slice user,
		    struct proto_slice password)
{
	bool fits = password.len > 0 && fits_crypt(password), found = false;
	unsigned computed = 0;

	checker->password[0] = '\0';
	if (fits)
		memcpy(checker->password, password.data, password.len);
	checker->password[fits ? password.len : 0] = '\0';
	for (size_t i = 0; i < file->count; i++) {
		const struct entry *entry = &file->entries[i];
		bool good = is_same(entry->user, user);

		if (entry->hashed && good) {
			good = is_hash_of(checker, entry->password.data) &&
			       fits;
			computed++;
		} else if (!entry->hashed) {
			good &= is_same(entry->password, password);
		} else {
			good = false;
		}
		found |= good;
	}
	for (; computed < file->hashes; computed++)
		(void)is_hash_of(checker, file->dummy);
	explicit_bzero(checker->password, sizeof(checker->password));
	return found;
}
