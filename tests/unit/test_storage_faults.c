/*
 * test_storage_faults.c - the disk is slow, full, or broken.
 *
 * fdatasync() and write() are this program's own: Berkeley DB reaches them
 * through the store's hooks. Reads fail through Berkeley DB's. All of that is
 * of the whole process, so every test runs in one of its own.
 */
#include <check.h>
#include <db.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/unit/run_suite.h"
#include "tests/unit/storage_rig.h"

#define HALF_FITS -1 /* the first half of a big page, then no more */

int fdatasync(int fd);
ssize_t write(int fd, const void *bytes, size_t size);

static struct rig rig;

/* How the disk behaves. */
static struct {
	pthread_mutex_t lock;
	pthread_cond_t change;
	int hold_syncs;	     /* 1: each waits until it is 0 */
	int sync_error;	     /* of the next sync */
	int log_write_error; /* of every write to the log */
	int log_room;	     /* bytes that fit the log; 0: all */
	int ballast;	     /* more of them when the ballast is gone */
	int data_write_error;
	int data_read_error;
	int syncs;
} disk = {.lock = PTHREAD_MUTEX_INITIALIZER,
	  .change = PTHREAD_COND_INITIALIZER};

int fdatasync(int fd)
{
	int error;

	(void)pthread_mutex_lock(&disk.lock);
	while (disk.hold_syncs)
		(void)pthread_cond_wait(&disk.change, &disk.lock);
	error = disk.sync_error;
	disk.sync_error = 0;
	disk.syncs++;
	(void)pthread_mutex_unlock(&disk.lock);
	if (error != 0) {
		errno = error;
		return -1;
	}
	return (int)syscall(SYS_fdatasync, fd);
}

static void set_disk(int *which, int value)
{
	(void)pthread_mutex_lock(&disk.lock);
	*which = value;
	(void)pthread_cond_broadcast(&disk.change);
	(void)pthread_mutex_unlock(&disk.lock);
}

static int get_disk(const int *which)
{
	int value;

	(void)pthread_mutex_lock(&disk.lock);
	value = *which;
	(void)pthread_mutex_unlock(&disk.lock);
	return value;
}

static bool is_file(int fd, const char *part)
{
	char link[64], path[512];
	const char *name;
	ssize_t bytes;

	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	bytes = readlink(link, path, sizeof(path) - 1);
	if (bytes < 0)
		return false;
	path[bytes] = '\0';
	name = strrchr(path, '/');
	return name != NULL && strstr(name, part) != NULL;
}

static bool ballast_is_there(void *arg)
{
	char path[300];

	(void)arg;
	(void)snprintf(path, sizeof(path), "%s/ballast", rig.dir);
	return access(path, F_OK) == 0;
}

static int log_error(size_t size)
{
	int error;

	(void)pthread_mutex_lock(&disk.lock);
	error = disk.log_write_error;
	if (disk.log_room > 0 && disk.ballast > 0 && !ballast_is_there(NULL)) {
		disk.log_room += disk.ballast;
		disk.ballast = 0;
	}
	if (disk.log_room > 0 && (size_t)disk.log_room <= size)
		error = ENOSPC;
	else if (disk.log_room > 0)
		disk.log_room -= (int)size;
	(void)pthread_mutex_unlock(&disk.lock);
	return error;
}

/* Old pages have their blocks already. */
static bool is_inside(int fd)
{
	struct stat st;

	ck_assert_int_eq(fstat(fd, &st), 0);
	return lseek(fd, 0, SEEK_CUR) < st.st_size;
}

/* Under a lock, so that what is set holds for all that is written later. */
static ssize_t write_data(int fd, const void *bytes, size_t size)
{
	ssize_t done = -1;
	int error;

	(void)pthread_mutex_lock(&disk.lock);
	error = disk.data_write_error;
	if (error == HALF_FITS) {
		error = is_inside(fd) || size > 4096 ? 0 : ENOSPC;
		if (!is_inside(fd) && size > 4096)
			size = 4096;
	}
	if (error == 0)
		done = syscall(SYS_write, fd, bytes, size);
	else
		errno = error;
	(void)pthread_mutex_unlock(&disk.lock);
	return done;
}

