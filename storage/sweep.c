/*
 * sweep.c - see sweep.h.
 */
#include "storage/sweep.h"

#include <string.h>

#include "storage/store_priv.h"
#include "storage/walk.h"

#define TICK_MS	      200
#define ROWS_PER_STEP 256
/* Clients' changes wait behind them: so few at once. */
#define DEAD_PER_STEP	32
#define ROWS_PER_TICK	4096
#define DEAD_PER_TICK	4096
#define JUMP_US		(INT64_C(300) * 1000000)
#define JUMP_PAUSE_MS	(INT64_C(600) * 1000)
#define FAILED_PAUSE_MS 10000

/* One step's harvest. */
struct step {
	struct sweep *sweep;
	struct store_op *first, *last;
	size_t rows, dead;
	bool no_memory;
};

static bool is_dead(const struct sweep *sweep, const struct record *record)
{
	return record_expired(record, sweep->now_seconds) ||
	       record_flushed(record, sweep->reclaim_cutoff);
}

static enum walk_verdict collect(void *arg, const struct walk_row *row)
{
	struct step *step = arg;
	struct sweep *sweep = step->sweep;
	const struct record *record = &row->record;
	struct store_op *op;

	step->rows++;
	if (!is_dead(sweep, record)) {
		if (record->expiry != 0 && record->expiry < sweep->pass_soonest)
			sweep->pass_soonest = record->expiry;
		return WALK_ON;
	}
	op = store_op_new(STORE_RECLAIM, row->key, row->key_bytes, 0, 0);
	if (op == NULL) {
		step->no_memory = true;
		return WALK_STOP;
	}
	op->expiry = sweep->now_seconds;
	op->cas = sweep->reclaim_cutoff;
	if (step->last != NULL)
		step->last->next = op;
	else
		step->first = op;
	step->last = op;
	step->dead++;
	return step->dead < DEAD_PER_STEP ? WALK_ON_GOING : WALK_STOP_GOING;
}

static int64_t wall_us(const struct sweep *sweep)
{
	const struct store_config *config = &sweep->store->config;

	return config->now_us(config->arg);
}

/* Compares how far the two clocks have gone since the last look. */
static void watch_clock(struct sweep *sweep)
{
	struct published *published = &sweep->store->writer.published;
	int64_t wall, now_ms, ahead;

	/* First: so a cut-off that a jump has moved is seen with the jump. */
	sweep->reclaim_cutoff = atomic_load(&published->reclaim_cutoff);
	wall = wall_us(sweep);
	now_ms = thread_now_ms();
	ahead = (wall - sweep->last_wall_us) - (now_ms - sweep->last_ms) * 1000;
	sweep->now_seconds = store_seconds(wall);
	sweep->last_wall_us = wall;
	sweep->last_ms = now_ms;
	if (ahead <= JUMP_US)
		return;
	sweep->not_before_ms = now_ms + JUMP_PAUSE_MS;
	env_say(&sweep->store->env, STORE_WARNING,
		"the clock jumped ahead by %lld s; expired items are hidden, "
		"but kept for %lld more minutes in case it is wrong",
		(long long)(ahead / 1000000),
		(long long)(JUMP_PAUSE_MS / 60000));
}

static bool pass_is_worthwhile(const struct sweep *sweep)
{
	struct published *published = &sweep->store->writer.published;

	return sweep->known_soonest <= sweep->now_seconds ||
	       atomic_load(&published->soonest) <= sweep->now_seconds ||
	       (atomic_load(&published->hidden_items) > 0 &&
		sweep->reclaim_cutoff > sweep->swept_cutoff);
}

static void begin_pass(struct sweep *sweep)
{
	struct published *published = &sweep->store->writer.published;

	memset(&sweep->place, 0, sizeof(sweep->place));
	sweep->in_pass = true;
	sweep->pass_soonest = INT64_MAX;
	sweep->pass_cutoff = sweep->reclaim_cutoff;
	/* What is written from now on is not seen, or is seen twice. */
	atomic_store(&published->soonest, INT64_MAX);
}

static void end_pass(struct sweep *sweep)
{
	sweep->in_pass = false;
	sweep->known_soonest = sweep->pass_soonest;
	sweep->swept_cutoff = sweep->pass_cutoff;
}

static void begin_again(struct sweep *sweep)
{
	sweep->in_pass = false;
	sweep->known_soonest = 0;
	sweep->not_before_ms = thread_now_ms() + FAILED_PAUSE_MS;
}

/* One step of the pass. Returns false if the tick's work is over. */
static bool run_step(struct sweep *sweep, struct step *step)
{
	struct agent_harvest harvest;
	enum store_status status;

	step->sweep = sweep;
	status = walk_records(sweep->agent.reader, &sweep->place, ROWS_PER_STEP,
			      false, collect, step);
	harvest = agent_run(&sweep->agent, step->first);
	if (harvest.failed > 0 || step->no_memory)
		status = STORE_FAILED;
	if (status == STORE_OK && !sweep->place.done)
		return true;
	if (status == STORE_OK)
		end_pass(sweep);
	else
		begin_again(sweep);
	return false;
}

static bool is_paused(const struct sweep *sweep)
{
	return thread_now_ms() < sweep->not_before_ms;
}

static void run_steps(struct sweep *sweep)
{
	size_t rows = 0, dead = 0;

	do {
		struct step step = {0};

		if (!run_step(sweep, &step) || env_failed(&sweep->store->env))
			return;
		/* Dead ones have a limit of their own. */
		rows += step.rows - step.dead;
		dead += step.dead;
		watch_clock(sweep);
	} while (rows < ROWS_PER_TICK && dead < DEAD_PER_TICK &&
		 !is_paused(sweep));
}

static void tick(struct sweep *sweep)
{
	struct store *store = sweep->store;

	watch_clock(sweep);
	if (atomic_load(&store->writer.published.next_due) <=
	    sweep->now_seconds)
		writer_kick(&store->writer);
	space_renew_ballast(&store->space);
	if (is_paused(sweep))
		return;
	if (!sweep->in_pass && pass_is_worthwhile(sweep))
		begin_pass(sweep);
	if (sweep->in_pass)
		run_steps(sweep);
}

static void *sweep_main(void *arg)
{
	struct sweep *sweep = arg;

	while (agent_rest(&sweep->agent, TICK_MS))
		if (!env_failed(&sweep->store->env))
			tick(sweep);
	return NULL;
}

int sweep_start(struct sweep *sweep, struct store *store)
{
	memset(sweep, 0, sizeof(*sweep));
	sweep->store = store;
	sweep->last_wall_us = wall_us(sweep);
	sweep->last_ms = thread_now_ms();
	return agent_start(&sweep->agent, store, "sweep", sweep_main, sweep);
}

void sweep_stop(struct sweep *sweep)
{
	agent_stop(&sweep->agent);
}
