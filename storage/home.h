/*
 * home.h - the directory of a store: whose it is, and whether it is whole.
 *
 * home_open() locks the directory and judges what lies in it before Berkeley
 * DB touches a byte, because recovery with wrong or missing files quietly
 * goes on without them. A store that was being made when the process died
 * leaves the file CREATING behind; it never served, so it is made again.
 *
 *   LOCK       held with flock by the one process that uses the directory
 *   CREATING   only while the files below are being made
 *   data.db    (config.data_file) the items
 *   meta.db    versions and state, see meta.h
 *   log.*      Berkeley DB's log, here or in config.log_dir
 *   ballast    see space.h, beside the log
 *   spare      see spare.h, beside the log
 *
 * Threads: main.
 */
#ifndef STORAGE_HOME_H
#define STORAGE_HOME_H

#include <stdbool.h>

#include "storage/config.h"

#define HOME_META_FILE "meta.db"

struct home {
	char *dir;     /* absolute */
	char *log_dir; /* absolute; may equal dir */
	int lock_fd;
	bool fresh; /* nothing is there yet: make it */
};

/*
 * Makes the directory if it is missing, locks it, inspects it. Returns 0, or
 * refuses with nothing changed. Owner: home_close().
 */
int home_open(struct home *home, const struct store_config *config,
	      struct store_refused *refused);
void home_close(struct home *home);

/* Brackets the making of a fresh store's files. 0 or -errno. */
int home_begin_creating(const struct home *home);
int home_end_creating(const struct home *home);

/* "dir/name" in new memory, NULL: no memory. Owner: caller, free(). */
char *home_path(const char *dir, const char *name);

#endif