ssize_t write(int fd, const void *bytes, size_t size)
{
	int error = is_file(fd, "log.") ? log_error(size) : 0;

	if (is_file(fd, "data.db"))
		return write_data(fd, bytes, size);
	errno = error;
	return error != 0 ? -1 : syscall(SYS_write, fd, bytes, size);
}

static int read_error_of(int fd)
{
	return is_file(fd, "data.db") ? get_disk(&disk.data_read_error) : 0;
}

static ssize_t faulty_read(int fd, void *bytes, size_t size)
{
	int error = read_error_of(fd);

	errno = error;
	return error != 0 ? -1 : read(fd, bytes, size);
}

static ssize_t faulty_pread(int fd, void *bytes, size_t size, off_t at)
{
	int error = read_error_of(fd);

	errno = error;
	return error != 0 ? -1 : pread(fd, bytes, size, at);
}

static void set_up(void)
{
	ck_assert_int_eq(db_env_set_func_pread(faulty_pread), 0);
	rig_init(&rig);
	rig.quiet = true;
	rig_open(&rig);
}

static void tear_down(void)
{
	rig_done(&rig);
}

/* Waits until reads see it; it is not durable. */
static void wait_until_applied(const struct store_op *op)
{
	while (!store_applied(rig.client, op->ticket))
		(void)usleep(1000);
}

static void finish(struct store_op *op, enum store_status status)
{
	ck_assert_ptr_eq(rig_reap(&rig), op);
	ck_assert_int_eq(op->status, status);
	store_op_free(op);
}

/* Everything that a crash could take back says so, hit or miss. */
START_TEST(test_what_is_not_durable_says_from_when_it_may_be_shown)
{
	struct store_op *set = rig_op(STORE_SET, "new", "v");
	struct store_op *delete = rig_op(STORE_DELETE, "gone", NULL);
	struct store_op *touch = rig_op(STORE_TOUCH, "touched", NULL);
	static const char *const keys[] = {"new", "gone", "touched"};
	struct store_item items[3];

	rig_set(&rig, "gone", "v");
	rig_set(&rig, "touched", "v");
	set->next = delete;
	delete->next = touch;
	set_disk(&disk.hold_syncs, 1);
	store_submit(rig.client, set);
	wait_until_applied(touch);
	for (int i = 0; i < 3; i++) {
		ck_assert_int_eq(rig_get(&rig, keys[i], &items[i]),
				 i == 1 ? STORE_NOT_FOUND : STORE_OK);
		ck_assert_uint_ne(items[i].shown_from, 0);
		ck_assert(!store_shown(rig.client, items[i].shown_from));
	}
	ck_assert_ptr_null(store_reap(rig.client));
	set_disk(&disk.hold_syncs, 0);
	finish(set, STORE_OK);
	finish(delete, STORE_OK);
	finish(touch, STORE_OK);
	for (int i = 0; i < 3; i++) {
		ck_assert(store_shown(rig.client, items[i].shown_from));
		(void)rig_get(&rig, keys[i], &items[i]);
		ck_assert_uint_eq(items[i].shown_from, 0);
	}
}
END_TEST

START_TEST(test_a_flush_that_is_not_durable_is_not_shown)
{
	struct store_item item;
	struct store_op *flush = rig_op(STORE_FLUSH, NULL, NULL);

	rig_set(&rig, "k", "v");
	set_disk(&disk.hold_syncs, 1);
	store_submit(rig.client, flush);
	wait_until_applied(flush);
	ck_assert_int_eq(rig_get(&rig, "k", &item), STORE_NOT_FOUND);
	ck_assert_uint_ne(item.shown_from, 0);
	set_disk(&disk.hold_syncs, 0);
	finish(flush, STORE_OK);
	ck_assert_int_eq(rig_get(&rig, "k", &item), STORE_NOT_FOUND);
	ck_assert_uint_eq(item.shown_from, 0);
}
END_TEST

/* In the weaker modes nothing waits for the disk. */
START_TEST(test_weaker_modes_do_not_wait)
{
	rig_close(&rig);
	rig.config.sync = _i == 0 ? STORE_SYNC_WRITE : STORE_SYNC_INTERVAL;
	rig_open(&rig);
	set_disk(&disk.hold_syncs, 1);
	rig_set(&rig, "k", "v");
	rig_expect(&rig, "k", "v"); /* checks that it may be shown */
	set_disk(&disk.hold_syncs, 0);
	rig_reopen(&rig);
	rig_expect(&rig, "k", "v");
}
END_TEST

