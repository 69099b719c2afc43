/*
 * test_storage_new_keys.c - where one new key follows another, the next one is
 * taken to be new; nobody may see that, right or wrong.
 *
 * Each case is run twice, behind keys that were new and behind one that was
 * not, and has to come to the same.
 */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "storage/storage.h"
#include "tests/unit/run_suite.h"
#include "tests/unit/storage_rig.h"

/* More in a row than it takes to expect another one, or none. */
#define WARM_OPS    20
#define MANY	    1000
#define IN_THE_PAST 1

static struct rig rig;
static int named;

static void set_up(void)
{
	rig_init(&rig);
	named = 0;
}

static void tear_down(void)
{
	rig_done(&rig);
}

static const char *new_name(void)
{
	static char name[32];

	(void)snprintf(name, sizeof(name), "key-%06d", named++ * 7919 % 999983);
	return name;
}

/* Stores that make the next one expect a new key, or an old one. */
static void warm(bool of_new)
{
	for (int i = 0; i < WARM_OPS; i++)
		ck_assert_int_eq(
			rig_set(&rig, of_new ? new_name() : "worn", "value"),
			STORE_OK);
}

static void set_old(const char *key)
{
	ck_assert_int_eq(rig_set(&rig, key, "old value"), STORE_OK);
}

/* The sweep leaves it there for a while, other than what has expired. */
static void set_flushed(const char *key)
{
	set_old(key);
	rig_flush(&rig, 0);
}

static void set_and_delete(const char *key)
{
	set_old(key);
	ck_assert_int_eq(rig_delete(&rig, key), STORE_OK);
}

/* More than fits into a page. */
static void set_big(const char *key)
{
	struct store_op *op = rig_op_sized(STORE_SET, key, 'b', 20000);

	rig_do(&rig, op);
	ck_assert_int_eq(op->status, STORE_OK);
	store_op_free(op);
}

static const struct {
	void (*before)(const char *key);
	enum store_op_kind kind;
	int64_t expiry;
	int given; /* the id, less the last one; 0: none is given */
	enum store_status status;
} cases[] = {
	{NULL, STORE_SET, 0, 0, STORE_OK},
	{NULL, STORE_ADD, 0, 0, STORE_OK},
	{NULL, STORE_SET, IN_THE_PAST, 0, STORE_OK},
	{NULL, STORE_SET, 0, 1000, STORE_OK},
	{NULL, STORE_SET, 0, -5, STORE_OK},
	{set_old, STORE_SET, 0, 0, STORE_OK},
	{set_old, STORE_ADD, 0, 0, STORE_NOT_STORED},
	{set_old, STORE_SET, IN_THE_PAST, 0, STORE_OK},
	{set_old, STORE_SET, 0, 1000, STORE_OK},
	{set_old, STORE_SET, 0, -5, STORE_OK},
	{set_big, STORE_SET, 0, 0, STORE_OK},
	{set_big, STORE_ADD, 0, 0, STORE_NOT_STORED},
	{set_flushed, STORE_SET, 0, 0, STORE_OK},
	{set_flushed, STORE_ADD, 0, 0, STORE_OK},
	{set_flushed, STORE_SET, IN_THE_PAST, 0, STORE_OK},
	{set_and_delete, STORE_SET, 0, 0, STORE_OK},
};
#define CASES (int)(sizeof(cases) / sizeof(cases[0]))

/* What there is to see of an op. */
struct outcome {
	enum store_status status, read;
	bool was_live, flushed;
	size_t old_bytes;
	uint64_t id, last_id; /* less the last one before */
	uint64_t items, bytes, stored;
	char value[32];
};

static uint64_t last_id(void)
{
	struct store_engine engine;

	store_engine(rig.reader, &engine);
	return engine.next_cas - 1;
}

static struct store_op *case_op(int number, const char *key)
{
	struct store_op *op = rig_op(cases[number].kind, key, "new value");

	op->expiry = cases[number].expiry;
	/* What a try that was aborted may have left. */
	op->was_live = true;
	return op;
}

static void note_answer(struct outcome *outcome, const struct store_op *op,
			uint64_t last)
{
	outcome->status = op->status;
	outcome->was_live = op->was_live;
	outcome->flushed = op->found.flushed;
	outcome->old_bytes = op->found.value_bytes;
	outcome->last_id = last_id() - last;
	if (op->status == STORE_OK)
		outcome->id = op->cas - last;
}

static void note_counts(struct outcome *outcome,
			const struct store_counts *before)
{
	struct store_counts after;

	store_counts(rig.store, &after);
	outcome->items = after.items - before->items;
	outcome->bytes = after.bytes - before->bytes;
	outcome->stored = after.total_items - before->total_items;
}

static void note_item(struct outcome *outcome, const char *key)
{
	struct store_item item;

	outcome->read = rig_get(&rig, key, &item);
	if (outcome->read == STORE_OK &&
	    item.value_bytes < sizeof(outcome->value))
		memcpy(outcome->value, item.value, item.value_bytes);
}

