/*
 * run.h - one whole run: connect, warm up, measure, drain.
 *
 * Thread: main; run() makes the others and ends them.
 */
#ifndef BENCH_RUN_H
#define BENCH_RUN_H

#include <stdint.h>
#include <stdio.h>

#include "bench/options.h"
#include "bench/tally.h"

struct outcome {
	struct tally tally;	/* of all threads */
	uint64_t elapsed_ns;	/* of the measured part */
	uint64_t client_cpu_us; /* in that part, as the next one */
	uint64_t server_cpu_us; /* 0 without --server-pid */
};

/*
 * Returns 0 when it ran to its end, whatever was answered; else -errno, after
 * one line to `errors`. Blocks: for the time that the options say, and for
 * twice their time-out at most if the server does not answer.
 */
int run(const struct options *options, FILE *errors, struct outcome *ret);

#endif
