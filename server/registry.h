/*
 * registry.h - all open connections and listeners, for `stats conns`.
 *
 * Taken in and out when a connection opens and closes; in between nobody
 * touches it, so the lock costs the hot path nothing.
 */
#ifndef SERVER_REGISTRY_H
#define SERVER_REGISTRY_H

#include <netinet/in.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <sys/un.h>

struct conn;

/* Room for "unix:" and a path, or for an IPv6 address and port. */
#define REGISTRY_ADDR_BYTES 128

/* The address of a socket of any of our kinds. */
union registry_sockaddr {
	struct sockaddr any;
	struct sockaddr_in in;
	struct sockaddr_in6 in6;
	struct sockaddr_un un;
};

struct registry_listener {
	TAILQ_ENTRY(registry_listener) link;
	int fd;
	bool is_udp;
	char addr[REGISTRY_ADDR_BYTES]; /* as `stats conns` shows it:
					   "tcp:127.0.0.1:21201" */
};

struct registry {
	pthread_mutex_t lock; /* protects the two lists */
	TAILQ_HEAD(, conn) conns;
	TAILQ_HEAD(, registry_listener) listeners;
};

/* One line's worth of `stats conns`. */
struct registry_entry {
	int fd;
	int step; /* enum conn_step; -1: a listener */
	bool is_udp;
	char addr[REGISTRY_ADDR_BYTES], listen_addr[REGISTRY_ADDR_BYTES];
	int64_t last_command; /* seconds since 1970 */
};

/* Thread: main, while no other uses it. */
void registry_init(struct registry *registry);
void registry_done(struct registry *registry);

/* Thread: any. Blocks: on the lock, as the rest. */
void registry_add(struct registry *registry, struct conn *conn);
void registry_remove(struct registry *registry, struct conn *conn);
void registry_add_listener(struct registry *registry,
			   struct registry_listener *listener);
void registry_remove_listener(struct registry *registry,
			      struct registry_listener *listener);

/*
 * Copies what is there, by ascending fd. Returns the count, or -ENOMEM.
 * Owner: the caller frees *ret_entries.
 */
int registry_list(struct registry *registry,
		  struct registry_entry **ret_entries);

/* Writes a socket's own or peer address as `stats conns` shows it. */
void registry_format_addr(int fd, bool peer, char *buf, size_t buf_bytes);

/* The same for an address of an IP socket: "udp:127.0.0.1:21201". */
void registry_format_sockaddr(const union registry_sockaddr *addr, bool is_udp,
			      char *buf, size_t buf_bytes);

#endif
