/*
 * apply_flush.c - the cut-off of flush_all, and the reclaiming.
 *
 * A flush costs nothing: it moves the cut-off to the next stamp, and all
 * records with lower ones are hidden. They keep their space for the grace
 * period, then the sweep reclaims them. Two cut-offs are kept behind the
 * visible one: what may be reclaimed, and what may once the grace is over. A
 * flush during a grace starts its own when that one ends, so that a flush
 * every minute cannot put reclaiming off for ever.
 */
#include "storage/apply.h"

static void start_grace(struct apply *apply)
{
	struct state *state = &apply->state;

	state->grace_cutoff = state->flush_cutoff;
	state->grace_until = apply->now_seconds + apply->flush_grace_seconds;
}

static void flush_now(struct apply *apply)
{
	struct state *state = &apply->state;

	state->flush_due = 0;
	state->flush_cutoff = state->next_stamp;
	state->hidden_items += state->live_items;
	state->hidden_bytes += state->live_bytes;
	state->live_items = 0;
	state->live_bytes = 0;
	if (state->grace_until == 0)
		start_grace(apply);
}

void apply_due(struct apply *apply)
{
	struct state *state = &apply->state;

	if (state->flush_due != 0 && state->flush_due <= apply->now_seconds)
		flush_now(apply);
	if (state->grace_until == 0 || state->grace_until > apply->now_seconds)
		return;
	state->reclaim_cutoff = state->grace_cutoff;
	state->grace_until = 0;
	if (state->flush_cutoff > state->reclaim_cutoff)
		start_grace(apply);
}

int apply_flush(struct apply *apply, struct store_op *op)
{
	op->status = STORE_OK;
	if (op->expiry <= apply->now_seconds)
		flush_now(apply);
	else
		apply->state.flush_due = op->expiry;
	apply_due(apply);
	return 0;
}

/*
 * Dead for the sweep, too, by what it went by: since it looked, the item may
 * have been stored anew, and the clock have jumped.
 */
static bool is_dead(const struct apply *apply, const struct store_op *op,
		    const struct record *record)
{
	return (record_expired(record, apply->now_seconds) &&
		record_expired(record, op->expiry)) ||
	       (record_flushed(record, apply->state.reclaim_cutoff) &&
		record_flushed(record, op->cas));
}

int apply_reclaim(struct apply *apply, struct store_op *op, struct old *old)
{
	const struct record *record = &old->peek.record;
	const struct state *state = &apply->state;

	op->status = STORE_NOT_FOUND;
	if (!old->there || !is_dead(apply, op, record))
		return 0;
	op->status = STORE_OK;
	if (record_flushed(record, state->flush_cutoff))
		apply->tally.flushed++;
	else
		apply->tally.expired++;
	return apply_delete(apply, op, old);
}
