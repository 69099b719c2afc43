/*
 * log.h - the only writer of log lines.
 *
 * The idea: a line is put together on the caller's stack and leaves in one
 * write(2), so threads need no lock and lines never mix. Control bytes never
 * get into the log: what was logged as one line stays one line.
 *
 * Keys are logged through log_escape(); values and passwords never.
 */
#ifndef SERVER_LOG_H
#define SERVER_LOG_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Longest line, with its head and LF; longer ones end in "...". */
#define LOG_LINE_MAX 1024

enum log_level {
	LOG_LEVEL_ERROR,   /* something failed that should not */
	LOG_LEVEL_WARNING, /* it goes on, but somebody should look */
	LOG_LEVEL_INFO,	   /* start, stop, recovery: a few lines a day */
	LOG_LEVEL_DEBUG,   /* -v: connections */
	LOG_LEVEL_TRACE	   /* -vv: commands */
};

struct log {
	int fd;
	atomic_bool priority; /* "<N>" and not the time: the journal's */
	atomic_uint verbosity;
};

/*
 * Writes to fd, which stays the caller's. Lines start with "<N>" if fd is
 * the journal's ($JOURNAL_STREAM), else with the time in UTC.
 * Thread: main, before the others. Blocks: never.
 */
void log_init(struct log *log, int fd, uint32_t verbosity);

/*
 * From now on lines go to the end of this file, made with mode 0640 if
 * missing; what fd was before is closed. Call it again after the file was
 * moved away. Returns 0 or -errno: then nothing has changed.
 * Thread: main. Blocks: on opening the file.
 */
int log_to_file(struct log *log, const char *path);

/* 0: INFO and worse; 1: also DEBUG; 2 and more: all. Thread: any. */
void log_set_verbosity(struct log *log, uint32_t verbosity);
uint32_t log_verbosity(const struct log *log);

/* True if a line of this level would be written. Thread: any. */
bool log_wants(const struct log *log, enum log_level level);

/*
 * Writes one line; the text ends without LF. errno is kept. A line that
 * cannot be written is lost. Thread: any. Blocks: as long as fd's reader does.
 */
void log_write(const struct log *log, enum log_level level, const char *format,
	       ...) __attribute__((format(printf, 3, 4)));

/*
 * Writes bytes (a key) to buf as printable ASCII without blanks: others, '%'
 * and '"' become %XX. What does not fit is cut and ends in "...".
 * buf_bytes is at least 4. Returns buf, terminated. Thread: any.
 */
const char *log_escape(char *buf, size_t buf_bytes, const char *data,
		       size_t len);

/* Holds back a noisy message. Zeroed: nothing was said yet. */
struct log_pace {
	atomic_int_fast64_t next_ms; /* monotonic: not before */
	atomic_uint_fast64_t held;
};

/*
 * True if the message may be written now, at most once in every_ms;
 * *ret_held is then the number of messages held back since the last one.
 * Thread: any. Blocks: never.
 */
bool log_pace(struct log_pace *pace, uint32_t every_ms, uint64_t *ret_held);

#endif
