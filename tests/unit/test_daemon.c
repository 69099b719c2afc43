/*
 * test_daemon.c - detaching, pidfile, user, limits, service manager.
 *
 * Every test is a process of its own (CK_FORK), so it may change its user,
 * its limits and its environment. Where root is needed and not there, the
 * refusal is tested instead.
 */
#include "server/daemon.h"

#include <check.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/run_suite.h"

/* --- a folder for files -------------------------------------------------- */

static char folder[] = "/tmp/test_daemonXXXXXX";
static char file[64]; /* inside it */

static void set_up(void)
{
	ck_assert_ptr_nonnull(mkdtemp(folder));
	(void)snprintf(file, sizeof(file), "%s/file", folder);
}

static void tear_down(void)
{
	(void)unlink(file);
	(void)rmdir(file);
	ck_assert_int_eq(rmdir(folder), 0);
}

static unsigned int count_files(void)
{
	DIR *dir = opendir(folder);
	unsigned int count = 0;

	ck_assert_ptr_nonnull(dir);
	while (readdir(dir) != NULL)
		count++;
	closedir(dir);
	return count - 2; /* . and .. */
}

static void put_file(const char *path, const char *content)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
	size_t len = strlen(content);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, content, len), (ssize_t)len);
	ck_assert_int_eq(close(fd), 0);
}

/* --- detaching ----------------------------------------------------------- */

/* What the daemon says of itself. */
struct facts {
	pid_t pid, session;
	bool at_root, is_null[3];
};

/* The three ways a start can end, and the pipes to steer it. */
struct start {
	enum { READY, FAILED, KILLED } end;
	int facts[2]; /* from the daemon */
	int go[2];    /* to the daemon: go on, when closed */
};

static bool is_null(int fd)
{
	struct stat st, null;

	return fstat(fd, &st) == 0 && stat("/dev/null", &null) == 0 &&
	       st.st_rdev == null.st_rdev && S_ISCHR(st.st_mode);
}

static void look_around(struct facts *facts)
{
	char here[PATH_MAX];

	facts->at_root = getcwd(here, sizeof(here)) && strcmp(here, "/") == 0;
	for (int fd = 0; fd < 3; fd++)
		facts->is_null[fd] = is_null(fd);
}

/* In the daemon. */
static void be_daemon(struct start *start, struct daemon *daemon)
{
	struct facts facts = {.pid = getpid(), .session = getsid(0)};
	char byte;

	(void)!write(start->facts[1], &facts, sizeof(facts));
	(void)!read(start->go[0], &byte, 1);
	switch (start->end) {
	case READY:
		if (daemon_ready(daemon, false) != 0)
			_exit(1);
		break;
	case FAILED:
		daemon_failed(daemon, 78);
		break;
	case KILLED:
		(void)raise(SIGKILL);
	}
	look_around(&facts);
	(void)!write(start->facts[1], &facts, sizeof(facts));
	_exit(0);
}

/* The process a shell would start; returns its id. */
static pid_t start_detached(struct start *start)
{
	pid_t pid;

	ck_assert_int_eq(pipe(start->facts), 0);
	ck_assert_int_eq(pipe(start->go), 0);
	pid = fork();
	ck_assert_int_ge(pid, 0);
	if (pid == 0) {
		struct daemon daemon = DAEMON_FOREGROUND;
		int status = 1;

		(void)close(start->go[1]);
		/* Something that is not /dev/null, wherever this runs. */
		(void)dup2(start->facts[1], STDERR_FILENO);
		switch (daemon_detach(&daemon, &status)) {
		case DAEMON_CHILD:
			be_daemon(start, &daemon);
			break;
		case DAEMON_LEAVE:
		case DAEMON_ERROR:
			break;
		}
		_exit(status);
	}
	(void)close(start->facts[1]);
	(void)close(start->go[0]);
	return pid;
}

static void read_facts(struct start *start, struct facts *facts)
{
	ck_assert_int_eq(read(start->facts[0], facts, sizeof(*facts)),
			 sizeof(*facts));
}

static int exit_status_of(pid_t pid)
{
	int status;

	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert(WIFEXITED(status));
	return WEXITSTATUS(status);
}

