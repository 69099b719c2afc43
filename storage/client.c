/*
 * client.c - submits and reaps, publishes how far the store is; client.h.
 */
#include "storage/client.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "storage/store_priv.h"

int clients_init(struct clients *clients, uint32_t max)
{
	memset(clients, 0, sizeof(*clients));
	clients->max = max;
	if (pthread_mutex_init(&clients->lock, NULL) != 0)
		return -ENOMEM;
	if (pthread_cond_init(&clients->moved, NULL) != 0) {
		(void)pthread_mutex_destroy(&clients->lock);
		return -ENOMEM;
	}
	return 0;
}

void clients_done(struct clients *clients)
{
	(void)pthread_cond_destroy(&clients->moved);
	(void)pthread_mutex_destroy(&clients->lock);
}

int clients_enter(struct clients *clients)
{
	int rc = 0;

	(void)pthread_mutex_lock(&clients->lock);
	if (clients->count < clients->max)
		clients->count++;
	else
		rc = -ENFILE;
	(void)pthread_mutex_unlock(&clients->lock);
	return rc;
}

void clients_leave(struct clients *clients)
{
	(void)pthread_mutex_lock(&clients->lock);
	clients->count--;
	(void)pthread_mutex_unlock(&clients->lock);
}

void clients_applied(struct clients *clients, struct store_op *first,
		     uint64_t position, bool durable)
{
	struct store_client *client;

	(void)pthread_mutex_lock(&clients->lock);
	atomic_store(&clients->applied, position);
	for (struct store_op *op = first; op != NULL; op = op->next)
		atomic_store(&op->client->applied, op->ticket);
	/* With the lock held no op can have been reaped and freed so far. */
	for (client = clients->first; client != NULL; client = client->next)
		if (atomic_load(&client->want_applied) &&
		    atomic_exchange(&client->want_applied, false))
			client->wake(client->arg);
	(void)pthread_mutex_unlock(&clients->lock);
	if (durable)
		clients_durable(clients, clients_snapshot(clients));
}

uint64_t clients_snapshot(struct clients *clients)
{
	struct store_client *client;
	uint64_t position;

	(void)pthread_mutex_lock(&clients->lock);
	position = atomic_load(&clients->applied);
	for (client = clients->first; client != NULL; client = client->next)
		client->snapshot = atomic_load(&client->applied);
	(void)pthread_mutex_unlock(&clients->lock);
	return position;
}

/* Returns true if the owner has something to do now. */
static bool move_durable(struct store_client *client, uint64_t position)
{
	uint64_t wanted = atomic_load(&client->want_shown);
	bool moved = client->snapshot > atomic_load(&client->durable);

	if (moved)
		atomic_store(&client->durable, client->snapshot);
	if (wanted != 0 && wanted <= position) {
		atomic_store(&client->want_shown, 0);
		return true;
	}
	return moved;
}

void clients_durable(struct clients *clients, uint64_t position)
{
	struct store_client *client;

	(void)pthread_mutex_lock(&clients->lock);
	atomic_store(&clients->durable, position);
	for (client = clients->first; client != NULL; client = client->next)
		if (move_durable(client, position))
			client->wake(client->arg);
	(void)pthread_cond_broadcast(&clients->moved);
	(void)pthread_mutex_unlock(&clients->lock);
}

void clients_job_ended(struct clients *clients)
{
	struct store_client *client;

	(void)pthread_mutex_lock(&clients->lock);
	for (client = clients->first; client != NULL; client = client->next)
		if (atomic_exchange(&client->want_job, false))
			client->wake(client->arg);
	(void)pthread_mutex_unlock(&clients->lock);
}

void clients_release(void *arg)
{
	struct clients *clients = arg;

	(void)pthread_mutex_lock(&clients->lock);
	(void)pthread_cond_broadcast(&clients->moved);
	(void)pthread_mutex_unlock(&clients->lock);
}

