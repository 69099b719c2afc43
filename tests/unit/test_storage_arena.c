/*
 * test_storage_arena.c - the memory of Berkeley DB's cached pages.
 */
#include "storage/arena.h"

#include <check.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "tests/unit/run_suite.h"
#include "tests/unit/storage_rig.h"

#define PAGE  4096
#define FRAME 96 /* what is asked for with a page */
#define LINE  64
#define ROOM  (4U << 20)
#define ITEMS 400

/* Each test is a process of its own, so each has an arena of its own. */

static void *take_page(size_t page_bytes)
{
	size_t before = arena_pages();
	char *memory = arena_take(FRAME + page_bytes);

	ck_assert_ptr_nonnull(memory);
	ck_assert_uint_eq(arena_pages(), before + 1);
	ck_assert_uint_eq((uintptr_t)(memory + FRAME) % LINE, 0);
	memset(memory, 0xa5, FRAME + page_bytes);
	return memory;
}

START_TEST(test_pages_of_a_store_lie_in_it)
{
	struct rig rig;
	char key[32];

	rig_init(&rig);
	rig.config.page_bytes = PAGE;
	rig_open(&rig);
	for (int i = 0; i < ITEMS; i++) {
		(void)snprintf(key, sizeof(key), "key-%d", i);
		ck_assert_int_eq(rig_set(&rig, key, "a value of some bytes"),
				 STORE_OK);
	}
	/* A leaf has room for no more than 100 of them. */
	ck_assert_uint_ge(arena_pages(), ITEMS / 100);
	rig_close(&rig);
	ck_assert_uint_eq(arena_pages(), 0);
	rig_open(&rig);
	rig_expect(&rig, "key-0", "a value of some bytes");
	ck_assert_uint_gt(arena_pages(), 0);
	rig_done(&rig);
	ck_assert_uint_eq(arena_pages(), 0);
}
END_TEST

START_TEST(test_pages_do_not_overlap)
{
	static const size_t sizes[] = {512, 65536, 4096, 1024, 4096, 8192};
	enum { COUNT = sizeof(sizes) / sizeof(sizes[0]) };
	unsigned char *pages[COUNT];

	arena_install(ROOM);
	for (int i = 0; i < COUNT; i++) {
		pages[i] = take_page(sizes[i]);
		memset(pages[i], i, FRAME + sizes[i]);
	}
	for (int i = 0; i < COUNT; i++)
		for (size_t at = 0; at < FRAME + sizes[i]; at++)
			ck_assert_uint_eq(pages[i][at], (unsigned)i);
	for (int i = 0; i < COUNT; i++)
		arena_give_back(pages[i]);
	ck_assert_uint_eq(arena_pages(), 0);
}
END_TEST

START_TEST(test_a_place_is_used_again_for_its_size)
{
	void *small, *big, *again;

	arena_install(ROOM);
	small = take_page(PAGE);
	big = take_page(2 * PAGE);
	arena_give_back(small);
	arena_give_back(big);
	again = take_page(2 * PAGE);
	ck_assert_ptr_eq(again, big);
	arena_give_back(again);
	again = take_page(PAGE);
	ck_assert_ptr_eq(again, small);
	arena_give_back(again);
}
END_TEST

START_TEST(test_other_sizes_come_from_malloc)
{
	static const size_t sizes[] = {0,
				       1,
				       FRAME + PAGE - 1,
				       FRAME + PAGE + 8,
				       FRAME + 256,
				       FRAME + 131072,
				       5U << 20};

	arena_install(ROOM);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		void *memory = arena_take(sizes[i]);

		ck_assert_ptr_nonnull(memory);
		memset(memory, 1, sizes[i]);
		ck_assert_uint_eq(arena_pages(), 0);
		/* Whoever is given it may free it. */
		free(memory);
	}
	arena_give_back(NULL);
}
END_TEST

