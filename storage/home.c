/*
 * home.c - locks the directory, makes it, marks an unfinished creation.
 */
#include "storage/home.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "storage/inspect.h"
#include "storage/refuse.h"

#define LOCK_FILE     "LOCK"
#define CREATING_FILE "CREATING"

char *home_path(const char *dir, const char *name)
{
	size_t bytes = strlen(dir) + 1 + strlen(name) + 1;
	char *path = malloc(bytes);

	if (path != NULL)
		(void)snprintf(path, bytes, "%s/%s", dir, name);
	return path;
}

static int make_dir(const char *dir, char **ret_path,
		    struct store_refused *refused)
{
	char *path;

	if (mkdir(dir, 0750) != 0 && errno != EEXIST)
		return refuse(refused, refusal_of(errno), errno,
			      "%s: cannot make the directory: %s", dir,
			      strerror(errno));
	path = realpath(dir, NULL);
	if (path == NULL)
		return refuse(refused, refusal_of(errno), errno,
			      "%s: cannot be used as a directory: %s", dir,
			      strerror(errno));
	if (faccessat(AT_FDCWD, path, R_OK | W_OK | X_OK, AT_EACCESS) != 0) {
		int error = errno;

		free(path);
		return refuse(refused, STORE_REFUSED_PERMISSION, error,
			      "%s: must be readable and writable: %s", dir,
			      strerror(error));
	}
	*ret_path = path;
	return 0;
}

/* The lock ends with the process, whatever its end. */
static int take_lock(struct home *home, struct store_refused *refused)
{
	char *path = home_path(home->dir, LOCK_FILE);
	int fd, error;

	if (path == NULL)
		return refuse(refused, STORE_REFUSED_SYSTEM, ENOMEM,
			      "%s: no memory", home->dir);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0640);
	if (fd < 0) {
		error = errno;
		(void)refuse(refused, STORE_REFUSED_PERMISSION, error,
			     "%s: cannot be opened: %s; check its owner", path,
			     strerror(error));
		goto out_path;
	}
	if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
		error = errno;
		(void)refuse(refused, STORE_REFUSED_BUSY, error,
			     "%s: another process uses this directory; "
			     "stop it first",
			     path);
		goto out_close;
	}
	home->lock_fd = fd;
	free(path);
	return 0;

out_close:
	(void)close(fd);
out_path:
	free(path);
	return -error;
}

static int sync_dir(const char *dir)
{
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int rc;

	if (fd < 0)
		return -errno;
	rc = fsync(fd) == 0 ? 0 : -errno;
	(void)close(fd);
	return rc;
}

int home_begin_creating(const struct home *home)
{
	char *path = home_path(home->dir, CREATING_FILE);
	int fd, rc = 0;

	if (path == NULL)
		return -ENOMEM;
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0640);
	if (fd < 0)
		rc = -errno;
	else
		(void)close(fd);
	free(path);
	return rc != 0 ? rc : sync_dir(home->dir);
}

int home_end_creating(const struct home *home)
{
	char *path = home_path(home->dir, CREATING_FILE);
	int rc;

	if (path == NULL)
		return -ENOMEM;
	/* The files' own entries first, then the mark goes. */
	rc = sync_dir(home->dir);
	if (rc == 0)
		rc = sync_dir(home->log_dir);
	if (rc == 0 && unlink(path) != 0)
		rc = -errno;
	free(path);
	return rc != 0 ? rc : sync_dir(home->dir);
}

/* What a creation left behind never served: it may go. */
static int sweep_unfinished(const struct home *home,
			    const struct store_config *config, bool *ret_swept)
{
	char *mark = home_path(home->dir, CREATING_FILE);
	int rc = 0;

	*ret_swept = false;
	if (mark == NULL)
		return -ENOMEM;
	if (access(mark, F_OK) == 0) {
		rc = inspect_remove(home->dir, home->log_dir, config->data_file,
				    HOME_META_FILE);
		*ret_swept = rc == 0;
	}
	free(mark);
	return rc;
}

static int inspect(struct home *home, const struct store_config *config,
		   struct store_refused *refused)
{
	bool swept;
	int rc = sweep_unfinished(home, config, &swept);

	if (rc != 0)
		return refuse(refused, refusal_of(-rc), -rc,
			      "%s: cannot remove an unfinished store: %s",
			      home->dir, strerror(-rc));
	home->fresh = swept;
	if (swept)
		return 0;
	return inspect_files(home->dir, home->log_dir, config->data_file,
			     HOME_META_FILE, &home->fresh, refused);
}

/* A log directory is not made beside data that must have one. */
static int find_log_dir(struct home *home, const struct store_config *config,
			struct store_refused *refused)
{
	const char *dir = config->log_dir;
	bool missing, data;

	if (dir == NULL)
		dir = home->dir;
	missing = access(dir, F_OK) != 0 && errno == ENOENT;
	if (missing) {
		int rc = inspect_any_database(home->dir, config->data_file,
					      HOME_META_FILE, &data);

		if (rc != 0)
			return refuse(refused, STORE_REFUSED_SYSTEM, -rc,
				      "%s: no memory", home->dir);
		if (data)
			return refuse(refused, STORE_REFUSED_DAMAGED, ENOENT,
				      "%s: the log directory of the data in "
				      "%s is missing; bring it back, or name "
				      "the right one",
				      dir, home->dir);
	}
	return make_dir(dir, &home->log_dir, refused);
}

int home_open(struct home *home, const struct store_config *config,
	      struct store_refused *refused)
{
	int rc;

	memset(home, 0, sizeof(*home));
	home->lock_fd = -1;
	rc = make_dir(config->home, &home->dir, refused);
	if (rc != 0)
		return rc;
	rc = take_lock(home, refused);
	if (rc != 0)
		goto out_close;
	rc = find_log_dir(home, config, refused);
	if (rc != 0)
		goto out_close;
	rc = inspect(home, config, refused);
	if (rc != 0)
		goto out_close;
	return 0;

out_close:
	home_close(home);
	return rc;
}

void home_close(struct home *home)
{
	if (home->lock_fd >= 0)
		(void)close(home->lock_fd);
	free(home->dir);
	free(home->log_dir);
	home->dir = NULL;
	home->log_dir = NULL;
	home->lock_fd = -1;
}
