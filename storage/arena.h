/*
 * arena.h - memory for the pages that Berkeley DB caches, in huge pages.
 *
 * A change touches a few of them, anywhere in the cache. From malloc() they lie
 * in memory pages of 4 KB, so most of them miss the TLB, and they begin in the
 * middle of a cache line. Here they lie close together and begin with a line.
 * Big tables, as that of the mutexes, get huge pages of their own.
 *
 * It is no more than a place: where the system has no huge pages, or no room
 * for the addresses, or where Berkeley DB asks for other sizes than the one it
 * was made for, all goes on as with malloc().
 *
 * Berkeley DB takes these functions for the whole process, and tells them
 * nothing but the size; so there is one arena, for the first store's cache,
 * which stays.
 *
 * Threads: any.
 */
#ifndef STORAGE_ARENA_H
#define STORAGE_ARENA_H

#include <stddef.h>
#include <stdint.h>

/*
 * Makes Berkeley DB use what is here, with room for a cache of so many bytes;
 * the room stays that of the first call. What is ours to free it must take
 * from malloc(): DB_ENV->set_alloc(). Thread: who opens a store, one at a time.
 */
void arena_install(uint64_t cache_bytes);

/* How many pages lie in it now. Thread: any. */
size_t arena_pages(void);

/* What Berkeley DB calls; like malloc(), realloc() and free(). Thread: any. */
void *arena_take(size_t bytes);
void *arena_retake(void *memory, size_t bytes);
void arena_give_back(void *memory);

#endif
