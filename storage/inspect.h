/*
 * inspect.h - judges the files of a directory by looking at them only.
 *
 * It reads the first page of the databases and the heads of the log files:
 * are they ours, of this Berkeley DB, and do they belong together?
 * Threads: main, while opening, with the directory locked.
 */
#ifndef STORAGE_INSPECT_H
#define STORAGE_INSPECT_H

#include <stdbool.h>

#include "storage/config.h"

/*
 * Returns 0 with *ret_fresh true if there is nothing yet, 0 with false if
 * there is a store that can be opened, or refuses.
 */
int inspect_files(const char *dir, const char *log_dir, const char *data_file,
		  const char *meta_file, bool *ret_fresh,
		  struct store_refused *refused);

/* Tells whether one of the databases is there. Returns 0 or -ENOMEM. */
int inspect_any_database(const char *dir, const char *data_file,
			 const char *meta_file, bool *ret_any);

/* Removes the databases and every log file. Returns 0 or -errno. */
int inspect_remove(const char *dir, const char *log_dir, const char *data_file,
		   const char *meta_file);

#endif
