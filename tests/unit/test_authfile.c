/*
 * test_authfile.c - the file of users: what it may hold, and who gets in.
 */
#include "server/authfile.h"

#include <check.h>
#include <crypt.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/unit/run_suite.h"

static struct authfile_checker *checker;

static void set_up(void)
{
	checker = authfile_checker_new();
	ck_assert_ptr_nonnull(checker);
}

static void tear_down(void)
{
	authfile_checker_free(checker);
}

static struct proto_slice slice(const char *text)
{
	return (struct proto_slice){text, strlen(text)};
}

static struct authfile *parse(const char *text)
{
	struct authfile *file = NULL;
	struct authfile_refused refused = {0, "nothing"};

	ck_assert_msg(authfile_parse(text, strlen(text), &file, &refused) == 0,
		      "line %u: %s", refused.line, refused.why);
	return file;
}

static bool lets_in(const struct authfile *file, const char *user,
		    const char *password)
{
	return authfile_check(file, checker, slice(user), slice(password));
}

/* A hash that costs as little as the method allows. */
static const char *hash(const char *prefix, const char *password)
{
	static struct crypt_data data;
	char setting[CRYPT_GENSALT_OUTPUT_SIZE];
	unsigned long cost = strcmp(prefix, "$6$") == 0	   ? 1000
			     : strcmp(prefix, "$5$") == 0  ? 1000
			     : strcmp(prefix, "$2b$") == 0 ? 4
			     : strcmp(prefix, "$y$") == 0  ? 1
							   : 0;

	ck_assert_ptr_nonnull(crypt_gensalt_rn(prefix, cost, "0123456789abcdef",
					       16, setting,
					       (int)sizeof(setting)));
	ck_assert_ptr_nonnull(
		crypt_rn(password, setting, &data, (int)sizeof(data)));
	return data.output;
}

/* --- what is a file ------------------------------------------------------ */

static const struct {
	const char *text;
	size_t users, plain;
} good[] = {
	{"a:b", 1, 1},
	{"a:b\n", 1, 1},
	{"a:b\r\nc:d\r\n", 2, 2},
	{"\n\na:b\n\r\n\n", 1, 1},
	{"a:b\na:c\n", 2, 2},
	{"a::\n", 1, 1},
	{"a:b c \n", 1, 1},
	{"a:$\n", 1, 1},
	{"a:$$\n", 1, 1},
	{"a:$nothing$of$ours\n", 1, 1},
	{"a:$6$saltsalt$x\n", 1, 0},
	{"\xc3\xa4:\xc3\xb6\n", 1, 1},
};

START_TEST(test_parse_takes)
{
	struct authfile *file = parse(good[_i].text);

	ck_assert_uint_eq(authfile_count(file), good[_i].users);
	ck_assert_uint_eq(authfile_plain_count(file), good[_i].plain);
	authfile_free(file);
}
END_TEST

static const struct {
	const char *text;
	size_t len;
	unsigned line;
	const char *why;
} bad[] = {
#define BAD(text, line, why)                      \
	{                                         \
		text, sizeof(text) - 1, line, why \
	}
	BAD("", 0, "there is no user in it"),
	BAD("\n\r\n\n", 0, "there is no user in it"),
	BAD("secret", 1, "there is no colon behind a user name"),
	BAD("a:b\nsecret\nc:d", 2, "there is no colon behind a user name"),
	BAD("a:b\n \n", 2, "there is no colon behind a user name"),
	BAD(":secret", 1, "there is no user name"),
	BAD("a:", 1, "the password is empty"),
	BAD("a:b\n\nb:\r\n", 3, "the password is empty"),
	BAD("a b:secret", 1, "there is a blank in the user name"),
	BAD("a:sec\0ret\n", 1, "there is a NUL in it"),
	BAD("a\0:secret\n", 1, "there is a NUL in it"),
#undef BAD
};

START_TEST(test_parse_refuses)
{
	struct authfile *file = NULL;
	struct authfile_refused refused;

	ck_assert_int_eq(
		authfile_parse(bad[_i].text, bad[_i].len, &file, &refused),
		-EINVAL);
	ck_assert_uint_eq(refused.line, bad[_i].line);
	ck_assert_str_eq(refused.why, bad[_i].why);
	ck_assert_ptr_null(file);
}
END_TEST

