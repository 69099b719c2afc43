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
/* So little that the clock does not jump between two sweeps, see sweep.h. */
#define GRACE 20

struct model_item {
	bool there, hidden;
	bool key_base64, stale, won;
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

static void model_make(struct model_item *item, const struct store_op *op,
		       const char *value, size_t bytes, uint32_t flags,
		       int64_t expiry)
{
	item->key_base64 = op->key_base64;
	item->stale = false;
	item->won = false;
	model_put(item, value, bytes, flags, expiry, op->cas);
}

static enum store_status model_store(struct model_item *item,
				     const struct store_op *op,
				     uint64_t compared)
{
	bool older = op->compare && compared < item->cas;
	int64_t expiry = older ? item->expiry : op->expiry;
	bool won = item->won;

	model_make(item, op, op->value, op->value_bytes, op->flags, expiry);
	item->stale = older;
	item->won = older && won;
	return STORE_OK;
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
	model_put(item, text, (size_t)bytes, item->flags,
		  op->touch ? op->expiry : item->expiry, op->cas);
	return STORE_OK;
}

static enum store_status model_first_number(struct model_item *item,
					    const struct store_op *op)
{
	char text[32];
	int bytes = snprintf(text, sizeof(text), "%" PRIu64, op->initial);

	ck_assert_uint_eq(op->number, op->initial);
	model_make(item, op, text, (size_t)bytes, 0, op->create_expiry);
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

static void check_found(const struct model_item *item,
			const struct store_item *found)
{
	ck_assert_uint_eq(found->value_bytes, item->bytes);
	ck_assert_mem_eq(found->value, item->value, item->bytes);
	ck_assert_uint_eq(found->flags, item->flags);
	ck_assert_uint_eq(found->cas, item->cas);
	ck_assert_int_eq(found->key_base64, item->key_base64);
	ck_assert_int_eq(found->stale, item->stale);
	ck_assert_int_eq(found->won, item->won);
}

static enum store_status model_lease(struct model_item *item,
				     const struct store_op *op)
{
	bool soon = item->expiry != 0 &&
		    item->expiry - rig_now(&rig) < op->recache_seconds;
	bool win = !item->won && (item->stale || soon);

	check_found(item, &op->found);
	ck_assert_int_eq(op->found.expiry, item->expiry);
	ck_assert_int_eq(op->found.win, win);
	item->won |= win;
	return op->touch ? model_touch(item, op) : STORE_OK;
}

static enum store_status model_lease_new(struct model_item *item,
					 const struct store_op *op)
{
	model_make(item, op, "", 0, 0, op->create_expiry);
	check_found(item, &op->found);
	ck_assert(op->found.win);
	item->won = true;
	return STORE_OK;
}

static enum store_status model_invalidate(struct model_item *item,
					  const struct store_op *op)
{
	if (op->mark_stale || !op->drop_value || op->assign != 0)
		ck_assert(op->cas != item->cas || op->cas == op->assign);
	else
		ck_assert_uint_eq(op->cas, item->cas);
	item->cas = op->cas;
	if (op->drop_value) {
		item->bytes = 0;
		item->flags = 0;
		item->expiry = 0;
		item->stale = false;
		item->won = false;
	}
	if (op->mark_stale) {
		item->stale = true;
		item->won = false;
	}
	return op->touch ? model_touch(item, op) : STORE_OK;
}

static enum store_status model_live(struct model_item *item,
				    const struct store_op *op,
				    uint64_t compared)
{
	bool older = op->accept_older && compared < item->cas &&
		     (op->kind == STORE_SET || op->kind == STORE_ADD ||
		      op->kind == STORE_REPLACE);

	if (op->compare && compared != item->cas && !older)
		return STORE_EXISTS;
	switch (op->kind) {
	case STORE_ADD:
		return STORE_NOT_STORED;
	case STORE_SET:
	case STORE_REPLACE:
		return model_store(item, op, compared);
	case STORE_APPEND:
	case STORE_PREPEND:
		return model_join(item, op);
	case STORE_INCR:
	case STORE_DECR:
		return model_number(item, op);
	case STORE_GET_AND_TOUCH:
		check_found(item, &op->found);
		return model_touch(item, op);
	case STORE_TOUCH:
		return model_touch(item, op);
	case STORE_LEASE:
		return model_lease(item, op);
	case STORE_INVALIDATE:
		return model_invalidate(item, op);
	case STORE_DELETE:
		item->there = false;
		return STORE_OK;
	case STORE_RECLAIM:
	case STORE_DELETE_OLDER:
	case STORE_FLUSH:
		break;
	}
	ck_abort();
}

static enum store_status model_missing(struct model_item *item,
				       const struct store_op *op)
{
	switch (op->kind) {
	case STORE_SET:
	case STORE_ADD:
		if (op->compare)
			return STORE_NOT_FOUND;
		model_make(item, op, op->value, op->value_bytes, op->flags,
			   op->expiry);
		return STORE_OK;
	case STORE_REPLACE:
		return op->compare ? STORE_NOT_FOUND : STORE_NOT_STORED;
	case STORE_APPEND:
	case STORE_PREPEND:
		if (!op->create)
			return STORE_NOT_STORED;
		model_make(item, op, op->value, op->value_bytes, op->flags,
			   op->create_expiry);
		return STORE_OK;
	case STORE_INCR:
	case STORE_DECR:
		return op->create ? model_first_number(item, op)
				  : STORE_NOT_FOUND;
	case STORE_LEASE:
		return op->create ? model_lease_new(item, op) : STORE_NOT_FOUND;
	case STORE_TOUCH:
	case STORE_GET_AND_TOUCH:
	case STORE_INVALIDATE:
	case STORE_DELETE:
		return STORE_NOT_FOUND;
	case STORE_RECLAIM:
	case STORE_DELETE_OLDER:
	case STORE_FLUSH:
		break;
	}
	ck_abort();
}

/* What the op must answer; changes the model. `compared` was op->cas. */
static enum store_status model_apply(struct model_item *item,
				     const struct store_op *op,
				     uint64_t compared)
{
	return is_live(item) ? model_live(item, op, compared)
			     : model_missing(item, op);
}

static int64_t random_expiry(void)
{
	return dice(3) == 0 ? rig_now(&rig) + dice(40) - 3 : 0;
}

static void random_details(struct store_op *op, const struct model_item *item)
{
	op->flags = dice(UINT32_MAX);
	op->delta = dice(1000);
	op->expiry = random_expiry();
	if (dice(5) == 0)
		op->assign = 1 + dice(1000000);
	if (dice(4) == 0) {
		op->compare = true;
		op->cas = dice(2) ? item->cas : dice(2 * OPS);
	}
	op->accept_older = dice(2) == 0;
	op->key_base64 = dice(2) == 0;
	op->create = dice(2) == 0;
	op->create_expiry = random_expiry();
	op->initial = dice(1000);
	op->touch = dice(3) == 0;
	op->mark_stale = dice(2) == 0;
	op->drop_value = dice(3) == 0;
	op->recache_seconds = dice(2) == 0 ? dice(30) : 0;
}

static struct store_op *random_op(int *ret_key)
{
	static const enum store_op_kind kinds[] = {
		STORE_SET,    STORE_SET,	STORE_SET,
		STORE_ADD,    STORE_REPLACE,	STORE_APPEND,
		STORE_INCR,   STORE_PREPEND,	STORE_DECR,
		STORE_TOUCH,  STORE_INVALIDATE, STORE_GET_AND_TOUCH,
		STORE_DELETE, STORE_LEASE,	STORE_LEASE};
	bool number = dice(3) == 0;
	uint32_t bytes = number ? 3 : dice(dice(4) == 0 ? VALUE_MAX : 100);
	struct store_op *op;
	char key[64];
	size_t key_bytes;

	*ret_key = (int)dice(KEYS);
	key_bytes = name_key(*ret_key, key);
	op = store_op_new(kinds[dice(15)], key, key_bytes, bytes, 0);
	ck_assert_ptr_nonnull(op);
	for (uint32_t i = 0; i < bytes; i++)
		op->value[i] = (char)(number ? '1' + dice(9) : 'a' + dice(26));
	random_details(op, &items[*ret_key]);
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
	check_found(item, &found);
	ck_assert_int_eq(found.expiry, item->expiry);
	ck_assert(!found.win);
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

static void reopen(void)
{
	rig_reopen(&rig);
	for (int n = 0; n < KEYS; n++)
		items[n].won = false;
}

static void disturb(void)
{
	switch (dice(4)) {
	case 0:
		reopen();
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
		rig_tick(&rig, GRACE + 1); /* that of a flush ends */
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

/* Nothing is left in the counts, either. */
static void delete_all(void)
{
	struct store_counts counts;
	char key[64];

	for (int n = 0; n < KEYS; n++) {
		(void)name_key(n, key);
		(void)rig_delete(&rig, key);
	}
	store_counts(rig.store, &counts);
	ck_assert_uint_eq(counts.items, 0);
	ck_assert_uint_eq(counts.bytes, 0);
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
	rig.config.flush_grace_seconds = GRACE;
	rig_open(&rig);
	for (int i = 1; i <= ops; i++) {
		one_op();
		if (i % CHECK_EVERY == 0) {
			disturb();
			check_all();
		}
	}
	reopen();
	check_all();
	delete_all();
	rig_done(&rig);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("storage model");
	TCase *tcase = tcase_create("model");

	tcase_add_loop_test(tcase, test_random_ops, 0,
			    (int)(sizeof(shapes) / sizeof(shapes[0])));
	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}
