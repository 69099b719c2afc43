/*
 * test_storage_coherence.c - the cache of records shows what the database
 * would, whatever the writer does: readers race with every kind of change, in
 * batches that are also aborted and done again, or refused.
 *
 * write() is this program's own: Berkeley DB reaches it through the store's
 * hooks. A write to the log that does not fit aborts a transaction.
 */
#include <check.h>
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "storage/hash.h"
#include "storage/store_priv.h"
#include "tests/unit/run_suite.h"
#include "tests/unit/storage_rig.h"

#define KEYS	    8
#define READERS	    3
#define ROUNDS	    100
#define BATCH_MAX   12
#define NUMBERS_MAX (ROUNDS * BATCH_MAX + KEYS + 1)
#define ROOM	    16384

ssize_t write(int fd, const void *bytes, size_t size);
int fdatasync(int fd);

static struct rig rig;
static atomic_uint fail_every; /* write to the log; 0: none */
static atomic_uint log_writes, aborts;
static atomic_int log_room;  /* bytes that fit it, if not 0 */
static atomic_int more_room; /* once that was too little */
static atomic_bool hold_syncs;

static bool is_log(int fd)
{
	char link[64], path[512];
	ssize_t bytes;

	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	bytes = readlink(link, path, sizeof(path) - 1);
	if (bytes < 0)
		return false;
	path[bytes] = '\0';
	return strstr(path, "/log.") != NULL;
}

static bool is_refused(size_t size)
{
	unsigned every = atomic_load(&fail_every);
	int room = atomic_load(&log_room);

	if (room != 0 && room <= (int)size) {
		atomic_store(&log_room, atomic_exchange(&more_room, 1));
		return true;
	}
	if (room != 0)
		atomic_fetch_sub(&log_room, (int)size);
	return every != 0 && atomic_fetch_add(&log_writes, 1) % every == 0;
}

ssize_t write(int fd, const void *bytes, size_t size)
{
	if (is_log(fd) && is_refused(size)) {
		atomic_fetch_add(&aborts, 1);
		errno = ENOSPC;
		return -1;
	}
	return syscall(SYS_write, fd, bytes, size);
}

int fdatasync(int fd)
{
	while (atomic_load(&hold_syncs))
		(void)usleep(1000);
	return (int)syscall(SYS_fdatasync, fd);
}

/* --- keys and values ------------------------------------------------------ */

static void name_key(unsigned k, char *key)
{
	(void)snprintf(key, 8, "r%u", k);
}

/* A number, then so many of a letter that depends on it. */
static struct store_op *numbered(enum store_op_kind kind, unsigned k,
				 uint64_t number)
{
	size_t more = number % 40 == 0 ? 8300 : number * 37 % 500;
	char key[8], digits[24];
	struct store_op *op;
	int bytes;

	name_key(k, key);
	bytes = snprintf(digits, sizeof(digits), "%" PRIu64, number);
	op = store_op_new(kind, key, strlen(key),
			  (uint32_t)((size_t)bytes + more), 0);
	ck_assert_ptr_nonnull(op);
	memcpy(op->value, digits, (size_t)bytes);
	memset(op->value + bytes, 'a' + (int)(number % 26), more);
	return op;
}

/* Returns the number of a whole value; an empty one has none. */
static uint64_t number_of(const struct store_item *item)
{
	const char *end = item->value + item->value_bytes;
	const char *p = item->value;
	uint64_t number = 0;

	for (; p < end && *p >= '0' && *p <= '9'; p++)
		number = number * 10 + (uint64_t)(*p - '0');
	for (; p < end; p++)
		ck_assert_int_eq(*p, 'a' + (int)(number % 26));
	return number;
}

/* --- what is known, and what readers see ---------------------------------- */

static atomic_bool over;
/* Even: nothing is under way, and `known` is what there is. */
static _Atomic uint64_t epoch;
static struct {
	_Atomic uint64_t cas; /* 0: it is not there */
	_Atomic int64_t expiry;
	atomic_bool stale, won;
} known[KEYS];
struct truth {
	uint64_t cas;
	int64_t expiry;
	bool stale, won;
};
static atomic_bool refused[NUMBERS_MAX], seen[NUMBERS_MAX];
static atomic_uint exact, cached; /* reads: while nothing was under way */

static struct truth look_up(unsigned k)
{
	return (struct truth){
		atomic_load(&known[k].cas), atomic_load(&known[k].expiry),
		atomic_load(&known[k].stale), atomic_load(&known[k].won)};
}

