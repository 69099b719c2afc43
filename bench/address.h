/*
 * address.h - where the server is.
 */
#ifndef BENCH_ADDRESS_H
#define BENCH_ADDRESS_H

#include <sys/socket.h>

#include "bench/options.h"

struct address {
	struct sockaddr_storage storage;
	socklen_t bytes;
};

/*
 * Takes the address from the options; never asks a name server. Returns 0,
 * -EINVAL: no such address, -EPERM: it is not loopback and remote ones are
 * not allowed.
 */
int address_find(const struct options *options, struct address *ret);

/*
 * Opens a connection, non-blocking from then on, without Nagle's delay.
 * Returns the descriptor, which the caller closes, or -errno.
 * Blocks: until connected, 5 seconds at most.
 */
int address_connect(const struct address *address);

#endif
