/*
 * storage_rig.h - a store in a directory of its own, with a clock to turn.
 *
 * One client and one reader, driven from the test's own thread; every call
 * here waits until the change is durable. Anything unexpected fails the test
 * on the spot. The disk has as much room as the rig says, whatever others do
 * to it.
 */
#ifndef TESTS_UNIT_STORAGE_RIG_H
#define TESTS_UNIT_STORAGE_RIG_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "storage/storage.h"

#define RIG_START_SECONDS 1700000000
#define RIG_FREE_BYTES	  (UINT64_C(1) << 30)

struct rig {
	char dir[256];	/* made and removed by the rig */
	char path[600]; /* as rig_path() gave it last */
	struct store_config config;
	struct store *store;
	struct store_client *client;
	struct store_reader *reader;
	int wake_fd;
	_Atomic int64_t now_us; /* the store's clock */
	/* From the next opening on nothing is swept: what is dead stays. */
	bool no_sweep;
	pthread_mutex_t sweep_lock; /* protects sweep_held */
	pthread_cond_t sweep_change;
	bool sweep_held;
	atomic_int messages, fatals;
	char last_message[400];
	bool quiet; /* messages are expected */
};

/* Makes the directory and sensible settings; opens nothing yet. */
void rig_init(struct rig *rig);
void rig_open(struct rig *rig);
void rig_close(struct rig *rig);
void rig_reopen(struct rig *rig);
/* Closes what is open, removes the directory. */
void rig_done(struct rig *rig);

/* The path of a file in its directory; good until the next call. */
const char *rig_path(struct rig *rig, const char *name);

/* Opens and expects a refusal. */
struct store_refused rig_refused(struct rig *rig);

void rig_tick(struct rig *rig, int64_t seconds);
int64_t rig_now(const struct rig *rig);

/* An op with a text value; more may be set before rig_do(). */
struct store_op *rig_op(enum store_op_kind kind, const char *key,
			const char *value);
/* The same with a value of so many bytes, all of them `fill`. */
struct store_op *rig_op_sized(enum store_op_kind kind, const char *key,
			      char fill, uint32_t value_bytes);
/* Submits one op and waits until it is durable. Owner: caller. */
void rig_do(struct rig *rig, struct store_op *op);
/* Waits until one op can be reaped. Owner: caller. */
struct store_op *rig_reap(struct rig *rig);
/* rig_op(), rig_do() and the status. */
enum store_status rig_run(struct rig *rig, enum store_op_kind kind,
			  const char *key, const char *value);
enum store_status rig_set(struct rig *rig, const char *key, const char *value);
enum store_status rig_set_expiry(struct rig *rig, const char *key,
				 const char *value, int64_t expiry);
enum store_status rig_delete(struct rig *rig, const char *key);
/* when 0: at once. */
void rig_flush(struct rig *rig, int64_t when);

/* Reads into a buffer of the rig's choice. ret may be NULL. */
enum store_status rig_get(struct rig *rig, const char *key,
			  struct store_item *ret);
/* The item must be there, with this value. */
void rig_expect(struct rig *rig, const char *key, const char *value);
void rig_expect_missing(struct rig *rig, const char *key);
void rig_expect_items(struct rig *rig, uint64_t items);
/* The same, but of a number that the sweep lowers, or lowered just now. */
void rig_wait_for_items(struct rig *rig, uint64_t items);

/* Is this the store's thread of that name? For what the store calls back. */
bool rig_in_thread(const char *name);

/* Waits until done(arg) says true. */
void rig_wait_for(bool (*done)(void *arg), void *arg);

#endif
