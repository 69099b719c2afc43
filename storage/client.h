/*
 * client.h - the submitters, and how far their ops have come.
 *
 * Ops of one client are applied and become durable in the order they were
 * submitted, so "done" is one number: a client's ops up to ticket `applied`
 * are applied, those up to `durable` may be reaped. The ops themselves never
 * travel back; the owner keeps them in a list of its own.
 *
 * The whole store has the same two numbers for commit positions, one for
 * every transaction of the writer (reads wait for positions, see change.h).
 *
 * No wake-up is lost: the owner says what it wants, then looks again; the
 * store moves the number, then looks what is wanted (all seq_cst).
 *
 * The lock guards the list of clients and the publishing, so that a client
 * cannot be freed under the hands that wake it. wake() runs under it.
 */
#ifndef STORAGE_CLIENT_H
#define STORAGE_CLIENT_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "storage/op.h"

struct store;

struct store_client {
	struct store *store;
	void (*wake)(void *arg);
	void *arg;
	_Atomic uint64_t applied, durable; /* tickets */
	atomic_bool want_applied;
	_Atomic uint64_t want_shown; /* a position; 0: none */
	atomic_bool want_job;
	/* the owner's */
	struct store_op *oldest, *newest;
	uint64_t last_ticket;
	size_t in_flight;
	/* under the lock */
	struct store_client *next, *prev;
	uint64_t snapshot; /* what a flush under way will make durable */
};

struct clients {
	pthread_mutex_t lock;
	pthread_cond_t moved; /* durable has moved, or the store has failed */
	struct store_client *first;
	uint32_t count, max;		   /* readers too */
	_Atomic uint64_t applied, durable; /* positions */
};

int clients_init(struct clients *clients, uint32_t max);
void clients_done(struct clients *clients);

/* Counts a reader in or out. 0 or -ENFILE. Thread: any. */
int clients_enter(struct clients *clients);
void clients_leave(struct clients *clients);

/*
 * The ops of a batch, linked by next, are applied up to `position`. The ops
 * are not the store's any more afterwards if `durable`. Thread: the writer.
 */
void clients_applied(struct clients *clients, struct store_op *first,
		     uint64_t position, bool durable);

/*
 * Notes what is applied now; returns that position. What is written to disk
 * after this is durable once the disk says so. Thread: one at a time.
 */
uint64_t clients_snapshot(struct clients *clients);

/* That snapshot is durable. Wakes who waits. Thread: one at a time. */
void clients_durable(struct clients *clients, uint64_t position);

/* A job has ended. Wakes who waits for one. Thread: any. */
void clients_job_ended(struct clients *clients);

/* The store has failed: nobody needs to wait any more. Thread: any. */
void clients_release(void *clients);

#endif