START_TEST(test_parse_limits)
{
	struct authfile *file = NULL;
	struct authfile_refused refused;
	size_t bytes, used = 0;
	char *text;
	FILE *out = open_memstream(&text, &bytes);

	ck_assert_ptr_nonnull(out);
	for (int i = 0; i < AUTHFILE_USERS_MAX; i++)
		fprintf(out, "user%d:password%d\n", i, i);
	fflush(out);
	used = bytes;
	ck_assert_int_eq(authfile_parse(text, used, &file, &refused), 0);
	ck_assert_uint_eq(authfile_count(file), AUTHFILE_USERS_MAX);
	ck_assert(lets_in(file, "user0", "password0"));
	ck_assert(lets_in(file, "user1023", "password1023"));
	ck_assert(!lets_in(file, "user1023", "password1022"));
	authfile_free(file);

	fprintf(out, "one:more\n");
	fclose(out);
	ck_assert_int_eq(authfile_parse(text, bytes, &file, &refused), -EINVAL);
	ck_assert_uint_eq(refused.line, AUTHFILE_USERS_MAX + 1);
	ck_assert_str_eq(refused.why, "there are too many users");
	free(text);
}
END_TEST

START_TEST(test_parse_long_line)
{
	char text[AUTHFILE_LINE_MAX + 2];
	struct authfile *file = NULL;
	struct authfile_refused refused;

	memset(text, 'p', sizeof(text));
	memcpy(text, "u:", 2);
	ck_assert_int_eq(
		authfile_parse(text, AUTHFILE_LINE_MAX, &file, &refused), 0);
	authfile_free(file);
	ck_assert_int_eq(
		authfile_parse(text, AUTHFILE_LINE_MAX + 1, &file, &refused),
		-EINVAL);
	ck_assert_str_eq(refused.why, "the line is too long");
}
END_TEST

START_TEST(test_parse_long_name)
{
	char text[AUTHFILE_NAME_MAX + 10];
	struct authfile *file = NULL;
	struct authfile_refused refused;
	size_t len;

	memset(text, 'u', sizeof(text));
	memcpy(text + AUTHFILE_NAME_MAX, ":p", 2);
	len = AUTHFILE_NAME_MAX + 2;
	ck_assert_int_eq(authfile_parse(text, len, &file, &refused), 0);
	authfile_free(file);
	memcpy(text + AUTHFILE_NAME_MAX, "u:p", 3);
	ck_assert_int_eq(authfile_parse(text, len + 1, &file, &refused),
			 -EINVAL);
	ck_assert_str_eq(refused.why, "the user name is too long");
}
END_TEST

/* --- who gets in --------------------------------------------------------- */

START_TEST(test_check_plain)
{
	struct authfile *file = parse("bob:secret\nann:a:b c\nbob:second\n");

	ck_assert(lets_in(file, "bob", "secret"));
	ck_assert(lets_in(file, "bob", "second"));
	ck_assert(lets_in(file, "ann", "a:b c"));
	ck_assert(!lets_in(file, "ann", "secret"));
	ck_assert(!lets_in(file, "bob", "secre"));
	ck_assert(!lets_in(file, "bob", "secrett"));
	ck_assert(!lets_in(file, "bob", "secretsecret"));
	ck_assert(!lets_in(file, "bob", ""));
	ck_assert(!lets_in(file, "bo", "secret"));
	ck_assert(!lets_in(file, "bobbob", "secret"));
	ck_assert(!lets_in(file, "Bob", "secret"));
	ck_assert(!lets_in(file, "", "secret"));
	ck_assert(!lets_in(file, "", ""));
	authfile_free(file);
}
END_TEST

START_TEST(test_check_hashes)
{
	static const char *const methods[] = {"$y$", "$6$", "$5$", "$2b$",
					      "$1$"};
	char text[600];
	struct authfile *file;

	(void)snprintf(text, sizeof(text), "bob:%s\nann:plain\nbob:%s\n",
		       hash(methods[_i], "secret"), "later");
	file = parse(text);
	ck_assert_uint_eq(authfile_plain_count(file), 2);
	ck_assert(lets_in(file, "bob", "secret"));
	ck_assert(lets_in(file, "bob", "later"));
	ck_assert(lets_in(file, "ann", "plain"));
	ck_assert(!lets_in(file, "bob", "Secret"));
	ck_assert(!lets_in(file, "bob", "plain"));
	ck_assert(!lets_in(file, "bob", ""));
	ck_assert(!lets_in(file, "eve", "secret"));
	/* Who has read the file cannot log in with what stands there. */
	ck_assert(!lets_in(file, "bob", hash(methods[_i], "secret")));
	authfile_free(file);
}
END_TEST

/* libcrypt sees strings that end at NUL: such a guess must not match. */
START_TEST(test_check_nul_in_the_password)
{
	char text[300];
	struct authfile *file;

	(void)snprintf(text, sizeof(text), "bob:%s\nann:secret\n",
		       hash("$5$", "secret"));
	file = parse(text);
	ck_assert(!authfile_check(file, checker, slice("bob"),
				  (struct proto_slice){"secret\0x", 8}));
	ck_assert(!authfile_check(file, checker, slice("bob"),
				  (struct proto_slice){"secret\0", 7}));
	ck_assert(!authfile_check(file, checker, slice("ann"),
				  (struct proto_slice){"secret\0", 7}));
	authfile_free(file);
}
END_TEST

