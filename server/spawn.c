/*
 * spawn.c - see spawn.h.
 */
#define _GNU_SOURCE /* pthread_setname_np */

#include "server/spawn.h"

int spawn_thread(pthread_t *ret_thread, const char *name,
		 void *(*run)(void *arg), void *arg)
{
	int error = pthread_create(ret_thread, NULL, run, arg);

	if (error == 0)
		(void)pthread_setname_np(*ret_thread, name);
	return -error;
}
