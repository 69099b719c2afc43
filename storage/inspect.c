/*
 * inspect.c - looks at files before Berkeley DB does; see inspect.h.
 *
 * Offsets are those of Berkeley DB 5.3's own formats (db.h gives the magic
 * numbers and versions): a database page begins with its LSN, page 0 goes on
 * with page number, magic, version, page size; a log file begins with a 12
 * byte record head, then magic and version. Numbers are in machine order.
 */
#include "storage/inspect.h"

#include <db.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "storage/home.h"
#include "storage/refuse.h"

#define META_PAGES_MAX	64 /* meta.db has two or three */
#define LOG_NAME_DIGITS 10

struct found {
	const char *log_dir;
	char *data_path, *meta_path;
	bool data, meta;
	uint32_t logs;		 /* how many */
	uint32_t last_log;	 /* the highest number */
	uint64_t last_log_bytes; /* its size */
};

struct page_head {
	uint32_t lsn_file, lsn_offset, page, magic, version, page_bytes;
};

/* The number of a log file by its name, 0 if it is none. */
static uint32_t log_number(const char *name)
{
	uint64_t number = 0;

	if (strncmp(name, "log.", 4) != 0)
		return 0;
	name += 4;
	if (strspn(name, "0123456789") != LOG_NAME_DIGITS ||
	    name[LOG_NAME_DIGITS] != '\0')
		return 0;
	for (; *name != '\0'; name++)
		number = number * 10 + (uint64_t)(*name - '0');
	return number <= UINT32_MAX ? (uint32_t)number : 0;
}

static int list_logs(struct found *found)
{
	DIR *dir = opendir(found->log_dir);
	struct dirent *entry;
	struct stat st;

	if (dir == NULL)
		return -errno;
	while ((entry = readdir(dir)) != NULL) {
		uint32_t number = log_number(entry->d_name);

		if (number == 0)
			continue;
		found->logs++;
		if (number <= found->last_log)
			continue;
		found->last_log = number;
		found->last_log_bytes = 0;
		if (fstatat(dirfd(dir), entry->d_name, &st, 0) == 0)
			found->last_log_bytes = (uint64_t)st.st_size;
	}
	(void)closedir(dir);
	return 0;
}

static int refuse_unreadable(const char *path, int error,
			     struct store_refused *refused)
{
	return refuse(refused, refusal_of(error), error,
		      "%s: cannot be read and written: %s; check its owner and "
		      "mode",
		      path, strerror(error));
}

static int open_checked(const char *path, int *ret_fd,
			struct store_refused *refused)
{
	struct stat st;
	int fd = open(path, O_RDWR | O_CLOEXEC);

	if (fd < 0)
		return refuse_unreadable(path, errno, refused);
	if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
		(void)close(fd);
		return refuse(refused, STORE_REFUSED_FOREIGN, EINVAL,
			      "%s: not a regular file", path);
	}
	*ret_fd = fd;
	return 0;
}

static bool is_power_of_two(uint32_t n)
{
	return n != 0 && (n & (n - 1)) == 0;
}

static int judge_head(const char *path, const struct page_head *head,
		      ssize_t got, struct store_refused *refused)
{
	uint32_t version;

	if (got == (ssize_t)sizeof(*head) && head->magic == DB_BTREEMAGIC)
		version = DB_BTREEVERSION;
	else if (got == (ssize_t)sizeof(*head) && head->magic == DB_HASHMAGIC)
		version = DB_HASHVERSION;
	else
		return refuse(refused, STORE_REFUSED_FOREIGN, EINVAL,
			      "%s: not a database of this server; move it "
			      "away or restore a backup",
			      path);
	if (head->version != version)
		return refuse(refused, STORE_REFUSED_FOREIGN, EINVAL,
			      "%s: written by another version of Berkeley DB; "
			      "use that version, or dump and load",
			      path);
	if (head->page != 0 || !is_power_of_two(head->page_bytes) ||
	    head->page_bytes < 512 || head->page_bytes > 65536)
		return refuse(refused, STORE_REFUSED_DAMAGED, EINVAL,
			      "%s: its first page is damaged; restore a backup",
			      path);
	return 0;
}

/* A page may not be newer than the log: then log files are missing. */
static int judge_lsn(const struct found *found, const char *path,
		     const struct page_head *head,
		     struct store_refused *refused)
{
	if (head->lsn_file < found->last_log ||
	    (head->lsn_file == found->last_log &&
	     head->lsn_offset <= found->last_log_bytes))
		return 0;
	return refuse(refused, STORE_REFUSED_DAMAGED, EINVAL,
		      "%s: newer than the log in %s, so log files are missing; "
		      "bring log.%010u back, or restore a backup",
		      path, found->log_dir, (unsigned)head->lsn_file);
}

static int judge_database(const struct found *found, const char *path,
			  uint32_t pages, struct store_refused *refused)
{
	struct page_head head;
	ssize_t got;
	int fd, rc;

	rc = open_checked(path, &fd, refused);
	if (rc != 0)
		return rc;
	got = pread(fd, &head, sizeof(head), 0);
	rc = judge_head(path, &head, got, refused);
	for (uint32_t page = 1; rc == 0; page++) {
		rc = judge_lsn(found, path, &head, refused);
		if (rc != 0 || page >= pages)
			break;
		got = pread(fd, &head, 8, (off_t)page * head.page_bytes);
		if (got != 8)
			break;
	}
	(void)close(fd);
	return rc;
}