START_TEST(test_detach_ready)
{
	struct start start = {.end = READY};
	pid_t pid = start_detached(&start);
	struct facts facts;

	/* Nothing ends before the daemon is ready. */
	read_facts(&start, &facts);
	ck_assert_int_eq(waitpid(pid, NULL, WNOHANG), 0);
	(void)close(start.go[1]);
	ck_assert_int_eq(exit_status_of(pid), 0);

	ck_assert_int_ne(facts.pid, pid);
	ck_assert_int_ne(facts.session, getsid(0));
	/* Not the session's leader: it can get no terminal. */
	ck_assert_int_ne(facts.session, facts.pid);
	read_facts(&start, &facts);
	ck_assert(facts.at_root);
	for (int fd = 0; fd < 3; fd++)
		ck_assert(facts.is_null[fd]);
}
END_TEST

START_TEST(test_detach_failed)
{
	struct start start = {.end = FAILED};
	pid_t pid = start_detached(&start);
	struct facts facts;

	(void)close(start.go[1]);
	ck_assert_int_eq(exit_status_of(pid), 78);
	/* Whatever it has to say still reaches the terminal. */
	read_facts(&start, &facts);
	read_facts(&start, &facts);
	ck_assert(!facts.is_null[STDERR_FILENO]);
}
END_TEST

START_TEST(test_detach_died)
{
	struct start start = {.end = KILLED};
	pid_t pid = start_detached(&start);

	(void)close(start.go[1]);
	ck_assert_int_eq(exit_status_of(pid), DAEMON_DIED);
}
END_TEST

/* The shell's process was killed meanwhile: the daemon goes on. */
START_TEST(test_detach_nobody_waits)
{
	struct start start = {.end = READY};
	pid_t pid = start_detached(&start);
	struct facts facts;

	read_facts(&start, &facts);
	ck_assert_int_eq(kill(pid, SIGKILL), 0);
	ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
	(void)close(start.go[1]);
	read_facts(&start, &facts);
	ck_assert(facts.at_root);
}
END_TEST

START_TEST(test_ready_in_the_foreground)
{
	struct daemon daemon = DAEMON_FOREGROUND;
	char here[PATH_MAX];

	ck_assert_int_eq(chdir(folder), 0);
	ck_assert_int_eq(daemon_ready(&daemon, false), 0);
	daemon_failed(&daemon, 1);
	ck_assert_ptr_nonnull(getcwd(here, sizeof(here)));
	ck_assert_str_eq(here, folder);
}
END_TEST

/* --- pidfile ------------------------------------------------------------- */

static void check_pidfile(void)
{
	char ours[32], text[64] = "";
	int fd = open(file, O_RDONLY);

	(void)snprintf(ours, sizeof(ours), "%ld\n", (long)getpid());
	ck_assert_int_ge(fd, 0);
	ck_assert_int_gt(read(fd, text, sizeof(text) - 1), 0);
	(void)close(fd);
	ck_assert_str_eq(text, ours);
}

START_TEST(test_pidfile)
{
	ck_assert_int_eq(daemon_write_pidfile(file), 0);
	check_pidfile();
	ck_assert_uint_eq(count_files(), 1);
	ck_assert_int_eq(daemon_remove_pidfile(file), 0);
	ck_assert_uint_eq(count_files(), 0);
	ck_assert_int_eq(daemon_remove_pidfile(file), -ENOENT);
}
END_TEST

START_TEST(test_pidfile_replaces_a_stale_one)
{
	char temporary[128];

	put_file(file, "1234567890 and more\n");
	/* Left behind by somebody with our id. */
	(void)snprintf(temporary, sizeof(temporary), "%s.%ld.tmp", file,
		       (long)getpid());
	put_file(temporary, "half");
	ck_assert_int_eq(daemon_write_pidfile(file), 0);
	check_pidfile();
	ck_assert_uint_eq(count_files(), 1);
}
END_TEST

