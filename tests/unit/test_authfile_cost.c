/*
 * test_authfile_cost.c - the time of an answer must not tell who is a user.
 *
 * Time cannot be tested, but what takes it can: the hashes that are computed.
 * This program has a crypt_rn() of its own, which counts and is quick: the
 * hash of a password is the setting up to its last '$', and the password.
 */
#include "server/authfile.h"

#include <check.h>
#include <crypt.h>
#include <stdio.h>
#include <string.h>

#include "tests/unit/run_suite.h"

static unsigned computed;

char *crypt_rn(const char *phrase, const char *setting, void *data, int bytes)
{
	const char *end = strrchr(setting, '$');

	computed++;
	ck_assert_ptr_nonnull(end);
	ck_assert_int_lt(snprintf(data, (size_t)bytes, "%.*s%s",
				  (int)(end + 1 - setting), setting, phrase),
			 bytes);
	return data;
}

/* Two hashes of ann, one of bob, eve in plain text. */
static const char users[] = "bob:$5$salt$one\n"
			    "ann:$6$salt$two\n"
			    "eve:three\n"
			    "ann:$5$salt$four\n";

static const struct {
	const char *user, *password;
	bool good;
} attempts[] = {
	{"ann", "two", true},	  {"ann", "four", true}, {"ann", "one", false},
	{"ann", "", false},	  {"bob", "one", true},	 {"bob", "two", false},
	{"eve", "three", true},	  {"eve", "one", false}, {"eve", "", false},
	{"nobody", "one", false}, {"nobody", "", false}, {"", "one", false},
};

static bool attempt(const struct authfile *file, int which)
{
	struct authfile_checker *checker = authfile_checker_new();
	const char *user = attempts[which].user;
	const char *password = attempts[which].password;
	bool good;

	ck_assert_ptr_nonnull(checker);
	computed = 0;
	good = authfile_check(file, checker,
			      (struct proto_slice){user, strlen(user)},
			      (struct proto_slice){password, strlen(password)});
	authfile_checker_free(checker);
	return good;
}

START_TEST(test_everyone_costs_as_many_hashes)
{
	struct authfile_refused refused;
	struct authfile *file;

	ck_assert_int_eq(authfile_parse(users, strlen(users), &file, &refused),
			 0);
	ck_assert(attempt(file, _i) == attempts[_i].good);
	ck_assert_uint_eq(computed, 2);
	authfile_free(file);
}
END_TEST

START_TEST(test_plain_text_costs_none)
{
	static const char plain[] = "ann:two\nbob:one\n";
	struct authfile_refused refused;
	struct authfile *file;

	ck_assert_int_eq(authfile_parse(plain, strlen(plain), &file, &refused),
			 0);
	ck_assert(attempt(file, 0));
	ck_assert_uint_eq(computed, 0);
	authfile_free(file);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("authfile cost");
	TCase *tests = tcase_create("cost");

	tcase_add_loop_test(tests, test_everyone_costs_as_many_hashes, 0,
			    sizeof(attempts) / sizeof(attempts[0]));
	tcase_add_test(tests, test_plain_text_costs_none);
	suite_add_tcase(suite, tests);
	return run_suite(suite);
}
