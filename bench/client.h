/*
 * client.h - one connection and its requests in flight.
 *
 * The idea: a window of at most `depth` requests, answered in order. Whenever
 * something was answered, the window is filled up again and everything new
 * leaves in one write. Buffers are made once, for the largest window.
 *
 * Thread: the one loop that it belongs to. Blocks: never.
 */
#ifndef BENCH_CLIENT_H
#define BENCH_CLIENT_H

#include <stdbool.h>
#include <stdint.h>

#include "bench/keys.h"
#include "bench/options.h"
#include "bench/tally.h"
#include "bench/workload.h"

struct client;

/* What all clients of a loop share. */
struct client_shared {
	const struct options *options;
	const struct items *items;
	struct workload workload;
	struct tally tally;
	bool counting;	    /* errors are counted anyway */
	uint64_t in_flight; /* over all clients */
	uint64_t now_ns;    /* when the loop last heard something */
};

enum client_state {
	CLIENT_READY,	/* wants to read */
	CLIENT_BLOCKED, /* wants to write, too */
	CLIENT_DEAD	/* the connection cannot be used any more; counted */
};

/*
 * Takes over the connected descriptor, which client_free() closes. `shared`
 * is borrowed. Returns 0 or -ENOMEM; then fd is still the caller's.
 */
int client_new(struct client_shared *shared, int fd,
	       struct client **ret_client);
void client_free(struct client *client); /* NULL is fine */

int client_fd(const struct client *client);

/* Fills the window if `more`, and writes what is unsent. */
enum client_state client_send(struct client *client, bool more);

/* Reads once, and counts what was answered. */
enum client_state client_receive(struct client *client);

#endif
