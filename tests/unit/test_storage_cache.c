/*
 * test_storage_cache.c - the cache of records: what it keeps, what it hides,
 * and that every change comes into it. Races:
 * test_storage_cache_races.c and test_storage_coherence.c.
 */
#include <check.h>
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
static struct cache_staged staged;

static void set_up_alone(void)
{
	ck_assert_int_eq(cache_init(&cache, SMALL_BYTES), 0);
	changes = change_table_new();
	ck_assert_ptr_nonnull(changes);
	staged.count = 0;
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
	expect_none("a");
	put("a", "first", 5);
	put("ab", "second record", 13);
	expect("a", "first");
	expect("ab", "second record");
	put("a", "another", 7);
	expect("a", "another");
	expect_none("b");
}
END_TEST

START_TEST(test_little_room_gets_a_part)
{
	char room[8] = "........";
	size_t bytes;

	put("a", "another one", 11);
	ck_assert(get("a", room, 4, &bytes));
	ck_assert_uint_eq(bytes, 11);
	ck_assert_mem_eq(room, "anot....", 8);
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

/* --- what a writer stages ------------------------------------------------ */

static void stage(const char *key, const char *record)
{
	cache_stage(&cache, key_hash(key, strlen(key)), key, strlen(key),
		    record, strlen(record), &staged);
}

START_TEST(test_staged_is_hidden_until_published)
{
	put("a", "old", 3);
	stage("a", "new");
	stage("b", "first");
	expect_none("a");
	expect_none("b");
	cache_publish(&staged);
	expect("a", "new");
	expect("b", "first");
	ck_assert_uint_eq(staged.count, 0);
}
END_TEST

START_TEST(test_aborted_is_never_found)
{
	put("a", "old", 3);
	stage("a", "bad");
	stage("b", "bad");
	staged.count = 0;
	stage("c", "good");
	cache_publish(&staged);
	expect_none("a");
	expect_none("b");
	expect("c", "good");
	/* A reader finds the old one in the database. */
	put("a", "old", 3);
	expect("a", "old");
	stage("b", "new");
	cache_publish(&staged);
	expect("b", "new");
}
END_TEST

START_TEST(test_the_last_change_of_a_transaction_counts)
{
	stage("a", "1");
	stage("a", "2");
	stage("b", "1");
	stage("b", "longer than before");
	stage("c", "1");
	cache_drop(&cache, key_hash("c", 1));
	cache_publish(&staged);
	expect("a", "2");
	expect("b", "longer than before");
	expect_none("c");
}
END_TEST

START_TEST(test_what_is_too_big_is_dropped)
{
	static char big[CACHE_RECORD_MAX + 2];

	memset(big, 'x', CACHE_RECORD_MAX + 1);
	put("a", "old", 3);
	stage("a", big);
	cache_publish(&staged);
	expect_none("a");
	big[CACHE_RECORD_MAX] = '\0';
	stage("a", big);
	cache_publish(&staged);
	expect("a", big);
}
END_TEST

/* The first ones are there, of the others the old record is not. */
START_TEST(test_too_many_are_dropped)
{
	char key[16];

	for (unsigned i = 0; i < CACHE_STAGED_MAX + 9; i++) {
		(void)snprintf(key, sizeof(key), "m%u", i);
		put(key, "old", 3);
		stage(key, "new");
	}
	ck_assert_uint_eq(staged.count, CACHE_STAGED_MAX);
	cache_publish(&staged);
	for (unsigned i = 0; i < CACHE_STAGED_MAX + 9; i++) {
		(void)snprintf(key, sizeof(key), "m%u", i);
		if (i < CACHE_STAGED_MAX)
			expect(key, "new");
		else
			expect_none(key);
	}
}
END_TEST

/* Many times what a ring holds, and of different sizes, in one place. */
START_TEST(test_changes_do_not_age_others)
{
	char record[64];

	for (unsigned number = 0; number < 100; number++)
		put_number(number);
	stage("hot", "as long as the longest one of them");
	for (unsigned i = 0; i < 20000; i++) {
		(void)snprintf(record, sizeof(record), "%.*s%u", (int)(i % 25),
			       "aaaaaaaaaaaaaaaaaaaaaaaaa", i);
		stage("hot", record);
		cache_publish(&staged);
		expect("hot", record);
	}
	for (unsigned number = 0; number < 100; number++)
		ck_assert(check_record(number));
}
END_TEST

static unsigned count_found(const char *letter, unsigned count)
{
	char key[16], room[1024];
	unsigned found = 0;
	size_t bytes;

	for (unsigned number = 0; number < count; number++) {
		(void)snprintf(key, sizeof(key), "%s%u", letter, number);
		found += get(key, room, sizeof(room), &bytes);
	}
	return found;
}

static void stage_new(unsigned count)
{
	char key[16], record[1024];

	for (unsigned number = 0; number < count; number++) {
		(void)snprintf(key, sizeof(key), "n%u", number);
		memset(record, 'x', 100);
		record[100] = '\0';
		stage(key, record);
		cache_publish(&staged);
	}
}

/* An empty cache takes them all; a full one keeps what it has. */
START_TEST(test_new_keys_do_not_push_out_old_ones)
{
	unsigned before;

	stage_new(1000);
	ck_assert_uint_eq(count_found("n", 1000), 1000);
	tear_down_alone();
	set_up_alone();
	for (unsigned number = 0; number < 6000; number++)
		put_number(number);
	before = count_found("k", 6000);
	stage_new(50000);
	ck_assert_uint_eq(count_found("k", 6000), before);
	ck_assert_uint_lt(count_found("n", 50000), 10);
}
END_TEST

/* --- threads -------------------------------------------------------------- */

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

/* The change has staged it into the cache. */
static void hit(const char *value)
{
	struct store_item item;

	ck_assert_int_eq(rig_get(&rig, "k", &item), STORE_OK);
	ck_assert(item.cached);
	rig_expect(&rig, "k", value);
}

START_TEST(test_every_change_is_seen)
{
	struct store_op *op;

	rig_set(&rig, "k", "5");
	hit("5");
	rig_set(&rig, "k", "6");
	hit("6");
	rig_run(&rig, STORE_INCR, "k", "");
	hit("6"); /* by 0 */
	rig_run(&rig, STORE_APPEND, "k", "7");
	hit("67");
	rig_run(&rig, STORE_PREPEND, "k", "5");
	hit("567");
	rig_run(&rig, STORE_REPLACE, "k", "8");
	hit("8");
	rig_delete(&rig, "k");
	rig_expect_missing(&rig, "k");
	rig_run(&rig, STORE_ADD, "k", "9");
	hit("9");
	op = rig_op(STORE_INVALIDATE, "k", "");
	op->drop_value = true;
	rig_do(&rig, op);
	store_op_free(op);
	hit("");
	rig_set(&rig, "k", "10");
	hit("10");
	rig_flush(&rig, 0);
	rig_expect_missing(&rig, "k");
}
END_TEST

START_TEST(test_marks_and_expiry_are_seen)
{
	struct store_item item;
	struct store_op *op;

	rig_set(&rig, "k", "5");
	hit("5");
	op = rig_op(STORE_TOUCH, "k", "");
	op->expiry = rig_now(&rig) + 100;
	rig_do(&rig, op);
	store_op_free(op);
	hit("5");
	ck_assert_int_eq(rig_get(&rig, "k", &item), STORE_OK);
	ck_assert_int_eq(item.expiry, rig_now(&rig) + 100);
	op = rig_op(STORE_INVALIDATE, "k", "");
	op->mark_stale = true;
	rig_do(&rig, op);
	store_op_free(op);
	hit("5");
	ck_assert_int_eq(rig_get(&rig, "k", &item), STORE_OK);
	ck_assert(item.stale && !item.won);
	op = rig_op(STORE_LEASE, "k", "");
	rig_do(&rig, op);
	ck_assert(op->found.win);
	store_op_free(op);
	hit("5");
	ck_assert_int_eq(rig_get(&rig, "k", &item), STORE_OK);
	ck_assert(item.stale && item.won);
	hit("5");
	rig_tick(&rig, 100);
	rig_expect_missing(&rig, "k");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("storage cache");
	TCase *alone = tcase_create("alone");
	TCase *store = tcase_create("store");

	tcase_add_checked_fixture(alone, set_up_alone, tear_down_alone);
	tcase_add_test(alone, test_put_and_get);
	tcase_add_test(alone, test_little_room_gets_a_part);
	tcase_add_test(alone, test_drop);
	tcase_add_test(alone, test_what_changed_is_not_put);
	tcase_add_test(alone, test_too_big_is_not_put);
	tcase_add_test(alone, test_ring_turns_over);
	tcase_add_test(alone, test_no_cache);
	tcase_add_test(alone, test_staged_is_hidden_until_published);
	tcase_add_test(alone, test_aborted_is_never_found);
	tcase_add_test(alone, test_the_last_change_of_a_transaction_counts);
	tcase_add_test(alone, test_what_is_too_big_is_dropped);
	tcase_add_test(alone, test_too_many_are_dropped);
	tcase_add_test(alone, test_changes_do_not_age_others);
	tcase_add_test(alone, test_new_keys_do_not_push_out_old_ones);
	tcase_add_test(alone, test_copies_are_whole);
	suite_add_tcase(suite, alone);
	tcase_add_checked_fixture(store, set_up_store, tear_down_store);
	tcase_add_test(store, test_every_change_is_seen);
	tcase_add_test(store, test_marks_and_expiry_are_seen);
	suite_add_tcase(suite, store);
	return run_suite(suite);
}
