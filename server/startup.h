/*
 * startup.h - what is done once, before the server serves.
 *
 * Each part logs its own trouble in one line and returns the exit status of
 * the process: EX_OK, or one of sysexits.h. Thread: main, before the workers.
 */
#ifndef SERVER_STARTUP_H
#define SERVER_STARTUP_H

struct server;

/* Limits and signals; what cannot be had is one warning. */
void startup_prepare(struct server *server);

/*
 * Sets server->tls, with -Z. Before the user is changed: the key may be for
 * root only. Blocks: on the files.
 */
int startup_open_tls(struct server *server);

/* Becomes the user of -u, if root. */
int startup_change_user(struct server *server);

/*
 * Opens the data and sets server->store. Blocks: on recovery, as long as that
 * takes.
 */
int startup_open_store(struct server *server);

/* Only once the data are ours: until then the file may be another server's. */
int startup_write_pidfile(struct server *server);

#endif
