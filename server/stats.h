/*
 * stats.h - the groups of `stats`, as tables of names and values.
 *
 * A group says name and value pairs to a sink; how they look on the wire is
 * the sink's business. Names, order and shape are memcached's: tools read
 * them. What is Berkeley DB's own stays out of the plain group.
 *
 * Thread: a worker. Blocks: on the locks of totals, prefixes and registry.
 */
#ifndef SERVER_STATS_H
#define SERVER_STATS_H

#include <stdint.h>

struct server;
struct worker;

/* Takes one pair; both terminated, not empty, and gone after the call. */
struct stats_sink {
	void (*take)(struct stats_sink *sink, const char *name,
		     const char *value);
};

/* Plain `stats`. */
void stats_general(struct server *server, struct stats_sink *sink);

/* As they are now; see options_each_setting(). */
void stats_settings(struct server *server, struct stats_sink *sink);

/* All items are shown as those of one slab class, number 1. */
void stats_items(struct server *server, struct stats_sink *sink);
void stats_slabs(struct server *server, struct stats_sink *sink);

/* `stats bdb`: what is not memcached's. */
void stats_engine(struct worker *worker, struct stats_sink *sink);

/* Says that sizes are not counted, as memcached does without track_sizes. */
void stats_sizes(struct server *server, struct stats_sink *sink);

/*
 * self_fd: the connection that asks, shown as parsing a command. Returns 0, or
 * -ENOMEM: then nothing was said.
 */
int stats_conns(struct server *server, struct stats_sink *sink, int self_fd);

/* Gives a number to a sink. */
void stats_number(struct stats_sink *sink, const char *name, uint64_t number);

#endif
