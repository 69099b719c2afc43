/*
 * watch.h - the log that clients can watch: `watch fetchers mutations ...`.
 *
 * Whoever does something worth a line asks watch_wants() first, which costs
 * one load as long as nobody watches that stream. A line goes into the buffer
 * of every watcher of its stream, from where the watcher's worker takes it.
 * A watcher that does not read loses lines, and is told how many; nobody ever
 * waits for one.
 *
 * Thread: any, unless said otherwise. Blocks: on watch_hub.lock, briefly.
 */
#ifndef SERVER_WATCH_H
#define SERVER_WATCH_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#define WATCHERS_MAX	   20
#define WATCH_BUFFER_BYTES (256 * 1024)

enum watch_stream {
	WATCH_FETCHERS = 1,   /* item_get */
	WATCH_MUTATIONS = 2,  /* item_store */
	WATCH_DELETIONS = 4,  /* deleted */
	WATCH_CONNEVENTS = 8, /* conn_new, conn_close */
	WATCH_SILENT = 16     /* memcached's others: nothing is said there */
};

TAILQ_HEAD(watcher_list, watcher);

struct watch_hub {
	atomic_uint wanted;   /* streams that somebody watches */
	pthread_mutex_t lock; /* protects the watchers and their buffers */
	struct watcher_list watchers;
	atomic_uint count;
	uint64_t next_line;
	/* for `stats`: lines */
	_Atomic uint64_t written, skipped, sent;
};

struct watcher;

/* Thread: main. */
void watch_init(struct watch_hub *hub);
void watch_done(struct watch_hub *hub);

/* The stream of this name; 0: there is none. */
unsigned watch_stream_named(const char *name, size_t bytes);

/*
 * Adds a watcher of some streams. wake(arg) is called by any thread, under
 * the lock, when there is something to take; it must not block. Returns 0,
 * -EUSERS (enough watch already) or -ENOMEM.
 * Owner: the caller, by watcher_free(); NULL is fine there.
 */
int watcher_new(struct watch_hub *hub, unsigned streams,
		void (*wake)(void *arg), void *arg, struct watcher **ret);
void watcher_free(struct watch_hub *hub, struct watcher *watcher);

/* True if there is a line to take. */
bool watcher_has_lines(struct watch_hub *hub, struct watcher *watcher);

/* Moves up to `room` bytes of what is there to `to`; returns their number. */
size_t watcher_take(struct watch_hub *hub, struct watcher *watcher, char *to,
		    size_t room);

static inline bool watch_wants(const struct watch_hub *hub,
			       enum watch_stream stream)
{
	return (atomic_load_explicit(&hub->wanted, memory_order_relaxed) &
		stream) != 0;
}

/*
 * Writes "ts=<seconds> gid=<n> type=<text>" and LF. now_us: since 1970. The
 * text is cut at about 1000 bytes.
 */
void watch_say(struct watch_hub *hub, enum watch_stream stream, int64_t now_us,
	       const char *format, ...) __attribute__((format(printf, 4, 5)));

#endif
