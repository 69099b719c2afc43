/*
 * test_storage_values.c - values: counters, joined ones, and all sizes up to
 * 64 MB.
 */
#include <check.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "storage/storage.h"
#include "tests/unit/run_suite.h"
#include "tests/unit/storage_rig.h"

#define COUNT(array) (int)(sizeof(array) / sizeof((array)[0]))

static struct rig rig;

static void set_up(void)
{
	rig_init(&rig);
	rig_open(&rig);
}

static void tear_down(void)
{
	rig_done(&rig);
}

/* --- sizes of what is not read ------------------------------------------- */

/* Too big for the cache of records; the flags tell which one it is. */
#define SHORT_BYTES 9000
#define LONG_BYTES  9100

static atomic_bool over;
static atomic_uint looks;

static void set_sized(bool is_long)
{
	uint32_t bytes = is_long ? LONG_BYTES : SHORT_BYTES;
	struct store_op *op = rig_op_sized(STORE_SET, "sized", 'x', bytes);

	op->flags = is_long;
	rig_do(&rig, op);
	ck_assert_int_eq(op->status, STORE_OK);
	store_op_free(op);
}

static void look(struct store_reader *reader)
{
	struct store_item item;

	ck_assert_int_eq(store_get(reader, "sized", 5, NULL, 0, 0, &item),
			 STORE_GROW);
	ck_assert_uint_eq(item.value_bytes,
			  item.flags != 0 ? LONG_BYTES : SHORT_BYTES);
}

static void *look_main(void *arg)
{
	struct store_reader *reader;

	(void)arg;
	ck_assert_int_eq(store_reader_new(rig.store, &reader), 0);
	while (!atomic_load(&over)) {
		look(reader);
		atomic_fetch_add(&looks, 1);
	}
	store_reader_free(reader);
	return NULL;
}

static bool has_looked(void *arg)
{
	return atomic_load(&looks) >= *(unsigned *)arg;
}

/* A size belongs to the item that is told, while others replace it. */
START_TEST(test_a_size_is_that_of_the_item)
{
	unsigned wanted;
	pthread_t thread;

	set_sized(false);
	ck_assert_int_eq(pthread_create(&thread, NULL, look_main, NULL), 0);
	for (unsigned i = 1; i <= 300; i++) {
		set_sized(i % 2 != 0);
		wanted = i;
		rig_wait_for(has_looked, &wanted);
	}
	atomic_store(&over, true);
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
}
END_TEST

/* --- numbers -------------------------------------------------------------- */

struct number_case {
	const char *value;
	enum store_op_kind kind;
	uint64_t delta;
	enum store_status status;
	const char *after;
};

static const struct number_case number_cases[] = {
	{"0", STORE_INCR, 0, STORE_OK, "0"},
	{"9", STORE_INCR, 1, STORE_OK, "10"},
	{"10", STORE_DECR, 1, STORE_OK, "9"},
	{"5", STORE_DECR, 6, STORE_OK, "0"},
	{"5", STORE_DECR, UINT64_MAX, STORE_OK, "0"},
	{"18446744073709551615", STORE_INCR, 1, STORE_OK, "0"},
	{"18446744073709551615", STORE_INCR, UINT64_MAX, STORE_OK,
	 "18446744073709551614"},
	{"18446744073709551614", STORE_INCR, 1, STORE_OK,
	 "18446744073709551615"},
	{"0", STORE_INCR, UINT64_MAX, STORE_OK, "18446744073709551615"},
	{"00000000000000000000000007", STORE_INCR, 1, STORE_OK, "8"},
	{"  7", STORE_INCR, 1, STORE_OK, "8"},
	{"7  ", STORE_INCR, 1, STORE_OK, "8"},
	{"7\n", STORE_INCR, 1, STORE_OK, "8"},
	{"7 abc", STORE_INCR, 1, STORE_OK, "8"},
	{"18446744073709551616", STORE_INCR, 1, STORE_NOT_NUMBER, NULL},
	{"99999999999999999999", STORE_INCR, 1, STORE_NOT_NUMBER, NULL},
	{"100000000000000000000", STORE_INCR, 1, STORE_NOT_NUMBER, NULL},
	{"", STORE_INCR, 1, STORE_NOT_NUMBER, NULL},
	{" ", STORE_INCR, 1, STORE_NOT_NUMBER, NULL},
	{"-1", STORE_INCR, 1, STORE_NOT_NUMBER, NULL},
	{"+1", STORE_INCR, 1, STORE_NOT_NUMBER, NULL},
	{"1ab", STORE_INCR, 1, STORE_NOT_NUMBER, NULL},
	{"abc", STORE_DECR, 1, STORE_NOT_NUMBER, NULL},
	{"1.5", STORE_INCR, 1, STORE_NOT_NUMBER, NULL},
	{"0x10", STORE_INCR, 1, STORE_NOT_NUMBER, NULL},
};