/* One sync for all that was waiting. */
START_TEST(test_syncs_are_shared)
{
	struct store_op *first = rig_op(STORE_SET, "first", "v");
	char key[16];
	int before;

	set_disk(&disk.hold_syncs, 1);
	store_submit(rig.client, first);
	wait_until_applied(first);
	for (int i = 0; i < 100; i++) {
		(void)snprintf(key, sizeof(key), "k%d", i);
		store_submit(rig.client, rig_op(STORE_SET, key, "v"));
	}
	before = get_disk(&disk.syncs);
	set_disk(&disk.hold_syncs, 0);
	for (int i = 0; i < 101; i++)
		store_op_free(rig_reap(&rig));
	ck_assert_int_le(get_disk(&disk.syncs) - before, 5);
}
END_TEST

static bool failed(void *arg)
{
	(void)arg;
	return atomic_load(&rig.fatals) > 0;
}

/* The next sync would succeed, though the kernel has dropped the pages. */
START_TEST(test_a_failed_sync_is_the_end)
{
	static const int errors[] = {EIO, ENOSPC, EDQUOT};
	struct store_op *op = rig_op(STORE_SET, "lost", "v");
	int syncs;

	rig_set(&rig, "acknowledged", "v");
	set_disk(&disk.sync_error, errors[_i]);
	store_submit(rig.client, op);
	rig_wait_for(failed, NULL);
	ck_assert_ptr_null(store_reap(rig.client));
	store_submit(rig.client, rig_op(STORE_SET, "later", "v"));
	(void)usleep(50000);
	ck_assert_ptr_null(store_reap(rig.client));
	ck_assert_int_eq(atomic_load(&rig.fatals), 1);
	ck_assert_int_lt(atomic_load(&rig.messages), 10);
	syncs = get_disk(&disk.syncs);
	rig_close(&rig); /* expects -EIO */
	/* No page is written that relies on a log that may be lost. */
	ck_assert_int_eq(get_disk(&disk.syncs), syncs);
	atomic_store(&rig.fatals, 0);
	rig_open(&rig);
	rig_expect(&rig, "acknowledged", "v");
	rig_set(&rig, "later", "v");
}
END_TEST

/* Berkeley DB itself would go on after this one. */
START_TEST(test_a_failed_sync_of_a_checkpoint_is_the_end)
{
	rig_close(&rig);
	rig.config.checkpoint_seconds = 1;
	rig.config.sync = STORE_SYNC_WRITE;
	rig_open(&rig);
	rig_set(&rig, "k", "v");
	set_disk(&disk.sync_error, EIO);
	/* There may have been a checkpoint already: give cause for one. */
	store_submit(rig.client, rig_op(STORE_SET, "l", "v"));
	rig_wait_for(failed, NULL);
	rig_close(&rig);
	atomic_store(&rig.fatals, 0);
	rig_open(&rig);
	rig_expect(&rig, "k", "v");
}
END_TEST

static bool complained(void *arg)
{
	(void)arg;
	return atomic_load(&rig.messages) > 0;
}

/* The log cannot be written: what is applied waits for room. */
START_TEST(test_a_full_disk_makes_writes_wait)
{
	struct store_op *op = rig_op(STORE_SET, "k", "new");

	rig_set(&rig, "k", "old");
	rig_set(&rig, "other", "v");
	set_disk(&disk.log_write_error, ENOSPC);
	store_submit(rig.client, op);
	rig_wait_for(complained, NULL);
	ck_assert_ptr_null(store_reap(rig.client));
	rig_expect(&rig, "other", "v");
	set_disk(&disk.log_write_error, 0);
	finish(op, STORE_OK);
	rig_expect(&rig, "k", "new");
	ck_assert_int_eq(rig_set(&rig, "k", "newer"), STORE_OK);
	ck_assert_int_eq(atomic_load(&rig.fatals), 0);
	rig_reopen(&rig);
	rig_expect(&rig, "k", "newer");
	rig_expect_items(&rig, 2);
}
END_TEST

