/*
 * test_storage_open.c - what a store is opened on, and what it refuses.
 *
 * A refusal names the file, gives the right reason and changes no byte.
 */
#include <check.h>
#include <db.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/unit/run_suite.h"
#include "tests/unit/storage_rig.h"

#define PATH_MAX_BYTES 600

static struct rig rig;

static void set_up(void)
{
	rig_init(&rig);
}

static void tear_down(void)
{
	rig_done(&rig);
}

/* A store with one item, closed. */
static void make_store(void)
{
	rig_open(&rig);
	rig_set(&rig, "k", "v");
	rig_close(&rig);
}

static void write_file(const char *name, const void *bytes, size_t size)
{
	int fd = open(rig_path(&rig, name), O_WRONLY | O_CREAT | O_TRUNC, 0640);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, bytes, size), (ssize_t)size);
	ck_assert_int_eq(close(fd), 0);
}

static void overwrite(const char *name, off_t at, const void *bytes,
		      size_t size)
{
	int fd = open(rig_path(&rig, name), O_WRONLY);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(pwrite(fd, bytes, size, at), (ssize_t)size);
	ck_assert_int_eq(close(fd), 0);
}

static void remove_file(const char *name)
{
	ck_assert_int_eq(unlink(rig_path(&rig, name)), 0);
}

static bool is_log(const char *name)
{
	return strncmp(name, "log.", 4) == 0;
}

/* Calls act(name) for every file of the directory. */
static void each_file(void (*act)(const char *name, void *arg), void *arg)
{
	DIR *dir = opendir(rig.dir);
	struct dirent *entry;

	ck_assert_ptr_nonnull(dir);
	while ((entry = readdir(dir)) != NULL)
		if (entry->d_name[0] != '.')
			act(entry->d_name, arg);
	(void)closedir(dir);
}

static void remove_if_log(const char *name, void *arg)
{
	(void)arg;
	if (is_log(name))
		remove_file(name);
}

/* Sums up names and bytes, in any order. LOCK has none and may appear. */
static void add_to_sum(const char *name, void *arg)
{
	uint64_t hash = UINT64_C(14695981039346656037);
	unsigned char buffer[65536];
	int fd = open(rig_path(&rig, name), O_RDONLY);
	ssize_t got;

	if (strcmp(name, "LOCK") == 0 || fd < 0) {
		(void)close(fd);
		return;
	}
	for (const char *p = name; *p != '\0'; p++)
		hash = (hash ^ (unsigned char)*p) * UINT64_C(1099511628211);
	while ((got = read(fd, buffer, sizeof(buffer))) > 0)
		for (ssize_t i = 0; i < got; i++)
			hash = (hash ^ buffer[i]) * UINT64_C(1099511628211);
	(void)close(fd);
	*(uint64_t *)arg += hash;
}

static uint64_t sum_of_files(void)
{
	uint64_t sum = 0;

	each_file(add_to_sum, &sum);
	return sum;
}

static void expect_refusal(enum store_refusal why, const char *part)
{
	uint64_t before = sum_of_files();
	struct store_refused refused = rig_refused(&rig);

	ck_assert_msg(refused.why == why, "why %d, not %d: %s",
		      (int)refused.why, (int)why, refused.text);
	ck_assert_msg(strstr(refused.text, part) != NULL, "no '%s' in: %s",
		      part, refused.text);
	ck_assert_msg(strchr(refused.text, '\n') == NULL, "two lines");
	ck_assert_msg(sum_of_files() == before, "files were changed");
}

START_TEST(test_makes_the_directory)
{
	char home[PATH_MAX_BYTES];
	struct stat st;

	(void)snprintf(home, sizeof(home), "%s/new", rig.dir);
	rig.config.home = home;
	make_store();
	ck_assert_int_eq(stat(home, &st), 0);
	ck_assert_int_eq(st.st_mode & 07777, 0750);
	(void)snprintf(home, sizeof(home), "%s/new/data.db", rig.dir);
	ck_assert_int_eq(stat(home, &st), 0);
	ck_assert_int_eq(st.st_mode & 07777, 0640);
}
END_TEST

START_TEST(test_relative_paths)
{
	ck_assert_int_eq(chdir(rig.dir), 0);
	rig.config.home = "home";
	rig.config.log_dir = "logs";
	make_store();
	ck_assert_int_eq(access("home/data.db", F_OK), 0);
	ck_assert_int_eq(access("logs/log.0000000001", F_OK), 0);
	ck_assert_int_eq(access("home/log.0000000001", F_OK), -1);
	rig_open(&rig);
	rig_expect(&rig, "k", "v");
}
END_TEST

