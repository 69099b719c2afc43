/*
 * disk.h - what Berkeley DB calls to open, write and sync its files.
 *
 * It would call the system itself, but
 *
 * - after EIO it syncs again and again, and the second sync succeeds though
 *   the kernel has dropped the pages: here a sync is tried once;
 * - it may swallow the failure of a sync (a page is evicted, the log before it
 *   is flushed, then another page is taken instead): here it is counted;
 * - a page of which only the first half fitted on the disk looks new to the
 *   recovery, which reads its first bytes only: here such a half is undone;
 * - it begins a log file with a hole: here that may be a spare file (spare.h);
 * - it leaves all pages of a checkpoint to the sync at its end: disk_pace().
 *
 * Berkeley DB takes these functions for the whole process, and tells them
 * nothing but the file.
 *
 * Threads: any.
 */
#ifndef STORAGE_DISK_H
#define STORAGE_DISK_H

/*
 * Makes Berkeley DB use what is here. When a sync has failed, all further ones
 * do, until this is called again: for a store that is opened anew.
 */
void disk_install(void);

/*
 * When Berkeley DB pauses between portions of pages (set_mp_max_write), the
 * system is to write those of this file, bit by bit: otherwise the sync at the
 * end has all of them to write, and the log's syncs wait behind it. The
 * descriptor stays the caller's, and is not Berkeley DB's, which must see the
 * errors of its own. -1: none.
 *
 * Once disk_logs_made() has reached logs_due the calling thread does not pause
 * any more: its checkpoint is late, and the log grows until it ends. ULONG_MAX:
 * it always pauses. Other threads go on to pause: they do so where Berkeley DB
 * waits for memory, and it gives up after so many pauses. Thread: maint.
 */
void disk_pace(int fd, unsigned long logs_due);

/* How many syncs of this process have failed so far. */
unsigned long disk_failed_syncs(void);

/* How many log files this process has made so far. */
unsigned long disk_logs_made(void);

/*
 * Syncs a file or directory as Berkeley DB's files are synced. ENOSPC becomes
 * EIO, so that ENOSPC from the log always means that a write did not fit. After
 * one failure all syncs fail: so Berkeley DB writes no page whose log may be
 * lost. Returns 0 or an errno. Blocks.
 */
int disk_sync(int fd);

#endif
