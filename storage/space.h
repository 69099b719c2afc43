/*
 * space.h - watches the free space below the data and the log.
 *
 * What counts is the space that will be left once the data file has grown to
 * the pages it has been promised (Berkeley DB allocates pages in the cache and
 * extends the file when it writes them) and the newest log file is full.
 *
 * Below the reserve, changes that grow are refused while deletes, touches and
 * reads go on; but as long as half of it is left, new items may use the room
 * that deleted ones have left inside the data file. Every change needs log,
 * and old log can only be removed after a checkpoint, which needs room itself:
 * so below a quarter every change is refused until there is more.
 *
 * With far more than the reserve a look is good for a moment, in which less
 * than that is written.
 *
 * Should the disk be filled by others to the last byte, the ballast (a file
 * that only takes room, beside the log) is given up, so that what is already
 * applied can still reach the log.
 *
 * Threads: the check by the writer, giving up by any, the rest by the sweep.
 */
#ifndef STORAGE_SPACE_H
#define STORAGE_SPACE_H

#include <db.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "storage/env.h"
#include "storage/home.h"

enum space_level {
	SPACE_PLENTY,
	SPACE_LOW,	/* refuse what grows */
	SPACE_EXHAUSTED /* refuse every change */
};

struct space {
	struct env *env;
	const struct home *home;
	char *data_path, *ballast_path;
	uint64_t reserve_bytes, ballast_bytes;
	/* the writer's */
	bool low;	       /* as last said */
	uint64_t data_bytes;   /* of the data file when last looked at */
	uint64_t full_at;      /* item bytes when it grew last */
	int64_t good_until_ms; /* monotonic; as long there is plenty */
	pthread_mutex_t lock;
	bool ballast; /* is there */
};

/*
 * Gives up the ballast of an earlier run if there is hardly room for the
 * recovery. Thread: main, before the environment is opened.
 */
void space_prepare(const struct home *home);

/* Returns 0 or -ENOMEM. Makes the ballast if there is room. */
int space_init(struct space *space, struct env *env, const struct home *home);
void space_done(struct space *space);

/* What the writer knows about the space it uses and will use. */
struct space_use {
	DB *data;	     /* its handle */
	uint64_t item_bytes; /* of all records */
	uint64_t needed;     /* bytes that are to be written now */
};

/* How it stands, or did 50 ms ago at most. Blocks: on statvfs and stat. */
enum space_level space_check(struct space *space, const struct space_use *use);

/* Says so when the level has changed. */
void space_say(struct space *space, enum space_level level);

/*
 * Is there room beside the log for so many bytes, and for the ballast, and as
 * much again above the reserve? Thread: any. Blocks: on statvfs.
 */
bool space_has_room(const struct space *space, uint64_t bytes);

/* Gives up the ballast. Returns true if there was one to give. */
bool space_give_up_ballast(struct space *space);

/* Makes the ballast again once there is plenty of room. */
void space_renew_ballast(struct space *space);

#endif
