/*
 * config.h - what a store is told when it is opened, and why it may refuse.
 *
 * Part of the public face: storage.h includes it, nobody else does.
 */
#ifndef STORAGE_CONFIG_H
#define STORAGE_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

enum store_sync {
	STORE_SYNC_ALWAYS,  /* durable = on disk */
	STORE_SYNC_WRITE,   /* durable = handed to the OS */
	STORE_SYNC_INTERVAL /* durable = applied; on disk within the interval */
};

enum store_severity { STORE_DEBUG, STORE_INFO, STORE_WARNING, STORE_ERROR };

/* Why store_open() refused; each maps to an exit status of the server. */
enum store_refusal {
	STORE_REFUSED_BUSY,	  /* another process holds the directory */
	STORE_REFUSED_PERMISSION, /* cannot read or write it */
	STORE_REFUSED_FOREIGN,	  /* not ours, or of an unknown version */
	STORE_REFUSED_DAMAGED,	  /* ours, and broken: files are untouched */
	STORE_REFUSED_SETTING,	  /* a setting does not fit these data */
	STORE_REFUSED_SYSTEM	  /* memory, disk space, threads */
};

struct store_refused {
	enum store_refusal why;
	char text[400]; /* one line, names the file and what to do */
};

struct store_config {
	const char *home;      /* directory; made with mode 0750 if missing */
	const char *data_file; /* name inside home */
	const char *log_dir;   /* NULL: home */
	uint64_t cache_bytes;  /* of Berkeley DB, in pages */
	uint64_t item_cache_bytes; /* of records, in front of it; 0: none */
	/*
	 * At creation only; 512..65536, a power of 2. Above 4096 a kill or a
	 * power cut can damage a page beyond repair.
	 */
	uint32_t page_bytes;
	uint32_t log_buffer_bytes;
	uint32_t log_file_bytes;
	bool hash;	     /* at creation only: a hash instead of a B-tree */
	bool shared_regions; /* region files on disk, for db5.3_stat */
	enum store_sync sync;
	uint32_t sync_interval_ms;
	/*
	 * How long store_close() may write changed pages; if that is not
	 * enough, the next start recovers them from the log. 0: no limit.
	 */
	uint32_t close_ms;
	uint32_t checkpoint_seconds; /* 0: only by volume and at the end */
	uint64_t checkpoint_bytes;   /* of log since the last checkpoint */
	uint32_t trickle_percent;    /* of a full cache's pages kept clean */
	bool keep_logs;		     /* never remove log files */
	/*
	 * Disk space below which growth is refused; below a quarter of it,
	 * every change. At least twice log_file_bytes is good. 0: off.
	 */
	uint64_t reserve_bytes;
	uint32_t flush_grace_seconds; /* before flushed items are reclaimed */
	uint32_t value_max_bytes;
	uint32_t readers_max; /* readers and clients together */
	/* Microseconds since 1970; called by any thread. */
	int64_t (*now_us)(void *arg);
	/* One line of text; called by any thread of the store. */
	void (*on_message)(void *arg, enum store_severity severity,
			   const char *text);
	/*
	 * The store cannot go on (fsync failed, panic): called once, by any
	 * thread. Nothing becomes durable after it. The process must end.
	 */
	void (*on_fatal)(void *arg, const char *text);
	void *arg;
};

#endif
