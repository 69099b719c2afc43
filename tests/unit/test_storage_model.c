/*
 * test_storage_model.c - random ops, against a model that is plainly right.
 *
 * The model is an array of items. After every op the answer must be the
 * model's; now and then all items, the counts and a whole walk are compared,
 * the clock is turned, the store is reopened.
 */
#include <check.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/run_suite.h"
#include "tests/unit/storage_rig.h"

#define KEYS	    40
#define VALUE_MAX   3000
#define OPS	    4000
#define CHECK_EVERY 500

struct model_item {
	bool there, hidden;
	uint32_t flags;
	int64_t expiry;
	uint64_t cas;
	size_t bytes;
	char value[VALUE_MAX + 1];
};

static struct rig rig;
static struct model_item items[KEYS];
static uint64_t seed;

static uint32_t dice(uint32_t sides)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (uint32_t)(seed >> 33) % sides;
}

static size_t name_key(int n, char *key)
{
	/* Of different lengths, some sharing beginnings. */
	return (size_t)snprintf(key, 64, "k%d%.*s", n, n % 7, "-------------");
}

static bool is_live(const struct model_item *item)
{
	return item->there && !item->hidden &&
	       (item->expiry == 0 || item->expiry > rig_now(&rig));
}

static void model_put(struct model_item *item, const char *value, size_t bytes,
		      uint32_t flags, int64_t expiry, uint64_t cas)
{
	memmove(item->value, value, bytes);
	item->bytes = bytes;
	item->flags = flags;
	item->expiry = expiry;
	item->cas = cas;
	item->there = true;
	item->hidden = false;
	if (expiry != 0 && expiry <= rig_now(&rig))
		item->there = false;
}

static enum store_status model_join(struct model_item *item,
				    const struct store_op *op)
{
	char joined[2 * VALUE_MAX + 2];
	size_t bytes = item->bytes + op->value_bytes;
	bool append = op->kind == STORE_APPEND;

	if (bytes > VALUE_MAX)
		return STORE_TOO_LARGE;
	memcpy(joined + (append ? 0 : op->value_bytes), item->value,
	       item->bytes);
	memcpy(joined + (append ? item->bytes : 0), op->value, op->value_bytes);
	model_put(item, joined, bytes, item->flags, item->expiry, op->cas);
	return STORE_OK;
}

static enum store_status model_number(struct model_item *item,
				      const struct store_op *op)
{
	char text[32];
	char *end;
	uint64_t number;
	int bytes;

	item->value[item->bytes] = '\0';
	if (item->value[0] < '0' || item->value[0] > '9')
		return STORE_NOT_NUMBER;
	number = strtoull(item->value, &end, 10);
	if (*end != '\0')
		return STORE_NOT_NUMBER;
	if (op->kind == STORE_INCR)
		number += op->delta;
	else
		number = number > op->delta ? number - op->delta : 0;
	ck_assert_uint_eq(op->number, number);
	bytes = snprintf(text, sizeof(text), "%" PRIu64, number);
	model_put(item, text, (size_t)bytes, item->flags, item->expiry,
		  op->cas);
	return STORE_OK;
}

static enum store_status model_touch(struct model_item *item,
				     const struct store_op *op)
{
	item->expiry = op->expiry;
	if (op->expiry != 0 && op->expiry <= rig_now(&rig))
		item->there = false;
	return STORE_OK;
}

/* What the op must answer; changes the model. `compared` was op->cas. */
static enum store_status model_apply(struct model_item *item,
				     const struct store_op *op,
				     uint64_t compared)
{
	bool live = is_live(item);

	if (op->compare && !live)
		return STORE_NOT_FOUND;
	if (op->compare && compared != item->cas)
		return STORE_EXISTS;
	switch (op->kind) {
	case STORE_ADD:
		if (live)
			return STORE_NOT_STORED;
		break;
	case STORE_REPLACE:
		if (!live)
			return STORE_NOT_STORED;
		break;
	case STORE_SET:
		break;
	case STORE_APPEND:
	case STORE_PREPEND:
		return live ? model_join(item, op) : STORE_NOT_STORED;
	case STORE_INCR:
	case STORE_DECR:
		return live ? model_number(item, op) : STORE_NOT_FOUND;
	case STORE_TOUCH:
	case STORE_GET_AND_TOUCH:
		return live ? model_touch(item, op) : STORE_NOT_FOUND;
	case STORE_DELETE:
		if (live)
			item->there = false;
		return live ? STORE_OK : STORE_NOT_FOUND;
	case STORE_RECLAIM:
	case STORE_FLUSH:
		ck_abort();
	}
	model_put(item, op->value, op->value_bytes, op->flags, op->expiry,
		  op->cas);
	return STORE_OK;
}

static struct store_op *random_op(int *ret_key)
{
	static const enum store_op_kind kinds[] = {
		STORE_SET,     STORE_SET,    STORE_SET,		  STORE_ADD,
		STORE_REPLACE, STORE_APPEND, STORE_PREPEND,	  STORE_INCR,
		STORE_DECR,    STORE_TOUCH,  STORE_GET_AND_TOUCH, STORE_DELETE};
	bool number = dice(3) == 0;
	uint32_t bytes = number ? 3 : dice(dice(4) == 0 ? VALUE_MAX : 100);
	struct store_op *op;
	char key[64];
	size_t key_bytes;

