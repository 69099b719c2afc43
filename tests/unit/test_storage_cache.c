/*
 * test_storage_cache.c - the cache of records: what it keeps, and that it
 * never shows what the database would not show.
 */
#include <check.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "storage/cache.h"
#include "storage/hash.h"
#include "tests/unit/run_suite.h"
#include "tests/unit/storage_rig.h"

/* The least that a cache is made of. */
#define SMALL_BYTES 1

/* --- alone -------------------------------------------------------------- */

static struct cache cache;
static struct change_table *changes;

static void set_up_alone(void)
{
	ck_assert_int_eq(cache_init(&cache, SMALL_BYTES), 0);
	changes = change_table_new();
	ck_assert_ptr_nonnull(changes);
}

static void tear_down_alone(void)
{
	cache_done(&cache);
	change_table_free(changes);
}

static void put(const char *key, const char *record, size_t bytes)
{
	uint64_t hash = key_hash(key, strlen(key));
	struct cache_ticket ticket = {change_last(changes, hash), true};

	cache_put(&cache, hash, key, strlen(key), record, bytes, changes,
		  &ticket);
}

static bool get(const char *key, char *to, size_t room, size_t *ret_bytes)
{
	return cache_get(&cache, key_hash(key, strlen(key)), key, strlen(key),
			 to, room, ret_bytes);
}

static void expect(const char *key, const char *record)
{
	char room[CACHE_RECORD_MAX];
	size_t bytes;

	ck_assert(get(key, room, sizeof(room), &bytes));
	ck_assert_uint_eq(bytes, strlen(record));
	ck_assert_mem_eq(room, record, bytes);
}

static void expect_none(const char *key)
{
	char room[CACHE_RECORD_MAX];
	size_t bytes;

	ck_assert(!get(key, room, sizeof(room), &bytes));
}

START_TEST(test_put_and_get)
{
	char room[4];
	size_t bytes;

	expect_none("a");
	put("a", "first", 5);
	put("ab", "second record", 13);
	expect("a", "first");
	expect("ab", "second record");
	put("a", "another", 7);
	expect("a", "another");
	expect_none("b");
	ck_assert(!get("a", room, sizeof(room), &bytes));
}
END_TEST

START_TEST(test_drop)
{
	put("a", "1", 1);
	put("b", "2", 1);
	cache_drop(&cache, key_hash("a", 1));
	expect_none("a");
	expect("b", "2");
	cache_drop(&cache, key_hash("a", 1));
}
END_TEST

START_TEST(test_what_changed_is_not_put)
{
	uint64_t hash = key_hash("a", 1);
	struct cache_ticket ticket = {change_last(changes, hash), true};

	change_note(changes, hash, 7);
	cache_put(&cache, hash, "a", 1, "old", 3, changes, &ticket);
	expect_none("a");
	/* The change is known of, but not applied. */
	ticket = (struct cache_ticket){change_last(changes, hash), false};
	cache_put(&cache, hash, "a", 1, "old", 3, changes, &ticket);
	expect_none("a");
	ticket.steady = true;
	cache_put(&cache, hash, "a", 1, "new", 3, changes, &ticket);
	expect("a", "new");
}
END_TEST

START_TEST(test_too_big_is_not_put)
{
	char *big = malloc(CACHE_RECORD_MAX + 1);

	ck_assert_ptr_nonnull(big);
	memset(big, 'x', CACHE_RECORD_MAX + 1);
	put("a", big, CACHE_RECORD_MAX + 1);
	expect_none("a");
	big[CACHE_RECORD_MAX] = '\0';
	put("a", big, CACHE_RECORD_MAX);
	expect("a", big);
	free(big);
}
END_TEST

/* A record that says which key it belongs to, of a size that varies. */
static size_t make_record(unsigned number, char *record)
{
	size_t bytes = 1 + number * 37 % 900;

	for (size_t i = 0; i < bytes; i++)
		record[i] = (char)(number + i);
	return bytes;
}

/* False: not there. What is there must be the right one. */
static bool check_record(unsigned number)
{
	char key[16], want[1024], room[1024];
	size_t bytes;

	(void)snprintf(key, sizeof(key), "k%u", number);
	if (!get(key, room, sizeof(room), &bytes))
		return false;
	ck_assert_uint_eq(bytes, make_record(number, want));
	ck_assert_mem_eq(room, want, bytes);
	return true;
}

