/*
 * test_storage_checksum.c - the same sums as Berkeley DB's, and in its place.
 */
#define _GNU_SOURCE /* dladdr(), RTLD_DEFAULT */
#include <check.h>
#include <db.h>
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "storage/checksum.h"
#include "tests/unit/run_suite.h"

#define NAME	   "__ham_func4"
#define ALIGNMENTS 16
#define ALL_SIZES  300
#define LONG_SIZE  70000
#define LONG_ONES  200

typedef uint32_t sum_fn(DB *db, const void *bytes, uint32_t size);

static unsigned char *bytes; /* a page that cannot be read is behind them */
static size_t bytes_size;
static sum_fn *theirs;

static sum_fn *function_at(void *address)
{
	sum_fn *function;

	memcpy(&function, &address, sizeof(function));
	return function;
}

/* The library that db_create() is in. */
static void *berkeley_db(void)
{
	__typeof__(&db_create) function = db_create;
	void *address, *library;
	Dl_info info;

	memcpy(&address, &function, sizeof(address));
	ck_assert_int_ne(dladdr(address, &info), 0);
	library = dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD);
	ck_assert_ptr_nonnull(library);
	return library;
}

static void set_up(void)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	bytes_size = (LONG_SIZE + ALIGNMENTS) / page * page + page;
	bytes = mmap(NULL, bytes_size + page, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ck_assert(bytes != MAP_FAILED);
	ck_assert_int_eq(mprotect(bytes + bytes_size, page, PROT_NONE), 0);
	srandom(1);
	for (size_t i = 0; i < bytes_size; i++)
		bytes[i] = (unsigned char)random();
	theirs = function_at(dlsym(berkeley_db(), NAME));
	ck_assert(theirs != NULL);
}

static uint32_t by_definition(const unsigned char *from, uint32_t size)
{
	uint32_t sum = 0;

	for (uint32_t i = 0; i < size; i++)
		sum = sum * 33 + from[i];
	return sum;
}

static void expect_the_same(const unsigned char *from, uint32_t size)
{
	uint32_t sum = checksum_of(NULL, from, size);

	ck_assert_uint_eq(sum, by_definition(from, size));
	ck_assert_uint_eq(sum, theirs(NULL, from, size));
}

START_TEST(test_all_sizes_at_all_places)
{
	for (uint32_t size = 0; size <= ALL_SIZES; size++)
		for (uint32_t at = 0; at < ALIGNMENTS; at++)
			expect_the_same(bytes + at, size);
}
END_TEST

START_TEST(test_it_reads_no_further)
{
	for (uint32_t size = 0; size <= ALL_SIZES; size++)
		expect_the_same(bytes + bytes_size - size, size);
}
END_TEST

/* The greatest ones are where a lane would run over into the next. */
START_TEST(test_bytes_at_their_limits)
{
	static const int limits[] = {0xff, 0x80, 0x7f, 0};

	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
		memset(bytes, limits[i], ALL_SIZES);
		for (uint32_t size = 0; size <= ALL_SIZES; size++)
			expect_the_same(bytes, size);
	}
}
END_TEST

START_TEST(test_long_ones)
{
	for (int i = 0; i < LONG_ONES; i++)
		expect_the_same(bytes + random() % ALIGNMENTS,
				(uint32_t)(random() % LONG_SIZE));
}
END_TEST

/* What Berkeley DB's own references find. */
START_TEST(test_it_comes_before_berkeley_dbs)
{
	ck_assert(function_at(dlsym(RTLD_DEFAULT, NAME)) == checksum_of);
	ck_assert(theirs != checksum_of);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("storage checksum");
	TCase *tcase = tcase_create("checksum");

	tcase_add_checked_fixture(tcase, set_up, NULL);
	tcase_add_test(tcase, test_all_sizes_at_all_places);
	tcase_add_test(tcase, test_it_reads_no_further);
	tcase_add_test(tcase, test_bytes_at_their_limits);
	tcase_add_test(tcase, test_long_ones);
	tcase_add_test(tcase, test_it_comes_before_berkeley_dbs);
	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}
