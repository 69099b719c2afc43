/*
 * loop.h - one thread: an epoll set and its clients.
 *
 * The phase is set by the main thread, seen by every loop at its next turn:
 *   WARMUP  requests are made and not counted
 *   MEASURE requests are made, and counted when they are answered
 *   DRAIN   no more are made, what is in flight is awaited
 * A loop ends by itself when nothing is left to do or to hope for.
 */
#ifndef BENCH_LOOP_H
#define BENCH_LOOP_H

#include <stdatomic.h>
#include <stdint.h>

#include "bench/address.h"
#include "bench/client.h"

enum loop_phase { LOOP_WARMUP, LOOP_MEASURE, LOOP_DRAIN };

struct loop;

/*
 * Makes a loop with `clients` connections. All arguments are borrowed.
 * Returns 0 or -errno. Ended by loop_free(). Blocks: while connecting.
 */
int loop_new(const struct options *options, const struct items *items,
	     const struct zipf *zipf, const struct address *address,
	     uint32_t thread, const _Atomic int *phase, struct loop **ret_loop);
void loop_free(struct loop *loop); /* NULL is fine */

/*
 * Runs to the end. Thread: any one. Blocks: until then; the time-out of the
 * options bounds how long without an answer.
 */
void loop_run(struct loop *loop);

/* What was counted in MEASURE, and all errors. Read when it has ended. */
const struct tally *loop_tally(const struct loop *loop);

#endif