	*ret_key = (int)dice(KEYS);
	key_bytes = name_key(*ret_key, key);
	op = store_op_new(kinds[dice(12)], key, key_bytes, bytes, 0);
	ck_assert_ptr_nonnull(op);
	for (uint32_t i = 0; i < bytes; i++)
		op->value[i] = (char)(number ? '1' + dice(9) : 'a' + dice(26));
	op->flags = dice(UINT32_MAX);
	op->delta = dice(1000);
	if (dice(3) == 0)
		op->expiry = rig_now(&rig) + dice(40) - 3;
	if (dice(5) == 0)
		op->assign = 1 + dice(1000000);
	if (dice(4) == 0) {
		op->compare = true;
		op->cas = dice(2) ? items[*ret_key].cas : dice(1000);
	}
	return op;
}

static void check_item(int n)
{
	const struct model_item *item = &items[n];
	struct store_item found;
	char key[64];

	(void)name_key(n, key);
	if (!is_live(item)) {
		rig_expect_missing(&rig, key);
		return;
	}
	ck_assert_int_eq(rig_get(&rig, key, &found), STORE_OK);
	ck_assert_uint_eq(found.value_bytes, item->bytes);
	ck_assert_mem_eq(found.value, item->value, item->bytes);
	ck_assert_uint_eq(found.flags, item->flags);
	ck_assert_int_eq(found.expiry, item->expiry);
	ck_assert_uint_eq(found.cas, item->cas);
}

struct seen {
	uint64_t items, bytes;
};

static bool see(void *arg, const char *key, size_t key_bytes,
		const struct store_item *item)
{
	struct seen *seen = arg;

	(void)key;
	seen->items++;
	seen->bytes += key_bytes + item->value_bytes;
	return true;
}

static bool swept(void *arg)
{
	struct store_counts counts;

	store_counts(rig.store, &counts);
	return counts.items == *(uint64_t *)arg;
}

static void check_all(void)
{
	struct store_cursor cursor = {.key_bytes = 0};
	struct seen model = {0, 0}, walked = {0, 0};
	char key[64];

	for (int n = 0; n < KEYS; n++) {
		check_item(n);
		if (!is_live(&items[n]))
			continue;
		model.items++;
		model.bytes += name_key(n, key) + items[n].bytes;
	}
	while (!cursor.done)
		ck_assert_int_eq(
			store_walk(rig.reader, &cursor, 7, see, &walked),
			STORE_OK);
	ck_assert_uint_eq(walked.items, model.items);
	ck_assert_uint_eq(walked.bytes, model.bytes);
	/* What is expired counts until it is swept, which does not take long.
	 */
	rig_wait_for(swept, &model.items);
}

static void disturb(void)
{
	switch (dice(4)) {
	case 0:
		rig_reopen(&rig);
		break;
	case 1:
		rig_tick(&rig, dice(20));
		break;
	case 2:
		rig_flush(&rig, 0);
		for (int n = 0; n < KEYS; n++)
			items[n].hidden = true;
		break;
	case 3:
		rig_tick(&rig, 61); /* the grace of a flush ends */
		break;
	}
}

static void one_op(void)
{
	enum store_status status;
	struct store_op *op;
	uint64_t compared;
	int key;

	op = random_op(&key);
	compared = op->cas;
	rig_do(&rig, op);
	status = model_apply(&items[key], op, compared);
	ck_assert_msg(op->status == status, "kind %d: status %d, not %d",
		      (int)op->kind, (int)op->status, (int)status);
	store_op_free(op);
	check_item(key);
}

struct shape {
	bool hash;
	enum store_sync sync;
	uint32_t page_bytes;
};

static const struct shape shapes[] = {
	{false, STORE_SYNC_WRITE, 4096},
	{true, STORE_SYNC_WRITE, 4096},
	{false, STORE_SYNC_INTERVAL, 512},
	{false, STORE_SYNC_ALWAYS, 65536},
};

START_TEST(test_random_ops)
{
	const struct shape *shape = &shapes[_i];
	int ops = shape->sync == STORE_SYNC_ALWAYS ? OPS / 8 : OPS;

	seed = UINT64_C(88172645463325252) + (uint64_t)_i;
	memset(items, 0, sizeof(items));
	rig_init(&rig);
	rig.quiet = true; /* of big pages it warns */
	rig.config.hash = shape->hash;
	rig.config.sync = shape->sync;
	rig.config.page_bytes = shape->page_bytes;
	rig.config.value_max_bytes = VALUE_MAX;
	rig_open(&rig);
	for (int i = 1; i <= ops; i++) {
		one_op();
		if (i % CHECK_EVERY == 0) {
			disturb();
			check_all();
		}
	}
	rig_reopen(&rig);
	check_all();
	rig_done(&rig);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("storage model");
	TCase *tcase = tcase_create("model");

	tcase_set_timeout(tcase, 120);
	tcase_add_loop_test(tcase, test_random_ops, 0,
			    (int)(sizeof(shapes) / sizeof(shapes[0])));
	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}
