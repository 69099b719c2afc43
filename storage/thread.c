/*
 * thread.c - see thread.h.
 */
#define _GNU_SOURCE /* pthread_setname_np */

#include "storage/thread.h"

#include <signal.h>
#include <time.h>

int thread_start(pthread_t *ret_thread, const char *name,
		 void *(*run)(void *arg), void *arg)
{
	sigset_t all, before;
	int error;

	(void)sigfillset(&all);
	error = pthread_sigmask(SIG_BLOCK, &all, &before);
	if (error != 0)
		return -error;
	error = pthread_create(ret_thread, NULL, run, arg);
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (error == 0)
		(void)pthread_setname_np(*ret_thread, name);
	return -error;
}

int thread_cond_init(pthread_cond_t *cond)
{
	pthread_condattr_t attr;
	int error = pthread_condattr_init(&attr);

	if (error != 0)
		return -error;
	error = pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	if (error == 0)
		error = pthread_cond_init(cond, &attr);
	(void)pthread_condattr_destroy(&attr);
	return -error;
}

void thread_wait_ms(pthread_cond_t *cond, pthread_mutex_t *lock, int64_t ms)
{
	struct timespec until;

	(void)clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += (time_t)(ms / 1000);
	until.tv_nsec += (long)(ms % 1000) * 1000000;
	if (until.tv_nsec >= 1000000000) {
		until.tv_nsec -= 1000000000;
		until.tv_sec++;
	}
	(void)pthread_cond_timedwait(cond, lock, &until);
}

int64_t thread_now_us(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

int64_t thread_now_ms(void)
{
	return thread_now_us() / 1000;
}
