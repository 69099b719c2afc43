/*
 * test_storage_scan.c - ranges with values; walks over a hash.
 */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "tests/unit/run_suite.h"
#include "tests/unit/storage_rig.h"

#define KEYS	   40
#define SEEN_MAX   4000
#define HASH_KEYS  1000
#define BIG_VALUES 8

static struct rig rig;

struct seen {
	char keys[SEEN_MAX][16];
	uint64_t shown_from[SEEN_MAX];
	int count;
	int without_value;
	int stop_after; /* 0: never */
};

static struct seen seen;

static void set_up(void)
{
	memset(&seen, 0, sizeof(seen));
	rig_init(&rig);
	rig_open(&rig);
}

static void set_up_hash(void)
{
	memset(&seen, 0, sizeof(seen));
	rig_init(&rig);
	rig.config.hash = true;
	rig_open(&rig);
}

static void tear_down(void)
{
	rig_done(&rig);
}

/* The value of a key is made of it, so that it can be told. */
static void value_of(const char *key, char *value, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		value[i] = key[i % strlen(key)];
}

static struct store_op *set_op(const char *key, uint32_t value_bytes)
{
	struct store_op *op =
		store_op_new(STORE_SET, key, strlen(key), value_bytes, 0);

	ck_assert_ptr_nonnull(op);
	value_of(key, op->value, value_bytes);
	return op;
}

static void store(const char *key, uint32_t value_bytes)
{
	struct store_op *op = set_op(key, value_bytes);

	rig_do(&rig, op);
	ck_assert_int_eq(op->status, STORE_OK);
	store_op_free(op);
}

/* All as one list, which is quick. */
static void store_keys(int count, uint32_t value_bytes)
{
	struct store_op *first = NULL;
	char key[16];

	for (int i = 0; i < count; i++) {
		struct store_op *op;

		(void)snprintf(key, sizeof(key), "key%04d", i);
		op = set_op(key, value_bytes);
		op->next = first;
		first = op;
	}
	store_submit(rig.client, first);
	for (int i = 0; i < count; i++)
		store_op_free(rig_reap(&rig));
}

static bool see(void *arg, const char *key, size_t key_bytes,
		const struct store_item *item)
{
	static char expected[1 << 20];

	ck_assert_ptr_eq(arg, &seen);
	ck_assert_int_lt(seen.count, SEEN_MAX);
	ck_assert_uint_lt(key_bytes, 16);
	memcpy(seen.keys[seen.count], key, key_bytes);
	seen.shown_from[seen.count] = item->shown_from;
	if (item->value == NULL) {
		seen.without_value++;
	} else {
		value_of(seen.keys[seen.count], expected, item->value_bytes);
		ck_assert_mem_eq(item->value, expected, item->value_bytes);
	}
	seen.count++;
	return seen.count != seen.stop_after;
}

static void scan_on(struct store_cursor *cursor,
		    const struct store_limit *limit, size_t rows)
{
	ck_assert_int_eq(
		store_scan(rig.reader, cursor, limit, rows, see, &seen),
		STORE_OK);
}

static struct store_cursor at(const char *key, bool behind)
{
	struct store_cursor cursor = {.key_bytes = strlen(key),
				      .started = behind};

	memcpy(cursor.key, key, strlen(key));
	return cursor;
}

static const struct range {
	const char *from, *to;
	bool behind;
	int kind;
	int first, count;
} ranges[] = {
	{"", "", false, STORE_TO_END, 0, KEYS},
	{"key0010", "", false, STORE_TO_END, 10, KEYS - 10},
	{"key0010", "", true, STORE_TO_END, 11, KEYS - 11},
	{"key0010", "key0020", false, STORE_TO_KEY, 10, 11},
	{"key0010", "key0020", false, STORE_BEFORE_KEY, 10, 10},
	{"key0010", "key0020", true, STORE_BEFORE_KEY, 11, 9},
	{"key001", "key0020x", true, STORE_BEFORE_KEY, 10, 11},
	{"key0010", "key0010", false, STORE_TO_KEY, 10, 1},
	{"key0010", "key0010", true, STORE_TO_KEY, 0, 0},
	{"key0020", "key0010", false, STORE_TO_KEY, 0, 0},
	{"key001", "key001", false, STORE_WITH_PREFIX, 10, 10},
	{"key0015", "key001", true, STORE_WITH_PREFIX, 16, 4},
	{"key", "key", false, STORE_WITH_PREFIX, 0, KEYS},
	{"kez", "kez", false, STORE_WITH_PREFIX, 0, 0},
	{"z", "", false, STORE_TO_END, 0, 0},
};
#define RANGES (int)(sizeof(ranges) / sizeof(ranges[0]))

