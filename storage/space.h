/*
 * space.h - watches the free space below the data and the log.
 *
 * Below the reserve, changes that grow are refused while deletes, touches and
 * reads go on. Should the disk be filled by others to the last byte, the
 * ballast (a file that only takes room, beside the log) is given up, so that
 * what is already applied can still reach the log.
 *
 * Threads: the check by the writer, giving up by any, the rest by maint.
 */
#ifndef STORAGE_SPACE_H
#define STORAGE_SPACE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "storage/env.h"
#include "storage/home.h"

struct space {
	struct env *env;
	const struct home *home;
	char *ballast_path;
	uint64_t reserve_bytes, ballast_bytes;
	bool low; /* as last said; the writer's */
	pthread_mutex_t lock;
	bool ballast; /* is there */
};

/* Returns 0 or -ENOMEM. Makes the ballast if there is room. */
int space_init(struct space *space, struct env *env, const struct home *home);
void space_done(struct space *space);

/* True if growth is to be refused now. Blocks: on statvfs. */
bool space_low(struct space *space);

/* Gives up the ballast. Returns true if there was one to give. */
bool space_give_up_ballast(struct space *space);

/* Makes the ballast again once there is plenty of room. */
void space_renew_ballast(struct space *space);

#endif
