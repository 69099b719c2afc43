/*
 * conn_io.h - between the steps of a connection and its bytes.
 *
 * Private to conn.c (steps, life), conn_io.c (reading, sending) and udp.c
 * (the same for datagrams).
 * Thread: the owner worker.
 */
#ifndef SERVER_CONN_IO_H
#define SERVER_CONN_IO_H

#include <event2/util.h>

#include "server/conn.h"

/* The callbacks of the two events; arg is the connection. */
void conn_on_readable(evutil_socket_t fd, short what, void *arg);
void conn_on_writable(evutil_socket_t fd, short what, void *arg);

/* Reads. Returns AGAIN if there is something to look at, INPUT, or DROP. */
enum conn_next conn_fill(struct conn *conn);

/* Waits for bytes, or for what the transport needs to get at them. */
void conn_await_input(struct conn *conn);

/* Turns the read event on or off. */
void conn_want_input(struct conn *conn, bool want);

/* A connection in no list, without events. NULL: no memory. */
struct conn *conn_alloc(struct worker *worker, int fd, int listen_fd);

/* Sends again when more has become durable. */
void conn_wait_shown(struct conn *conn);

/* Takes it out of the worker's lists, but for that of all connections. */
void conn_leave_lists(struct conn *conn);

#endif