static int judge_log(const struct found *found, struct store_refused *refused)
{
	char name[32];
	char *path;
	uint32_t words[5];
	ssize_t got;
	int fd, rc;

	(void)snprintf(name, sizeof(name), "log.%010u",
		       (unsigned)found->last_log);
	path = home_path(found->log_dir, name);
	if (path == NULL)
		return refuse(refused, STORE_REFUSED_SYSTEM, ENOMEM,
			      "%s: no memory", found->log_dir);
	rc = open_checked(path, &fd, refused);
	if (rc != 0)
		goto out;
	got = pread(fd, words, sizeof(words), 0);
	(void)close(fd);
	/* A power cut can leave the newest one empty or full of zeros. */
	if (got != (ssize_t)sizeof(words) || (words[3] | words[4]) == 0)
		goto out;
	if (words[3] != DB_LOGMAGIC)
		rc = refuse(refused, STORE_REFUSED_FOREIGN, EINVAL,
			    "%s: not a log file of this server", path);
	else if (words[4] != DB_LOGVERSION)
		rc = refuse(refused, STORE_REFUSED_FOREIGN, EINVAL,
			    "%s: written by another version of Berkeley DB; "
			    "start and stop that version once",
			    path);
out:
	free(path);
	return rc;
}

/* What is missing? Never start empty over what is left of a store. */
static int judge_presence(const struct found *found, const char *dir,
			  struct store_refused *refused)
{
	if (!found->data && !found->meta)
		return refuse(refused, STORE_REFUSED_DAMAGED, ENOENT,
			      "%s: log files but no %s; restore it from a "
			      "backup, or use an empty directory",
			      found->log_dir, found->data_path);
	if (!found->data)
		return refuse(refused, STORE_REFUSED_DAMAGED, ENOENT,
			      "%s: missing beside %s; bring it back, or "
			      "restore a backup",
			      found->data_path, found->meta_path);
	if (!found->meta)
		return refuse(refused, STORE_REFUSED_FOREIGN, ENOENT,
			      "%s: exists without %s, so it is not this "
			      "server's or not whole; use another directory, "
			      "or restore a backup",
			      found->data_path, found->meta_path);
	if (found->logs == 0)
		return refuse(refused, STORE_REFUSED_DAMAGED, ENOENT,
			      "%s: holds no log files for the data in %s; "
			      "name the right log directory, or restore a "
			      "backup",
			      found->log_dir, dir);
	return 0;
}

static int judge(const struct found *found, const char *dir, bool *ret_fresh,
		 struct store_refused *refused)
{
	int rc;

	if (!found->data && !found->meta && found->logs == 0) {
		*ret_fresh = true;
		return 0;
	}
	/* A file that is not a database says more than one that is missing. */
	rc = judge_presence(found, dir, refused);
	if (rc == 0)
		rc = judge_log(found, refused);
	if (rc == 0)
		rc = judge_database(found, found->data_path, 1, refused);
	if (rc == 0)
		rc = judge_database(found, found->meta_path, META_PAGES_MAX,
				    refused);
	if (rc == 0)
		*ret_fresh = false;
	return rc;
}

int inspect_files(const char *dir, const char *log_dir, const char *data_file,
		  const char *meta_file, bool *ret_fresh,
		  struct store_refused *refused)
{
	struct found found = {.log_dir = log_dir};
	char *config_path = home_path(dir, "DB_CONFIG");
	int rc;

	found.data_path = home_path(dir, data_file);
	found.meta_path = home_path(dir, meta_file);
	if (config_path == NULL || found.data_path == NULL ||
	    found.meta_path == NULL) {
		rc = refuse(refused, STORE_REFUSED_SYSTEM, ENOMEM,
			    "%s: no memory", dir);
		goto out;
	}
	if (access(config_path, F_OK) == 0) {
		rc = refuse(refused, STORE_REFUSED_SETTING, EINVAL,
			    "%s: would overrule the settings; remove it",
			    config_path);
		goto out;
	}
	found.data = access(found.data_path, F_OK) == 0;
	found.meta = access(found.meta_path, F_OK) == 0;
	rc = list_logs(&found);
	if (rc != 0) {
		rc = refuse_unreadable(log_dir, -rc, refused);
		goto out;
	}
	rc = judge(&found, dir, ret_fresh, refused);
out:
	free(config_path);
	free(found.data_path);
	free(found.meta_path);
	return rc;
}

int inspect_any_database(const char *dir, const char *data_file,
			 const char *meta_file, bool *ret_any)
{
	char *data = home_path(dir, data_file);
	char *meta = home_path(dir, meta_file);
	int rc = -ENOMEM;

	if (data != NULL && meta != NULL) {
		*ret_any = access(data, F_OK) == 0 || access(meta, F_OK) == 0;
		rc = 0;
	}
	free(data);
	free(meta);
	return rc;
}

static int remove_file(int dir_fd, const char *name)
{
	return unlinkat(dir_fd, name, 0) == 0 || errno == ENOENT ? 0 : -errno;
}

static int remove_logs(const char *log_dir)
{
	DIR *dir = opendir(log_dir);
	struct dirent *entry;
	int rc = 0;

	if (dir == NULL)
		return -errno;
	while (rc == 0 && (entry = readdir(dir)) != NULL)
		if (log_number(entry->d_name) != 0)
			rc = remove_file(dirfd(dir), entry->d_name);
	(void)closedir(dir);
	return rc;
}

int inspect_remove(const char *dir, const char *log_dir, const char *data_file,
		   const char *meta_file)
{
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int rc;

	if (fd < 0)
		return -errno;
	rc = remove_file(fd, data_file);
	if (rc == 0)
		rc = remove_file(fd, meta_file);
	(void)close(fd);
	return rc != 0 ? rc : remove_logs(log_dir);
}
