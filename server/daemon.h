/*
 * daemon.h - the process and its surroundings: going to the background,
 * pidfile, user, resource limits, service manager.
 *
 * Functions that return int give 0 or a negative errno and print nothing.
 * All belong to the main thread, before other threads exist, unless said.
 *
 * With -d the order is: daemon_detach(), then the whole start with stderr
 * still open, then daemon_ready() or daemon_failed(). So the shell gets the
 * message and the exit status of a start that failed.
 */
#ifndef SERVER_DAEMON_H
#define SERVER_DAEMON_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* The exit status if the daemon died before it could say why. */
#define DAEMON_DIED 70

/* The daemon's line to the process that was started. */
struct daemon {
	int status_fd; /* -1: in the foreground, or reported already */
};

/* What a process that is not detached has. */
#define DAEMON_FOREGROUND       \
	{                       \
		.status_fd = -1 \
	}

enum daemon_side {
	DAEMON_CHILD, /* this is the daemon: go on */
	DAEMON_LEAVE, /* this is not: end with *ret_exit_status */
	DAEMON_ERROR  /* could not begin; errno says why */
};

/*
 * Forks twice and starts a session. Returns DAEMON_LEAVE in the first process
 * when the daemon has reported or is gone (DAEMON_DIED), in the one in between
 * at once; both end without touching anything.
 * *ret_daemon is set in the daemon only, *ret_exit_status for LEAVE only.
 * Blocks: the first process, until the daemon is ready or gone.
 */
enum daemon_side daemon_detach(struct daemon *ret_daemon, int *ret_exit_status);

/*
 * The start is complete: goes to "/", points stdin, stdout and (unless it is
 * kept) stderr to /dev/null, lets the first process end with 0. In the
 * foreground: nothing.
 * On an error nobody was told yet: daemon_failed() can follow.
 */
int daemon_ready(struct daemon *daemon, bool keep_stderr);

/* The start failed: the first process ends with this status. */
void daemon_failed(struct daemon *daemon, int exit_status);

/*
 * Writes our process id under a temporary name, then renames it to `path`,
 * so that nobody ever sees half a file; replaces a stale one.
 */
int daemon_write_pidfile(const char *path);

/* Removes the file if it holds our process id; else leaves it: -ESTALE. */
int daemon_remove_pidfile(const char *path);

/* Whom to become. */
struct daemon_user {
	char name[64];
	uid_t uid;
	gid_t gid;
};

/* Looks the user up. -ENOENT: there is none of that name. */
int daemon_find_user(const char *name, struct daemon_user *ret);

/*
 * Becomes that user for good, with its supplementary groups. Only root can:
 * -EPERM. After any error the process may be half changed: end it.
 */
int daemon_become(const struct daemon_user *user);

/*
 * Raises the limit of open files to `wanted`, the hard limit too where that
 * is allowed. Sets *ret_reached, the limit from now on, also on -EPERM: it is
 * less than wanted.
 */
int daemon_raise_files(uint64_t wanted, uint64_t *ret_reached);

/*
 * Raises the core file limit as far as it goes; -EPERM: it is still 0.
 * After daemon_become(), which turns core files off.
 */
int daemon_allow_cores(void);

/*
 * Keeps all memory, once used, from being paged out. -ENOMEM, -EPERM: the
 * limit is too low. Before daemon_become(), so that root can raise it.
 */
int daemon_lock_memory(void);

/*
 * Tells the service manager ("READY=1", "STOPPING=1", "STATUS=...",
 * "EXTEND_TIMEOUT_USEC=..."; lines joined by LF). Without $NOTIFY_SOCKET
 * nothing happens: 0. Thread: any. Blocks: never.
 */
int daemon_notify(const char *state);

#endif
