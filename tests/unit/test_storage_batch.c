/*
 * test_storage_batch.c - many changes in one transaction, with one cursor.
 *
 * What an op leaves the cursor at must not matter to the next one. Lists of
 * ops are made from a model, so each answer is known before.
 */
#include <check.h>
#include <db.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "storage/storage.h"
#include "tests/unit/run_suite.h"
#include "tests/unit/storage_rig.h"

#define KEYS	   300
#define MANY_KEYS  20000
#define BATCHES	   150
#define BATCH_OPS  100
#define VALUE_MAX  3000
#define PAGE_BYTES 4096
#define PAGE_HEAD  26

struct item {
	bool there;
	uint32_t bytes;
	char fill;
};

static struct rig rig;
static struct item items[MANY_KEYS];
static int keys; /* how many of them are used */
static unsigned long long seed;

static void set_up(void)
{
	rig_init(&rig);
	rig_open(&rig);
	memset(items, 0, sizeof(items));
	seed = 1;
	keys = KEYS;
}

static void tear_down(void)
{
	rig_done(&rig);
}

static unsigned dice(unsigned sides)
{
	seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
	return (unsigned)(seed >> 33) % sides;
}

static const char *name(int n)
{
	static char key[32];

	(void)snprintf(key, sizeof(key), "%d-of-these-keys", n * 7919 % keys);
	return key;
}

static struct store_op *new_op(enum store_op_kind kind, int n, uint32_t bytes,
			       char fill)
{
	return rig_op_sized(kind, name(n), fill, bytes);
}

/* Sizes on both sides of what fits into a page, and often the same again. */
static uint32_t random_bytes(const struct item *item)
{
	switch (dice(4)) {
	case 0:
		return item->bytes;
	case 1:
		return dice(VALUE_MAX);
	default:
		return dice(100);
	}
}

/* What the next op does, and what it will answer. */
static struct store_op *random_op(enum store_status *ret_status)
{
	int n = (int)dice((unsigned)keys);
	struct item *item = &items[n];
	uint32_t bytes = random_bytes(item);
	char fill = (char)('a' + dice(26));

	*ret_status = STORE_OK;
	switch (dice(6)) {
	case 0:
	case 1:
		*ret_status = item->there ? STORE_OK : STORE_NOT_FOUND;
		item->there = false;
		return new_op(STORE_DELETE, n, 0, 0);
	case 2:
		*ret_status = item->there ? STORE_OK : STORE_NOT_FOUND;
		return new_op(STORE_TOUCH, n, 0, 0);
	case 3:
		if (item->there) {
			*ret_status = STORE_NOT_STORED;
			return new_op(STORE_ADD, n, bytes, fill);
		}
		break;
	}
	*item = (struct item){.there = true, .bytes = bytes, .fill = fill};
	return new_op(STORE_SET, n, bytes, fill);
}

static void run_batch(void)
{
	enum store_status expected[BATCH_OPS];
	struct store_op *first = NULL, **link = &first, *op;

	for (int i = 0; i < BATCH_OPS; i++) {
		*link = random_op(&expected[i]);
		link = &(*link)->next;
	}
	store_submit(rig.client, first);
	for (int i = 0; i < BATCH_OPS; i++) {
		op = rig_reap(&rig);
		ck_assert_int_eq(op->status, expected[i]);
		store_op_free(op);
	}
}

static void check_items(void)
{
	struct store_item found;
	uint64_t count = 0;

	for (int n = 0; n < keys; n++) {
		const struct item *item = &items[n];

		ck_assert_int_eq(rig_get(&rig, name(n), &found),
				 item->there ? STORE_OK : STORE_NOT_FOUND);
		if (!item->there)
			continue;
		count++;
		ck_assert_uint_eq(found.value_bytes, item->bytes);
		for (uint32_t i = 0; i < item->bytes; i++)
			ck_assert_int_eq(found.value[i], item->fill);
	}
	rig_expect_items(&rig, count);
}

