/*
 * loadgen.c - a load generator for memcached's protocol and Redis'.
 *
 * Closed loop: each connection keeps its window of requests full and asks
 * again as soon as something was answered. Every reply is parsed, a wrong one
 * is an error, and any error makes the exit status 1.
 *
 *   options -> run: loops (threads) of clients (connections) -> report
 *
 * Exit status: 0 all answers were right, 1 there were errors or it could not
 * run, 64 usage.
 */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "bench/options.h"
#include "bench/rawsync.h"
#include "bench/report.h"
#include "bench/run.h"

#define STATUS_ERRORS	1
#define STATUS_USAGE	64
#define RAW_SYNC_ROUNDS 2000

static int measure_disk(const struct options *options)
{
	struct rawsync rawsync;
	uint32_t rounds =
		options->requests > 0 ? options->requests : RAW_SYNC_ROUNDS;
	int error = rawsync_measure(options->raw_sync_dir, rounds,
				    options->value_bytes, &rawsync);

	if (error != 0) {
		fprintf(stderr, "loadgen: %s: %s\n", options->raw_sync_dir,
			strerror(-error));
		return STATUS_ERRORS;
	}
	report_rawsync(stdout, options, &rawsync);
	return 0;
}

static int measure_server(const struct options *options)
{
	struct outcome outcome;

	if (run(options, stderr, &outcome) != 0)
		return STATUS_ERRORS;
	report_run(stdout, options, &outcome);
	if (outcome.tally.errors == 0)
		return 0;
	fprintf(stderr, "loadgen: %" PRIu64 " errors, the first: %s\n",
		outcome.tally.errors, outcome.tally.first_error);
	return STATUS_ERRORS;
}

int main(int argc, char **argv)
{
	struct options options;

	if (options_parse(argc, argv, stderr, &options) != 0)
		return STATUS_USAGE;
	if (options.help) {
		fputs("usage: loadgen --port N [options]\n", stdout);
		options_print_help(stdout);
		return 0;
	}
	/* A server that closes early is an error to count, not a signal. */
	signal(SIGPIPE, SIG_IGN);
	if (options.raw_sync_dir != NULL)
		return measure_disk(&options);
	return measure_server(&options);
}
