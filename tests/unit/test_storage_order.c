/*
 * test_storage_order.c - our order of keys is Berkeley DB's own.
 */
#include <check.h>
#include <db.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "storage/order.h"
#include "tests/unit/run_suite.h"
#include "tests/unit/storage_rig.h"

#define PAIRS	200000
#define KEYS	20000
#define KEY_MAX 250

typedef int compare_fn(DB *db, const DBT *a, const DBT *b);
typedef size_t prefix_fn(DB *db, const DBT *a, const DBT *b);

static unsigned long long seed = 1;

static unsigned random_below(unsigned n)
{
	seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
	return (unsigned)(seed >> 33) % n;
}

/* Few different bytes, so that keys begin alike; both ends of their range. */
static uint32_t random_key(unsigned char *key, uint32_t max)
{
	static const unsigned char bytes[] = {0, 1, 'a', 0x7f, 0x80, 0xff};
	uint32_t size = 1 + random_below(max);

	for (uint32_t i = 0; i < size; i++)
		key[i] = bytes[random_below(sizeof(bytes))];
	return size;
}

static int sign(int number)
{
	return (number > 0) - (number < 0);
}

static DB *new_handle(bool ours)
{
	DB *db;

	ck_assert_int_eq(db_create(&db, NULL, 0), 0);
	if (ours)
		ck_assert_int_eq(order_use(db), 0);
	return db;
}

static void functions_of(DB *db, compare_fn **ret_compare,
			 prefix_fn **ret_prefix)
{
	ck_assert_int_eq(db->get_bt_compare(db, ret_compare), 0);
	ck_assert_int_eq(db->get_bt_prefix(db, ret_prefix), 0);
}

START_TEST(test_it_answers_as_berkeley_db_does)
{
	unsigned char x[KEY_MAX], y[KEY_MAX];
	DB *plain = new_handle(false), *ours = new_handle(true);
	compare_fn *their_compare, *our_compare;
	prefix_fn *their_prefix, *our_prefix;
	int seen[3] = {0};

	functions_of(plain, &their_compare, &their_prefix);
	functions_of(ours, &our_compare, &our_prefix);
	ck_assert(our_compare != their_compare);
	ck_assert(our_prefix != their_prefix);
	for (int i = 0; i < PAIRS; i++) {
		uint32_t max = i % 2 == 0 ? 4 : KEY_MAX;
		DBT a = {.data = x, .size = random_key(x, max)};
		DBT b = {.data = y, .size = random_key(y, max)};
		int order = their_compare(plain, &a, &b);

		ck_assert_int_eq(sign(our_compare(ours, &a, &b)), sign(order));
		ck_assert_uint_eq(our_prefix(ours, &a, &b),
				  their_prefix(plain, &a, &b));
		seen[sign(order) + 1]++;
	}
	for (int i = 0; i < 3; i++)
		ck_assert_int_gt(seen[i], 0);
	ck_assert_int_eq(plain->close(plain, 0), 0);
	ck_assert_int_eq(ours->close(ours, 0), 0);
}
END_TEST

/* Fills a file with the same keys whichever order it uses. */
static void fill_file(const char *path, bool ours)
{
	unsigned char bytes[KEY_MAX];
	char value[64] = "value";
	DB *db = new_handle(ours);

	ck_assert_int_eq(db->set_pagesize(db, 4096), 0);
	ck_assert_int_eq(
		db->open(db, NULL, path, NULL, DB_BTREE, DB_CREATE, 0640), 0);
	seed = 2;
	for (int i = 0; i < KEYS; i++) {
		DBT key = {.data = bytes, .size = random_key(bytes, KEY_MAX)};
		DBT data = {.data = value, .size = sizeof(value)};

		ck_assert_int_eq(db->put(db, NULL, &key, &data, 0), 0);
	}
	ck_assert_int_eq(db->close(db, 0), 0);
}

/* How the tree has grown. Owner: caller, free(). */
static DB_BTREE_STAT *tree_of(const char *path)
{
	DB *db = new_handle(false);
	DB_BTREE_STAT *stat;

	ck_assert_int_eq(db->open(db, NULL, path, NULL, DB_BTREE, DB_RDONLY, 0),
			 0);
	ck_assert_int_eq(db->stat(db, NULL, &stat, 0), 0);
	ck_assert_int_eq(db->close(db, 0), 0);
	return stat;
}

/* Berkeley DB's own check, with its own order. */
static void verify(const char *path)
{
	DB *db = new_handle(false);

	ck_assert_int_eq(db->verify(db, path, NULL, NULL, 0), 0);
}

static const char *path_in(const struct rig *rig, const char *name)
{
	static char path[2][300];
	static int next;
	char *to = path[next++ % 2];

	(void)snprintf(to, sizeof(path[0]), "%s/%s", rig->dir, name);
	return to;
}

/* The free bytes of inner pages say how keys were shortened there. */
START_TEST(test_it_makes_the_same_tree)
{
	const char *plain_path, *our_path;
	DB_BTREE_STAT *plain, *ours;
	struct rig rig;

	rig_init(&rig);
	plain_path = path_in(&rig, "plain");
	our_path = path_in(&rig, "ours");
	fill_file(plain_path, false);
	fill_file(our_path, true);
	plain = tree_of(plain_path);
	ours = tree_of(our_path);
	ck_assert_uint_ge(plain->bt_levels, 3);
	ck_assert_uint_eq(ours->bt_levels, plain->bt_levels);
	ck_assert_uint_eq(ours->bt_nkeys, plain->bt_nkeys);
	ck_assert_uint_eq(ours->bt_int_pg, plain->bt_int_pg);
	ck_assert_uint_eq(ours->bt_leaf_pg, plain->bt_leaf_pg);
	ck_assert_uint_eq(ours->bt_int_pgfree, plain->bt_int_pgfree);
	ck_assert_uint_eq(ours->bt_leaf_pgfree, plain->bt_leaf_pgfree);
	verify(our_path);
	free(plain);
	free(ours);
	rig_done(&rig);
}
END_TEST

START_TEST(test_a_store_can_be_verified)
{
	struct rig rig;
	char key[32];

	rig_init(&rig);
	rig_open(&rig);
	for (int i = 0; i < 2000; i++) {
		(void)snprintf(key, sizeof(key), "%d-key", i * 7919 % 2000);
		ck_assert_int_eq(rig_set(&rig, key, "a value"), STORE_OK);
	}
	for (int i = 0; i < 2000; i += 3) {
		(void)snprintf(key, sizeof(key), "%d-key", i);
		ck_assert_int_eq(rig_delete(&rig, key), STORE_OK);
	}
	rig_close(&rig);
	verify(path_in(&rig, "data.db"));
	verify(path_in(&rig, "meta.db"));
	rig_done(&rig);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("storage order");
	TCase *tcase = tcase_create("order");

	tcase_add_test(tcase, test_it_answers_as_berkeley_db_does);
	tcase_add_test(tcase, test_it_makes_the_same_tree);
	tcase_add_test(tcase, test_a_store_can_be_verified);
	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}
