/*
 * daemon.c - see daemon.h.
 *
 * Of the three processes of a detached start the first waits on a socket
 * pair. The daemon sends one byte, its exit status; if it is gone without,
 * the socket ends.
 */
#include "server/daemon.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <pwd.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <sysexits.h>
#include <unistd.h>

static_assert(DAEMON_DIED == EX_SOFTWARE, "the status is sysexits' own");

static void report(struct daemon *daemon, int exit_status)
{
	unsigned char byte = (unsigned char)exit_status;

	if (daemon->status_fd < 0)
		return;
	/* If the first process was killed, nobody waits: that is fine. */
	(void)send(daemon->status_fd, &byte, 1, MSG_NOSIGNAL);
	(void)close(daemon->status_fd);
	daemon->status_fd = -1;
}

static int wait_for_report(int fd)
{
	unsigned char byte;
	ssize_t n;

	do
		n = read(fd, &byte, 1);
	while (n < 0 && errno == EINTR);
	return n == 1 ? byte : DAEMON_DIED;
}

/* In the process in between: starts the daemon proper. */
static enum daemon_side detach_again(struct daemon *daemon,
				     int *ret_exit_status)
{
	pid_t pid = setsid() < 0 ? -1 : fork();

	if (pid == 0)
		return DAEMON_CHILD;
	if (pid < 0)
		report(daemon, EX_OSERR);
	*ret_exit_status = 0;
	return DAEMON_LEAVE;
}

enum daemon_side daemon_detach(struct daemon *ret_daemon, int *ret_exit_status)
{
	struct daemon daemon;
	int ends[2];
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
		return DAEMON_ERROR;
	pid = fork();
	if (pid < 0) {
		int saved_errno = errno;

		(void)close(ends[0]);
		(void)close(ends[1]);
		errno = saved_errno;
		return DAEMON_ERROR;
	}
	if (pid == 0) {
		enum daemon_side side;

		(void)close(ends[0]);
		daemon.status_fd = ends[1];
		side = detach_again(&daemon, ret_exit_status);
		if (side == DAEMON_CHILD)
			*ret_daemon = daemon;
		return side;
	}
	(void)close(ends[1]);
	(void)waitpid(pid, NULL, 0);
	*ret_exit_status = wait_for_report(ends[0]);
	(void)close(ends[0]);
	return DAEMON_LEAVE;
}

int daemon_ready(struct daemon *daemon, bool keep_stderr)
{
	int fd;

	if (daemon->status_fd < 0)
		return 0;
	fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (chdir("/") < 0 || dup2(fd, STDIN_FILENO) < 0 ||
	    dup2(fd, STDOUT_FILENO) < 0 ||
	    (!keep_stderr && dup2(fd, STDERR_FILENO) < 0)) {
		int err = -errno;

		(void)close(fd);
		return err;
	}
	if (fd > STDERR_FILENO)
		(void)close(fd);
	report(daemon, EX_OK);
	return 0;
}

void daemon_failed(struct daemon *daemon, int exit_status)
{
	report(daemon, exit_status);
}

/* Writes the file under its temporary name. */
static int write_pid(const char *path)
{
	char text[32];
	int err = 0;
	int len = snprintf(text, sizeof(text), "%ld\n", (long)getpid());
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	ssize_t n;

	if (fd < 0)
		return -errno;
	n = write(fd, text, (size_t)len);
	if (n != len)
		err = n < 0 ? -errno : -ENOSPC;
	if (close(fd) < 0 && err == 0)
		err = -errno;
	return err;
}

int daemon_write_pidfile(const char *path)
{
	char temporary[PATH_MAX];
	int n = snprintf(temporary, sizeof(temporary), "%s.%ld.tmp", path,
			 (long)getpid());
	int err;

	if (n < 0 || (size_t)n >= sizeof(temporary))
		return -ENAMETOOLONG;
	err = write_pid(temporary);
	if (err == -EEXIST) {
		/* Somebody with our id died while writing it. */
		(void)unlink(temporary);
		err = write_pid(temporary);
	}
	if (err == 0 && rename(temporary, path) < 0)
		err = -errno;
	if (err != 0 && err != -EEXIST)
		(void)unlink(temporary);
	return err;
}

