/*
 * stats_groups.c - the other groups of `stats`: settings, items, slabs,
 * sizes, conns.
 */
#include <stdio.h>
#include <stdlib.h>

#include "server/conn.h"
#include "server/shared.h"
#include "server/stats.h"

static void say_setting(void *arg, const char *name, const char *value)
{
	struct stats_sink *sink = arg;

	sink->take(sink, name, value);
}

void stats_settings(struct server *server, struct stats_sink *sink)
{
	struct options now = *server->options;

	/* What was changed since the start; the rest is as it was given. */
	now.verbosity = log_verbosity(&server->log);
	now.cache_bytes = atomic_load(&server->memory_limit_bytes);
	now.conn_limit = atomic_load(&server->conn_limit);
	now.detail_enabled = atomic_load(&server->prefixes.on);
	now.crawler_enabled = atomic_load(&server->crawler_enabled);
	options_each_setting(&now, say_setting, sink);
}

/* "<prefix><name>" with a number. */
static void say_under(struct stats_sink *sink, const char *prefix,
		      const char *name, uint64_t number)
{
	char full[64];

	(void)snprintf(full, sizeof(full), "%s%s", prefix, name);
	stats_number(sink, full, number);
}

/* What the class has of each name of memcached's. */
enum item_source { ZERO, ITEMS, REQUESTED, RECLAIMED, SWEPT };

/*
 * What Berkeley DB adds to a record at most: a header of 3 bytes and an index
 * of 2 for the key and for the data, both rounded up to 4 bytes. And pages that
 * are filled in random order are two thirds full.
 */
#define PAGE_OVERHEAD 16

static uint64_t mem_requested(const struct store_counts *counts)
{
	return (counts->bytes + counts->items * PAGE_OVERHEAD) * 3 / 2;
}

static uint64_t item_number(enum item_source source,
			    const struct store_counts *counts,
			    uint64_t reclaimed)
{
	switch (source) {
	case ZERO:
		return 0;
	case ITEMS:
		return counts->items;
	case REQUESTED:
		return mem_requested(counts);
	case RECLAIMED:
		return counts->expired + counts->flushed + reclaimed;
	case SWEPT:
		return counts->expired + counts->flushed;
	}
	return 0;
}

void stats_items(struct server *server, struct stats_sink *sink)
{
	static const struct {
		const char *name;
		enum item_source source;
	} lines[] = {
		{"number", ITEMS},
		{"number_hot", ZERO},
		{"number_warm", ZERO},
		{"number_cold", ITEMS},
		{"age_hot", ZERO},
		{"age_warm", ZERO},
		{"age", ZERO},
		{"mem_requested", REQUESTED},
		{"evicted", ZERO},
		{"evicted_nonzero", ZERO},
		{"evicted_time", ZERO},
		{"outofmemory", ZERO},
		{"tailrepairs", ZERO},
		{"reclaimed", RECLAIMED},
		{"expired_unfetched", ZERO},
		{"evicted_unfetched", ZERO},
		{"evicted_active", ZERO},
		{"crawler_reclaimed", SWEPT},
		{"crawler_items_checked", ZERO},
		{"lrutail_reflocked", ZERO},
		{"moves_to_cold", ZERO},
		{"moves_to_warm", ZERO},
		{"moves_within_lru", ZERO},
		{"direct_reclaims", ZERO},
		{"hits_to_hot", ZERO},
		{"hits_to_warm", ZERO},
		{"hits_to_cold", ZERO},
		{"hits_to_temp", ZERO},
	};
	uint64_t totals[COUNTER_COUNT];
	struct store_counts counts;

	store_counts(server->store, &counts);
	totals_read(server, totals);
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		if (counts.items > 0)
			say_under(sink, "items:1:", lines[i].name,
				  item_number(lines[i].source, &counts,
					      totals[COUNTER_reclaimed]));
}

