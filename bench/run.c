/*
 * run.c - see run.h.
 *
 * Main sleeps while the loops work. It wakes at the end of a phase, or as
 * soon as every loop has ended by itself.
 */
#include "bench/run.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "bench/clock.h"
#include "bench/loop.h"
#include "bench/process.h"

#define NS_PER_MS UINT64_C(1000000)

struct run_thread {
	pthread_t id;
	struct loop *loop;
	struct run *run;
};

struct run {
	const struct options *options;
	struct items items;
	struct zipf *zipf;
	_Atomic int phase;
	pthread_mutex_t lock; /* protects `ended` */
	pthread_cond_t one_ended;
	uint32_t ended;
	uint32_t started;
	struct run_thread *threads;
};

static int make_run(struct run *run, const struct options *options)
{
	pthread_condattr_t monotonic;
	int error;

	run->options = options;
	error = items_init(&run->items, options->key_prefix, options->key_bytes,
			   options->value_bytes, options->keys);
	if (error != 0)
		return error;
	run->threads = calloc(options->threads, sizeof(*run->threads));
	if (run->threads == NULL)
		goto out_items;
	if (options->zipf &&
	    zipf_new(options->keys, options->zipf_exponent, &run->zipf) != 0)
		goto out_threads;
	pthread_mutex_init(&run->lock, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&run->one_ended, &monotonic);
	pthread_condattr_destroy(&monotonic);
	return 0;

out_threads:
	free(run->threads);
out_items:
	items_done(&run->items);
	return -ENOMEM;
}

static void end_run(struct run *run)
{
	for (uint32_t i = 0; i < run->options->threads; i++)
		loop_free(run->threads[i].loop);
	pthread_cond_destroy(&run->one_ended);
	pthread_mutex_destroy(&run->lock);
	zipf_free(run->zipf);
	free(run->threads);
	items_done(&run->items);
}

/* Many connections need many descriptors: take what may be taken. */
static void raise_descriptor_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
		return;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}

static int connect_all(struct run *run, FILE *errors)
{
	const struct options *options = run->options;
	struct address address;
	int error = address_find(options, &address);

	if (error == -EPERM)
		fprintf(errors,
			"loadgen: %s is not loopback: "
			"--allow-remote permits it\n",
			options->host);
	else if (error != 0)
		fprintf(errors, "loadgen: not an address: %s\n",
			options->unix_path != NULL ? options->unix_path
						   : options->host);
	if (error != 0)
		return error;
	raise_descriptor_limit();
	for (uint32_t i = 0; i < options->threads; i++) {
		error = loop_new(options, &run->items, run->zipf, &address, i,
				 &run->phase, &run->threads[i].loop);
		if (error != 0) {
			fprintf(errors, "loadgen: cannot connect: %s\n",
				strerror(-error));
			return error;
		}
	}
	return 0;
}

static void *thread_main(void *arg)
{
	struct run_thread *thread = arg;
	struct run *run = thread->run;

	loop_run(thread->loop);
	pthread_mutex_lock(&run->lock);
	run->ended++;
	pthread_cond_signal(&run->one_ended);
	pthread_mutex_unlock(&run->lock);
	return NULL;
}

static int start_all(struct run *run)
{
	int error = 0;

	while (error == 0 && run->started < run->options->threads) {
		struct run_thread *thread = &run->threads[run->started];

		thread->run = run;
		error = pthread_create(&thread->id, NULL, thread_main, thread);
		if (error == 0)
			run->started++;
	}
	return -error;
}

/* Waits until all loops have ended, or this moment has come; 0: no limit. */
static void wait_for_loops(struct run *run, uint64_t until_ns)
{
	struct timespec until = {
		.tv_sec = (time_t)(until_ns / (1000 * NS_PER_MS)),
		.tv_nsec = (long)(until_ns % (1000 * NS_PER_MS)),
	};
	int error = 0;

	pthread_mutex_lock(&run->lock);
	while (run->ended < run->started && error != ETIMEDOUT) {
		if (until_ns == 0)
			error = pthread_cond_wait(&run->one_ended, &run->lock);
		else
			error = pthread_cond_timedwait(&run->one_ended,
						       &run->lock, &until);
	}
	pthread_mutex_unlock(&run->lock);
}

static void set_phase(struct run *run, enum loop_phase phase)
{
	atomic_store(&run->phase, (int)phase);
}

struct mark {
	uint64_t at_ns, client_cpu_us, server_cpu_us;
};

static struct mark take_mark(const struct options *options)
{
	struct mark mark = {.client_cpu_us = process_own_cpu_us()};

	/* A server that died shows up as errors of its connections. */
	if (options->server_pid > 0)
		(void)process_cpu_us(options->server_pid, &mark.server_cpu_us);
	mark.at_ns = clock_ns();
	return mark;
}

static int measure(struct run *run, FILE *errors, struct outcome *ret)
{
	const struct options *options = run->options;
	bool by_time = options->requests == 0 && options->load == LOAD_NONE;
	struct mark begin;
	struct mark end;
	int error;

	if (options->warmup_ms == 0)
		set_phase(run, LOOP_MEASURE);
	begin = take_mark(options);
	error = start_all(run);
	if (error != 0) {
		fprintf(errors, "loadgen: no thread: %s\n", strerror(-error));
		goto out_join;
	}
	if (options->warmup_ms > 0) {
		wait_for_loops(run,
			       begin.at_ns + options->warmup_ms * NS_PER_MS);
		set_phase(run, LOOP_MEASURE);
		begin = take_mark(options);
	}
	wait_for_loops(run,
		       by_time ? begin.at_ns + options->run_ms * NS_PER_MS : 0);
	end = take_mark(options);
	ret->elapsed_ns = end.at_ns - begin.at_ns;
	ret->client_cpu_us = end.client_cpu_us - begin.client_cpu_us;
	ret->server_cpu_us = end.server_cpu_us > begin.server_cpu_us
				     ? end.server_cpu_us - begin.server_cpu_us
				     : 0;

out_join:
	set_phase(run, LOOP_DRAIN);
	for (uint32_t i = 0; i < run->started; i++) {
		pthread_join(run->threads[i].id, NULL);
		tally_merge(&ret->tally, loop_tally(run->threads[i].loop));
	}
	return error;
}

int run(const struct options *options, FILE *errors, struct outcome *ret)
{
	struct run run = {0};
	int error = make_run(&run, options);

	if (error != 0) {
		fprintf(errors, "loadgen: %s\n",
			error == -EINVAL ? "--keys do not fit into --key-size"
					 : strerror(-error));
		return error;
	}
	memset(ret, 0, sizeof(*ret));
	error = connect_all(&run, errors);
	if (error == 0)
		error = measure(&run, errors, ret);
	end_run(&run);
	return error;
}
