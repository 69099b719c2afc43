/*
 * agent.c - see agent.h.
 */
#include "storage/agent.h"

#include <string.h>

#include "storage/reader.h"
#include "storage/store_priv.h"

#define LOOK_AGAIN_MS 200

/* The client's wake(): there may be something to reap. */
static void on_wake(void *arg)
{
	struct agent *agent = arg;

	(void)pthread_mutex_lock(&agent->lock);
	agent->reapable = true;
	(void)pthread_cond_signal(&agent->wake);
	(void)pthread_mutex_unlock(&agent->lock);
}

void agent_call(struct agent *agent)
{
	(void)pthread_mutex_lock(&agent->lock);
	agent->called = true;
	(void)pthread_cond_signal(&agent->wake);
	(void)pthread_mutex_unlock(&agent->lock);
}

bool agent_rest(struct agent *agent, int64_t ms)
{
	bool go_on;

	(void)pthread_mutex_lock(&agent->lock);
	if (!agent->stop && !agent->called)
		thread_wait_ms(&agent->wake, &agent->lock, ms);
	agent->called = false;
	go_on = !agent->stop;
	(void)pthread_mutex_unlock(&agent->lock);
	return go_on;
}

static void wait_for_reapable(struct agent *agent)
{
	(void)pthread_mutex_lock(&agent->lock);
	if (!agent->reapable)
		thread_wait_ms(&agent->wake, &agent->lock, LOOK_AGAIN_MS);
	agent->reapable = false;
	(void)pthread_mutex_unlock(&agent->lock);
}

static void count_op(struct agent_harvest *harvest, const struct store_op *op)
{
	if (op->status == STORE_OK)
		harvest->done++;
	else if (op->status != STORE_NOT_FOUND)
		harvest->failed++;
}

struct agent_harvest agent_run(struct agent *agent, struct store_op *first)
{
	struct agent_harvest harvest = {0};
	struct store_op *op;

	store_submit(agent->client, first);
	while (store_in_flight(agent->client) > 0) {
		if (env_failed(&agent->store->env)) {
			harvest.failed++;
			break;
		}
		wait_for_reapable(agent);
		while ((op = store_reap(agent->client)) != NULL) {
			count_op(&harvest, op);
			store_op_free(op);
		}
	}
	return harvest;
}

int agent_start(struct agent *agent, struct store *store, const char *name,
		void *(*run)(void *arg), void *arg)
{
	int rc;

	memset(agent, 0, sizeof(*agent));
	agent->store = store;
	rc = thread_cond_init(&agent->wake);
	if (rc != 0)
		return rc;
	(void)pthread_mutex_init(&agent->lock, NULL);
	rc = reader_new_shared(store, &agent->reader);
	if (rc != 0)
		goto out_lock;
	rc = store_client_new(store, on_wake, agent, &agent->client);
	if (rc != 0)
		goto out_reader;
	rc = thread_start(&agent->thread, name, run, arg);
	if (rc != 0)
		goto out_client;
	return 0;

out_client:
	store_client_free(agent->client);
out_reader:
	store_reader_free(agent->reader);
out_lock:
	(void)pthread_mutex_destroy(&agent->lock);
	(void)pthread_cond_destroy(&agent->wake);
	return rc;
}

void agent_stop(struct agent *agent)
{
	(void)pthread_mutex_lock(&agent->lock);
	agent->stop = true;
	(void)pthread_cond_broadcast(&agent->wake);
	(void)pthread_mutex_unlock(&agent->lock);
	(void)pthread_join(agent->thread, NULL);
	store_client_free(agent->client);
	store_reader_free(agent->reader);
	(void)pthread_mutex_destroy(&agent->lock);
	(void)pthread_cond_destroy(&agent->wake);
}