static void check_number(const struct number_case *c)
{
	struct store_op *op = rig_op(c->kind, "n", NULL);
	char text[32];

	rig_set(&rig, "n", c->value);
	op->delta = c->delta;
	rig_do(&rig, op);
	ck_assert_msg(op->status == c->status, "%s: status %d", c->value,
		      (int)op->status);
	if (c->after == NULL) {
		rig_expect(&rig, "n", c->value);
	} else {
		rig_expect(&rig, "n", c->after);
		(void)snprintf(text, sizeof(text), "%" PRIu64, op->number);
		ck_assert_str_eq(text, c->after);
	}
	store_op_free(op);
}

START_TEST(test_number)
{
	for (int row = 0; row < COUNT(number_cases); row++)
		check_number(&number_cases[row]);
}
END_TEST

static struct store_op *big_op(enum store_op_kind kind, const char *key,
			       uint32_t bytes, char seed)
{
	struct store_op *op = store_op_new(kind, key, strlen(key), bytes, 0);

	ck_assert_ptr_nonnull(op);
	for (uint32_t i = 0; i < bytes; i++)
		op->value[i] = (char)(seed + (char)(i % 61));
	return op;
}

static void expect_big(const char *key, uint32_t bytes, char seed)
{
	size_t room = bytes + STORE_RECORD_HEAD_MAX;
	char *buffer = malloc(room);
	struct store_item item;

	ck_assert_ptr_nonnull(buffer);
	ck_assert_int_eq(
		store_get(rig.reader, key, strlen(key), buffer, room, 0, &item),
		STORE_OK);
	ck_assert_uint_eq(item.value_bytes, bytes);
	for (uint32_t i = 0; i < bytes; i++)
		if (item.value[i] != (char)(seed + (char)(i % 61)))
			ck_abort_msg("byte %u differs", i);
	free(buffer);
}

static void set_big(const char *key, uint32_t bytes, char seed)
{
	struct store_op *op = big_op(STORE_SET, key, bytes, seed);

	rig_do(&rig, op);
	ck_assert_int_eq(op->status, STORE_OK);
	store_op_free(op);
}

/* A counter in front of a value bigger than what is read of it. */
START_TEST(test_number_in_a_big_value)
{
	struct store_op *op = big_op(STORE_SET, "n", 100000, 'a');

	op->value[0] = '4';
	op->value[1] = _i == 0 ? ' ' : 'x';
	rig_do(&rig, op);
	store_op_free(op);
	ck_assert_int_eq(rig_run(&rig, STORE_DECR, "n", NULL),
			 _i == 0 ? STORE_OK : STORE_NOT_NUMBER);
	op = big_op(STORE_SET, "n", 100000, 'a');
	memset(op->value, ' ', 100000);
	op->value[99999] = '1';
	rig_do(&rig, op);
	store_op_free(op);
	ck_assert_int_eq(rig_run(&rig, STORE_INCR, "n", NULL),
			 STORE_NOT_NUMBER);
}
END_TEST

/* Around what fits a page, what is read at once, what is kept of scratch. */
static const uint32_t sizes[] = {0,    1,    2000, 2024,  2048,	 4096,	 8160,
				 8168, 8169, 8192, 65536, 70000, 1 << 20};

static void check_grow(const char *key, uint32_t bytes)
{
	struct store_item item;
	char room[40];

	if (bytes <= sizeof(room))
		return;
	ck_assert_int_eq(store_get(rig.reader, key, strlen(key), room,
				   sizeof(room), 0, &item),
			 STORE_GROW);
	ck_assert_uint_eq(item.value_bytes, bytes);
}

START_TEST(test_values_of_all_sizes)
{
	char key[16];

	for (int i = 0; i < COUNT(sizes); i++) {
		(void)snprintf(key, sizeof(key), "k%d", i);
		set_big(key, sizes[i], 'a');
		expect_big(key, sizes[i], 'a');
		check_grow(key, sizes[i]);
		set_big(key, sizes[i], 'b');
	}
	rig_reopen(&rig);
	rig_expect_items(&rig, COUNT(sizes));
	for (int i = 0; i < COUNT(sizes); i++) {
		(void)snprintf(key, sizeof(key), "k%d", i);
		expect_big(key, sizes[i], 'b');
		ck_assert_int_eq(rig_delete(&rig, key), STORE_OK);
		rig_expect_missing(&rig, key);
	}
	rig_expect_items(&rig, 0);
}
END_TEST