START_TEST(test_without_room_pages_come_from_malloc)
{
	static void *pages[ROOM / PAGE * 2];
	const size_t count = sizeof(pages) / sizeof(pages[0]);
	size_t inside;

	arena_install(ROOM);
	for (size_t i = 0; i < count; i++) {
		pages[i] = arena_take(FRAME + PAGE);
		ck_assert_ptr_nonnull(pages[i]);
		memset(pages[i], 1, FRAME + PAGE);
	}
	inside = arena_pages();
	/* A cache of ROOM bytes would have found room for all its pages. */
	ck_assert_uint_ge(inside, ROOM / PAGE);
	ck_assert_uint_lt(inside, count);
	for (size_t i = 0; i < count; i++)
		arena_give_back(pages[i]);
	ck_assert_uint_eq(arena_pages(), 0);
}
END_TEST

/* With the heads of the pages, it is about the number of all addresses. */
START_TEST(test_what_no_address_is_left_for_comes_from_malloc)
{
	void *page;

	arena_install(SIZE_MAX / 9 * 8);
	page = arena_take(FRAME + PAGE);
	ck_assert_ptr_nonnull(page);
	memset(page, 1, FRAME + PAGE);
	ck_assert_uint_eq(arena_pages(), 0);
	arena_give_back(page);
}
END_TEST

static size_t addresses_used(void)
{
	FILE *file = fopen("/proc/self/statm", "r");
	unsigned long pages;

	ck_assert_ptr_nonnull(file);
	ck_assert_int_eq(fscanf(file, "%lu", &pages), 1);
	(void)fclose(file);
	return pages * (size_t)sysconf(_SC_PAGESIZE);
}

/* It would take what the rest of the program needs. */
START_TEST(test_where_addresses_are_few_pages_come_from_malloc)
{
	const size_t room = (size_t)1 << 30;
	struct rlimit limit, all;
	void *page;

	ck_assert_int_eq(getrlimit(RLIMIT_AS, &all), 0);
	limit = all;
	limit.rlim_cur = addresses_used() + room + room / 2;
	ck_assert_int_eq(setrlimit(RLIMIT_AS, &limit), 0);
	arena_install(room);
	ck_assert_int_eq(setrlimit(RLIMIT_AS, &all), 0);
	page = arena_take(FRAME + PAGE);
	ck_assert_ptr_nonnull(page);
	ck_assert_uint_eq(arena_pages(), 0);
	arena_give_back(page);
}
END_TEST

START_TEST(test_what_grows_or_shrinks_keeps_its_bytes)
{
	const size_t page = FRAME + PAGE;
	char *memory;

	arena_install(ROOM);
	memory = arena_retake(NULL, page);
	ck_assert_ptr_nonnull(memory);
	arena_give_back(memory);
	memory = take_page(PAGE);
	memset(memory, 'x', page);
	memory = arena_retake(memory, 2 * page);
	ck_assert_ptr_nonnull(memory);
	ck_assert_uint_eq(arena_pages(), 0);
	for (size_t i = 0; i < page; i++)
		ck_assert_int_eq(memory[i], 'x');
	arena_give_back(memory);
	memory = take_page(PAGE);
	memset(memory, 'y', page);
	memory = arena_retake(memory, 10);
	ck_assert_ptr_nonnull(memory);
	ck_assert_uint_eq(arena_pages(), 0);
	ck_assert_int_eq(memcmp(memory, "yyyyyyyyyy", 10), 0);
	arena_give_back(memory);
}
END_TEST

START_TEST(test_it_stays_where_it_is)
{
	void *page;

	arena_install(ROOM);
	page = take_page(PAGE);
	arena_install(4 * ROOM);
	ck_assert_uint_eq(arena_pages(), 1);
	arena_give_back(page);
	ck_assert_ptr_eq(take_page(PAGE), page);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("arena");
	TCase *tcase = tcase_create("arena");

	tcase_add_test(tcase, test_pages_of_a_store_lie_in_it);
	tcase_add_test(tcase, test_pages_do_not_overlap);
	tcase_add_test(tcase, test_a_place_is_used_again_for_its_size);
	tcase_add_test(tcase, test_other_sizes_come_from_malloc);
	tcase_add_test(tcase, test_without_room_pages_come_from_malloc);
	tcase_add_test(tcase,
		       test_what_no_address_is_left_for_comes_from_malloc);
	tcase_add_test(tcase,
		       test_where_addresses_are_few_pages_come_from_malloc);
	tcase_add_test(tcase, test_what_grows_or_shrinks_keeps_its_bytes);
	tcase_add_test(tcase, test_it_stays_where_it_is);
	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}
