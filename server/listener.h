/*
 * listener.h - the sockets that clients knock at.
 *
 * Lives on main's event loop. An accepted connection goes to the workers in
 * turn; over the limit it is told so and closed, or accepting pauses.
 */
#ifndef SERVER_LISTENER_H
#define SERVER_LISTENER_H

#include <stddef.h>

struct event_base;
struct listeners;
struct server;

/*
 * Binds and listens as the options say, so that clients can connect; nothing
 * is accepted before listeners_start(). Returns 0 or -errno, with one line
 * in text that says which address and why.
 * Owner: *ret by listeners_free(). Thread: main, as the rest.
 */
int listeners_open(struct server *server, struct listeners **ret, char *text,
		   size_t text_bytes);

/* Begins to accept. Returns 0 or -ENOMEM. */
int listeners_start(struct listeners *listeners, struct event_base *base);

/* "127.0.0.1:21201, unix:/run/x.sock": for the start-up line. */
void listeners_describe(const struct listeners *listeners, char *buf,
			size_t buf_bytes);

/* Writes $MEMCACHED_PORT_FILENAME, if set. Returns 0 or -errno. */
int listeners_write_ports(const struct listeners *listeners);

/* Closes the sockets and removes the socket file. NULL is fine. */
void listeners_free(struct listeners *listeners);

#endif