static void check_exactly(const struct truth *truth, enum store_status status,
			  const struct store_item *item)
{
	ck_assert_int_eq(status, truth->cas == 0 ? STORE_NOT_FOUND : STORE_OK);
	if (truth->cas == 0)
		return;
	ck_assert_uint_eq(item->cas, truth->cas);
	ck_assert_int_eq(item->expiry, truth->expiry);
	ck_assert_int_eq(item->stale, truth->stale);
	ck_assert_int_eq(item->won, truth->won);
}

struct racer {
	struct store_reader *reader;
	char room[ROOM];
	uint64_t newest[KEYS]; /* ids */
};

/* What is read is whole, never goes back, and is what there is. */
static void read_key(struct racer *racer, unsigned k)
{
	uint64_t begin = atomic_load(&epoch), number;
	struct store_item item;
	enum store_status status;
	struct truth truth;
	char key[8];

	name_key(k, key);
	status = store_get(racer->reader, key, strlen(key), racer->room, ROOM,
			   0, &item);
	if (status == STORE_OK) {
		number = number_of(&item);
		ck_assert_uint_lt(number, NUMBERS_MAX);
		atomic_store(&seen[number], true);
		ck_assert_uint_ge(item.cas, racer->newest[k]);
		racer->newest[k] = item.cas;
		atomic_fetch_add(&cached, item.cached);
	} else {
		ck_assert_int_eq(status, STORE_NOT_FOUND);
	}
	/* Known before it was read, and nothing has begun meanwhile. */
	truth = look_up(k);
	if (begin % 2 != 0 || atomic_load(&epoch) != begin)
		return;
	check_exactly(&truth, status, &item);
	atomic_fetch_add(&exact, 1);
}

static void *race_main(void *arg)
{
	struct racer *racer = arg;

	ck_assert_int_eq(store_reader_new(rig.store, &racer->reader), 0);
	for (unsigned turn = 0; !atomic_load(&over); turn++)
		read_key(racer, turn * 7 % KEYS);
	store_reader_free(racer->reader);
	return NULL;
}

/* --- changes ----------------------------------------------------------------
 */

static uint64_t last_number;

static struct store_op *mark(enum store_op_kind kind, unsigned k,
			     unsigned chance)
{
	char key[8];
	struct store_op *op;

	name_key(k, key);
	op = rig_op(kind, key, NULL);
	op->expiry = rig_now(&rig) + 1000 + chance;
	op->mark_stale = chance % 2 == 0;
	op->drop_value = chance % 5 == 0;
	op->touch = chance % 3 == 0;
	op->create = chance % 2 == 0;
	return op;
}

/* The value stays one of the same number, or is a new one. */
static struct store_op *join(enum store_op_kind kind, unsigned k)
{
	char key[8];

	name_key(k, key);
	return rig_op(kind, key, kind == STORE_PREPEND ? "0" : "");
}

static struct store_op *store_new(enum store_op_kind kind, unsigned k,
				  unsigned chance)
{
	struct store_op *op = numbered(kind, k, ++last_number);

	if (chance % 4 == 0)
		op->expiry = rig_now(&rig) + 500;
	if (chance % 6 == 0) {
		op->compare = true;
		op->cas = atomic_load(&known[k].cas);
	}
	return op;
}

static struct store_op *random_op(unsigned *seed)
{
	unsigned k = (unsigned)rand_r(seed) % KEYS;
	unsigned chance = (unsigned)rand_r(seed) >> 4;
	struct store_op *op;

	switch ((unsigned)rand_r(seed) % 15) {
	case 0:
		return store_new(STORE_ADD, k, 1);
	case 1:
		return store_new(STORE_REPLACE, k, chance);
	case 2:
		return join(STORE_APPEND, k);
	case 3:
		return join(STORE_PREPEND, k);
	case 4:
		return mark(STORE_TOUCH, k, chance);
	case 5:
		return mark(STORE_GET_AND_TOUCH, k, chance);
	case 6:
		return mark(STORE_LEASE, k, chance);
	case 7:
	case 8:
		return mark(STORE_INVALIDATE, k, chance);
	case 9:
		return mark(STORE_DELETE, k, chance);
	case 10:
		op = mark(STORE_INCR, k, chance); /* by 0 */
		op->create = false;
		return op;
	case 11:
		if (chance % 8 != 0)
			return store_new(STORE_SET, k, chance);
		op = rig_op(STORE_FLUSH, NULL, NULL);
		op->expiry = 0;
		return op;
	default:
		return store_new(STORE_SET, k, chance);
	}
}

