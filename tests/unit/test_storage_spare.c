/*
 * test_storage_spare.c - the log file that is made in advance.
 */
#include "storage/spare.h"

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/unit/run_suite.h"
#include "tests/unit/storage_rig.h"

#define LOG_BYTES (1U << 20)

int fdatasync(int fd);

static struct rig rig;
static atomic_bool directories_fail;

/* This program's own: the store syncs by it. */
int fdatasync(int fd)
{
	struct stat st;

	if (atomic_load(&directories_fail) && fstat(fd, &st) == 0 &&
	    S_ISDIR(st.st_mode)) {
		errno = EIO;
		return -1;
	}
	return (int)syscall(SYS_fdatasync, fd);
}

static void set_up(void)
{
	rig_init(&rig);
	rig.config.log_file_bytes = LOG_BYTES;
	rig.config.log_buffer_bytes = 64 << 10;
	/* It would write to the log, and remove files, at its own time. */
	rig.config.checkpoint_seconds = 0;
	rig.config.checkpoint_bytes = UINT64_C(1) << 40;
}

static void tear_down(void)
{
	rig_done(&rig);
}

static bool is_there(const char *name)
{
	return access(rig_path(&rig, name), F_OK) == 0;
}

static void make_file(const char *name, const char *text, off_t bytes)
{
	int fd = open(rig_path(&rig, name), O_RDWR | O_CREAT | O_TRUNC, 0640);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, text, strlen(text)), (int)strlen(text));
	if (bytes > 0)
		ck_assert_int_eq(ftruncate(fd, bytes), 0);
	ck_assert_int_eq(close(fd), 0);
}

/* Opens as Berkeley DB does; expects `text` at its start. */
static bool open_expecting(const char *name, int flags, const char *text)
{
	char found[16] = "";
	bool made = false;
	int fd = spare_open(rig_path(&rig, name), flags, 0640, &made);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_ge(read(fd, found, sizeof(found) - 1), 0);
	ck_assert_str_eq(found, text);
	ck_assert_int_eq(close(fd), 0);
	return made;
}

START_TEST(test_a_new_log_file_is_the_spare_one)
{
	make_file("spare", "spare", 0);
	ck_assert(open_expecting("log.0000000007", O_RDWR | O_CREAT, "spare"));
	ck_assert(!is_there("spare"));
	/* The next one is made as ever. */
	ck_assert(open_expecting("log.0000000008", O_RDWR | O_CREAT, ""));
}
END_TEST

START_TEST(test_what_is_there_or_no_log_stays_what_it_is)
{
	make_file("spare", "spare", 0);
	make_file("log.0000000007", "log", 0);
	ck_assert(!open_expecting("log.0000000007", O_RDWR | O_CREAT, "log"));
	ck_assert(!open_expecting("log.0000000007", O_RDWR, "log"));
	ck_assert(!open_expecting("data.db", O_RDWR | O_CREAT, ""));
	ck_assert(is_there("spare"));
	ck_assert_int_lt(spare_open(rig_path(&rig, "log.0000000009"), O_RDWR, 0,
				    &(bool){false}),
			 0);
	ck_assert(is_there("spare"));
}
END_TEST

/* Whatever keeps it from being seen: only what is not there is made. */
START_TEST(test_a_name_that_cannot_be_looked_at_is_not_replaced)
{
	const char *name = "log.0000000007";

	make_file("spare", "spare", 0);
	ck_assert_int_eq(symlink(name, rig_path(&rig, name)), 0);
	ck_assert_int_lt(spare_open(rig_path(&rig, name), O_RDWR | O_CREAT,
				    0640, &(bool){false}),
			 0);
	ck_assert(is_there("spare"));
}
END_TEST

/* Then what is written there might not be found behind a power cut. */
START_TEST(test_a_directory_that_cannot_be_synced_is_an_error)
{
	bool made = false;

	make_file("spare", "spare", 0);
	atomic_store(&directories_fail, true);
	ck_assert_int_lt(spare_open(rig_path(&rig, "log.0000000007"),
				    O_RDWR | O_CREAT, 0640, &made),
			 0);
	ck_assert_int_eq(errno, EIO);
	ck_assert(!made);
}
END_TEST

static bool spare_is_there(void *arg)
{
	(void)arg;
	return is_there("spare");
}

/* Sets until the log has gone on to a further file. */
static void fill_log(void)
{
	static char value[10001];
	char key[32];

	memset(value, 'x', sizeof(value) - 1);
	for (unsigned i = 0; i < LOG_BYTES / 5000; i++) {
		(void)snprintf(key, sizeof(key), "key%u", i % 10);
		ck_assert_int_eq(rig_set(&rig, key, value), STORE_OK);
	}
}