/* The class's own lines; chunks are of the item limit's size. */
static void say_slab(struct server *server, struct stats_sink *sink,
		     const struct store_counts *counts)
{
	uint64_t totals[COUNTER_COUNT];
	const struct {
		const char *name;
		uint64_t number;
	} lines[] = {
		{"chunk_size", server->options->value_max_bytes},
		{"chunks_per_page", 1},
		{"total_pages", counts->items},
		{"total_chunks", counts->items},
		{"used_chunks", counts->items},
		{"free_chunks", 0},
		{"free_chunks_end", 0},
		{"mem_requested", mem_requested(counts)},
	};
	static const struct {
		const char *name;
		enum counter counter;
	} counted[] = {
		{"get_hits", COUNTER_get_hits},
		{"cmd_set", COUNTER_cmd_set},
		{"delete_hits", COUNTER_delete_hits},
		{"incr_hits", COUNTER_incr_hits},
		{"decr_hits", COUNTER_decr_hits},
		{"cas_hits", COUNTER_cas_hits},
		{"cas_badval", COUNTER_cas_badval},
		{"touch_hits", COUNTER_touch_hits},
	};

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		say_under(sink, "1:", lines[i].name, lines[i].number);
	totals_read(server, totals);
	for (size_t i = 0; i < sizeof(counted) / sizeof(counted[0]); i++)
		say_under(sink, "1:", counted[i].name,
			  totals[counted[i].counter]);
}

/* A class that had an item stays, empty, as one of memcached's would. */
void stats_slabs(struct server *server, struct stats_sink *sink)
{
	struct store_counts counts;
	bool active;

	store_counts(server->store, &counts);
	active = counts.items > 0 || counts.total_items > 0;
	if (active)
		say_slab(server, sink, &counts);
	stats_number(sink, "active_slabs", active ? 1 : 0);
	stats_number(sink, "total_malloced", counts.cache_bytes);
}

void stats_sizes(struct server *server, struct stats_sink *sink)
{
	(void)server;
	sink->take(sink, "sizes_status", "disabled");
}

/* The nearest of memcached's names. A switch, so that no step is forgotten. */
static const char *state_name(const struct registry_entry *entry, int self_fd)
{
	if (entry->fd == self_fd)
		return "conn_parse_cmd";
	if (entry->step < 0)
		return entry->is_udp ? "conn_read" : "conn_listening";
	switch ((enum conn_step)entry->step) {
	case CONN_COMMAND:
		return "conn_read";
	case CONN_VALUE:
		return "conn_nread";
	case CONN_SWALLOW:
		return "conn_swallow";
	case CONN_STREAM:
		return "conn_mwrite";
	case CONN_WATCHING:
		return "conn_watch";
	case CONN_CLOSING:
	case CONN_LINGERING:
		return "conn_closing";
	case CONN_CLOSED:
		break;
	}
	return "conn_closed";
}

static void say_conn(const struct registry_entry *entry,
		     struct stats_sink *sink, int self_fd, int64_t now)
{
	char prefix[16], name[64];

	(void)snprintf(prefix, sizeof(prefix), "%d:", entry->fd);
	if (entry->is_udp) {
		(void)snprintf(name, sizeof(name), "%sUDP", prefix);
		sink->take(sink, name, "UDP");
	}
	(void)snprintf(name, sizeof(name), "%saddr", prefix);
	sink->take(sink, name, entry->addr);
	if (entry->step >= 0) {
		(void)snprintf(name, sizeof(name), "%slisten_addr", prefix);
		sink->take(sink, name, entry->listen_addr);
	}
	(void)snprintf(name, sizeof(name), "%sstate", prefix);
	sink->take(sink, name, state_name(entry, self_fd));
	say_under(sink, prefix, "secs_since_last_cmd",
		  entry->step < 0 || now < entry->last_command
			  ? 0
			  : (uint64_t)(now - entry->last_command));
}

int stats_conns(struct server *server, struct stats_sink *sink, int self_fd)
{
	int64_t now = clock_now_seconds(&server->clock);
	struct registry_entry *entries;
	int count = registry_list(&server->registry, &entries);

	if (count < 0)
		return count;
	for (int i = 0; i < count; i++)
		say_conn(&entries[i], sink, self_fd, now);
	free(entries);
	return 0;
}
