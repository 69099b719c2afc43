/*
 * log.c - see log.h.
 *
 * The descriptor's number never changes: log_to_file() puts another file
 * behind it, in one step for all threads.
 */
#include "server/log.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "server/clock.h"

static const struct {
	const char *name;
	int priority; /* as in syslog(3) */
} levels[] = {
	[LOG_LEVEL_ERROR] = {"error", 3}, [LOG_LEVEL_WARNING] = {"warning", 4},
	[LOG_LEVEL_INFO] = {"info", 6},	  [LOG_LEVEL_DEBUG] = {"debug", 7},
	[LOG_LEVEL_TRACE] = {"trace", 7},
};

/* The service manager says which file its journal is: "device:inode". */
static bool is_journal(int fd)
{
	const char *stream = getenv("JOURNAL_STREAM");
	char ours[64];
	struct stat st;

	if (stream == NULL || fstat(fd, &st) < 0)
		return false;
	(void)snprintf(ours, sizeof(ours), "%ju:%ju", (uintmax_t)st.st_dev,
		       (uintmax_t)st.st_ino);
	return strcmp(stream, ours) == 0;
}

void log_init(struct log *log, int fd, uint32_t verbosity)
{
	log->fd = fd;
	atomic_init(&log->priority, is_journal(fd));
	atomic_init(&log->verbosity, verbosity);
}

int log_to_file(struct log *log, const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0640);
	int err = 0;

	if (fd < 0)
		return -errno;
	if (dup2(fd, log->fd) < 0)
		err = -errno;
	(void)close(fd);
	if (err == 0)
		atomic_store(&log->priority, false);
	return err;
}

void log_set_verbosity(struct log *log, uint32_t verbosity)
{
	atomic_store_explicit(&log->verbosity, verbosity, memory_order_relaxed);
}

uint32_t log_verbosity(const struct log *log)
{
	return atomic_load_explicit(&log->verbosity, memory_order_relaxed);
}

bool log_wants(const struct log *log, enum log_level level)
{
	return level <= LOG_LEVEL_INFO ||
	       log_verbosity(log) >= (uint32_t)level - LOG_LEVEL_INFO;
}

/* "<4>" or "2026-01-31T12:00:00.000Z warning: "; returns its length. */
static size_t put_head(const struct log *log, enum log_level level, char *line,
		       size_t line_bytes)
{
	struct timespec now;
	struct tm utc;
	char when[32];
	int n;

	if (atomic_load_explicit(&log->priority, memory_order_relaxed)) {
		n = snprintf(line, line_bytes, "<%d>", levels[level].priority);
	} else {
		(void)clock_gettime(CLOCK_REALTIME, &now);
		(void)gmtime_r(&now.tv_sec, &utc);
		(void)strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%S", &utc);
		n = snprintf(line, line_bytes, "%s.%03ldZ %s: ", when,
			     now.tv_nsec / 1000000, levels[level].name);
	}
	assert(n > 0 && (size_t)n < line_bytes);
	return (size_t)n;
}

static void write_line(int fd, const char *line, size_t len)
{
	ssize_t n;

	do
		n = write(fd, line, len);
	while (n < 0 && errno == EINTR);
}

void log_write(const struct log *log, enum log_level level, const char *format,
	       ...)
{
	char line[LOG_LINE_MAX + 1];
	int saved_errno = errno;
	size_t head, len;
	va_list args;
	int n;

	if (!log_wants(log, level))
		return;
	/* One byte of LOG_LINE_MAX is the LF that takes the place of NUL. */
	head = put_head(log, level, line, LOG_LINE_MAX);
	va_start(args, format);
	n = vsnprintf(line + head, LOG_LINE_MAX - head, format, args);
	va_end(args);
	if (n < 0)
		goto out;
	len = head + (size_t)n;
	if (len > LOG_LINE_MAX - 1) {
		len = LOG_LINE_MAX - 1;
		memcpy(line + len - 3, "...", 3);
	}
	for (size_t i = head; i < len; i++)
		if (iscntrl((unsigned char)line[i]))
			line[i] = ' ';
	line[len++] = '\n';
	write_line(log->fd, line, len);
out:
	errno = saved_errno;
}

const char *log_escape(char *buf, size_t buf_bytes, const char *data,
		       size_t len)
{
	size_t used = 0, cut = 0;

	assert(buf_bytes >= 4);
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)data[i];
		bool plain = c > ' ' && c < 0x7f && c != '%' && c != '"';
		size_t need = plain ? 1 : 3;

		if (used + need >= buf_bytes) {
			memcpy(buf + cut, "...", 4);
			return buf;
		}
		if (plain)
			buf[used] = (char)c;
		else
			(void)snprintf(buf + used, 4, "%%%02X", c);
		used += need;
		/* The last place where "..." still fits behind whole bytes. */
		if (used + 4 <= buf_bytes)
			cut = used;
	}
	buf[used] = '\0';
	return buf;
}

bool log_pace(struct log_pace *pace, uint32_t every_ms, uint64_t *ret_held)
{
	int64_t now = clock_monotonic_us() / 1000;
	int_fast64_t next = atomic_load(&pace->next_ms);

	/* Of several threads that come at once, one wins the exchange. */
	if (now < next || !atomic_compare_exchange_strong(&pace->next_ms, &next,
							  now + every_ms)) {
		atomic_fetch_add(&pace->held, 1);
		return false;
	}
	*ret_held = (uint64_t)atomic_exchange(&pace->held, 0);
	return true;
}
