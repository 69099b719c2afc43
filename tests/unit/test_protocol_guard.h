/*
 * test_protocol_guard.h - memory with an unreadable page on both sides.
 *
 * A parser that reads one byte too far, or one too early, dies on the spot.
 */
#ifndef TESTS_UNIT_TEST_PROTOCOL_GUARD_H
#define TESTS_UNIT_TEST_PROTOCOL_GUARD_H

#include <check.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct guard {
	char *map;
	char *data;
	size_t page;
	size_t size; /* readable bytes, whole pages */
};

static inline void guard_open(struct guard *guard, size_t size)
{
	guard->page = (size_t)sysconf(_SC_PAGESIZE);
	guard->size = (size + guard->page - 1) / guard->page * guard->page;
	guard->map = mmap(NULL, guard->size + 2 * guard->page, PROT_NONE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ck_assert_ptr_ne(guard->map, MAP_FAILED);
	guard->data = guard->map + guard->page;
	ck_assert_int_eq(
		mprotect(guard->data, guard->size, PROT_READ | PROT_WRITE), 0);
}

static inline void guard_close(struct guard *guard)
{
	munmap(guard->map, guard->size + 2 * guard->page);
}

/* Puts the bytes right behind the unreadable page in front. */
static inline const char *guard_at_start(struct guard *guard, const char *bytes,
					 size_t len)
{
	ck_assert_uint_le(len, guard->size);
	memcpy(guard->data, bytes, len);
	return guard->data;
}

/* Puts the bytes right before the unreadable page at the end. */
static inline const char *guard_at_end(struct guard *guard, const char *bytes,
				       size_t len)
{
	char *start = guard->data + guard->size - len;

	ck_assert_uint_le(len, guard->size);
	memcpy(start, bytes, len);
	return start;
}

#endif
