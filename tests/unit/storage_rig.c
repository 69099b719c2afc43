/*
 * storage_rig.c - see storage_rig.h.
 */
#define _GNU_SOURCE /* pthread_getname_np */
#include "tests/unit/storage_rig.h"

#include <check.h>
#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#define HEAD_ROOM    24
#define BUFFER_BYTES 4096
#define BLOCK_BYTES  4096

/* This program's own: the store asks it how much room there is. */
int statvfs(const char *path, struct statvfs *ret)
{
	(void)path;
	memset(ret, 0, sizeof(*ret));
	ret->f_bsize = BLOCK_BYTES;
	ret->f_frsize = BLOCK_BYTES;
	ret->f_bavail = RIG_FREE_BYTES / BLOCK_BYTES;
	return 0;
}

bool rig_in_thread(const char *name)
{
	char own[16] = "";

	(void)pthread_getname_np(pthread_self(), own, sizeof(own));
	return strcmp(own, name) == 0;
}

/* The sweep asks for the time before it looks at anything. */
static void wait_while_held(struct rig *rig)
{
	(void)pthread_mutex_lock(&rig->sweep_lock);
	while (rig->sweep_held)
		(void)pthread_cond_wait(&rig->sweep_change, &rig->sweep_lock);
	(void)pthread_mutex_unlock(&rig->sweep_lock);
}

static void set_sweep_held(struct rig *rig, bool held)
{
	(void)pthread_mutex_lock(&rig->sweep_lock);
	rig->sweep_held = held;
	(void)pthread_cond_broadcast(&rig->sweep_change);
	(void)pthread_mutex_unlock(&rig->sweep_lock);
}

static int64_t now_us(void *arg)
{
	struct rig *rig = arg;

	if (rig->no_sweep && rig_in_thread("sweep"))
		wait_while_held(rig);
	return atomic_load(&rig->now_us);
}

static void on_message(void *arg, enum store_severity severity,
		       const char *text)
{
	struct rig *rig = arg;

	if (severity < STORE_WARNING)
		return;
	if (!rig->quiet)
		fprintf(stderr, "store: %s\n", text);
	(void)snprintf(rig->last_message, sizeof(rig->last_message), "%s",
		       text);
	atomic_fetch_add(&rig->messages, 1);
}

static void on_fatal(void *arg, const char *text)
{
	struct rig *rig = arg;

	if (!rig->quiet)
		fprintf(stderr, "store failed: %s\n", text);
	atomic_fetch_add(&rig->fatals, 1);
}

static void on_wake(void *arg)
{
	struct rig *rig = arg;
	uint64_t one = 1;

	ck_assert_int_eq(write(rig->wake_fd, &one, sizeof(one)), sizeof(one));
}

void rig_init(struct rig *rig)
{
	const char *tmp = getenv("TMPDIR");

	memset(rig, 0, sizeof(*rig));
	(void)snprintf(rig->dir, sizeof(rig->dir), "%s/store-XXXXXX",
		       tmp != NULL && tmp[0] != '\0' ? tmp : "/tmp");
	ck_assert_ptr_nonnull(mkdtemp(rig->dir));
	(void)pthread_mutex_init(&rig->sweep_lock, NULL);
	(void)pthread_cond_init(&rig->sweep_change, NULL);
	atomic_store(&rig->now_us, INT64_C(1000000) * RIG_START_SECONDS);
	rig->wake_fd = eventfd(0, EFD_CLOEXEC);
	ck_assert_int_ge(rig->wake_fd, 0);
	rig->config = (struct store_config){
		.home = rig->dir,
		.data_file = "data.db",
		.cache_bytes = 8 << 20,
		.item_cache_bytes = 1 << 20,
		.page_bytes = 4096,
		.log_buffer_bytes = 256 << 10,
		.log_file_bytes = 8 << 20,
		.sync = STORE_SYNC_ALWAYS,
		.sync_interval_ms = 50,
		.checkpoint_seconds = 60,
		.checkpoint_bytes = 8 << 20,
		.trickle_percent = 50,
		.reserve_bytes = 0,
		.flush_grace_seconds = 60,
		.value_max_bytes = 1 << 20,
		.readers_max = 32,
		.now_us = now_us,
		.on_message = on_message,
		.on_fatal = on_fatal,
		.arg = rig,
	};
}

void rig_open(struct rig *rig)
{
	struct store_refused refused;
	int rc;

	set_sweep_held(rig, rig->no_sweep);
	rc = store_open(&rig->config, &rig->store, &refused);
	ck_assert_msg(rc == 0, "refused: %s", rc == 0 ? "" : refused.text);
	ck_assert_int_eq(
		store_client_new(rig->store, on_wake, rig, &rig->client), 0);
	ck_assert_int_eq(store_reader_new(rig->store, &rig->reader), 0);
}

void rig_close(struct rig *rig)
{
	int rc;

	store_reader_free(rig->reader);
	store_client_free(rig->client);
	set_sweep_held(rig, false); /* or it would never end */
	rc = store_close(rig->store);
	rig->store = NULL;
	rig->client = NULL;
	rig->reader = NULL;
	ck_assert_int_eq(rc, atomic_load(&rig->fatals) > 0 ? -EIO : 0);
}

void rig_reopen(struct rig *rig)
{
	rig_close(rig);
	rig_open(rig);
}

static void remove_tree(const char *dir)
{
	DIR *d = opendir(dir);
	struct dirent *entry;
	char path[600];

	if (d == NULL)
		return;
	while ((entry = readdir(d)) != NULL) {
		if (strcmp(entry->d_name, ".") == 0 ||
		    strcmp(entry->d_name, "..") == 0)
			continue;
		(void)snprintf(path, sizeof(path), "%s/%s", dir, entry->d_name);
		if (unlink(path) != 0)
			remove_tree(path);
	}
	(void)closedir(d);
	(void)rmdir(dir);
}

