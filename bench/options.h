/*
 * options.h - what one run is to do.
 *
 * One table (options.c) holds name, range, default and help of each option;
 * parsing and --help walk it. Read only after options_parse().
 */
#ifndef BENCH_OPTIONS_H
#define BENCH_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct dialect;

enum load_order {
	LOAD_NONE,
	LOAD_SEQUENCE, /* by rising key */
	LOAD_SHUFFLED  /* each key once, in no order */
};

struct options {
	const char *host;
	uint32_t port;
	const char *unix_path;
	bool allow_remote;
	const struct dialect *dialect;
	uint32_t connections;
	uint32_t threads;
	uint32_t depth;
	uint32_t sets, gets; /* how often each is chosen, in parts */
	uint32_t keys;
	const char *key_prefix;
	uint32_t key_bytes;
	uint32_t value_bytes;
	uint32_t keys_per_get;
	bool zipf;
	double zipf_exponent;
	uint32_t hot_keys; /* the most popular ones, counted apart */
	uint32_t requests; /* 0: by time */
	uint32_t run_ms;
	uint32_t warmup_ms;
	uint32_t timeout_ms;
	enum load_order load;
	bool verify;
	uint32_t seed;
	uint32_t server_pid;
	const char *raw_sync_dir;
	bool help;
};

/*
 * Sets *ret from the arguments; it borrows their text. Returns 0, or -EINVAL
 * after one line to `errors` says what is wrong.
 */
int options_parse(int argc, char *const *argv, FILE *errors,
		  struct options *ret);

/* The option list, as --help prints it. */
void options_print_help(FILE *out);

#endif
