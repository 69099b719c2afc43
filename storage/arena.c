/*
 * arena.c - see arena.h.
 *
 * One range of addresses, filled from its beginning, so that few huge pages are
 * touched. It is made of slots: one word with the size of the page, a gap, the
 * frame that Berkeley DB has in front of the page, and the page. A slot that is
 * given back goes to a free list for pages of its size.
 */
#define _GNU_SOURCE /* MAP_ANONYMOUS, MAP_NORESERVE, madvise() */
#include "storage/arena.h"

#include <db.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define LINE	    64
#define HUGE_BYTES  ((size_t)2 << 20)
#define SPARE_BYTES ((size_t)256 << 20)
/* What Berkeley DB 5.3 has in front of a cached page, on 64-bit machines. */
#define FRAME_BYTES 96
/* The same and ours, as whole lines. */
#define HEAD_BYTES (2 * LINE)
#define PAGE_MIN   512
#define PAGE_MAX   65536
#define SIZES	   8 /* of pages */

struct slot {
	size_t page_bytes;
	struct slot *next; /* in the free list; else part of the gap */
};

/* A global, because a hook has no other memory. */
static struct {
	pthread_mutex_t lock;
	char *begin, *end; /* do not change any more once they are set */
	/* under the lock: */
	char *unused;
	struct slot *free[SIZES];
	size_t pages;
} arena = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* The size of the page that memory is wanted for; 0: for something else. */
static size_t page_of(size_t bytes)
{
	size_t page = bytes - FRAME_BYTES;

	if (bytes < FRAME_BYTES + PAGE_MIN || bytes > FRAME_BYTES + PAGE_MAX ||
	    (page & (page - 1)) != 0)
		return 0;
	return page;
}

static struct slot **list_of(size_t page_bytes)
{
	struct slot **list = arena.free;

	for (size_t bytes = PAGE_MIN; bytes < page_bytes; bytes *= 2)
		list++;
	return list;
}

static struct slot *slot_of(void *memory)
{
	return (struct slot *)((char *)memory + FRAME_BYTES - HEAD_BYTES);
}

static bool is_here(const void *memory)
{
	const char *at = memory;

	return at >= arena.begin && at < arena.end;
}

/* Returns NULL if there is no room. */
static void *take_slot(size_t page_bytes)
{
	struct slot **list = list_of(page_bytes);
	struct slot *slot;

	(void)pthread_mutex_lock(&arena.lock);
	slot = *list;
	if (slot != NULL) {
		*list = slot->next;
	} else if ((size_t)(arena.end - arena.unused) >=
		   HEAD_BYTES + page_bytes) {
		slot = (struct slot *)arena.unused;
		slot->page_bytes = page_bytes;
		arena.unused += HEAD_BYTES + page_bytes;
	}
	if (slot != NULL)
		arena.pages++;
	(void)pthread_mutex_unlock(&arena.lock);
	return slot != NULL ? (char *)slot + HEAD_BYTES - FRAME_BYTES : NULL;
}

static void give_back_slot(struct slot *slot)
{
	struct slot **list = list_of(slot->page_bytes);

	(void)pthread_mutex_lock(&arena.lock);
	slot->next = *list;
	*list = slot;
	arena.pages--;
	(void)pthread_mutex_unlock(&arena.lock);
}

static size_t in_huge_pages(size_t bytes)
{
	return (bytes + HUGE_BYTES - 1) / HUGE_BYTES * HUGE_BYTES;
}

/* In huge pages of its own; free() takes it. */
static void *take_table(size_t bytes)
{
	size_t whole = in_huge_pages(bytes);
	void *memory = aligned_alloc(HUGE_BYTES, whole);

	if (memory != NULL)
		(void)madvise(memory, whole, MADV_HUGEPAGE);
	return memory;
}

void *arena_take(size_t bytes)
{
	size_t page_bytes = page_of(bytes);
	void *memory = NULL;

	if (page_bytes != 0)
		memory = take_slot(page_bytes);
	else if (bytes >= HUGE_BYTES)
		memory = take_table(bytes);
	return memory != NULL ? memory : malloc(bytes);
}

void *arena_retake(void *memory, size_t bytes)
{
	size_t kept;
	void *other;

	if (!is_here(memory))
		return realloc(memory, bytes);
	kept = FRAME_BYTES + slot_of(memory)->page_bytes;
	other = arena_take(bytes);
	if (other == NULL)
		return NULL;
	memcpy(other, memory, bytes < kept ? bytes : kept);
	arena_give_back(memory);
	return other;
}

void arena_give_back(void *memory)
{
	if (is_here(memory))
		give_back_slot(slot_of(memory));
	else
		free(memory);
}

size_t arena_pages(void)
{
	size_t pages;

	(void)pthread_mutex_lock(&arena.lock);
	pages = arena.pages;
	(void)pthread_mutex_unlock(&arena.lock);
	return pages;
}

/*
 * Addresses only: the memory comes when it is used. Where they are limited, all
 * else needs some, too: there must be as many again, and SPARE_BYTES.
 */
static void reserve(uint64_t cache_bytes)
{
	/* Berkeley DB does not count what is ours of the heads. */
	size_t bytes = in_huge_pages(cache_bytes + cache_bytes / 8);
	size_t spare = bytes + SPARE_BYTES;
	char *memory;

	if (cache_bytes > PTRDIFF_MAX / 4)
		return;
	memory = mmap(NULL, bytes + HUGE_BYTES + spare, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (memory == MAP_FAILED)
		return;
	(void)munmap(memory + bytes + HUGE_BYTES, spare);
	memory += HUGE_BYTES - (uintptr_t)memory % HUGE_BYTES;
	(void)madvise(memory, bytes, MADV_HUGEPAGE);
	arena.begin = memory;
	arena.unused = memory;
	arena.end = memory + bytes;
}

void arena_install(uint64_t cache_bytes)
{
	(void)pthread_mutex_lock(&arena.lock);
	if (arena.begin == NULL)
		reserve(cache_bytes);
	(void)pthread_mutex_unlock(&arena.lock);
	(void)db_env_set_func_malloc(arena_take);
	(void)db_env_set_func_realloc(arena_retake);
	(void)db_env_set_func_free(arena_give_back);
}
