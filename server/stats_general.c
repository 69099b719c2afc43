/*
 * stats_general.c - plain `stats`: one table in memcached's order.
 *
 * Exactly memcached's names: what is ours is in the group `bdb`.
 * Each name has one source: a counter of the workers, a constant (for what
 * this server does not have), or a function of the snapshot.
 */
#include <event2/event.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "server/shared.h"
#include "server/stats.h"
#include "server/tls.h"
#include "server/version.h"
#include "server/worker.h"

/* Everything read once, so that one answer fits together. */
struct snapshot {
	struct server *server;
	struct rusage usage;
	struct store_counts store;
	uint64_t totals[COUNTER_COUNT];
};

struct general {
	const char *name;
	enum { CONSTANT, COUNTER, NUMBER, TEXT } source;
	uint64_t constant;
	enum counter counter;
	uint64_t (*number)(const struct snapshot *);
	void (*text)(const struct snapshot *, char *buf, size_t bytes);
};

static uint64_t get_pid(const struct snapshot *s)
{
	(void)s;
	return (uint64_t)getpid();
}

static uint64_t get_uptime(const struct snapshot *s)
{
	int64_t up = clock_monotonic_us() - s->server->started_us;

	/* Tools divide by it. */
	return up < 1000000 ? 1 : (uint64_t)up / 1000000;
}

static uint64_t get_time(const struct snapshot *s)
{
	return (uint64_t)clock_now_seconds(&s->server->clock);
}

static void get_version(const struct snapshot *s, char *buf, size_t bytes)
{
	(void)s;
	(void)snprintf(buf, bytes, "%s", MEMCACHEDB_VERSION);
}

static void get_libevent(const struct snapshot *s, char *buf, size_t bytes)
{
	(void)s;
	(void)snprintf(buf, bytes, "%s", event_get_version());
}

static void get_user_time(const struct snapshot *s, char *buf, size_t bytes)
{
	(void)snprintf(buf, bytes, "%ld.%06ld", (long)s->usage.ru_utime.tv_sec,
		       (long)s->usage.ru_utime.tv_usec);
}

static void get_system_time(const struct snapshot *s, char *buf, size_t bytes)
{
	(void)snprintf(buf, bytes, "%ld.%06ld", (long)s->usage.ru_stime.tv_sec,
		       (long)s->usage.ru_stime.tv_usec);
}

static uint64_t get_conn_limit(const struct snapshot *s)
{
	return atomic_load(&s->server->conn_limit);
}

static uint64_t get_connections(const struct snapshot *s)
{
	return atomic_load(&s->server->curr_connections);
}

static uint64_t get_rejected(const struct snapshot *s)
{
	return atomic_load(&s->server->rejected_connections);
}

static uint64_t get_memory_limit(const struct snapshot *s)
{
	return atomic_load(&s->server->memory_limit_bytes);
}

static uint64_t get_accepting(const struct snapshot *s)
{
	return atomic_load(&s->server->accepting) ? 1 : 0;
}

static uint64_t get_listen_disabled(const struct snapshot *s)
{
	return atomic_load(&s->server->listen_disabled);
}

static uint64_t get_listen_disabled_us(const struct snapshot *s)
{
	return atomic_load(&s->server->listen_disabled_us);
}

static uint64_t get_threads(const struct snapshot *s)
{
	return s->server->worker_count;
}

static uint64_t get_bytes(const struct snapshot *s)
{
	return s->store.bytes;
}

static uint64_t get_items(const struct snapshot *s)
{
	return s->store.items;
}

static uint64_t get_swept(const struct snapshot *s)
{
	return s->store.expired + s->store.flushed;
}

/* Dead items whose space was freed, by the sweep or by a store. */
static uint64_t get_reclaimed(const struct snapshot *s)
{
	return get_swept(s) + s->totals[COUNTER_reclaimed];
}

static uint64_t get_lines_written(const struct snapshot *s)
{
	return atomic_load(&s->server->watch.written);
}

static uint64_t get_lines_skipped(const struct snapshot *s)
{
	return atomic_load(&s->server->watch.skipped);
}

static uint64_t get_lines_sent(const struct snapshot *s)
{
	return atomic_load(&s->server->watch.sent);
}

static uint64_t get_watchers(const struct snapshot *s)
{
	return atomic_load(&s->server->watch.count);
}

#define IS(which, value)                               \
	{                                              \
#which, CONSTANT, value, 0, NULL, NULL \
	}
#define COUNTED(which)                                          \
	{                                                       \
#which, COUNTER, 0, COUNTER_##which, NULL, NULL \
	}
#define NUMBERED(which, function)                    \
	{                                            \
#which, NUMBER, 0, 0, function, NULL \
	}
#define SAID(which, function)                      \
	{                                          \
#which, TEXT, 0, 0, NULL, function \
	}

