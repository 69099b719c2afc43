/*
 * rules.c - the control file and what its rules say about a call.
 *
 * Everything is looked up at the first use: other libraries may open files
 * before this one is initialised. Names are kept by descriptor; a descriptor
 * belongs to whoever opened it, so its name is read without a lock. It has one
 * for ThreadSanitizer, which does not see that the system gives a descriptor to
 * another thread only after it was closed.
 */
#include "tests/fault/faultinject.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define DESCRIPTORS 4096

static pthread_mutex_t names_lock = PTHREAD_MUTEX_INITIALIZER;
static char names[DESCRIPTORS][FAULT_NAME_BYTES];
static struct fault_control *control;
static pthread_once_t control_once = PTHREAD_ONCE_INIT;

/* Not by open(2) of libc: that is the function we stand in for. */
static void map_control(void)
{
	const char *path = getenv("FAULT_CONTROL");
	struct fault_control *found;
	long fd;

	if (path == NULL)
		return;
	fd = syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		goto out_die;
	found = mmap(NULL, sizeof(*found), PROT_READ | PROT_WRITE, MAP_SHARED,
		     (int)fd, 0);
	(void)syscall(SYS_close, fd);
	if (found == MAP_FAILED || found->magic != FAULT_MAGIC)
		goto out_die;
	control = found;
	return;

out_die:
	/* A test without its faults would prove nothing. */
	perror("faultinject: $FAULT_CONTROL");
	abort();
}

struct fault_control *fault_control(void)
{
	/* Too early: a sanitizer begins before libc has its environment. */
	if (environ == NULL)
		return NULL;
	(void)pthread_once(&control_once, map_control);
	return control;
}

const char *fault_tail(const char *path)
{
	const char *last = strrchr(path, '/');

	if (last == NULL)
		return path;
	while (last > path && last[-1] != '/')
		last--;
	return last;
}

static void note_name(int fd, const char *name)
{
	if (fd < 0 || fd >= DESCRIPTORS)
		return;
	(void)pthread_mutex_lock(&names_lock);
	(void)snprintf(names[fd], sizeof(names[fd]), "%s", name);
	(void)pthread_mutex_unlock(&names_lock);
}

void fault_note_open(int fd, const char *path)
{
	note_name(fd, fault_tail(path));
}

void fault_note_close(int fd)
{
	note_name(fd, "");
}

const char *fault_name(int fd)
{
	return fd >= 0 && fd < DESCRIPTORS ? names[fd] : "";
}

/* Counts the call if the rule is about it; true if it is to be acted on. */
static bool rule_hits(struct fault_rule *rule, unsigned calls, const char *name,
		      off_t offset)
{
	uint64_t pages = atomic_load(&rule->pages);
	uint64_t times = atomic_load(&rule->times);
	uint64_t seen, first, every;

	if (atomic_load(&rule->action) == FAULT_OFF ||
	    (atomic_load(&rule->calls) & calls) == 0 ||
	    (pages != 0 &&
	     (uint64_t)offset / FAULT_PAGE_BYTES % pages != pages - 1) ||
	    fnmatch(rule->files, name, 0) != 0)
		return false;
	seen = atomic_fetch_add(&rule->seen, 1) + 1;
	first = atomic_load(&rule->first);
	every = atomic_load(&rule->every);
	if (seen != first &&
	    (every == 0 || seen < first || (seen - first) % every != 0))
		return false;
	if (times != 0 && atomic_load(&rule->hits) >= times)
		return false;
	atomic_fetch_add(&rule->hits, 1);
	return true;
}

static void sleep_ms(uint64_t ms)
{
	struct timespec left = {.tv_sec = (time_t)(ms / 1000),
				.tv_nsec = (long)(ms % 1000) * 1000000};

	while (nanosleep(&left, &left) != 0 && errno == EINTR)
		;
}

/* Until the test takes this rule away, whatever it puts in its place. */
static void wait_while_held(const struct fault_rule *rule, uint64_t number)
{
	while (atomic_load(&rule->action) == FAULT_HOLD &&
	       atomic_load(&rule->value) == number)
		sleep_ms(1);
}

static enum fault_verdict act(const struct fault_rule *rule, int *ret_error)
{
	uint64_t value = atomic_load(&rule->value);

	switch ((enum fault_action)atomic_load(&rule->action)) {
	case FAULT_OFF:
	case FAULT_COUNT:
		break;
	case FAULT_ERROR:
		*ret_error = (int)value;
		return FAULT_FAIL;
	case FAULT_DELAY:
		sleep_ms(value);
		break;
	case FAULT_SHORT:
		return FAULT_HALF;
	case FAULT_KILL:
		(void)kill(getpid(), SIGKILL);
		for (;;)
			(void)pause();
	case FAULT_HOLD:
		wait_while_held(rule, value);
		break;
	}
	return FAULT_PASS;
}

enum fault_verdict fault_judge(unsigned calls, const char *name, off_t offset,
			       int *ret_error)
{
	struct fault_control *found;
	enum fault_verdict verdict = FAULT_PASS;
	int kept = errno;

	if (name[0] == '\0' || (found = fault_control()) == NULL)
		return FAULT_PASS;
	for (size_t i = 0; i < FAULT_RULES && verdict == FAULT_PASS; i++) {
		struct fault_rule *rule = &found->rules[i];

		if (rule_hits(rule, calls, name, offset))
			verdict = act(rule, ret_error);
	}
	errno = kept;
	return verdict;
}
