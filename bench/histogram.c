/*
 * histogram.c - see histogram.h.
 *
 * Values below 2^8 have a bucket each. Above, with e the exponent of the
 * highest bit, a bucket is 2^(e-7) wide and its index is the value's top
 * eight bits behind (e-7) blocks of 128.
 */
#include "bench/histogram.h"

#include <assert.h>

#define SUB_COUNT (UINT64_C(1) << HISTOGRAM_SUB_BITS)
#define VALUE_MAX ((UINT64_C(1) << HISTOGRAM_VALUE_BITS) - 1)

static unsigned shift_of(uint64_t value)
{
	unsigned bits = 64 - (unsigned)__builtin_clzll(value | 1);

	return bits > HISTOGRAM_SUB_BITS + 1 ? bits - HISTOGRAM_SUB_BITS - 1
					     : 0;
}

static unsigned index_of(uint64_t value)
{
	unsigned shift = shift_of(value);

	return (unsigned)((shift << HISTOGRAM_SUB_BITS) + (value >> shift));
}

/* The largest value that falls into the bucket. */
static uint64_t top_of(unsigned index)
{
	unsigned shift = index >> HISTOGRAM_SUB_BITS;
	uint64_t low = index;

	if (shift > 0) {
		shift--;
		low = SUB_COUNT + (index & (SUB_COUNT - 1));
	}
	return ((low + 1) << shift) - 1;
}

void histogram_record(struct histogram *histogram, uint64_t value)
{
	uint64_t kept = value < VALUE_MAX ? value : VALUE_MAX;

	histogram->counts[index_of(kept)]++;
	histogram->total++;
	if (value > histogram->max)
		histogram->max = value;
}

void histogram_merge(struct histogram *to, const struct histogram *from)
{
	for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++)
		to->counts[i] += from->counts[i];
	to->total += from->total;
	if (from->max > to->max)
		to->max = from->max;
}

uint64_t histogram_quantile(const struct histogram *histogram, double quantile)
{
	uint64_t wanted = (uint64_t)(quantile * (double)histogram->total + 0.5);
	uint64_t passed = 0;

	assert(quantile >= 0 && quantile <= 1);
	if (histogram->total == 0)
		return 0;
	if (wanted == 0)
		wanted = 1;
	for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++) {
		passed += histogram->counts[i];
		if (passed >= wanted) {
			uint64_t top = top_of(i);

			/* The last bucket has no upper end. */
			if (top >= VALUE_MAX || top > histogram->max)
				return histogram->max;
			return top;
		}
	}
	return histogram->max;
}
