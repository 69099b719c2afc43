/*
 * test_storage_walk.c - walks in bounded steps, while things change.
 */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "tests/unit/run_suite.h"
#include "tests/unit/storage_rig.h"

#define KEYS 50

static struct rig rig;

struct seen {
	char keys[2 * KEYS][16];
	size_t value_bytes[2 * KEYS];
	int count;
	int stop_after; /* 0: never */
};

static void set_up(void)
{
	char key[16];

	rig_init(&rig);
	rig_open(&rig);
	for (int i = 0; i < KEYS; i++) {
		(void)snprintf(key, sizeof(key), "key%02d", i);
		rig_set(&rig, key, "value");
	}
}

static void tear_down(void)
{
	rig_done(&rig);
}

static bool see(void *arg, const char *key, size_t key_bytes,
		const struct store_item *item)
{
	struct seen *seen = arg;

	ck_assert_int_lt(seen->count, 2 * KEYS);
	ck_assert_uint_lt(key_bytes, 16);
	memcpy(seen->keys[seen->count], key, key_bytes);
	seen->keys[seen->count][key_bytes] = '\0';
	seen->value_bytes[seen->count] = item->value_bytes;
	seen->count++;
	return seen->count != seen->stop_after;
}

static void walk_on(struct store_cursor *cursor, size_t rows, struct seen *seen)
{
	ck_assert_int_eq(store_walk(rig.reader, cursor, rows, see, seen),
			 STORE_OK);
}

START_TEST(test_every_item_once_and_in_order)
{
	struct store_cursor cursor = {.key_bytes = 0};
	struct seen seen = {.count = 0};
	int steps = 0;

	while (!cursor.done) {
		walk_on(&cursor, (size_t)_i, &seen);
		ck_assert_int_le(seen.count, ++steps * _i);
	}
	ck_assert_int_eq(seen.count, KEYS);
	for (int i = 1; i < KEYS; i++)
		ck_assert_str_lt(seen.keys[i - 1], seen.keys[i]);
	walk_on(&cursor, 10, &seen); /* done stays done */
	ck_assert_int_eq(seen.count, KEYS);
}
END_TEST

START_TEST(test_empty_store)
{
	struct store_cursor cursor = {.key_bytes = 0};
	struct seen seen = {.count = 0};

	rig_flush(&rig, 0);
	walk_on(&cursor, 1000, &seen);
	ck_assert(cursor.done);
	ck_assert_int_eq(seen.count, 0);
}
END_TEST

START_TEST(test_dead_items_are_not_shown)
{
	struct store_cursor cursor = {.key_bytes = 0};
	struct seen seen = {.count = 0};

	rig_set_expiry(&rig, "key07", "v", rig_now(&rig) + 5);
	rig_set_expiry(&rig, "key08", "v", rig_now(&rig) + 6);
	rig_tick(&rig, 5);
	walk_on(&cursor, 1000, &seen);
	ck_assert_int_eq(seen.count, KEYS - 1);
	ck_assert_str_eq(seen.keys[7], "key08");
}
END_TEST

START_TEST(test_goes_on_behind_a_key_that_is_gone)
{
	struct store_cursor cursor = {.key_bytes = 0};
	struct seen seen = {.count = 0};

	walk_on(&cursor, 10, &seen);
	ck_assert_str_eq(seen.keys[9], "key09");
	rig_delete(&rig, "key09");
	rig_delete(&rig, "key10");
	rig_set(&rig, "key05a", "behind");
	rig_set(&rig, "key11a", "ahead");
	walk_on(&cursor, 3, &seen);
	ck_assert_str_eq(seen.keys[10], "key11");
	ck_assert_str_eq(seen.keys[11], "key11a");
	ck_assert_str_eq(seen.keys[12], "key12");
}
END_TEST

START_TEST(test_stops_when_told_and_goes_on)
{
	struct store_cursor cursor = {.key_bytes = 0};
	struct seen seen = {.count = 0, .stop_after = 4};

	walk_on(&cursor, 1000, &seen);
	ck_assert_int_eq(seen.count, 4);
	ck_assert(!cursor.done);
	walk_on(&cursor, 1000, &seen);
	ck_assert_int_eq(seen.count, KEYS);
	ck_assert_str_eq(seen.keys[4], "key04");
}
END_TEST