START_TEST(test_pidfile_of_another_stays)
{
	char other[32];

	(void)snprintf(other, sizeof(other), "%ld0\n", (long)getpid());
	put_file(file, other);
	ck_assert_int_eq(daemon_remove_pidfile(file), -ESTALE);
	put_file(file, "");
	ck_assert_int_eq(daemon_remove_pidfile(file), -ESTALE);
	ck_assert_uint_eq(count_files(), 1);
}
END_TEST

START_TEST(test_pidfile_that_cannot_be_written)
{
	char path[PATH_MAX];

	(void)snprintf(path, sizeof(path), "%s/none/pid", folder);
	ck_assert_int_eq(daemon_write_pidfile(path), -ENOENT);
	memset(path, 'x', sizeof(path) - 1);
	path[sizeof(path) - 1] = '\0';
	ck_assert_int_eq(daemon_write_pidfile(path), -ENAMETOOLONG);
	/* A directory in its place: the temporary file goes, too. */
	ck_assert_int_eq(mkdir(file, 0700), 0);
	ck_assert_int_eq(daemon_write_pidfile(file), -EISDIR);
	ck_assert_uint_eq(count_files(), 1);
}
END_TEST

/* --- user ---------------------------------------------------------------- */

START_TEST(test_find_user)
{
	static const struct daemon_user untouched = {.uid = 4711};
	struct daemon_user user = untouched;
	char name[100];

	ck_assert_int_eq(daemon_find_user("no such user", &user), -ENOENT);
	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	ck_assert_int_eq(daemon_find_user(name, &user), -ENOENT);
	ck_assert_mem_eq(&user, &untouched, sizeof(user));
	ck_assert_int_eq(daemon_find_user("root", &user), 0);
	ck_assert_uint_eq(user.uid, 0);
	ck_assert_str_eq(user.name, "root");
}
END_TEST

/* Becomes nobody, if this is root. */
static void be_nobody(void)
{
	struct daemon_user user;

	if (geteuid() != 0)
		return;
	ck_assert_int_eq(daemon_find_user("nobody", &user), 0);
	ck_assert_int_eq(daemon_become(&user), 0);
}

START_TEST(test_become_for_good)
{
	struct daemon_user nobody;
	gid_t groups[64];
	int count;

	ck_assert_int_eq(daemon_find_user("nobody", &nobody), 0);
	if (geteuid() == 0) {
		be_nobody();
		ck_assert_uint_eq(getuid(), nobody.uid);
		ck_assert_uint_eq(geteuid(), nobody.uid);
		ck_assert_uint_eq(getgid(), nobody.gid);
		ck_assert_int_ne(setuid(0), 0);
		count = getgroups(64, groups);
		ck_assert_int_ge(count, 0);
		for (int i = 0; i < count; i++)
			ck_assert_uint_ne(groups[i], 0);
	}
	ck_assert_int_eq(daemon_become(&nobody), -EPERM);
}
END_TEST

/* -u root is for those who insist. */
START_TEST(test_become_root)
{
	struct daemon_user root;

	ck_assert_int_eq(daemon_find_user("root", &root), 0);
	ck_assert_int_eq(daemon_become(&root), geteuid() == 0 ? 0 : -EPERM);
}
END_TEST

/* --- limits -------------------------------------------------------------- */

static void set_limit(int which, rlim_t soft, rlim_t hard)
{
	const struct rlimit limit = {soft, hard};

	ck_assert_int_eq(setrlimit(which, &limit), 0);
}

/* U74: as far as it goes, and the number that was reached. */
START_TEST(test_U74_raise_files)
{
	struct rlimit limit;
	uint64_t reached = 0;

	be_nobody();
	set_limit(RLIMIT_NOFILE, 64, 200);
	ck_assert_int_eq(daemon_raise_files(50, &reached), 0);
	ck_assert_uint_eq(reached, 64);
	ck_assert_int_eq(daemon_raise_files(150, &reached), 0);
	ck_assert_uint_eq(reached, 150);
	ck_assert_int_eq(daemon_raise_files(300, &reached), -EPERM);
	ck_assert_uint_eq(reached, 200);
	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
	ck_assert_uint_eq(limit.rlim_cur, 200);
}
END_TEST