int store_client_new(struct store *store, void (*wake)(void *arg), void *arg,
		     struct store_client **ret_client)
{
	struct clients *clients = &store->clients;
	struct store_client *client = calloc(1, sizeof(*client));
	int rc;

	if (client == NULL)
		return -ENOMEM;
	rc = clients_enter(clients);
	if (rc != 0) {
		free(client);
		return rc;
	}
	client->store = store;
	client->wake = wake;
	client->arg = arg;
	(void)pthread_mutex_lock(&clients->lock);
	client->next = clients->first;
	if (client->next != NULL)
		client->next->prev = client;
	clients->first = client;
	(void)pthread_mutex_unlock(&clients->lock);
	*ret_client = client;
	return 0;
}

static void wait_until_durable(struct store_client *client)
{
	struct clients *clients = &client->store->clients;

	(void)pthread_mutex_lock(&clients->lock);
	while (atomic_load(&client->durable) < client->last_ticket &&
	       !env_failed(&client->store->env))
		(void)pthread_cond_wait(&clients->moved, &clients->lock);
	(void)pthread_mutex_unlock(&clients->lock);
}

void store_client_free(struct store_client *client)
{
	struct clients *clients;
	struct store_op *op;

	if (client == NULL)
		return;
	clients = &client->store->clients;
	wait_until_durable(client);
	if (env_failed(&client->store->env))
		writer_forget(&client->store->writer, client);
	(void)pthread_mutex_lock(&clients->lock);
	if (client->prev != NULL)
		client->prev->next = client->next;
	else
		clients->first = client->next;
	if (client->next != NULL)
		client->next->prev = client->prev;
	clients->count--;
	(void)pthread_mutex_unlock(&clients->lock);
	while ((op = client->oldest) != NULL) {
		client->oldest = op->client_next;
		store_op_free(op);
	}
	free(client);
}

void store_submit(struct store_client *client, struct store_op *first)
{
	struct store_op *last = NULL;
	size_t count = 0;

	if (first == NULL)
		return;
	for (struct store_op *op = first; op != NULL; op = op->next) {
		op->client = client;
		op->ticket = ++client->last_ticket;
		op->client_next = NULL;
		if (client->newest != NULL)
			client->newest->client_next = op;
		else
			client->oldest = op;
		client->newest = op;
		last = op;
		count++;
	}
	client->in_flight += count;
	writer_push(&client->store->writer, first, last, count);
}

struct store_op *store_reap(struct store_client *client)
{
	struct store_op *op = client->oldest;

	if (op == NULL || op->ticket > atomic_load(&client->durable))
		return NULL;
	client->oldest = op->client_next;
	if (client->oldest == NULL)
		client->newest = NULL;
	client->in_flight--;
	op->next = NULL;
	op->client_next = NULL;
	return op;
}

size_t store_in_flight(const struct store_client *client)
{
	return client->in_flight;
}

bool store_applied(struct store_client *client, uint64_t ticket)
{
	if (atomic_load(&client->applied) >= ticket)
		return true;
	atomic_store(&client->want_applied, true);
	return atomic_load(&client->applied) >= ticket;
}

bool store_shown(struct store_client *client, uint64_t shown_from)
{
	const struct clients *clients = &client->store->clients;
	uint64_t wanted;

	if (atomic_load(&clients->durable) >= shown_from)
		return true;
	/* Several may be wanted: the nearest one wakes, then it is asked again.
	 */
	wanted = atomic_load(&client->want_shown);
	if (wanted == 0 || shown_from < wanted)
		atomic_store(&client->want_shown, shown_from);
	return atomic_load(&clients->durable) >= shown_from;
}

uint64_t store_job_begin(struct store_client *client, enum store_job job)
{
	return maint_ask(&client->store->maint, job);
}

enum store_job_result store_job_result(struct store_client *client,
				       uint64_t ticket)
{
	const struct maint *maint = &client->store->maint;
	enum store_job_result result = maint_result(maint, ticket);

	if (result != STORE_JOB_RUNNING)
		return result;
	atomic_store(&client->want_job, true);
	return maint_result(maint, ticket);
}