/* Each range in steps of several sizes. */
START_TEST(test_ranges)
{
	const struct range *range = &ranges[_i];
	static const size_t steps[] = {1, 3, 1000};
	char key[16];

	store_keys(KEYS, 100);
	for (size_t s = 0; s < 3; s++) {
		struct store_cursor cursor = at(range->from, range->behind);
		struct store_limit limit = {.key = range->to,
					    .key_bytes = strlen(range->to)};

		limit.kind = range->kind;
		memset(&seen, 0, sizeof(seen));
		while (!cursor.done)
			scan_on(&cursor, &limit, steps[s]);
		ck_assert_int_eq(seen.count, range->count);
		for (int i = 0; i < seen.count; i++) {
			(void)snprintf(key, sizeof(key), "key%04d",
				       range->first + i);
			ck_assert_str_eq(seen.keys[i], key);
		}
		ck_assert_int_eq(seen.without_value, 0);
	}
}
END_TEST

START_TEST(test_a_step_is_bounded_and_may_be_stopped)
{
	struct store_limit limit = {.kind = STORE_TO_END};
	struct store_cursor cursor = at("", false);

	store_keys(KEYS, 10);
	scan_on(&cursor, &limit, 7);
	ck_assert_int_eq(seen.count, 7);
	seen.stop_after = 9;
	scan_on(&cursor, &limit, 7);
	ck_assert_int_eq(seen.count, 9);
	ck_assert_str_eq(seen.keys[8], "key0008");
	scan_on(&cursor, &limit, 1);
	ck_assert_str_eq(seen.keys[9], "key0009");
}
END_TEST

START_TEST(test_values_of_all_sizes)
{
	static const uint32_t sizes[BIG_VALUES] = {0,	  1,	 900,	1500,
						   30000, 60000, 70000, 300000};
	struct store_limit limit = {.kind = STORE_TO_END};
	struct store_cursor cursor = at("", false);
	char key[16];

	for (int i = 0; i < BIG_VALUES; i++) {
		(void)snprintf(key, sizeof(key), "k%d", i);
		store(key, sizes[i]);
	}
	while (!cursor.done)
		scan_on(&cursor, &limit, (size_t)_i);
	ck_assert_int_eq(seen.count, BIG_VALUES);
	/* Those above 64 KB, whatever else had to be read alone. */
	ck_assert_int_eq(seen.without_value, 2);
}
END_TEST

START_TEST(test_dead_items_are_not_shown)
{
	struct store_limit limit = {.kind = STORE_TO_END};
	struct store_cursor cursor = at("", false);

	store_keys(3, 5);
	rig_set_expiry(&rig, "key0001", "v", rig_now(&rig) + 5);
	rig_tick(&rig, 5);
	scan_on(&cursor, &limit, 100);
	ck_assert_int_eq(seen.count, 2);
	ck_assert_str_eq(seen.keys[1], "key0002");
}
END_TEST

START_TEST(test_what_is_not_durable_says_so)
{
	struct store_limit limit = {.kind = STORE_TO_END};
	struct store_cursor cursor = at("", false);
	struct store_op *op = rig_op(STORE_SET, "k", "kkk");

	store_submit(rig.client, op);
	while (seen.count == 0) {
		cursor = at("", false);
		scan_on(&cursor, &limit, 10);
	}
	/* It is durable now, or it says from when on it will be. */
	while (!store_shown(rig.client, seen.shown_from[0]))
		;
	ck_assert_ptr_eq(rig_reap(&rig), op);
	store_op_free(op);
	memset(&seen, 0, sizeof(seen));
	cursor = at("", false);
	scan_on(&cursor, &limit, 10);
	ck_assert_uint_eq(seen.shown_from[0], 0);
}
END_TEST

static bool get_within(void *arg, const char *key, size_t key_bytes,
		       const struct store_item *item)
{
	char buffer[4096];
	struct store_item got;
	int *count = arg;

	ck_assert_int_eq(store_get(rig.reader, key, key_bytes, buffer,
				   sizeof(buffer), 0, &got),
			 STORE_OK);
	ck_assert_uint_eq(got.value_bytes, item->value_bytes);
	rig_set(&rig, "key0000", "changed"); /* no lock is in the way */
	++*count;
	return true;
}

START_TEST(test_a_visit_may_read_and_others_may_write)
{
	struct store_limit limit = {.kind = STORE_TO_END};
	struct store_cursor cursor = at("", false);
	int count = 0;

	store_keys(5, 7);
	ck_assert_int_eq(store_scan(rig.reader, &cursor, &limit, 100,
				    get_within, &count),
			 STORE_OK);
	ck_assert_int_eq(count, 5);
}
END_TEST

START_TEST(test_order_is_known)
{
	ck_assert(store_has_order(rig.reader));
}
END_TEST

