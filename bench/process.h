/*
 * process.h - the CPU time a process has used so far.
 */
#ifndef BENCH_PROCESS_H
#define BENCH_PROCESS_H

#include <stdint.h>

/*
 * User and system time of all its threads, in microseconds; the kernel counts
 * them in ticks of 10 ms. Returns 0 or -errno (there is no such process, or
 * its /proc entry cannot be read).
 */
int process_cpu_us(uint32_t pid, uint64_t *ret_us);

/* The same of the calling process, to the microsecond. */
uint64_t process_own_cpu_us(void);

#endif
