/*
 * faultinject.h - the preload library's parts, and its control file.
 *
 * A test maps the file that $FAULT_CONTROL names, fills in rules and arms
 * them while the server runs; tests/harness/faults.py is the other side of
 * this layout. All numbers are 64 bits in machine order.
 *
 * A file is known by the last two parts of its path, "data/log.0000000001".
 */
#ifndef TESTS_FAULT_FAULTINJECT_H
#define TESTS_FAULT_FAULTINJECT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define FAULT_MAGIC	 UINT64_C(0x3154434a4e494c46)
#define FAULT_RULES	 8
#define FAULT_NAME_BYTES 64
#define FAULT_PAGE_BYTES 8192

/* What is called; a rule has a set of them. */
enum fault_call {
	FAULT_OPEN = 1,
	FAULT_READ = 2,
	FAULT_WRITE = 4,
	FAULT_SYNC = 8,
	FAULT_SIZE = 16,
	FAULT_REMOVE = 32,
	FAULT_GROW = 64,  /* also, if a write makes its file longer */
	FAULT_BEGIN = 128 /* the system is to begin writing */
};

enum fault_action {
	FAULT_OFF,
	FAULT_COUNT, /* nothing but `seen` */
	FAULT_ERROR, /* fails, nothing done; value: errno */
	FAULT_DELAY, /* done later; value: milliseconds */
	FAULT_SHORT, /* half the bytes are done */
	FAULT_KILL,  /* the process dies instead, as by kill -9 */
	FAULT_HOLD   /* done when the rule is off; value: its own number */
};

struct fault_rule {
	_Atomic uint64_t action; /* written last: that arms the rule */
	_Atomic uint64_t calls;	 /* set of fault_call */
	_Atomic uint64_t first;	 /* 1: the next call that matches */
	_Atomic uint64_t every;	 /* then each so many-th; 0: no more */
	_Atomic uint64_t times;	 /* acts at most so often; 0: always */
	_Atomic uint64_t pages;	 /* n: only in every n-th page; 0: anywhere */
	_Atomic uint64_t value;
	_Atomic uint64_t seen; /* calls that matched since it was armed */
	_Atomic uint64_t hits; /* of these, how many it acted on */
	char files[FAULT_NAME_BYTES]; /* as for fnmatch(3) */
};

struct fault_control {
	uint64_t magic;
	_Atomic uint64_t free_bytes; /* for statvfs; UINT64_MAX: the truth */
	struct fault_rule rules[FAULT_RULES];
};

/* What is to become of a call. */
enum fault_verdict { FAULT_PASS, FAULT_FAIL, FAULT_HALF };

/* The mapped control file, NULL if there is none. Thread: any. */
struct fault_control *fault_control(void);

/*
 * Asks the rules about a call (or what else it is, too: a set of fault_call)
 * on a file, at an offset if it has one. Sleeps, waits or dies if they say so.
 * FAULT_FAIL: *ret_error is the errno. Thread: any. Keeps errno.
 */
enum fault_verdict fault_judge(unsigned calls, const char *name, off_t offset,
			       int *ret_error);

/* Remembers, forgets and gives (or "") the name of a descriptor's file. */
void fault_note_open(int fd, const char *path);
void fault_note_close(int fd);
const char *fault_name(int fd);

/* The last two parts of a path. */
const char *fault_tail(const char *path);

/* What an undo record is about. */
enum undo_kind { UNDO_WRITE = 1, UNDO_CUT = 2, UNDO_SYNC = 3 };

/*
 * Head of a record of the undo file that $FAULT_UNDO names. A change is a
 * write of `length` bytes at `offset`, or a cut of as many that leaves
 * `offset`; `bytes` bytes follow: what was there before. A sync makes every
 * change of that file before record number `number` lasting.
 */
struct undo_record {
	uint64_t kind, number, offset, length, old_size, bytes;
	char name[FAULT_NAME_BYTES];
};

/*
 * Around a change of a file: what was there goes to the undo file first.
 * Nothing happens between the two but this one change. Returns whether there
 * is an undo file and this is a file of its folder. Thread: any.
 */
bool undo_begin(enum undo_kind kind, int fd, off_t offset, size_t length);
void undo_end(bool begun);

/* Around a sync: gives the number that undo_synced() is told on success. */
uint64_t undo_before_sync(void);
void undo_synced(int fd, uint64_t number);

#endif