/* All in one list, so in as few batches as may be. */
static void change_some(unsigned *seed)
{
	unsigned count = 1 + (unsigned)rand_r(seed) % BATCH_MAX;
	struct store_op *first = NULL, *op;
	struct store_item old;

	for (unsigned i = 0; i < count; i++) {
		op = random_op(seed);
		op->next = first;
		first = op;
	}
	store_submit(rig.client, first);
	for (unsigned i = 0; i < count; i++) {
		op = rig_reap(&rig);
		if (op->value_bytes > 1 && op->status != STORE_OK) {
			old.value = op->value;
			old.value_bytes = op->value_bytes;
			atomic_store(&refused[number_of(&old)], true);
		}
		store_op_free(op);
	}
}

static enum store_status get(unsigned k, char *room, struct store_item *ret)
{
	char key[8];

	name_key(k, key);
	return store_get(rig.reader, key, strlen(key), room, ROOM, 0, ret);
}

/* From the database: racing readers may put it into the cache once more. */
static enum store_status get_past_cache(unsigned k, char *room,
					struct store_item *ret)
{
	enum store_status status;
	char key[8];

	name_key(k, key);
	do {
		cache_drop(&rig.store->cache, key_hash(key, strlen(key)));
		status = get(k, room, ret);
	} while (ret->cached);
	return status;
}

/* What is in the cache is what is in the database; notes it. */
static void audit(unsigned k)
{
	static char room[ROOM], truth[ROOM];
	struct store_item item, real;
	enum store_status status;

	status = get(k, room, &item);
	ck_assert_int_eq(get_past_cache(k, truth, &real), status);
	atomic_store(&known[k].cas, status == STORE_OK ? real.cas : 0);
	if (status != STORE_OK) {
		ck_assert_int_eq(item.expired, real.expired);
		ck_assert_int_eq(item.flushed, real.flushed);
		return;
	}
	ck_assert_uint_eq(item.cas, real.cas);
	ck_assert_uint_eq(item.flags, real.flags);
	ck_assert_int_eq(item.expiry, real.expiry);
	ck_assert_int_eq(item.stale, real.stale);
	ck_assert_int_eq(item.won, real.won);
	ck_assert_uint_eq(item.value_bytes, real.value_bytes);
	ck_assert_mem_eq(item.value, real.value, real.value_bytes);
	atomic_store(&known[k].expiry, real.expiry);
	atomic_store(&known[k].stale, real.stale);
	atomic_store(&known[k].won, real.won);
}

/* Lets the readers look while nothing changes, until they have seen some. */
static void rest(void)
{
	unsigned before = atomic_load(&exact);

	atomic_fetch_add(&epoch, 1);
	while (atomic_load(&exact) < before + KEYS)
		(void)usleep(10);
	atomic_fetch_add(&epoch, 1);
}

static void race(void)
{
	static struct racer racers[READERS];
	pthread_t threads[READERS];
	unsigned seed = 1;

	atomic_store(&epoch, 1);
	for (int i = 0; i < READERS; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, race_main,
						&racers[i]),
				 0);
	for (int round = 0; round < ROUNDS; round++) {
		change_some(&seed);
		if (round % 97 == 0)
			rig_tick(&rig, 600);
		for (unsigned k = 0; k < KEYS; k++)
			audit(k);
		rest();
	}
	atomic_store(&over, true);
	for (int i = 0; i < READERS; i++)
		ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
	for (uint64_t number = 0; number < NUMBERS_MAX; number++)
		ck_assert(!atomic_load(&refused[number]) ||
			  !atomic_load(&seen[number]));
	ck_assert_uint_gt(atomic_load(&exact), ROUNDS);
	ck_assert_uint_gt(atomic_load(&cached), ROUNDS);
}

static void set_up(void)
{
	rig_init(&rig);
	rig.quiet = true;
}

static void tear_down(void)
{
	atomic_store(&fail_every, 0);
	atomic_store(&log_room, 0);
	rig_done(&rig);
}

START_TEST(test_readers_race_with_every_change)
{
	rig.config.sync = _i == 0 ? STORE_SYNC_ALWAYS : STORE_SYNC_WRITE;
	rig_open(&rig);
	race();
}
END_TEST

