/*
 * listener.h - the sockets that clients knock at.
 *
 * Lives on main's event loop. An accepted connection goes to the workers in
 * turn; over the limit it is told so and closed, or accepting pauses. A socket
 * for datagrams is handed to a worker itself: here is only its name, and a
 * descriptor that keeps it.
 */
#ifndef SERVER_LISTENER_H
#define SERVER_LISTENER_H

#include <stddef.h>

struct event_base;
struct listeners;
struct server;

/*
 * Binds the TCP and UDP addresses, so that a port in use is found out at once;
 * nobody can connect before listeners_start(). Returns 0 or -errno, with one
 * line in text that says which address and why. Owner: *ret by
 * listeners_free(). Thread: main, as the rest.
 */
int listeners_open(struct server *server, struct listeners **ret, char *text,
		   size_t text_bytes);

/*
 * Makes the UNIX socket (now that the data are ours, a socket of that name is
 * either stale or somebody else's) and begins to accept. Returns 0 or -errno,
 * with a line in text as above.
 */
int listeners_start(struct listeners *listeners, struct event_base *base,
		    char *text, size_t text_bytes);

/* "127.0.0.1:21201, unix:/run/x.sock": for the start-up line. */
void listeners_describe(const struct listeners *listeners, char *buf,
			size_t buf_bytes);

/* Writes $MEMCACHED_PORT_FILENAME, if set. Returns 0 or -errno. */
int listeners_write_ports(const struct listeners *listeners);

/* Closes the sockets and removes the socket file. NULL is fine. */
void listeners_free(struct listeners *listeners);

#endif
