/*
 * checksum.h - Berkeley DB's checksum of its log, in place of its own.
 *
 * Each log record is summed: sum = sum * 33 + byte, for all of its bytes.
 * Berkeley DB goes byte by byte, which was 57 % of the writer's instructions
 * with values of 4 KiB. The function here gives the same sums, by words. It has
 * the name of Berkeley DB's, and the dynamic linker takes a name from the
 * program before it takes it from a library: so Berkeley DB calls this one.
 *
 * Nothing but speed depends on that. Where a Berkeley DB is built to prefer
 * its own function, or has it under another name, that one is called.
 *
 * Threads: any.
 */
#ifndef STORAGE_CHECKSUM_H
#define STORAGE_CHECKSUM_H

#include <db.h>
#include <stdint.h>

#if DB_VERSION_MAJOR != 5 || DB_VERSION_MINOR != 3
#error "look again at how Berkeley DB sums its log there"
#endif

/*
 * The sum of `size` bytes. The handle is not used: Berkeley DB passes NULL. The
 * linker exports what a library refers to, if it is visible. Thread: any.
 */
uint32_t checksum_of(DB *db, const void *bytes,
		     uint32_t size) __asm__("__ham_func4")
	__attribute__((visibility("default"), used));

/*
 * Does nothing. A call of it brings this object into the program: the linker
 * takes none out of an archive for a name that a library has, too.
 */
void checksum_link(void);

#endif
