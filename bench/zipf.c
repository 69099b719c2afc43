/*
 * zipf.c - see zipf.h.
 *
 * Each rank has a cell of the same width. A cell is filled by its own rank up
 * to `keep` (a share of 2^32) and by one other rank, the alias, above that.
 */
#include "bench/zipf.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>

struct zipf_cell {
	uint32_t keep;
	uint32_t alias;
};

struct zipf {
	uint32_t ranks;
	struct zipf_cell cells[];
};

/* Fills share[] so that its mean is 1. */
static void weigh(double *share, uint32_t ranks, double exponent)
{
	double sum = 0;

	for (uint32_t i = 0; i < ranks; i++) {
		share[i] = pow((double)i + 1, -exponent);
		sum += share[i];
	}
	for (uint32_t i = 0; i < ranks; i++)
		share[i] *= ranks / sum;
}

static uint32_t to_keep(double share)
{
	double scaled = share * 0x1p32;

	return scaled >= 0x1p32 ? UINT32_MAX : (uint32_t)scaled;
}

/*
 * Pairs cells that are not full with ranks that have too much. Weights fall
 * with the rank, so the ranks with too much are the first ones: `rich` walks
 * them once, and only a rank that became poor itself is taken out of turn.
 */
static void pair_up(struct zipf *zipf, double *share)
{
	uint32_t rich = 0;
	uint32_t poor = zipf->ranks;

	for (uint32_t i = 0; i < zipf->ranks; i++)
		zipf->cells[i] = (struct zipf_cell){UINT32_MAX, i};
	while (poor > rich + 1 && share[poor - 1] < 1) {
		uint32_t cell = --poor;

		for (;;) {
			zipf->cells[cell].keep = to_keep(share[cell]);
			zipf->cells[cell].alias = rich;
			share[rich] -= 1 - share[cell];
			if (share[rich] >= 1 || rich + 1 >= poor)
				break;
			cell = rich++;
		}
	}
}

int zipf_new(uint32_t ranks, double exponent, struct zipf **ret_zipf)
{
	struct zipf *zipf;
	double *share;

	assert(ranks > 0 && exponent >= 0);
	zipf = malloc(sizeof(*zipf) + ranks * sizeof(zipf->cells[0]));
	if (zipf == NULL)
		return -ENOMEM;
	share = malloc(ranks * sizeof(*share));
	if (share == NULL) {
		free(zipf);
		return -ENOMEM;
	}
	zipf->ranks = ranks;
	weigh(share, ranks, exponent);
	pair_up(zipf, share);
	free(share);
	*ret_zipf = zipf;
	return 0;
}

void zipf_free(struct zipf *zipf)
{
	free(zipf);
}

uint32_t zipf_draw(const struct zipf *zipf, struct rng *rng)
{
	uint64_t random = rng_next(rng);
	uint32_t rank = (uint32_t)(((random >> 32) * zipf->ranks) >> 32);
	const struct zipf_cell *cell = &zipf->cells[rank];

	return (uint32_t)random < cell->keep ? rank : cell->alias;
}
