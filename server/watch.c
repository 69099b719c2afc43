/*
 * watch.c - see watch.h.
 */
#include "server/watch.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINE_BYTES 1200

struct watcher {
	TAILQ_ENTRY(watcher) link;
	unsigned streams;
	void (*wake)(void *arg);
	void *arg;
	uint64_t skipped; /* lines, since one was taken down last */
	size_t bytes;
	char buffer[WATCH_BUFFER_BYTES];
};

void watch_init(struct watch_hub *hub)
{
	memset(hub, 0, sizeof(*hub));
	(void)pthread_mutex_init(&hub->lock, NULL);
	TAILQ_INIT(&hub->watchers);
}

void watch_done(struct watch_hub *hub)
{
	assert(TAILQ_EMPTY(&hub->watchers));
	(void)pthread_mutex_destroy(&hub->lock);
}

unsigned watch_stream_named(const char *name, size_t bytes)
{
	static const struct {
		const char *name;
		unsigned stream;
	} table[] = {
		{"fetchers", WATCH_FETCHERS},
		{"mutations", WATCH_MUTATIONS},
		{"deletions", WATCH_DELETIONS},
		{"connevents", WATCH_CONNEVENTS},
		{"evictions", WATCH_SILENT},
		{"rawcmds", WATCH_SILENT},
		{"sysevents", WATCH_SILENT},
		{"proxyreqs", WATCH_SILENT},
		{"proxyevents", WATCH_SILENT},
		{"proxyuser", WATCH_SILENT},
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (strlen(table[i].name) == bytes &&
		    memcmp(table[i].name, name, bytes) == 0)
			return table[i].stream;
	return 0;
}

/* Under the lock. */
static void look_who_wants(struct watch_hub *hub)
{
	const struct watcher *watcher;
	unsigned wanted = 0;

	TAILQ_FOREACH (watcher, &hub->watchers, link)
		wanted |= watcher->streams;
	atomic_store(&hub->wanted, wanted);
}

int watcher_new(struct watch_hub *hub, unsigned streams,
		void (*wake)(void *arg), void *arg, struct watcher **ret)
{
	struct watcher *watcher = malloc(sizeof(*watcher));

	if (watcher == NULL)
		return -ENOMEM;
	watcher->streams = streams;
	watcher->wake = wake;
	watcher->arg = arg;
	watcher->skipped = 0;
	watcher->bytes = 0;
	(void)pthread_mutex_lock(&hub->lock);
	if (hub->count == WATCHERS_MAX) {
		(void)pthread_mutex_unlock(&hub->lock);
		free(watcher);
		return -EUSERS;
	}
	hub->count++;
	TAILQ_INSERT_TAIL(&hub->watchers, watcher, link);
	look_who_wants(hub);
	(void)pthread_mutex_unlock(&hub->lock);
	*ret = watcher;
	return 0;
}

void watcher_free(struct watch_hub *hub, struct watcher *watcher)
{
	if (watcher == NULL)
		return;
	(void)pthread_mutex_lock(&hub->lock);
	TAILQ_REMOVE(&hub->watchers, watcher, link);
	hub->count--;
	look_who_wants(hub);
	(void)pthread_mutex_unlock(&hub->lock);
	free(watcher);
}

bool watcher_has_lines(struct watch_hub *hub, struct watcher *watcher)
{
	bool has;

	(void)pthread_mutex_lock(&hub->lock);
	has = watcher->bytes > 0;
	(void)pthread_mutex_unlock(&hub->lock);
	return has;
}

static uint64_t count_lines(const char *text, size_t bytes)
{
	const char *at = text, *end = text + bytes;
	uint64_t lines = 0;

	while (at < end &&
	       (at = memchr(at, '\n', (size_t)(end - at))) != NULL) {
		at++;
		lines++;
	}
	return lines;
}

size_t watcher_take(struct watch_hub *hub, struct watcher *watcher, char *to,
		    size_t room)
{
	size_t bytes;

	(void)pthread_mutex_lock(&hub->lock);
	bytes = watcher->bytes < room ? watcher->bytes : room;
	memcpy(to, watcher->buffer, bytes);
	watcher->bytes -= bytes;
	memmove(watcher->buffer, watcher->buffer + bytes, watcher->bytes);
	(void)pthread_mutex_unlock(&hub->lock);
	atomic_fetch_add(&hub->sent, count_lines(to, bytes));
	return bytes;
}

/* Under the lock. A line behind a gap says how long that is. */
static void add_line(struct watch_hub *hub, struct watcher *watcher,
		     const char *line, size_t bytes)
{
	char gap[48];
	int gap_bytes = 0;

	if (watcher->skipped > 0)
		gap_bytes = snprintf(gap, sizeof(gap), "skipped=%" PRIu64 " ",
				     watcher->skipped);
	if (watcher->bytes + (size_t)gap_bytes + bytes > WATCH_BUFFER_BYTES) {
		watcher->skipped++;
		atomic_fetch_add(&hub->skipped, 1);
		return;
	}
	memcpy(watcher->buffer + watcher->bytes, gap, (size_t)gap_bytes);
	watcher->bytes += (size_t)gap_bytes;
	watcher->skipped = 0;
	memcpy(watcher->buffer + watcher->bytes, line, bytes);
	if (watcher->bytes == (size_t)gap_bytes)
		watcher->wake(watcher->arg);
	watcher->bytes += bytes;
	atomic_fetch_add(&hub->written, 1);
}

void watch_say(struct watch_hub *hub, enum watch_stream stream, int64_t now_us,
	       const char *format, ...)
{
	char text[LINE_BYTES], line[LINE_BYTES + 64];
	struct watcher *watcher;
	va_list args;
	int bytes;

	va_start(args, format);
	(void)vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	(void)pthread_mutex_lock(&hub->lock);
	bytes = snprintf(
		line, sizeof(line),
		"ts=%" PRId64 ".%06" PRId64 " gid=%" PRIu64 " type=%s\n",
		now_us / 1000000, now_us % 1000000, ++hub->next_line, text);
	TAILQ_FOREACH (watcher, &hub->watchers, link)
		if (watcher->streams & (unsigned)stream)
			add_line(hub, watcher, line, (size_t)bytes);
	(void)pthread_mutex_unlock(&hub->lock);
}