void rig_done(struct rig *rig)
{
	if (rig->store != NULL)
		rig_close(rig);
	(void)pthread_cond_destroy(&rig->sweep_change);
	(void)pthread_mutex_destroy(&rig->sweep_lock);
	(void)close(rig->wake_fd);
	remove_tree(rig->dir);
}

const char *rig_path(struct rig *rig, const char *name)
{
	(void)snprintf(rig->path, sizeof(rig->path), "%s/%s", rig->dir, name);
	return rig->path;
}

struct store_refused rig_refused(struct rig *rig)
{
	struct store_refused refused = {.text = ""};
	struct store *store;
	int rc = store_open(&rig->config, &store, &refused);

	ck_assert_msg(rc < 0, "the store was opened");
	ck_assert_msg(refused.text[0] != '\0', "no text");
	return refused;
}

void rig_tick(struct rig *rig, int64_t seconds)
{
	atomic_fetch_add(&rig->now_us, seconds * 1000000);
}

int64_t rig_now(const struct rig *rig)
{
	return atomic_load(&rig->now_us) / 1000000;
}

struct store_op *rig_op(enum store_op_kind kind, const char *key,
			const char *value)
{
	size_t value_bytes = value != NULL ? strlen(value) : 0;
	struct store_op *op =
		store_op_new(kind, key, key != NULL ? strlen(key) : 0,
			     (uint32_t)value_bytes, 0);

	ck_assert_ptr_nonnull(op);
	if (value_bytes > 0)
		memcpy(op->value, value, value_bytes);
	return op;
}

struct store_op *rig_op_sized(enum store_op_kind kind, const char *key,
			      char fill, uint32_t value_bytes)
{
	struct store_op *op =
		store_op_new(kind, key, strlen(key), value_bytes, 0);

	ck_assert_ptr_nonnull(op);
	memset(op->value, fill, value_bytes);
	return op;
}

struct store_op *rig_reap(struct rig *rig)
{
	struct store_op *op;
	uint64_t count;

	while ((op = store_reap(rig->client)) == NULL) {
		struct pollfd fd = {.fd = rig->wake_fd, .events = POLLIN};

		ck_assert_int_eq(poll(&fd, 1, -1), 1);
		ck_assert_int_eq(read(rig->wake_fd, &count, sizeof(count)),
				 sizeof(count));
	}
	return op;
}

void rig_do(struct rig *rig, struct store_op *op)
{
	store_submit(rig->client, op);
	ck_assert_ptr_eq(rig_reap(rig), op);
}

enum store_status rig_run(struct rig *rig, enum store_op_kind kind,
			  const char *key, const char *value)
{
	struct store_op *op = rig_op(kind, key, value);
	enum store_status status;

	rig_do(rig, op);
	status = op->status;
	store_op_free(op);
	return status;
}

enum store_status rig_set(struct rig *rig, const char *key, const char *value)
{
	return rig_run(rig, STORE_SET, key, value);
}

enum store_status rig_set_expiry(struct rig *rig, const char *key,
				 const char *value, int64_t expiry)
{
	struct store_op *op = rig_op(STORE_SET, key, value);
	enum store_status status;

	op->expiry = expiry;
	rig_do(rig, op);
	status = op->status;
	store_op_free(op);
	return status;
}

enum store_status rig_delete(struct rig *rig, const char *key)
{
	return rig_run(rig, STORE_DELETE, key, NULL);
}

void rig_flush(struct rig *rig, int64_t when)
{
	struct store_op *op = rig_op(STORE_FLUSH, NULL, NULL);

	op->expiry = when;
	rig_do(rig, op);
	ck_assert_int_eq(op->status, STORE_OK);
	store_op_free(op);
}

enum store_status rig_get(struct rig *rig, const char *key,
			  struct store_item *ret)
{
	static char buffer[BUFFER_BYTES];
	struct store_item item;
	enum store_status status =
		store_get(rig->reader, key, strlen(key), buffer, sizeof(buffer),
			  HEAD_ROOM, &item);

	if (status == STORE_OK) {
		ck_assert(item.value >= buffer + HEAD_ROOM);
		ck_assert(item.value + item.value_bytes <=
			  buffer + sizeof(buffer));
	}
	if (ret != NULL)
		*ret = item;
	return status;
}

void rig_expect(struct rig *rig, const char *key, const char *value)
{
	struct store_item item;

	ck_assert_int_eq(rig_get(rig, key, &item), STORE_OK);
	ck_assert_uint_eq(item.value_bytes, strlen(value));
	ck_assert_mem_eq(item.value, value, item.value_bytes);
	ck_assert_uint_eq(item.shown_from, 0);
}

void rig_expect_missing(struct rig *rig, const char *key)
{
	ck_assert_int_eq(rig_get(rig, key, NULL), STORE_NOT_FOUND);
}

void rig_expect_items(struct rig *rig, uint64_t items)
{
	struct store_counts counts;

	store_counts(rig->store, &counts);
	ck_assert_uint_eq(counts.items, items);
}

void rig_wait_for(bool (*done)(void *arg), void *arg)
{
	const struct timespec pause = {.tv_nsec = 2000000};

	while (!done(arg))
		(void)nanosleep(&pause, NULL);
}

struct items {
	struct rig *rig;
	uint64_t count;
};

static bool has_items(void *arg)
{
	const struct items *items = arg;
	struct store_counts counts;

	store_counts(items->rig->store, &counts);
	return counts.items == items->count;
}

void rig_wait_for_items(struct rig *rig, uint64_t items)
{
	struct items wanted = {rig, items};

	rig_wait_for(has_items, &wanted);
}