START_TEST(test_may_begin_at_a_key)
{
	struct store_cursor cursor = {.key = "key30", .key_bytes = 5};
	struct seen seen = {.count = 0};

	walk_on(&cursor, 2, &seen);
	ck_assert_str_eq(seen.keys[0], "key30");
	ck_assert_str_eq(seen.keys[1], "key31");
}
END_TEST

static void store_sized(const char *key, uint32_t bytes)
{
	struct store_op *op = rig_op_sized(STORE_SET, key, 'x', bytes);

	rig_do(&rig, op);
	ck_assert_int_eq(op->status, STORE_OK);
	store_op_free(op);
}

/* Behind big ones the heads are read alone, also of what is no more. */
START_TEST(test_tells_sizes_without_reading)
{
	/* 9 bytes more as records; 32 of them are read at once */
	static const uint32_t sizes[] = {0,    1,    22,   23,	  24,
					 2047, 2048, 5000, 300000};
	const char *first = _i == 0 ? "size" : "row";
	int ahead = _i == 0 ? 0 : 8;
	struct store_cursor cursor = {.key_bytes = strlen(first)};
	struct seen seen = {.count = 0};
	char key[16];

	memcpy(cursor.key, first, cursor.key_bytes);
	for (int i = 0; i < ahead; i++) {
		(void)snprintf(key, sizeof(key), "row%d", i);
		store_sized(key, 20000);
	}
	for (int i = 0; i < 9; i++) {
		(void)snprintf(key, sizeof(key), "size%d", i);
		store_sized(key, sizes[i]);
	}
	walk_on(&cursor, 1000, &seen);
	ck_assert_int_eq(seen.count, ahead + 9);
	for (int i = 0; i < 9; i++)
		ck_assert_uint_eq(seen.value_bytes[ahead + i], sizes[i]);
}
END_TEST

/* No lock is left behind: a change of what was just seen goes through. */
START_TEST(test_holds_no_lock_between_steps)
{
	struct store_cursor cursor = {.key_bytes = 0};
	struct seen seen = {.count = 0};

	for (int i = 0; !cursor.done; i++) {
		walk_on(&cursor, 5, &seen);
		rig_set(&rig, seen.keys[seen.count - 1], "changed");
	}
	ck_assert_int_eq(seen.count, KEYS);
}
END_TEST

static bool see_hash(void *arg, const char *key, size_t key_bytes,
		     const struct store_item *item)
{
	(void)key;
	(void)key_bytes;
	*(uint64_t *)arg = item->hash;
	return false;
}

/* Ops, reads and walks tell the same hash; another one of another key. */
START_TEST(test_a_key_has_one_hash)
{
	struct store_op *op = rig_op(STORE_DELETE, "key00", "");
	struct store_cursor cursor = {.key_bytes = 0};
	uint64_t hash = op->hash, walked = 0;
	struct store_item item;

	store_op_free(op);
	ck_assert_int_eq(rig_get(&rig, "key00", &item), STORE_OK);
	ck_assert_uint_eq(item.hash, hash);
	ck_assert_uint_eq(store_prefetch(rig.reader, "key00", 5), hash);
	store_prefetch_record(rig.reader, hash);
	ck_assert_int_eq(store_walk(rig.reader, &cursor, 1, see_hash, &walked),
			 STORE_OK);
	ck_assert_uint_eq(walked, hash);
	ck_assert_int_eq(rig_get(&rig, "key01", &item), STORE_OK);
	ck_assert_uint_ne(item.hash, hash);
	rig_delete(&rig, "key00");
	ck_assert_int_eq(rig_get(&rig, "key00", &item), STORE_NOT_FOUND);
	ck_assert_uint_eq(item.hash, hash);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("storage walk");
	TCase *tcase = tcase_create("walk");

	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_add_loop_test(tcase, test_every_item_once_and_in_order, 1, 4);
	tcase_add_test(tcase, test_empty_store);
	tcase_add_test(tcase, test_a_key_has_one_hash);
	tcase_add_test(tcase, test_dead_items_are_not_shown);
	tcase_add_test(tcase, test_goes_on_behind_a_key_that_is_gone);
	tcase_add_test(tcase, test_stops_when_told_and_goes_on);
	tcase_add_test(tcase, test_may_begin_at_a_key);
	tcase_add_loop_test(tcase, test_tells_sizes_without_reading, 0, 2);
	tcase_add_test(tcase, test_holds_no_lock_between_steps);
	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}