static struct stat stat_of(const char *name)
{
	struct stat st;

	ck_assert_int_eq(stat(rig_path(&rig, name), &st), 0);
	return st;
}

START_TEST(test_it_is_made_when_a_log_file_was_begun)
{
	struct stat st;
	ino_t inode;
	static char bytes[LOG_BYTES];
	static const char zeros[LOG_BYTES];
	int fd;

	rig_open(&rig);
	ck_assert(!is_there("spare"));
	fill_log();
	rig_wait_for(spare_is_there, NULL);
	st = stat_of("spare");
	inode = st.st_ino;
	ck_assert_int_eq(st.st_size, LOG_BYTES);
	ck_assert_int_ge(st.st_blocks * 512, LOG_BYTES); /* no hole */
	fd = open(rig_path(&rig, "spare"), O_RDONLY);
	ck_assert_int_eq(read(fd, bytes, LOG_BYTES), LOG_BYTES);
	ck_assert_mem_eq(bytes, zeros, LOG_BYTES);
	(void)close(fd);
	/* A log file now, and another one is made. */
	fill_log();
	rig_wait_for(spare_is_there, NULL);
	ck_assert_uint_ne(stat_of("spare").st_ino, inode);
	rig_reopen(&rig);
	rig_expect_items(&rig, 10);
}
END_TEST

static int newest_log(void)
{
	char name[32];
	int newest = 0;

	for (int i = 1; i < 100; i++) {
		(void)snprintf(name, sizeof(name), "log.%010d", i);
		if (is_there(name))
			newest = i;
	}
	return newest;
}

/* As after a kill that came before the first write to the new file. */
START_TEST(test_a_log_file_that_is_still_empty_is_no_damage)
{
	char name[32];

	rig_open(&rig);
	fill_log();
	rig_wait_for(spare_is_there, NULL);
	rig_close(&rig);
	(void)snprintf(name, sizeof(name), "log.%010d", newest_log() + 1);
	ck_assert(open_expecting(name, O_RDWR | O_CREAT, ""));
	ck_assert_int_eq(stat_of(name).st_size, LOG_BYTES);
	rig_open(&rig);
	rig_expect_items(&rig, 10);
	ck_assert_int_eq(rig_set(&rig, "more", "value"), STORE_OK);
	rig_reopen(&rig);
	rig_expect(&rig, "more", "value");
	rig_expect_items(&rig, 11);
}
END_TEST

/* All that a log file holds in a few syncs. */
START_TEST(test_it_is_not_made_for_syncs_of_much)
{
	static char value[200001];

	memset(value, 'x', sizeof(value) - 1);
	rig.config.value_max_bytes = sizeof(value);
	rig_open(&rig);
	for (int i = 0; i < 20; i++)
		ck_assert_int_eq(rig_set(&rig, "key", value), STORE_OK);
	rig_close(&rig);
	ck_assert_int_gt(newest_log(), 1);
	ck_assert(!is_there("spare"));
}
END_TEST

START_TEST(test_a_spare_of_another_size_is_not_used)
{
	make_file("spare", "", 2 * LOG_BYTES);
	rig_open(&rig);
	ck_assert(!is_there("spare"));
	rig_close(&rig);
	make_file("spare", "", LOG_BYTES);
	rig_open(&rig);
	ck_assert(is_there("spare"));
}
END_TEST

/* As after a kill while it was made. */
START_TEST(test_half_a_spare_is_removed)
{
	make_file("spare.new", "", LOG_BYTES / 2);
	rig_open(&rig);
	ck_assert(!is_there("spare.new"));
	ck_assert(!is_there("spare"));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("spare log file");
	TCase *tcase = tcase_create("spare");

	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_add_test(tcase, test_a_new_log_file_is_the_spare_one);
	tcase_add_test(tcase, test_what_is_there_or_no_log_stays_what_it_is);
	tcase_add_test(tcase,
		       test_a_name_that_cannot_be_looked_at_is_not_replaced);
	tcase_add_test(tcase,
		       test_a_directory_that_cannot_be_synced_is_an_error);
	tcase_add_test(tcase, test_it_is_made_when_a_log_file_was_begun);
	tcase_add_test(tcase, test_a_log_file_that_is_still_empty_is_no_damage);
	tcase_add_test(tcase, test_it_is_not_made_for_syncs_of_much);
	tcase_add_test(tcase, test_a_spare_of_another_size_is_not_used);
	tcase_add_test(tcase, test_half_a_spare_is_removed);
	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}