/* Submits ops while the log has room for small ones, but for no big one. */
static void submit_with_little_room(struct store_op *first,
				    const struct store_op *last)
{
	set_disk(&disk.ballast, 1 << 20);
	set_disk(&disk.log_room, 300 << 10);
	store_submit(rig.client, first);
	wait_until_applied(last);
	set_disk(&disk.log_room, 0);
}

/* A change that does not fit the log is refused alone; the others are done. */
START_TEST(test_an_op_that_does_not_fit_fails_alone)
{
	struct store_op *small = rig_op(STORE_SET, "small", "v");
	struct store_op *big = store_op_new(STORE_SET, "k", 1, 3 << 20, 0);
	struct store_op *gone = rig_op(STORE_DELETE, "gone", NULL);

	rig_set(&rig, "k", "old");
	rig_set(&rig, "gone", "v");
	memset(big->value, 'x', 3 << 20);
	small->next = gone;
	gone->next = big;
	submit_with_little_room(small, big);
	finish(small, STORE_OK);
	finish(gone, STORE_OK);
	finish(big, STORE_NO_SPACE);
	rig_expect(&rig, "k", "old");
	rig_expect_missing(&rig, "gone");
	rig_expect_items(&rig, 2);
	ck_assert_int_eq(atomic_load(&rig.fatals), 0);
	rig_reopen(&rig);
	rig_expect(&rig, "k", "old");
	rig_expect_items(&rig, 2);
}
END_TEST

/* An op that is run again, for one behind it that fails, is done once. */
START_TEST(test_a_batch_that_is_run_again_is_done_once)
{
	struct store_op *lease = rig_op(STORE_LEASE, "new", NULL);
	struct store_op *incr = rig_op(STORE_INCR, "n", NULL);
	struct store_op *append = rig_op(STORE_APPEND, "k", "x");
	static char big[900 << 10];

	memset(big, 'x', sizeof(big) - 1);
	rig_set(&rig, "k", big);
	rig_set(&rig, "n", "1");
	lease->create = true;
	incr->delta = 1;
	lease->next = incr;
	incr->next = append;
	submit_with_little_room(lease, append);
	ck_assert(lease->found.win && !lease->found.won);
	finish(lease, STORE_OK);
	finish(incr, STORE_OK);
	finish(append, STORE_NO_SPACE);
	rig_expect(&rig, "n", "2");
}
END_TEST

START_TEST(test_the_ballast_comes_and_goes)
{
	struct store_op *op = rig_op(STORE_SET, "k", "v");

	ck_assert(ballast_is_there(NULL));
	set_disk(&disk.log_write_error, ENOSPC);
	store_submit(rig.client, op);
	rig_wait_for(complained, NULL);
	set_disk(&disk.log_write_error, 0);
	finish(op, STORE_OK);
	rig_wait_for(ballast_is_there, NULL);
}
END_TEST

/* Fills more than the cache, so that pages must be read again. */
static void fill(int items)
{
	struct store_op *op;
	char key[16];

	for (int i = 0; i < items; i++) {
		(void)snprintf(key, sizeof(key), "f%d", i);
		store_submit(rig.client,
			     rig_op_sized(STORE_SET, key, 'x', 1000));
	}
	for (int i = 0; i < items; i++) {
		op = rig_reap(&rig);
		ck_assert_int_eq(op->status, STORE_OK);
		store_op_free(op);
	}
}

/*
 * After a failed pread Berkeley DB tries a seek and a read. Its read hook
 * must not be there always: a short read through it is taken for an error.
 */
static void fail_reads(bool fail)
{
	ck_assert_int_eq(db_env_set_func_read(fail ? faulty_read : NULL), 0);
	set_disk(&disk.data_read_error, fail ? EIO : 0);
}

/* A read that fails is not a miss, a change that fails no NOT_STORED. */
START_TEST(test_a_read_error_is_not_a_miss)
{
	static const enum store_op_kind kinds[] = {STORE_ADD,	 STORE_REPLACE,
						   STORE_APPEND, STORE_INCR,
						   STORE_TOUCH,	 STORE_DELETE};
	struct store_item item;

	fill(500);
	rig_close(&rig);
	rig.no_sweep = true; /* it reads all, and then it is in the cache */
	rig_open(&rig);
	fail_reads(true);
	ck_assert_int_eq(rig_get(&rig, "f77", &item), STORE_FAILED);
	ck_assert_int_eq(rig_get(&rig, "none", &item), STORE_FAILED);
	for (int i = 0; i < 6; i++)
		ck_assert_int_eq(rig_run(&rig, kinds[i], "f99", "v"),
				 STORE_FAILED);
	fail_reads(false);
	ck_assert_int_eq(rig_get(&rig, "f77", &item), STORE_OK);
	ck_assert_int_eq(rig_get(&rig, "f99", &item), STORE_OK);
	ck_assert_int_eq(rig_delete(&rig, "f99"), STORE_OK);
	rig_expect_items(&rig, 499);
	ck_assert_int_le(atomic_load(&rig.messages), 20);
	ck_assert_int_eq(atomic_load(&rig.fatals), 0);
}
END_TEST

