/*
 * authfile.h - the file of users and passwords that -Y names.
 *
 *   user:password
 *
 * One user a line; the first colon ends the name, the password is the rest. A
 * password that has the form of a hash of crypt(3), and that libcrypt can
 * check ("$y$...", "$6$..."), is one; everything else is the password itself.
 * A user may have several lines: each of the passwords is good.
 *
 * An unknown user costs as many hashes as a known one, and comparing takes
 * the same time wherever two passwords differ: nobody learns from the time of
 * an answer who is in the file.
 *
 * A parsed file is constant. Thread: any; one at a time for a checker.
 */
#ifndef SERVER_AUTHFILE_H
#define SERVER_AUTHFILE_H

#include <stdbool.h>
#include <stddef.h>

#include "protocol/protocol.h"

/* A file beyond these is refused. */
#define AUTHFILE_BYTES_MAX (1024 * 1024)
#define AUTHFILE_LINE_MAX  1024
#define AUTHFILE_USERS_MAX 1024
#define AUTHFILE_NAME_MAX  255

struct authfile;
struct authfile_checker;

/* Why a file cannot be used; never with a password in it. */
struct authfile_refused {
	unsigned line; /* 0: it is not about a line */
	const char *why;
};

/*
 * Reads what is in a file. Returns 0, or -EINVAL or -ENOMEM and says why.
 * Owner: the caller, authfile_free(). Blocks: never.
 */
int authfile_parse(const char *bytes, size_t len, struct authfile **ret,
		   struct authfile_refused *ret_refused);

/*
 * The same from a path, which must be a regular file. Returns 0, or -errno and
 * says why. Blocks: on reading the file.
 */
int authfile_load(const char *path, struct authfile **ret,
		  struct authfile_refused *ret_refused);

/* Wipes and frees it; NULL is fine. */
void authfile_free(struct authfile *file);

/* Lines with a user, and how many of them hold the password itself. */
size_t authfile_count(const struct authfile *file);
size_t authfile_plain_count(const struct authfile *file);

/* True if others than the owner could read the file when it was loaded. */
bool authfile_is_open(const struct authfile *file);

/* Memory for checking. NULL: no memory. Owner: the caller. */
struct authfile_checker *authfile_checker_new(void);
void authfile_checker_free(struct authfile_checker *checker);

/*
 * True if the user has this password.
 * Blocks: as long as the hashes take to compute, by design many milliseconds.
 */
bool authfile_check(const struct authfile *file,
		    struct authfile_checker *checker, struct proto_slice user,
		    struct proto_slice password);

#endif