START_TEST(test_readers_race_with_changes_that_fail)
{
	rig.config.sync = STORE_SYNC_WRITE;
	rig_open(&rig);
	atomic_store(&aborts, 0);
	atomic_store(&fail_every, 5);
	race();
	ck_assert_uint_gt(atomic_load(&aborts), ROUNDS / 20);
	ck_assert_int_eq(atomic_load(&rig.fatals), 0);
}
END_TEST

/* --- one after the other ---------------------------------------------------
 */

static void expect_value(const struct store_op *op, const char *value)
{
	struct store_item item;
	char room[ROOM];

	ck_assert_int_eq(store_get(rig.reader, op->key, op->key_bytes, room,
				   ROOM, 0, &item),
			 STORE_OK);
	ck_assert_uint_eq(item.value_bytes, strlen(value));
	ck_assert_mem_eq(item.value, value, item.value_bytes);
}

/* Big ones in one batch, more of them than the log has room for. */
START_TEST(test_what_does_not_fit_leaves_nothing_behind)
{
	struct store_op *first = NULL, *op;
	static char value[7001];
	unsigned failed = 0;
	char key[8];

	rig.config.log_buffer_bytes = 32 << 10;
	rig_open(&rig);
	memset(value, 'x', 7000);
	for (unsigned k = 30; k > 0; k--) {
		name_key(k, key);
		rig_set(&rig, key, "old");
		op = rig_op(STORE_SET, key, value);
		op->next = first;
		first = op;
	}
	atomic_store(&more_room, 100 << 10);
	atomic_store(&log_room, 100 << 10);
	store_submit(rig.client, first);
	for (unsigned left = 30; left > 0;) {
		if (store_applied(rig.client, rig.client->last_ticket))
			atomic_store(&log_room, 0);
		op = store_reap(rig.client);
		if (op == NULL) {
			(void)usleep(1000);
			continue;
		}
		left--;
		if (op->status != STORE_OK) {
			ck_assert_int_eq(op->status, STORE_NO_SPACE);
			failed++;
		}
		expect_value(op, op->status == STORE_OK ? value : "old");
		store_op_free(op);
	}
	ck_assert_uint_gt(failed, 0);
	ck_assert_uint_lt(failed, 30);
}
END_TEST

/* A reader has it from the cache, and waits as for one from the database. */
START_TEST(test_what_is_not_durable_says_so_from_the_cache_too)
{
	struct store_item item;
	struct store_op *op;

	rig_open(&rig);
	rig_set(&rig, "k", "old");
	atomic_store(&hold_syncs, true);
	op = rig_op(STORE_SET, "k", "new");
	store_submit(rig.client, op);
	while (!store_applied(rig.client, op->ticket))
		(void)usleep(1000);
	ck_assert_int_eq(rig_get(&rig, "k", &item), STORE_OK);
	ck_assert(item.cached);
	ck_assert_uint_gt(item.shown_from, 0);
	atomic_store(&hold_syncs, false);
	ck_assert_ptr_eq(rig_reap(&rig), op);
	store_op_free(op);
	ck_assert_int_eq(rig_get(&rig, "k", &item), STORE_OK);
	ck_assert(item.cached);
	ck_assert_uint_eq(item.shown_from, 0);
}
END_TEST

/* The sweep, and a delete of a prefix, leave nothing behind either. */
START_TEST(test_what_is_swept_is_not_found_again)
{
	struct store_op *op;
	char key[8];

	rig_open(&rig);
	for (unsigned k = 0; k < 100; k++) {
		name_key(k, key);
		rig_set_expiry(&rig, key, "v", rig_now(&rig) + 10);
	}
	rig_tick(&rig, 10);
	for (unsigned k = 0; k < 100; k++) {
		name_key(k, key);
		op = rig_op(STORE_RECLAIM, key, NULL);
		op->expiry = rig_now(&rig);
		rig_do(&rig, op);
		store_op_free(op);
	}
	/* What was deleted would be live again by the old clock. */
	rig_tick(&rig, -10);
	for (unsigned k = 0; k < 100; k++) {
		name_key(k, key);
		rig_expect_missing(&rig, key);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("storage coherence");
	TCase *tcase = tcase_create("coherence");

	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_add_loop_test(tcase, test_readers_race_with_every_change, 0, 2);
	tcase_add_test(tcase, test_readers_race_with_changes_that_fail);
	tcase_add_test(tcase, test_what_does_not_fit_leaves_nothing_behind);
	tcase_add_test(tcase,
		       test_what_is_not_durable_says_so_from_the_cache_too);
	tcase_add_test(tcase, test_what_is_swept_is_not_found_again);
	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}