int daemon_remove_pidfile(const char *path)
{
	char text[32], ours[32];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return -errno;
	n = read(fd, text, sizeof(text) - 1);
	(void)close(fd);
	text[n > 0 ? n : 0] = '\0';
	(void)snprintf(ours, sizeof(ours), "%ld\n", (long)getpid());
	if (strcmp(text, ours) != 0)
		return -ESTALE;
	return unlink(path) < 0 ? -errno : 0;
}

int daemon_find_user(const char *name, struct daemon_user *ret)
{
	struct daemon_user user;
	struct passwd entry, *found;
	char strings[16384]; /* of one entry; the C library suggests 1024 */
	int err;

	if (strlen(name) >= sizeof(user.name))
		return -ENOENT;
	err = getpwnam_r(name, &entry, strings, sizeof(strings), &found);
	if (err != 0)
		return -err;
	if (found == NULL)
		return -ENOENT;
	(void)snprintf(user.name, sizeof(user.name), "%s", name);
	user.uid = entry.pw_uid;
	user.gid = entry.pw_gid;
	*ret = user;
	return 0;
}

int daemon_become(const struct daemon_user *user)
{
	if (geteuid() != 0)
		return -EPERM;
	if (initgroups(user->name, user->gid) < 0 || setgid(user->gid) < 0 ||
	    setuid(user->uid) < 0)
		return -errno;
	/* The one check that catches every half-done change. */
	if (user->uid != 0 && setuid(0) == 0)
		return -EPROTO;
	return 0;
}

int daemon_raise_files(uint64_t wanted, uint64_t *ret_reached)
{
	struct rlimit limit, raised;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return -errno;
	if (limit.rlim_cur < wanted) {
		raised = limit;
		raised.rlim_cur = wanted;
		if (raised.rlim_max < wanted)
			raised.rlim_max = wanted;
		if (setrlimit(RLIMIT_NOFILE, &raised) < 0) {
			raised = limit;
			raised.rlim_cur = raised.rlim_max;
			(void)setrlimit(RLIMIT_NOFILE, &raised);
		}
		if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
			return -errno;
	}
	*ret_reached = limit.rlim_cur;
	return limit.rlim_cur < wanted ? -EPERM : 0;
}

int daemon_allow_cores(void)
{
	struct rlimit limit;

	if (prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) < 0 ||
	    getrlimit(RLIMIT_CORE, &limit) < 0)
		return -errno;
	if (limit.rlim_cur == RLIM_INFINITY)
		return 0;
	limit.rlim_cur = limit.rlim_max;
	if (limit.rlim_max != RLIM_INFINITY) {
		const struct rlimit all = {RLIM_INFINITY, RLIM_INFINITY};

		if (setrlimit(RLIMIT_CORE, &all) == 0)
			return 0;
	}
	if (setrlimit(RLIMIT_CORE, &limit) < 0)
		return -errno;
	return limit.rlim_cur == 0 ? -EPERM : 0;
}

int daemon_lock_memory(void)
{
	const struct rlimit all = {RLIM_INFINITY, RLIM_INFINITY};

	/* Not root: what the limit allows may still be enough. */
	(void)setrlimit(RLIMIT_MEMLOCK, &all);
	/* On fault: stacks are not filled just to be locked. */
	if (mlockall(MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT) < 0)
		return -errno;
	return 0;
}

int daemon_notify(const char *state)
{
	const char *path = getenv("NOTIFY_SOCKET");
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	size_t path_len, to_len;
	int fd, err = 0;

	if (path == NULL || path[0] == '\0')
		return 0;
	path_len = strlen(path);
	if (path_len >= sizeof(to.sun_path))
		return -ENAMETOOLONG;
	memcpy(to.sun_path, path, path_len);
	if (path[0] == '@')
		to.sun_path[0] = '\0'; /* a name that is no file */
	to_len = offsetof(struct sockaddr_un, sun_path) + path_len;
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	if (sendto(fd, state, strlen(state), MSG_NOSIGNAL | MSG_DONTWAIT,
		   (const struct sockaddr *)&to, (socklen_t)to_len) < 0)
		err = -errno;
	(void)close(fd);
	return err;
}