/* --- the hash ----------------------------------------------------------- */

static bool see_key(void *arg, const char *key, size_t key_bytes,
		    const struct store_item *item)
{
	(void)item;
	ck_assert_ptr_eq(arg, &seen);
	ck_assert_int_lt(seen.count, SEEN_MAX);
	memcpy(seen.keys[seen.count++], key, key_bytes);
	return true;
}

static int times_seen(const char *key)
{
	int times = 0;

	for (int i = 0; i < seen.count; i++)
		times += strcmp(seen.keys[i], key) == 0;
	return times;
}

START_TEST(test_hash_has_no_order)
{
	ck_assert(!store_has_order(rig.reader));
}
END_TEST

START_TEST(test_hash_shows_each_key_once)
{
	struct store_cursor cursor = at("", false);
	char key[16];

	store_keys(HASH_KEYS, 50);
	while (!cursor.done)
		ck_assert_int_eq(store_walk(rig.reader, &cursor, (size_t)_i,
					    see_key, &seen),
				 STORE_OK);
	ck_assert_int_eq(seen.count, HASH_KEYS);
	for (int i = 0; i < HASH_KEYS; i++) {
		(void)snprintf(key, sizeof(key), "key%04d", i);
		ck_assert_int_eq(times_seen(key), 1);
	}
}
END_TEST

static void hash_step(struct store_cursor *cursor)
{
	ck_assert_int_eq(store_walk(rig.reader, cursor, 50, see_key, &seen),
			 STORE_OK);
}

/* The last key of every step is deleted before the next one. */
START_TEST(test_hash_goes_on_behind_a_key_that_is_gone)
{
	struct store_cursor cursor = at("", false);
	char key[16];

	store_keys(HASH_KEYS, 50);
	while (!cursor.done) {
		hash_step(&cursor);
		ck_assert_int_eq(rig_delete(&rig, seen.keys[seen.count - 1]),
				 cursor.done && seen.count % 50 == 0
					 ? STORE_NOT_FOUND
					 : STORE_OK);
	}
	ck_assert_int_eq(seen.count, HASH_KEYS);
	for (int i = 0; i < HASH_KEYS; i++) {
		(void)snprintf(key, sizeof(key), "key%04d", i);
		ck_assert_int_eq(times_seen(key), 1);
	}
}
END_TEST

/* Hidden items that are not yet reclaimed do not hold it up. */
START_TEST(test_hash_walks_over_the_dead)
{
	struct store_cursor cursor = at("", false);

	store_keys(HASH_KEYS, 50);
	rig_flush(&rig, 0);
	store("alive", 50);
	for (int steps = 0; !cursor.done; steps++) {
		ck_assert_int_lt(steps, HASH_KEYS);
		hash_step(&cursor);
	}
	ck_assert_int_eq(seen.count, 1);
}
END_TEST

/* If several are gone it begins anew: nothing is left out. */
START_TEST(test_hash_goes_on_when_its_place_is_lost)
{
	struct store_cursor cursor = at("", false);
	char key[16];

	store_keys(HASH_KEYS, 50);
	hash_step(&cursor);
	hash_step(&cursor);
	for (int i = 1; i <= 10; i++)
		rig_delete(&rig, seen.keys[seen.count - i]);
	while (!cursor.done)
		hash_step(&cursor);
	for (int i = 0; i < HASH_KEYS; i++) {
		(void)snprintf(key, sizeof(key), "key%04d", i);
		ck_assert_int_ge(times_seen(key), 1);
		ck_assert_int_le(times_seen(key), 2);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("storage scan");
	TCase *tcase = tcase_create("scan");
	TCase *hash = tcase_create("hash");

	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_add_loop_test(tcase, test_ranges, 0, RANGES);
	tcase_add_test(tcase, test_a_step_is_bounded_and_may_be_stopped);
	tcase_add_loop_test(tcase, test_values_of_all_sizes, 1, 9);
	tcase_add_test(tcase, test_dead_items_are_not_shown);
	tcase_add_test(tcase, test_what_is_not_durable_says_so);
	tcase_add_test(tcase, test_a_visit_may_read_and_others_may_write);
	tcase_add_test(tcase, test_order_is_known);
	suite_add_tcase(suite, tcase);
	tcase_add_checked_fixture(hash, set_up_hash, tear_down);
	tcase_add_test(hash, test_hash_has_no_order);
	tcase_add_loop_test(hash, test_hash_shows_each_key_once, 1, 4);
	tcase_add_test(hash, test_hash_goes_on_behind_a_key_that_is_gone);
	tcase_add_test(hash, test_hash_walks_over_the_dead);
	tcase_add_test(hash, test_hash_goes_on_when_its_place_is_lost);
	suite_add_tcase(suite, hash);
	return run_suite(suite);
}
