/*
 * histogram.h - latencies in log-linear buckets.
 *
 * The idea: every power of two is cut into 128 equal buckets, so that any
 * value is kept with an error below 1/128, from 1 ns to 18 minutes, in a
 * fixed 35 KB. Larger values count in the last bucket; the maximum is exact.
 *
 * Plain data: one per thread, merged at the end. Nothing here blocks.
 */
#ifndef BENCH_HISTOGRAM_H
#define BENCH_HISTOGRAM_H

#include <stdint.h>

#define HISTOGRAM_SUB_BITS   7
#define HISTOGRAM_VALUE_BITS 40
#define HISTOGRAM_BUCKETS \
	((HISTOGRAM_VALUE_BITS - HISTOGRAM_SUB_BITS + 1) << HISTOGRAM_SUB_BITS)

/* Zeroed: empty. */
struct histogram {
	uint64_t total;
	uint64_t max;
	uint64_t counts[HISTOGRAM_BUCKETS];
};

void histogram_record(struct histogram *histogram, uint64_t value);

/* Adds what `from` holds to `to`. */
void histogram_merge(struct histogram *to, const struct histogram *from);

/*
 * The value that a share of `quantile` (0..1) does not pass: the upper end
 * of its bucket, never more than the maximum. 0 if nothing was recorded.
 */
uint64_t histogram_quantile(const struct histogram *histogram, double quantile);

#endif
