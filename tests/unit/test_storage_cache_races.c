/*
 * test_storage_cache_races.c - the cache of records alone: what a reader
 * copies without a lock is whole, committed, and of its key.
 */
#include <check.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "storage/cache.h"
#include "storage/hash.h"
#include "tests/unit/run_suite.h"

/* The least that a cache is made of. */
#define SMALL_BYTES 1

static struct cache cache;
static struct change_table *changes;
static struct cache_staged staged;

static void set_up(void)
{
	ck_assert_int_eq(cache_init(&cache, SMALL_BYTES), 0);
	changes = change_table_new();
	ck_assert_ptr_nonnull(changes);
	staged.count = 0;
}

static void tear_down(void)
{
	cache_done(&cache);
	change_table_free(changes);
}

/* A big record, so that a reader is often in the midst of its copy. */
#define LONG_WORDS 1000
#define LONG_TURNS 100000
/* Marks what is never committed. */
#define BAD (UINT64_C(1) << 63)

static atomic_bool over;

static void fill_long(uint64_t *words, uint64_t number)
{
	for (size_t i = 0; i < LONG_WORDS; i++)
		words[i] = number;
}

/* Returns its number, 0: not there. It must be whole. */
static uint64_t get_long(const char *key)
{
	uint64_t words[LONG_WORDS];
	size_t bytes, same = 1;

	if (!cache_get(&cache, key_hash(key, strlen(key)), key, strlen(key),
		       words, sizeof(words), &bytes))
		return 0;
	while (same < LONG_WORDS && words[same] == words[0])
		same++;
	ck_assert(bytes == sizeof(words) && same == LONG_WORDS);
	return words[0];
}

static void *watch_main(void *arg)
{
	uint64_t newest = 0, number;

	(void)arg;
	while (!atomic_load(&over)) {
		number = get_long("a");
		if (number == 0)
			continue;
		ck_assert(number >= newest && number < BAD);
		newest = number;
	}
	return NULL;
}

static void stage_long(uint64_t number)
{
	uint64_t words[LONG_WORDS];

	fill_long(words, number);
	cache_stage(&cache, key_hash("a", 1), "a", 1, words, sizeof(words),
		    &staged);
}

/* In one place, each other one aborted. */
START_TEST(test_readers_race_with_a_writer)
{
	pthread_t threads[4];

	atomic_store(&over, false);
	for (int i = 0; i < 4; i++)
		ck_assert_int_eq(
			pthread_create(&threads[i], NULL, watch_main, NULL), 0);
	for (uint64_t number = 1; number < LONG_TURNS; number++) {
		stage_long(number | BAD);
		staged.count = 0;
		stage_long(number);
		cache_publish(&staged);
	}
	atomic_store(&over, true);
	for (int i = 0; i < 4; i++)
		ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
	ck_assert_uint_eq(get_long("a"), LONG_TURNS - 1);
}
END_TEST

#define CROWD 12

/* All of one shard, whose ring has room for three of them. */
static char crowd[CROWD][16];

static void find_crowd(void)
{
	unsigned number = 0;

	for (unsigned i = 0; i < CROWD; i++)
		do
			(void)snprintf(crowd[i], sizeof(crowd[i]), "c%u",
				       number++);
		while (key_hash(crowd[i], strlen(crowd[i])) % CACHE_SHARDS !=
		       0);
}

static void put_long(const char *key, const uint64_t *words)
{
	uint64_t hash = key_hash(key, strlen(key));
	struct cache_ticket ticket = {change_last(changes, hash), true};

	cache_put(&cache, hash, key, strlen(key), words,
		  LONG_WORDS * sizeof(*words), changes, &ticket);
}

static void *crowd_main(void *arg)
{
	uint64_t words[LONG_WORDS], number;

	bool puts = *(const bool *)arg;

	for (unsigned turn = 0; turn < LONG_TURNS / 4; turn++) {
		unsigned i = turn * 5 % CROWD;

		if (puts) {
			fill_long(words, i + 1);
			put_long(crowd[i], words);
		}
		number = get_long(crowd[i]);
		/* Nobody else puts, so what was put just now is there. */
		ck_assert(number == i + 1 || (number == 0 && !puts));
	}
	return NULL;
}

START_TEST(test_readers_race_with_a_ring_that_turns)
{
	static bool puts[4] = {true, false, false, false};
	pthread_t threads[4];

	find_crowd();
	for (int i = 0; i < 4; i++)
		ck_assert_int_eq(
			pthread_create(&threads[i], NULL, crowd_main, &puts[i]),
			0);
	for (int i = 0; i < 4; i++)
		ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("storage cache races");
	TCase *tcase = tcase_create("races");

	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_add_test(tcase, test_readers_race_with_a_writer);
	tcase_add_test(tcase, test_readers_race_with_a_ring_that_turns);
	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}
