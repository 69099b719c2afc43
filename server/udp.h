/*
 * udp.h - requests that come as datagrams.
 *
 * The idea: a datagram is a connection whose peer has said all it will say.
 * It has no socket of its own and is in no list for `stats conns`, but runs
 * the same steps, so every command and every dialect is there. Its answers are
 * kept until the last of them may leave; then they go out as numbered
 * datagrams, and the connection ends. What does not fit (an answer that is too
 * big, a half sent command, a full socket) is dropped: a client of UDP asks
 * again.
 *
 *   main --(inbox)--> udp_socket_new() --> datagrams --> conn_run() ...
 *                     ... conn_send() --> udp_send() --> conn_close()
 *
 * Thread: the worker that owns the socket. Blocks: never.
 */
#ifndef SERVER_UDP_H
#define SERVER_UDP_H

#include <stddef.h>
#include <stdint.h>

#include "protocol/protocol.h"
#include "server/output.h"

/* Answers: the frame and what comes behind it. Fits an Ethernet packet. */
#define UDP_ANSWER_BYTES  1400
#define UDP_PAYLOAD_BYTES (UDP_ANSWER_BYTES - PROTO_FRAME_HEAD)

struct conn;
struct udp_request;
struct udp_socket;
struct worker;

/*
 * Takes over a bound socket and reads it on the worker's loop. listen_fd is
 * its number in `stats conns`. Without memory it is closed, and logged.
 */
void udp_socket_new(struct worker *worker, int fd, int listen_fd);

/* Reads no more datagrams; those that are under way are answered. */
void udp_stop(struct worker *worker);

/* Closes the worker's sockets. No datagram may be under way. */
void udp_free(struct worker *worker);

/*
 * Answers a datagram if it is time for that, and closes its connection; that
 * of conn_send().
 */
void udp_send(struct conn *conn);

/* The connection's memory is freed: its place is free for another datagram. */
void udp_leave(struct udp_request *request);

/* Datagrams of an answer of so many bytes; 0: none, or too many to number. */
uint16_t udp_count(size_t bytes);

/*
 * Moves the next part of an answer behind its frame to `buf`, of
 * UDP_ANSWER_BYTES, and numbers the frame on. Returns the datagram's size.
 */
size_t udp_cut(struct output *out, struct proto_frame *frame, char *buf);

#endif
