/*
 * spawn.h - starts the server's threads, each with a name.
 */
#ifndef SERVER_SPAWN_H
#define SERVER_SPAWN_H

#include <pthread.h>

/*
 * Runs run(arg) in a new thread. The name, of 15 bytes at most, is what
 * `top -H` shows. Returns 0 or -errno. Thread: main.
 */
int spawn_thread(pthread_t *ret_thread, const char *name,
		 void *(*run)(void *arg), void *arg);

#endif