START_TEST(test_allow_cores)
{
	struct rlimit limit;

	be_nobody();
	set_limit(RLIMIT_CORE, 0, 4096);
	ck_assert_int_eq(daemon_allow_cores(), 0);
	ck_assert_int_eq(getrlimit(RLIMIT_CORE, &limit), 0);
	ck_assert_uint_eq(limit.rlim_cur, 4096);
	/* Changing the user had turned it off. */
	ck_assert_int_eq(prctl(PR_GET_DUMPABLE), 1);

	set_limit(RLIMIT_CORE, 0, 0);
	ck_assert_int_eq(daemon_allow_cores(), -EPERM);
}
END_TEST

/* Who may not lock is told so; sanitizers let it pass. */
START_TEST(test_lock_memory_refused)
{
	int expected;

	be_nobody();
	set_limit(RLIMIT_MEMLOCK, 0, 0);
	expected = mlockall(MCL_CURRENT) < 0 ? -errno : 0;
	ck_assert_int_eq(daemon_lock_memory(), expected);
}
END_TEST

/* --- service manager ----------------------------------------------------- */

/* Listens as the service manager does; '@' is a name that is no file. */
static int listen_as_manager(const char *name)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	size_t len = strlen(name);
	int fd = socket(AF_UNIX, SOCK_DGRAM, 0);

	ck_assert_int_ge(fd, 0);
	memcpy(address.sun_path, name, len);
	if (name[0] == '@')
		address.sun_path[0] = '\0';
	len += offsetof(struct sockaddr_un, sun_path);
	ck_assert_int_eq(
		bind(fd, (const struct sockaddr *)&address, (socklen_t)len), 0);
	ck_assert_int_eq(setenv("NOTIFY_SOCKET", name, 1), 0);
	return fd;
}

START_TEST(test_notify)
{
	char name[64], got[64] = "";
	int fd;

	(void)snprintf(name, sizeof(name), _i == 0 ? "%s/file" : "@%s/file",
		       folder);
	fd = listen_as_manager(name);
	ck_assert_int_eq(daemon_notify("READY=1\nSTATUS=ok"), 0);
	ck_assert_int_eq(recv(fd, got, sizeof(got) - 1, MSG_DONTWAIT), 17);
	ck_assert_str_eq(got, "READY=1\nSTATUS=ok");
	(void)close(fd);
}
END_TEST

START_TEST(test_notify_without_manager)
{
	char name[200];

	ck_assert_int_eq(unsetenv("NOTIFY_SOCKET"), 0);
	ck_assert_int_eq(daemon_notify("READY=1"), 0);
	ck_assert_int_eq(setenv("NOTIFY_SOCKET", file, 1), 0);
	ck_assert_int_eq(daemon_notify("READY=1"), -ENOENT);
	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	ck_assert_int_eq(setenv("NOTIFY_SOCKET", name, 1), 0);
	ck_assert_int_eq(daemon_notify("READY=1"), -ENAMETOOLONG);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("daemon");
	TCase *process = tcase_create("process");
	TCase *files = tcase_create("files");

	tcase_add_test(process, test_detach_ready);
	tcase_add_test(process, test_detach_failed);
	tcase_add_test(process, test_detach_died);
	tcase_add_test(process, test_detach_nobody_waits);
	tcase_add_test(process, test_find_user);
	tcase_add_test(process, test_become_for_good);
	tcase_add_test(process, test_become_root);
	tcase_add_test(process, test_U74_raise_files);
	tcase_add_test(process, test_allow_cores);
	tcase_add_test(process, test_lock_memory_refused);
	suite_add_tcase(suite, process);
	tcase_add_checked_fixture(files, set_up, tear_down);
	tcase_add_test(files, test_ready_in_the_foreground);
	tcase_add_test(files, test_pidfile);
	tcase_add_test(files, test_pidfile_replaces_a_stale_one);
	tcase_add_test(files, test_pidfile_of_another_stays);
	tcase_add_test(files, test_pidfile_that_cannot_be_written);
	tcase_add_loop_test(files, test_notify, 0, 2);
	tcase_add_test(files, test_notify_without_manager);
	suite_add_tcase(suite, files);
	return run_suite(suite);
}