static const struct general table[] = {
	NUMBERED(pid, get_pid),
	NUMBERED(uptime, get_uptime),
	NUMBERED(time, get_time),
	SAID(version, get_version),
	SAID(libevent, get_libevent),
	IS(pointer_size, sizeof(void *) * 8),
	SAID(rusage_user, get_user_time),
	SAID(rusage_system, get_system_time),
	NUMBERED(max_connections, get_conn_limit),
	NUMBERED(curr_connections, get_connections),
	COUNTED(total_connections),
	NUMBERED(rejected_connections, get_rejected),
	NUMBERED(connection_structures, get_connections),
	IS(response_obj_oom, 0),
	IS(response_obj_count, 0),
	IS(response_obj_bytes, 0),
	IS(read_buf_count, 0),
	IS(read_buf_bytes, 0),
	IS(read_buf_bytes_free, 0),
	IS(read_buf_oom, 0),
	IS(reserved_fds, 20),
	COUNTED(cmd_get),
	COUNTED(cmd_set),
	COUNTED(cmd_flush),
	COUNTED(cmd_touch),
	COUNTED(cmd_meta),
	COUNTED(get_hits),
	COUNTED(get_misses),
	COUNTED(get_expired),
	COUNTED(get_flushed),
	COUNTED(delete_misses),
	COUNTED(delete_hits),
	COUNTED(incr_misses),
	COUNTED(incr_hits),
	COUNTED(decr_misses),
	COUNTED(decr_hits),
	COUNTED(cas_misses),
	COUNTED(cas_hits),
	COUNTED(cas_badval),
	COUNTED(touch_hits),
	COUNTED(touch_misses),
	COUNTED(store_too_large),
	COUNTED(store_no_memory),
	COUNTED(auth_cmds),
	COUNTED(auth_errors),
	COUNTED(bytes_read),
	COUNTED(bytes_written),
	NUMBERED(limit_maxbytes, get_memory_limit),
	NUMBERED(accepting_conns, get_accepting),
	NUMBERED(listen_disabled_num, get_listen_disabled),
	NUMBERED(time_in_listen_disabled_us, get_listen_disabled_us),
	NUMBERED(threads, get_threads),
	COUNTED(conn_yields),
	IS(hash_power_level, 0),
	IS(hash_bytes, 0),
	IS(hash_is_expanding, 0),
	IS(slab_reassign_rescues, 0),
	IS(slab_reassign_chunk_rescues, 0),
	IS(slab_reassign_inline_reclaim, 0),
	IS(slab_reassign_busy_items, 0),
	IS(slab_reassign_busy_deletes, 0),
	IS(slab_reassign_busy_nomem, 0),
	IS(slab_reassign_last_busy_status, 0),
	IS(slab_reassign_running, 0),
	IS(slabs_moved, 0),
	COUNTED(malloc_fails),
	IS(log_worker_dropped, 0),
	NUMBERED(log_worker_written, get_lines_written),
	NUMBERED(log_watcher_skipped, get_lines_skipped),
	NUMBERED(log_watcher_sent, get_lines_sent),
	NUMBERED(log_watchers, get_watchers),
	IS(unexpected_napi_ids, 0),
	IS(round_robin_fallback, 0),
	NUMBERED(bytes, get_bytes),
	NUMBERED(curr_items, get_items),
	COUNTED(total_items),
	IS(slab_global_page_pool, 0),
	IS(expired_unfetched, 0),
	IS(evicted_unfetched, 0),
	IS(evictions, 0),
	NUMBERED(reclaimed, get_reclaimed),
	NUMBERED(crawler_reclaimed, get_swept),
	IS(crawler_items_checked, 0),
	IS(lrutail_reflocked, 0),
};

static void snapshot_take(struct server *server, struct snapshot *ret)
{
	ret->server = server;
	(void)getrusage(RUSAGE_SELF, &ret->usage);
	store_counts(server->store, &ret->store);
	totals_read(server, ret->totals);
}

static void general_say(const struct general *line, const struct snapshot *s,
			struct stats_sink *sink)
{
	char text[128];

	switch (line->source) {
	case CONSTANT:
		stats_number(sink, line->name, line->constant);
		break;
	case COUNTER:
		stats_number(sink, line->name, s->totals[line->counter]);
		break;
	case NUMBER:
		stats_number(sink, line->name, line->number(s));
		break;
	case TEXT:
		line->text(s, text, sizeof(text));
		sink->take(sink, line->name, text);
		break;
	}
}

static void say_tls(struct server *server, const uint64_t *totals,
		    struct stats_sink *sink)
{
	if (server->options->tls_session_cache)
		stats_number(sink, "ssl_new_sessions",
			     totals[COUNTER_ssl_new_sessions]);
	stats_number(sink, "ssl_handshake_errors",
		     totals[COUNTER_ssl_handshake_errors]);
	stats_number(sink, "ssl_proto_errors",
		     totals[COUNTER_ssl_proto_errors]);
	stats_number(sink, "time_since_server_cert_refresh",
		     tls_age_seconds(server->tls));
}

void stats_general(struct server *server, struct stats_sink *sink)
{
	struct snapshot snapshot;

	snapshot_take(server, &snapshot);
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		general_say(&table[i], &snapshot, sink);
	if (server->options->idle_timeout_seconds > 0)
		stats_number(sink, "idle_kicks",
			     snapshot.totals[COUNTER_idle_kicks]);
	if (server->tls != NULL)
		say_tls(server, snapshot.totals, sink);
}

void stats_number(struct stats_sink *sink, const char *name, uint64_t number)
{
	char text[24];

	(void)snprintf(text, sizeof(text), "%" PRIu64, number);
	sink->take(sink, name, text);
}