START_TEST(test_get_into_a_buffer_that_just_fits)
{
	char buffer[64];
	struct store_item item;

	rig_set(&rig, "k", "12345678");
	ck_assert_int_eq(
		store_get(rig.reader, "k", 1, buffer, 10 + 9 + 8, 10, &item),
		STORE_OK);
	ck_assert_ptr_eq(item.value, buffer + 10 + 9);
	for (size_t bytes = 0; bytes < 10 + 9 + 8; bytes++) {
		ck_assert_int_eq(
			store_get(rig.reader, "k", 1, buffer, bytes, 10, &item),
			STORE_GROW);
		ck_assert_uint_eq(item.value_bytes, 8);
	}
	ck_assert_int_eq(store_get(rig.reader, "no", 2, buffer, 0, 10, &item),
			 STORE_NOT_FOUND);
}
END_TEST

static void check_join(uint32_t bytes, uint32_t rest)
{
	struct store_op *op = big_op(STORE_APPEND, "k", rest, 'a');

	set_big("k", bytes, 'a');
	for (uint32_t i = 0; i < rest; i++)
		op->value[i] = (char)('a' + (char)((bytes + i) % 61));
	rig_do(&rig, op);
	ck_assert_int_eq(op->status, STORE_OK);
	store_op_free(op);
	expect_big("k", bytes + rest, 'a');
	op = big_op(STORE_SET, "k", rest, 'a');
	for (uint32_t i = 0; i < rest; i++)
		op->value[i] = (char)('a' + (char)((bytes + i) % 61));
	rig_do(&rig, op);
	store_op_free(op);
	op = big_op(STORE_PREPEND, "k", bytes, 'a');
	rig_do(&rig, op);
	ck_assert_int_eq(op->status, STORE_OK);
	store_op_free(op);
	expect_big("k", bytes + rest, 'a');
	rig_expect_items(&rig, 1);
}

START_TEST(test_join_big_values)
{
	for (int i = 0; i < COUNT(sizes); i++)
		check_join(sizes[i] / 3, sizes[i] - sizes[i] / 3);
}
END_TEST

START_TEST(test_join_beyond_the_limit_keeps_the_old_value)
{
	enum store_op_kind kind = _i == 0 ? STORE_APPEND : STORE_PREPEND;
	struct store_op *op;

	set_big("k", (1 << 20) - 5, 'a');
	ck_assert_int_eq(rig_run(&rig, kind, "k", "123456"), STORE_TOO_LARGE);
	expect_big("k", (1 << 20) - 5, 'a');
	op = rig_op(kind, "k", "12345");
	rig_do(&rig, op);
	ck_assert_int_eq(op->status, STORE_OK);
	store_op_free(op);
	ck_assert_int_eq(rig_run(&rig, kind, "k", "1"), STORE_TOO_LARGE);
}
END_TEST

START_TEST(test_get_and_touch_of_a_big_value)
{
	struct store_op *op;

	set_big("k", 300000, 'a');
	op = rig_op(STORE_GET_AND_TOUCH, "k", NULL);
	op->expiry = rig_now(&rig) + 9;
	rig_do(&rig, op);
	ck_assert_uint_eq(op->found.value_bytes, 300000);
	ck_assert_int_eq(op->found.value[299999], 'a' + 299999 % 61);
	store_op_free(op);
	expect_big("k", 300000, 'a');
	rig_tick(&rig, 9);
	rig_expect_missing(&rig, "k");
}
END_TEST

START_TEST(test_a_value_of_64_megabytes)
{
	uint32_t bytes = 64 << 20;

	rig_close(&rig);
	rig.config.value_max_bytes = 256 << 20;
	rig_open(&rig);
	set_big("k", bytes, 'a');
	expect_big("k", bytes, 'a');
	rig_reopen(&rig);
	expect_big("k", bytes, 'a');
	ck_assert_int_eq(rig_delete(&rig, "k"), STORE_OK);
	rig_expect_items(&rig, 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("storage values");
	TCase *tcase = tcase_create("values");

	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_add_test(tcase, test_a_size_is_that_of_the_item);
	tcase_add_test(tcase, test_number);
	tcase_add_loop_test(tcase, test_number_in_a_big_value, 0, 2);
	tcase_add_test(tcase, test_values_of_all_sizes);
	tcase_add_test(tcase, test_get_into_a_buffer_that_just_fits);
	tcase_add_test(tcase, test_join_big_values);
	tcase_add_loop_test(
		tcase, test_join_beyond_the_limit_keeps_the_old_value, 0, 2);
	tcase_add_test(tcase, test_get_and_touch_of_a_big_value);
	tcase_add_test(tcase, test_a_value_of_64_megabytes);
	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}