/* Pages cannot be written; the log has it all, a restart brings it back. */
START_TEST(test_a_checkpoint_that_fails_is_tried_again)
{
	rig_close(&rig);
	rig.config.checkpoint_seconds = 1;
	rig_open(&rig);
	set_disk(&disk.data_write_error, _i == 0 ? EIO : ENOSPC);
	rig_set(&rig, "k", "v");
	rig_wait_for(complained, NULL);
	rig_set(&rig, "l", "v");
	rig_expect(&rig, "k", "v");
	set_disk(&disk.data_write_error, 0);
	ck_assert_int_eq(atomic_load(&rig.fatals), 0);
	rig_reopen(&rig);
	rig_expect(&rig, "k", "v");
	rig_expect(&rig, "l", "v");
}
END_TEST

/* The data file ends with a whole page. */
static bool is_whole(void *arg)
{
	struct stat st;

	(void)arg;
	ck_assert_int_eq(stat(rig_path(&rig, "data.db"), &st), 0);
	return st.st_size % 8192 == 0;
}

/* A half of a page would look new to the recovery, and not be it. */
START_TEST(test_half_a_page_is_undone)
{
	char copy[300], command[1000];

	rig_done(&rig);
	rig_init(&rig);
	rig.quiet = true;
	rig.config.page_bytes = 8192;
	rig.config.checkpoint_seconds = 1;
	rig_open(&rig);
	atomic_store(&rig.messages, 0);
	set_disk(&disk.data_write_error, HALF_FITS);
	fill(100);
	rig_wait_for(complained, NULL);
	/* From now on it cannot even begin to, so the file stays as it is. */
	set_disk(&disk.data_write_error, EIO);
	rig_wait_for(is_whole, NULL);
	/* What a crash would leave behind now. */
	(void)snprintf(copy, sizeof(copy), "%s/copy", rig.dir);
	(void)snprintf(command, sizeof(command), "mkdir %s && cp %s/*.* %s",
		       copy, rig.dir, copy);
	ck_assert_int_eq(system(command), 0);
	set_disk(&disk.data_write_error, 0);
	rig_close(&rig);
	rig.config.home = copy;
	rig_open(&rig);
	rig_expect_items(&rig, 100);
	ck_assert_int_eq(rig_get(&rig, "f0", NULL), STORE_OK);
	ck_assert_int_eq(rig_get(&rig, "f99", NULL), STORE_OK);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("storage faults");
	TCase *tcase = tcase_create("faults");

	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_add_test(tcase,
		       test_what_is_not_durable_says_from_when_it_may_be_shown);
	tcase_add_test(tcase, test_a_flush_that_is_not_durable_is_not_shown);
	tcase_add_loop_test(tcase, test_weaker_modes_do_not_wait, 0, 2);
	tcase_add_test(tcase, test_syncs_are_shared);
	tcase_add_loop_test(tcase, test_a_failed_sync_is_the_end, 0, 3);
	tcase_add_test(tcase, test_a_failed_sync_of_a_checkpoint_is_the_end);
	tcase_add_test(tcase, test_a_full_disk_makes_writes_wait);
	tcase_add_test(tcase, test_an_op_that_does_not_fit_fails_alone);
	tcase_add_test(tcase, test_a_batch_that_is_run_again_is_done_once);
	tcase_add_test(tcase, test_the_ballast_comes_and_goes);
	tcase_add_test(tcase, test_a_read_error_is_not_a_miss);
	tcase_add_loop_test(tcase, test_a_checkpoint_that_fails_is_tried_again,
			    0, 2);
	tcase_add_test(tcase, test_half_a_page_is_undone);
	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}