static void put_number(unsigned number)
{
	char key[16], record[1024];

	(void)snprintf(key, sizeof(key), "k%u", number);
	put(key, record, make_record(number, record));
}

/* Many times what fits: the newest is there, the oldest is not. */
START_TEST(test_ring_turns_over)
{
	unsigned found = 0;

	for (unsigned number = 0; number < 6000; number++) {
		put_number(number);
		ck_assert(check_record(number));
	}
	ck_assert(!check_record(0));
	for (unsigned number = 0; number < 6000; number++)
		found += check_record(number);
	ck_assert_uint_gt(found, 500);
}
END_TEST

START_TEST(test_no_cache)
{
	struct cache none;
	size_t bytes;
	char room[8];

	ck_assert_int_eq(cache_init(&none, 0), 0);
	cache_drop(&none, 1);
	ck_assert(!cache_get(&none, 1, "a", 1, room, sizeof(room), &bytes));
	cache_prefetch_index(&none, 1);
	cache_prefetch_record(&none, 1);
	cache_done(&none);
}
END_TEST

#define TURNS 10000

static void *put_main(void *arg)
{
	unsigned seed = *(unsigned *)arg;

	for (unsigned i = 0; i < TURNS; i++) {
		unsigned number = (i * 7919 + seed) % 4000;

		if (i % 8 == 0)
			put_number(number);
		else
			(void)check_record(number);
	}
	return NULL;
}

START_TEST(test_copies_are_whole)
{
	pthread_t threads[4];
	unsigned seeds[4] = {1, 2, 3, 4};

	for (int i = 0; i < 4; i++)
		ck_assert_int_eq(
			pthread_create(&threads[i], NULL, put_main, &seeds[i]),
			0);
	for (int i = 0; i < 4; i++)
		ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
}
END_TEST

/* --- in front of a store ------------------------------------------------ */

static struct rig rig;

static void set_up_store(void)
{
	rig_init(&rig);
	rig.config.sync = STORE_SYNC_WRITE;
	rig_open(&rig);
}

static void tear_down_store(void)
{
	rig_done(&rig);
}

/* Reads "k" twice, so that the second one comes from the cache. */
static void warm(const char *value)
{
	struct store_item item;

	rig_expect(&rig, "k", value);
	ck_assert_int_eq(rig_get(&rig, "k", &item), STORE_OK);
	ck_assert(item.cached);
	rig_expect(&rig, "k", value);
}

START_TEST(test_every_change_is_seen)
{
	struct store_op *op;

	rig_set(&rig, "k", "5");
	warm("5");
	rig_set(&rig, "k", "6");
	warm("6");
	rig_run(&rig, STORE_INCR, "k", "");
	warm("6"); /* by 0 */
	rig_run(&rig, STORE_APPEND, "k", "7");
	warm("67");
	rig_run(&rig, STORE_PREPEND, "k", "5");
	warm("567");
	rig_run(&rig, STORE_REPLACE, "k", "8");
	warm("8");
	rig_delete(&rig, "k");
	rig_expect_missing(&rig, "k");
	rig_run(&rig, STORE_ADD, "k", "9");
	warm("9");
	op = rig_op(STORE_INVALIDATE, "k", "");
	op->drop_value = true;
	rig_do(&rig, op);
	store_op_free(op);
	warm("");
	rig_set(&rig, "k", "10");
	warm("10");
	rig_flush(&rig, 0);
	rig_expect_missing(&rig, "k");
}
END_TEST

START_TEST(test_marks_and_expiry_are_seen)
{
	struct store_item item;
	struct store_op *op;

	rig_set(&rig, "k", "5");
	warm("5");
	op = rig_op(STORE_TOUCH, "k", "");
	op->expiry = rig_now(&rig) + 100;
	rig_do(&rig, op);
	store_op_free(op);
	warm("5");
	ck_assert_int_eq(rig_get(&rig, "k", &item), STORE_OK);
	ck_assert_int_eq(item.expiry, rig_now(&rig) + 100);
	op = rig_op(STORE_INVALIDATE, "k", "");
	op->mark_stale = true;
	rig_do(&rig, op);
	store_op_free(op);
	warm("5");
	ck_assert_int_eq(rig_get(&rig, "k", &item), STORE_OK);
	ck_assert(item.stale && !item.won);
	op = rig_op(STORE_LEASE, "k", "");
	rig_do(&rig, op);
	ck_assert(op->found.win);
	store_op_free(op);
	ck_assert_int_eq(rig_get(&rig, "k", &item), STORE_OK);
	ck_assert(item.stale && item.won);
	warm("5");
	rig_tick(&rig, 100);
	rig_expect_missing(&rig, "k");
}
END_TEST

