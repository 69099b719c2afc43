/*
 * thread.h - starts threads, and what they wait on.
 */
#ifndef STORAGE_THREAD_H
#define STORAGE_THREAD_H

#include <pthread.h>
#include <stdint.h>

/*
 * Starts a thread with all signals blocked, so that they go to the threads of
 * the caller's own. The name, of 15 bytes at most, is what `top -H` shows.
 * Returns 0 or -errno. Thread: main.
 */
int thread_start(pthread_t *ret_thread, const char *name,
		 void *(*run)(void *arg), void *arg);

/* A condition for thread_wait_ms(). 0 or -errno. */
int thread_cond_init(pthread_cond_t *cond);

/*
 * Waits for the condition, `ms` milliseconds at most; spurious returns
 * happen. The clock is the monotonic one: no clock step matters.
 */
void thread_wait_ms(pthread_cond_t *cond, pthread_mutex_t *lock, int64_t ms);

/* The monotonic clock. */
int64_t thread_now_ms(void);
int64_t thread_now_us(void);

#endif