static struct outcome run_case(int number, bool of_new)
{
	const char *key = of_new ? "case-1" : "case-2";
	struct store_op *op = case_op(number, key);
	struct store_counts before;
	struct outcome outcome;
	uint64_t id;

	memset(&outcome, 0, sizeof(outcome));
	if (cases[number].before != NULL)
		cases[number].before(key);
	warm(of_new);
	store_counts(rig.store, &before);
	id = last_id();
	if (cases[number].given != 0)
		op->assign = id + (uint64_t)(int64_t)cases[number].given;
	rig_do(&rig, op);
	ck_assert_int_eq(op->status, cases[number].status);
	note_answer(&outcome, op, id);
	note_counts(&outcome, &before);
	note_item(&outcome, key);
	store_op_free(op);
	/* The next op finds all as it should be, too. */
	rig_set(&rig, key, "last value");
	rig_expect(&rig, key, "last value");
	return outcome;
}

/* _i: all cases with a tree, all with a hash. */
START_TEST(test_a_guess_is_not_seen)
{
	struct outcome guessed, known;

	rig.config.hash = _i >= CASES;
	rig_open(&rig);
	guessed = run_case(_i % CASES, true);
	known = run_case(_i % CASES, false);
	ck_assert_int_eq(guessed.read, known.read);
	ck_assert_int_eq(guessed.was_live, known.was_live);
	ck_assert_int_eq(guessed.flushed, known.flushed);
	ck_assert_uint_eq(guessed.old_bytes, known.old_bytes);
	ck_assert_uint_eq(guessed.id, known.id);
	ck_assert_uint_eq(guessed.last_id, known.last_id);
	ck_assert_uint_eq(guessed.items, known.items);
	ck_assert_uint_eq(guessed.bytes, known.bytes);
	ck_assert_uint_eq(guessed.stored, known.stored);
	ck_assert_str_eq(guessed.value, known.value);
}
END_TEST

static void append(struct store_op ***link, struct store_op *op)
{
	**link = op;
	*link = &op->next;
}

/* The batch's cursor stands on what is put past it, or beside that. */
START_TEST(test_a_deleted_key_comes_back_in_the_same_batch)
{
	static const enum store_status expected[] = {
		STORE_OK,	  STORE_OK, STORE_OK, STORE_OK,
		STORE_NOT_STORED, STORE_OK, STORE_OK,
	};
	const int count = (int)(sizeof(expected) / sizeof(expected[0]));
	struct store_op *first = NULL, **link = &first, *op;

	rig.config.hash = _i == 1;
	rig_open(&rig);
	set_old("key-3");
	set_old("key-5");
	warm(true);
	append(&link, rig_op(STORE_DELETE, "key-3", NULL));
	append(&link, rig_op(STORE_SET, "key-2", "before"));
	append(&link, rig_op(STORE_SET, "key-3", "again"));
	append(&link, rig_op(STORE_SET, "key-4", "behind"));
	append(&link, rig_op(STORE_ADD, "key-4", "twice"));
	append(&link, rig_op(STORE_DELETE, "key-5", NULL));
	append(&link, rig_op(STORE_SET, "key-5", "at the end"));
	store_submit(rig.client, first);
	for (int i = 0; i < count; i++) {
		op = rig_reap(&rig);
		ck_assert_int_eq(op->status, expected[i]);
		store_op_free(op);
	}
	rig_reopen(&rig);
	rig_expect(&rig, "key-2", "before");
	rig_expect(&rig, "key-3", "again");
	rig_expect(&rig, "key-4", "behind");
	rig_expect(&rig, "key-5", "at the end");
	rig_expect_items(&rig, WARM_OPS + 4);
}
END_TEST

static uint64_t lock_requests(void)
{
	struct store_engine engine;

	store_engine(rig.reader, &engine);
	return engine.lock_requests;
}

static void store_many(bool of_new)
{
	struct store_op *first = NULL, **link = &first, *op;

	for (int i = 0; i < MANY; i++)
		append(&link, rig_op(STORE_SET, of_new ? new_name() : "worn",
				     "value"));
	store_submit(rig.client, first);
	for (int i = 0; i < MANY; i++) {
		op = rig_reap(&rig);
		ck_assert_int_eq(op->status, STORE_OK);
		store_op_free(op);
	}
}

/* Each search of the tree locks the leaf that it finds; splits add some. */
START_TEST(test_a_new_key_is_searched_for_once)
{
	uint64_t before, of_new, of_old;

	rig_open(&rig);
	warm(true);
	before = lock_requests();
	store_many(true);
	of_new = lock_requests() - before;
	before = lock_requests();
	store_many(false);
	of_old = lock_requests() - before;
	ck_assert_uint_lt(of_new, of_old + MANY / 2);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("storage new keys");
	TCase *tcase = tcase_create("new keys");

	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_add_loop_test(tcase, test_a_guess_is_not_seen, 0, 2 * CASES);
	tcase_add_loop_test(
		tcase, test_a_deleted_key_comes_back_in_the_same_batch, 0, 2);
	tcase_add_test(tcase, test_a_new_key_is_searched_for_once);
	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}