/* Nor does one match that is a prefix of it, or empty, or too long for it. */
START_TEST(test_check_odd_lengths)
{
	char text[300], guess[16384];
	struct authfile *file;

	(void)snprintf(text, sizeof(text), "bob:%s\n", hash("$5$", ""));
	file = parse(text);
	ck_assert(!lets_in(file, "bob", ""));
	authfile_free(file);

	memset(guess, 'g', sizeof(guess));
	guess[CRYPT_MAX_PASSPHRASE_SIZE - 1] = '\0';
	(void)snprintf(text, sizeof(text), "bob:%s\n", hash("$5$", guess));
	file = parse(text);
	ck_assert(lets_in(file, "bob", guess));
	guess[CRYPT_MAX_PASSPHRASE_SIZE - 1] = 'g';
	ck_assert(!authfile_check(
		file, checker, slice("bob"),
		(struct proto_slice){guess, CRYPT_MAX_PASSPHRASE_SIZE}));
	ck_assert(!authfile_check(file, checker, slice("bob"),
				  (struct proto_slice){guess, sizeof(guess)}));
	authfile_free(file);
}
END_TEST

/* --- from the disk ------------------------------------------------------- */

static void write_file(const char *path, const char *text, mode_t mode)
{
	FILE *out = fopen(path, "w");

	ck_assert_ptr_nonnull(out);
	ck_assert_int_ge(fputs(text, out), 0);
	ck_assert_int_eq(fclose(out), 0);
	ck_assert_int_eq(chmod(path, mode), 0);
}

START_TEST(test_load)
{
	char folder[] = "/tmp/test_authfileXXXXXX", path[64];
	struct authfile *file = NULL;
	struct authfile_refused refused;

	ck_assert_ptr_nonnull(mkdtemp(folder));
	(void)snprintf(path, sizeof(path), "%s/users", folder);
	ck_assert_int_eq(authfile_load(path, &file, &refused), -ENOENT);
	ck_assert_str_eq(refused.why, strerror(ENOENT));
	ck_assert_uint_eq(refused.line, 0);

	write_file(path, "bob:secret\n", 0600);
	ck_assert_int_eq(authfile_load(path, &file, &refused), 0);
	ck_assert(!authfile_is_open(file));
	ck_assert(lets_in(file, "bob", "secret"));
	authfile_free(file);

	ck_assert_int_eq(chmod(path, 0640), 0);
	ck_assert_int_eq(authfile_load(path, &file, &refused), 0);
	ck_assert(authfile_is_open(file));
	authfile_free(file);

	write_file(path, "bob:secret\nnothing\n", 0600);
	ck_assert_int_eq(authfile_load(path, &file, &refused), -EINVAL);
	ck_assert_uint_eq(refused.line, 2);
	ck_assert_int_eq(truncate(path, AUTHFILE_BYTES_MAX + 1), 0);
	ck_assert_int_eq(authfile_load(path, &file, &refused), -EINVAL);
	ck_assert_str_eq(refused.why, "it is too big");
	ck_assert_int_eq(unlink(path), 0);

	/* A pipe that nobody writes to must not hold the start up. */
	ck_assert_int_eq(mkfifo(path, 0600), 0);
	ck_assert_int_eq(authfile_load(path, &file, &refused), -EINVAL);
	ck_assert_str_eq(refused.why, "it is not a file");
	ck_assert_int_eq(authfile_load(folder, &file, &refused), -EINVAL);
	ck_assert_int_eq(unlink(path), 0);
	ck_assert_int_eq(rmdir(folder), 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("authfile");
	TCase *tests = tcase_create("authfile");

	tcase_add_checked_fixture(tests, set_up, tear_down);
	tcase_add_loop_test(tests, test_parse_takes, 0,
			    sizeof(good) / sizeof(good[0]));
	tcase_add_loop_test(tests, test_parse_refuses, 0,
			    sizeof(bad) / sizeof(bad[0]));
	tcase_add_test(tests, test_parse_limits);
	tcase_add_test(tests, test_parse_long_line);
	tcase_add_test(tests, test_parse_long_name);
	tcase_add_test(tests, test_check_plain);
	tcase_add_loop_test(tests, test_check_hashes, 0, 5);
	tcase_add_test(tests, test_check_nul_in_the_password);
	tcase_add_test(tests, test_check_odd_lengths);
	tcase_add_test(tests, test_load);
	suite_add_tcase(suite, tests);
	return run_suite(suite);
}
