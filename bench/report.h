/*
 * report.h - the result as one line of JSON.
 */
#ifndef BENCH_REPORT_H
#define BENCH_REPORT_H

#include <stdio.h>

#include "bench/options.h"
#include "bench/rawsync.h"
#include "bench/run.h"

/* Latencies are in microseconds, times of the CPU in microseconds per op. */
void report_run(FILE *out, const struct options *options,
		const struct outcome *outcome);

void report_rawsync(FILE *out, const struct options *options,
		    const struct rawsync *rawsync);

#endif
