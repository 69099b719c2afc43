/*
 * conn_io.h - between the steps of a connection and its bytes.
 *
 * Private to conn.c (steps, life) and conn_io.c (reading, sending).
 * Thread: the owner worker.
 */
#ifndef SERVER_CONN_IO_H
#define SERVER_CONN_IO_H

#include <event2/util.h>

#include "server/conn.h"

/* The callbacks of the two events; arg is the connection. */
void conn_on_readable(evutil_socket_t fd, short what, void *arg);
void conn_on_writable(evutil_socket_t fd, short what, void *arg);

/* Turns the read event on or off. */
void conn_want_input(struct conn *conn, bool want);

/* Takes it out of the worker's lists, but for that of all connections. */
void conn_leave_lists(struct conn *conn);

#endif