static DB *open_file(void)
{
	char path[300];
	DB *db;

	(void)snprintf(path, sizeof(path), "%s/data.db", rig.dir);
	ck_assert_int_eq(db_create(&db, NULL, 0), 0);
	ck_assert_int_eq(db->open(db, NULL, path, NULL, DB_BTREE, DB_RDONLY, 0),
			 0);
	return db;
}

static void verify_file(void)
{
	char path[300];
	DB *db;

	(void)snprintf(path, sizeof(path), "%s/data.db", rig.dir);
	ck_assert_int_eq(db_create(&db, NULL, 0), 0);
	ck_assert_int_eq(db->verify(db, path, NULL, NULL, 0), 0);
}

/* With few keys, which are mostly there, and with many, mostly new ones. */
START_TEST(test_ops_of_a_batch_do_not_meet)
{
	keys = _i == 0 ? KEYS : MANY_KEYS;
	for (int i = 0; i < BATCHES; i++)
		run_batch();
	check_items();
	rig_reopen(&rig);
	check_items();
	rig_close(&rig);
	verify_file();
	rig_open(&rig);
}
END_TEST

/* A deleted record that is only marked so would still take its room. */
static void expect_empty_leaves(void)
{
	DB_BTREE_STAT *stat;
	DB *db = open_file();

	ck_assert_int_eq(db->stat(db, NULL, &stat, 0), 0);
	ck_assert_uint_eq(stat->bt_ndata, 0);
	ck_assert_uint_eq(stat->bt_leaf_pgfree,
			  stat->bt_leaf_pg * (PAGE_BYTES - PAGE_HEAD));
	free(stat);
	ck_assert_int_eq(db->close(db, 0), 0);
}

/* What the op behind a delete looks for, and whether it is there. */
static const struct {
	enum store_op_kind kind;
	int ahead;
	enum store_status status;
} behind_delete[] = {
	{STORE_DELETE, 0, STORE_NOT_FOUND},
	{STORE_TOUCH, 0, STORE_NOT_FOUND},
	{STORE_TOUCH, 2, STORE_OK},
	{STORE_SET, 2, STORE_OK},
};

START_TEST(test_deletes_leave_no_room_taken)
{
	struct store_op *first = NULL, **link = &first, *op;

	for (int n = 0; n < KEYS; n++)
		ck_assert_int_eq(rig_set(&rig, name(n), "a value"), STORE_OK);
	/* The last two are for those behind to find. */
	for (int n = 0; n < KEYS - 2; n++) {
		int other = n + behind_delete[_i].ahead;

		*link = new_op(STORE_DELETE, n, 0, 0);
		link = &(*link)->next;
		*link = new_op(behind_delete[_i].kind, other,
			       behind_delete[_i].kind == STORE_SET ? 7 : 0,
			       'v');
		link = &(*link)->next;
	}
	store_submit(rig.client, first);
	for (int n = 0; n < KEYS - 2; n++) {
		op = rig_reap(&rig);
		ck_assert_int_eq(op->status, STORE_OK);
		store_op_free(op);
		op = rig_reap(&rig);
		ck_assert_int_eq(op->status, behind_delete[_i].status);
		store_op_free(op);
	}
	ck_assert_int_eq(rig_delete(&rig, name(KEYS - 2)), STORE_OK);
	ck_assert_int_eq(rig_delete(&rig, name(KEYS - 1)), STORE_OK);
	rig_close(&rig);
	expect_empty_leaves();
	rig_open(&rig);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("storage batch");
	TCase *tcase = tcase_create("batch");

	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_add_loop_test(tcase, test_ops_of_a_batch_do_not_meet, 0, 2);
	tcase_add_loop_test(
		tcase, test_deletes_leave_no_room_taken, 0,
		(int)(sizeof(behind_delete) / sizeof(behind_delete[0])));
	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}