START_TEST(test_the_directory_is_busy)
{
	struct store_refused refused;

	rig_open(&rig);
	refused = rig_refused(&rig);
	ck_assert_int_eq(refused.why, STORE_REFUSED_BUSY);
	ck_assert_ptr_nonnull(strstr(refused.text, rig.dir));
	rig_set(&rig, "k", "v"); /* the first one is not disturbed */
	rig_reopen(&rig);
	rig_expect(&rig, "k", "v");
}
END_TEST

START_TEST(test_data_file_is_missing)
{
	make_store();
	remove_file("data.db");
	expect_refusal(STORE_REFUSED_DAMAGED, "data.db");
}
END_TEST

START_TEST(test_another_data_file_is_named)
{
	make_store();
	rig.config.data_file = "other.db";
	expect_refusal(STORE_REFUSED_DAMAGED, "other.db");
}
END_TEST

START_TEST(test_meta_file_is_missing)
{
	make_store();
	remove_file("meta.db");
	expect_refusal(STORE_REFUSED_FOREIGN, "meta.db");
}
END_TEST

START_TEST(test_both_databases_are_missing)
{
	make_store();
	remove_file("meta.db");
	remove_file("data.db");
	expect_refusal(STORE_REFUSED_DAMAGED, "log");
}
END_TEST

START_TEST(test_the_log_is_missing)
{
	make_store();
	each_file(remove_if_log, NULL);
	expect_refusal(STORE_REFUSED_DAMAGED, "log");
}
END_TEST

START_TEST(test_another_log_directory_is_named)
{
	char logs[PATH_MAX_BYTES];

	make_store();
	(void)snprintf(logs, sizeof(logs), "%s/elsewhere", rig.dir);
	rig.config.log_dir = logs;
	expect_refusal(STORE_REFUSED_DAMAGED, "elsewhere");
}
END_TEST

/* The newest log files are lost, older ones are there. */
START_TEST(test_the_log_is_older_than_the_data)
{
	static const uint32_t lsn[2] = {7, 28};

	make_store();
	overwrite(_i == 0 ? "data.db" : "meta.db", 0, lsn, sizeof(lsn));
	expect_refusal(STORE_REFUSED_DAMAGED, "log.0000000007");
}
END_TEST

static const char *const own_files[] = {"data.db", "meta.db"};

START_TEST(test_a_file_that_is_no_database)
{
	static const char text[] = "dear diary, ...";

	make_store();
	write_file(own_files[_i], text, sizeof(text));
	expect_refusal(STORE_REFUSED_FOREIGN, own_files[_i]);
}
END_TEST

START_TEST(test_an_empty_file)
{
	make_store();
	write_file(own_files[_i], "", 0);
	expect_refusal(STORE_REFUSED_FOREIGN, own_files[_i]);
}
END_TEST

START_TEST(test_a_directory_in_place_of_a_file)
{
	make_store();
	remove_file(own_files[_i]);
	ck_assert_int_eq(mkdir(rig_path(&rig, own_files[_i]), 0750), 0);
	rig.quiet = true;
	expect_refusal(STORE_REFUSED_DAMAGED, own_files[_i]);
}
END_TEST

START_TEST(test_a_database_of_a_newer_library)
{
	static const uint32_t version = 10;

	make_store();
	overwrite("data.db", 16, &version, sizeof(version));
	expect_refusal(STORE_REFUSED_FOREIGN, "Berkeley DB");
}
END_TEST

START_TEST(test_a_log_of_another_library)
{
	static const uint32_t version = 22;

	make_store();
	overwrite("log.0000000001", 16, &version, sizeof(version));
	expect_refusal(STORE_REFUSED_FOREIGN, "log.0000000001");
}
END_TEST

/* Changes four bytes of the format record, as another program would. */
static void change_format(uint32_t at, uint32_t number)
{
	DBT key = {.data = (char[]){"format"}, .size = 6};
	DBT data = {.data = &number,
		    .size = 4,
		    .doff = at,
		    .dlen = 4,
		    .flags = DB_DBT_PARTIAL};
	DB *db;

	ck_assert_int_eq(db_create(&db, NULL, 0), 0);
	ck_assert_int_eq(db->open(db, NULL, rig_path(&rig, "meta.db"), NULL,
				  DB_BTREE, 0, 0),
			 0);
	ck_assert_int_eq(db->put(db, NULL, &key, &data, 0), 0);
	ck_assert_int_eq(db->close(db, 0), 0);
}

