/*
 * server.h - the server as one call.
 */
#ifndef SERVER_SERVER_H
#define SERVER_SERVER_H

#include "server/options.h"

struct daemon;

/*
 * Opens the data, starts the threads, listens, serves until it is told to
 * stop, and ends in reverse order. Messages go to the log.
 * Returns the exit status of the process: 0, or one of sysexits.h.
 * *ret_abandoned says if threads were left running, because the storage failed
 * or a login check does not end: then the process must end at once, without
 * exit handlers.
 * Thread: main. Blocks: for as long as the server lives.
 */
int server_run(const struct options *options, struct daemon *daemon,
	       bool *ret_abandoned);

#endif
