/*
 * workload.c - see workload.h.
 *
 * Neighbouring ranks must not be neighbouring keys: popular items of a real
 * load lie scattered over the pages of a tree. So ranks become keys through a
 * permutation: multiplication, modulo the number of keys, by a prime that is
 * larger than it.
 */
#include "bench/workload.h"

#include <assert.h>

#define SCATTER_PRIME UINT64_C(2654435761)

static uint32_t scatter(uint32_t rank, uint32_t keys)
{
	return (uint32_t)(rank * SCATTER_PRIME % keys);
}

/* Where the share of `thread` begins when `total` is split among them. */
static uint32_t share_start(uint32_t total, uint32_t threads, uint32_t thread)
{
	return (uint32_t)((uint64_t)total * thread / threads);
}

void workload_init(struct workload *workload, const struct options *options,
		   const struct zipf *zipf, uint32_t thread)
{
	uint32_t total =
		options->load != LOAD_NONE ? options->keys : options->requests;
	uint32_t first = share_start(total, options->threads, thread);
	uint32_t end = share_start(total, options->threads, thread + 1);

	assert(options->keys < SCATTER_PRIME);
	workload->options = options;
	workload->zipf = zipf;
	workload->rng.state = (uint64_t)options->seed << 32 | thread;
	workload->next_key = first;
	workload->left = total > 0 ? end - first : UINT64_MAX;
}

static uint32_t choose_key(struct workload *workload, bool *ret_is_hot)
{
	const struct options *options = workload->options;
	uint32_t rank;

	*ret_is_hot = false;
	if (workload->zipf == NULL)
		return rng_below(&workload->rng, options->keys);
	rank = zipf_draw(workload->zipf, &workload->rng);
	*ret_is_hot = rank < options->hot_keys;
	return scatter(rank, options->keys);
}

static uint32_t next_to_load(struct workload *workload)
{
	uint32_t key = workload->next_key++;

	if (workload->options->load == LOAD_SHUFFLED)
		return scatter(key, workload->options->keys);
	return key;
}

static bool choose_set(struct workload *workload)
{
	const struct options *options = workload->options;

	if (options->sets == 0 || options->gets == 0)
		return options->gets == 0;
	return rng_below(&workload->rng, options->sets + options->gets) <
	       options->sets;
}

bool workload_next(struct workload *workload, struct request *request)
{
	const struct options *options = workload->options;

	if (workload->left == 0)
		return false;
	if (workload->left != UINT64_MAX)
		workload->left--;
	request->started = false;
	request->answered = 0;
	request->hits = 0;
	request->key_count = 1;
	request->version = rng_next(&workload->rng);
	if (options->load != LOAD_NONE) {
		request->is_set = true;
		request->ids[0] = next_to_load(workload);
		return true;
	}
	request->is_set = choose_set(workload);
	if (!request->is_set)
		request->key_count = options->keys_per_get;
	for (uint32_t i = 0; i < request->key_count; i++)
		request->ids[i] = choose_key(workload, &request->is_hot);
	return true;
}