START_TEST(test_an_unknown_format_version)
{
	static const uint32_t numbers[] = {0, 3};
	char words[32];

	make_store();
	change_format(0, numbers[_i]);
	(void)snprintf(words, sizeof(words), "format version %u",
		       (unsigned)numbers[_i]);
	expect_refusal(STORE_REFUSED_FOREIGN, words);
}
END_TEST

START_TEST(test_another_berkeley_db_wrote_it)
{
	make_store();
	change_format(_i == 0 ? 4 : 8, 6);
	expect_refusal(STORE_REFUSED_FOREIGN, "Berkeley DB");
}
END_TEST

START_TEST(test_an_unknown_type_of_data)
{
	make_store();
	change_format(16, 3);
	expect_refusal(STORE_REFUSED_FOREIGN, "type 3");
}
END_TEST

START_TEST(test_a_database_without_a_format)
{
	DB *db;

	make_store();
	remove_file("meta.db");
	ck_assert_int_eq(db_create(&db, NULL, 0), 0);
	ck_assert_int_eq(db->open(db, NULL, rig_path(&rig, "meta.db"), NULL,
				  DB_BTREE, DB_CREATE, 0640),
			 0);
	ck_assert_int_eq(db->close(db, 0), 0);
	expect_refusal(STORE_REFUSED_DAMAGED, "meta.db");
}
END_TEST

START_TEST(test_a_db_config_file)
{
	static const char text[] = "set_lg_dir /elsewhere\n";

	write_file("DB_CONFIG", text, sizeof(text) - 1);
	expect_refusal(STORE_REFUSED_SETTING, "DB_CONFIG");
}
END_TEST

START_TEST(test_settings_that_cannot_be)
{
	rig.config.page_bytes = 5000;
	expect_refusal(STORE_REFUSED_SETTING, "5000");
	rig.config.page_bytes = 131072;
	expect_refusal(STORE_REFUSED_SETTING, "131072");
	rig.config.page_bytes = 8192;
	rig.config.log_buffer_bytes = rig.config.log_file_bytes;
	expect_refusal(STORE_REFUSED_SETTING, "log");
	rig.config.log_buffer_bytes = 32768;
	rig.config.data_file = "../data.db";
	expect_refusal(STORE_REFUSED_SETTING, "../data.db");
	rig.config.data_file = "meta.db";
	expect_refusal(STORE_REFUSED_SETTING, "meta.db");
	rig.config.data_file = "spare";
	expect_refusal(STORE_REFUSED_SETTING, "spare");
	rig.config.data_file = "log.0000000001";
	expect_refusal(STORE_REFUSED_SETTING, "log.0000000001");
}
END_TEST

START_TEST(test_home_is_a_file)
{
	char home[PATH_MAX_BYTES];

	write_file("file", "x", 1);
	(void)snprintf(home, sizeof(home), "%s/file", rig.dir);
	rig.config.home = home;
	ck_assert_ptr_nonnull(strstr(rig_refused(&rig).text, "file"));
	(void)snprintf(home, sizeof(home), "%s/a/b", rig.dir);
	ck_assert_ptr_nonnull(strstr(rig_refused(&rig).text, "a/b"));
}
END_TEST

static void open_to_all(const char *name, void *arg)
{
	(void)arg;
	ck_assert_int_eq(chmod(rig_path(&rig, name), 0666), 0);
}

/* Root may do everything: this becomes nobody first. */
START_TEST(test_files_of_somebody_else)
{
	const char *name = _i == 0 ? "data.db" : "log.0000000001";

	if (_i == 2) {
		ck_assert_int_eq(chmod(rig.dir, 0500), 0);
		name = rig.dir;
	} else {
		make_store();
		ck_assert_int_eq(chmod(rig.dir, 0777), 0);
		each_file(open_to_all, NULL);
		ck_assert_int_eq(chmod(rig_path(&rig, name), 0), 0);
	}
	if (geteuid() == 0)
		ck_assert_int_eq(seteuid(65534), 0);
	ck_assert_int_eq(rig_refused(&rig).why, STORE_REFUSED_PERMISSION);
	ck_assert_ptr_nonnull(strstr(rig_refused(&rig).text, name));
	if (getuid() == 0)
		ck_assert_int_eq(seteuid(0), 0);
	ck_assert_int_eq(chmod(rig.dir, 0700), 0);
}
END_TEST

