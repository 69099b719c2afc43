/*
 * spare.h - has the next log file ready before it is needed.
 *
 * A sync of a log file that was just made has to write, beside the log, where
 * on the disk it went: the file system's own journal. In a file whose blocks
 * have been written before only the log itself is written, which takes about
 * two thirds of the time. So a file full of zeros, as long as a log file will
 * be, waits beside the log and becomes the next one: Berkeley DB takes it for
 * one that it began and left empty, as its own are after a crash.
 *
 * It is made when a log file was begun, if syncs of the last one were of few
 * bytes: writing much costs more than a sync then, and a store that is hardly
 * written to should take no room for this. Nothing depends on the spare:
 * without it, for lack of space or by an error, a log file is made as ever.
 *
 * Threads: main starts and stops it; the rest by any, unless said otherwise.
 */
#ifndef STORAGE_SPARE_H
#define STORAGE_SPARE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "storage/home.h"
#include "storage/space.h"

struct spare {
	const struct space *space;
	char *path, *new_path;
	uint64_t bytes; /* of a log file */
	/* the writer's: log files made, and syncs, when it last looked */
	unsigned long seen;
	uint64_t seen_syncs;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t work;
	bool wanted, stop;
};

/*
 * Opens a file for Berkeley DB as open(2) does, to be closed on exec. If it is
 * a log file that is to be made, the spare of its directory becomes it, if
 * there is one; the directory is synced, so that what will be written there can
 * be found, and *ret_made is set. Blocks: on that.
 */
int spare_open(const char *path, int flags, unsigned mode, bool *ret_made);

/*
 * Removes what another run has left: a spare of another size, and one that is
 * not finished. Thread: main, before the environment is opened.
 */
void spare_prepare(const struct home *home, uint64_t log_file_bytes);

/* Starts the thread that makes spares. Returns 0 or -errno. */
int spare_start(struct spare *spare, const struct home *home,
		const struct space *space, uint64_t log_file_bytes);
void spare_stop(struct spare *spare);

/*
 * Has one made if a log file was begun; `syncs`: of the log so far. Thread: the
 * writer.
 */
void spare_look(struct spare *spare, uint64_t syncs);

/* Removes the spare, to give its room. Returns true if there was one. */
bool spare_give_up(struct spare *spare);

#endif