/* --- races -------------------------------------------------------------- */

#define RACE_KEYS    8
#define RACE_READERS 3
#define RACE_CHANGES 2000

static _Atomic uint64_t applied[RACE_KEYS]; /* the value that is there */
static atomic_bool over;

/* A value never goes back, nor behind what was applied before the get. */
static void *read_main(void *arg)
{
	uint64_t seen[RACE_KEYS] = {0};
	struct store_reader *reader;
	char buf[256], key[8];
	struct store_item item;

	(void)arg;
	ck_assert_int_eq(store_reader_new(rig.store, &reader), 0);
	for (unsigned turn = 0; !atomic_load(&over); turn++) {
		unsigned k = turn % RACE_KEYS;
		uint64_t least = atomic_load(&applied[k]), number;

		(void)snprintf(key, sizeof(key), "r%u", k);
		ck_assert_int_eq(store_get(reader, key, strlen(key), buf,
					   sizeof(buf), 0, &item),
				 STORE_OK);
		item.value[item.value_bytes] = '\0';
		number = strtoull(item.value, NULL, 10);
		ck_assert_uint_ge(number, least);
		ck_assert_uint_ge(number, seen[k]);
		seen[k] = number;
	}
	store_reader_free(reader);
	return NULL;
}

/* One change in so many leaves the value as it is. */
static void change(unsigned k, uint64_t number)
{
	char key[8], text[24];
	struct store_op *op;

	(void)snprintf(key, sizeof(key), "r%u", k);
	(void)snprintf(text, sizeof(text), "%" PRIu64, number);
	op = rig_op(STORE_SET, key, text);
	rig_do(&rig, op);
	store_op_free(op);
	atomic_store(&applied[k], number);
	if (number % 3 != 0)
		return;
	op = rig_op(number % 2 ? STORE_TOUCH : STORE_INVALIDATE, key, "");
	op->mark_stale = true;
	rig_do(&rig, op);
	store_op_free(op);
}

START_TEST(test_reads_never_go_back)
{
	pthread_t readers[RACE_READERS];

	atomic_store(&over, false);
	for (unsigned k = 0; k < RACE_KEYS; k++)
		change(k, 1);
	for (int i = 0; i < RACE_READERS; i++)
		ck_assert_int_eq(
			pthread_create(&readers[i], NULL, read_main, NULL), 0);
	for (uint64_t i = 0; i < RACE_CHANGES; i++)
		change((unsigned)(i * 5 % RACE_KEYS), i / RACE_KEYS + 2);
	atomic_store(&over, true);
	for (int i = 0; i < RACE_READERS; i++)
		ck_assert_int_eq(pthread_join(readers[i], NULL), 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("storage cache");
	TCase *alone = tcase_create("alone");
	TCase *store = tcase_create("store");

	tcase_add_checked_fixture(alone, set_up_alone, tear_down_alone);
	tcase_add_test(alone, test_put_and_get);
	tcase_add_test(alone, test_drop);
	tcase_add_test(alone, test_what_changed_is_not_put);
	tcase_add_test(alone, test_too_big_is_not_put);
	tcase_add_test(alone, test_ring_turns_over);
	tcase_add_test(alone, test_no_cache);
	tcase_add_test(alone, test_copies_are_whole);
	suite_add_tcase(suite, alone);
	tcase_add_checked_fixture(store, set_up_store, tear_down_store);
	tcase_add_test(store, test_every_change_is_seen);
	tcase_add_test(store, test_marks_and_expiry_are_seen);
	tcase_add_test(store, test_reads_never_go_back);
	suite_add_tcase(suite, store);
	return run_suite(suite);
}