/* It died while it was made; it never served, so it is made again. */
START_TEST(test_an_unfinished_store_is_made_again)
{
	static const char garbage[8192] = "half a page";

	write_file("CREATING", "", 0);
	if (_i >= 1)
		write_file("log.0000000001", garbage, 100);
	if (_i >= 2)
		write_file("data.db", garbage, sizeof(garbage));
	if (_i >= 3)
		write_file("meta.db", garbage, 0);
	make_store();
	ck_assert_int_eq(access(rig_path(&rig, "CREATING"), F_OK), -1);
	rig_open(&rig);
	rig_expect(&rig, "k", "v");
}
END_TEST

START_TEST(test_settings_may_change_at_a_restart)
{
	make_store();
	rig.config.cache_bytes = 2 << 20;
	rig.config.log_file_bytes = 1 << 20;
	rig.config.log_buffer_bytes = 64 << 10;
	rig.config.page_bytes = 512; /* at creation only */
	rig.config.hash = true;	     /* at creation only */
	rig.config.readers_max = 4;
	rig_open(&rig);
	rig_expect(&rig, "k", "v");
	rig_set(&rig, "l", "v");
	rig.config.cache_bytes = 64 << 20;
	rig.config.log_file_bytes = 32 << 20;
	rig_reopen(&rig);
	rig_expect_items(&rig, 2);
}
END_TEST

START_TEST(test_shared_regions)
{
	static const char garbage[8192] = "not a region";

	rig.config.shared_regions = true;
	make_store();
	/* Region files of any kind are made anew. */
	write_file("__db.001", garbage, sizeof(garbage));
	rig_open(&rig);
	ck_assert_int_eq(access(rig_path(&rig, "__db.001"), F_OK), 0);
	rig_expect(&rig, "k", "v");
	rig_close(&rig);
	rig.config.shared_regions = false;
	rig_open(&rig);
	rig_expect(&rig, "k", "v");
}
END_TEST

static TCase *refusals(void)
{
	TCase *tcase = tcase_create("refusals");

	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_add_test(tcase, test_the_directory_is_busy);
	tcase_add_test(tcase, test_data_file_is_missing);
	tcase_add_test(tcase, test_another_data_file_is_named);
	tcase_add_test(tcase, test_meta_file_is_missing);
	tcase_add_test(tcase, test_both_databases_are_missing);
	tcase_add_test(tcase, test_the_log_is_missing);
	tcase_add_test(tcase, test_another_log_directory_is_named);
	tcase_add_loop_test(tcase, test_the_log_is_older_than_the_data, 0, 2);
	tcase_add_loop_test(tcase, test_a_file_that_is_no_database, 0, 2);
	tcase_add_loop_test(tcase, test_an_empty_file, 0, 2);
	tcase_add_loop_test(tcase, test_a_directory_in_place_of_a_file, 0, 2);
	tcase_add_test(tcase, test_a_database_of_a_newer_library);
	tcase_add_test(tcase, test_a_log_of_another_library);
	tcase_add_loop_test(tcase, test_an_unknown_format_version, 0, 2);
	tcase_add_test(tcase, test_an_unknown_type_of_data);
	tcase_add_loop_test(tcase, test_another_berkeley_db_wrote_it, 0, 2);
	tcase_add_test(tcase, test_a_database_without_a_format);
	tcase_add_test(tcase, test_a_db_config_file);
	tcase_add_test(tcase, test_settings_that_cannot_be);
	tcase_add_test(tcase, test_home_is_a_file);
	tcase_add_loop_test(tcase, test_files_of_somebody_else, 0, 3);
	return tcase;
}

static TCase *restarts(void)
{
	TCase *tcase = tcase_create("restarts");

	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_add_test(tcase, test_makes_the_directory);
	tcase_add_test(tcase, test_relative_paths);
	tcase_add_loop_test(tcase, test_an_unfinished_store_is_made_again, 0,
			    4);
	tcase_add_test(tcase, test_settings_may_change_at_a_restart);
	tcase_add_test(tcase, test_shared_regions);
	return tcase;
}

int main(void)
{
	Suite *suite = suite_create("storage open");

	suite_add_tcase(suite, refusals());
	suite_add_tcase(suite, restarts());
	return run_suite(suite);
}
