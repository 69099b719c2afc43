/*
 * counters.h - what the workers count, in one table.
 *
 * Each worker has a set of its own and is the only one that changes it; any
 * thread may read. `stats` shows the sum over the workers, less what the sum
 * was at the last `stats reset`. Add a counter: add a line here, count it, and
 * name it in stats_engine.c, or in stats_general.c if memcached has it.
 */
#ifndef SERVER_COUNTERS_H
#define SERVER_COUNTERS_H

#include <stdatomic.h>
#include <stdint.h>

#define COUNTERS(X)               \
	X(total_connections)      \
	X(cmd_get)                \
	X(cmd_set)                \
	X(cmd_flush)              \
	X(cmd_touch)              \
	X(cmd_meta)               \
	X(get_hits)               \
	X(item_cache_hits)        \
	X(get_misses)             \
	X(get_expired)            \
	X(get_flushed)            \
	X(delete_hits)            \
	X(delete_misses)          \
	X(incr_hits)              \
	X(incr_misses)            \
	X(decr_hits)              \
	X(decr_misses)            \
	X(cas_hits)               \
	X(cas_misses)             \
	X(cas_badval)             \
	X(touch_hits)             \
	X(touch_misses)           \
	X(store_too_large)        \
	X(store_no_memory)        \
	X(storage_errors)         \
	X(stored_already_expired) \
	X(total_items)            \
	X(reclaimed)              \
	X(bytes_read)             \
	X(bytes_written)          \
	X(conn_yields)            \
	X(ssl_handshake_errors)   \
	X(ssl_proto_errors)       \
	X(ssl_new_sessions)       \
	X(idle_kicks)             \
	X(malloc_fails)           \
	X(auth_cmds)              \
	X(auth_errors)

enum counter {
#define X(name) COUNTER_##name,
	COUNTERS(X)
#undef X
		COUNTER_COUNT
};

struct counters {
	_Atomic uint64_t value[COUNTER_COUNT];
};

/* Thread: the owner worker only; no locked instruction is needed. */
static inline void counter_add(struct counters *set, enum counter which,
			       uint64_t n)
{
	uint64_t old =
		atomic_load_explicit(&set->value[which], memory_order_relaxed);

	atomic_store_explicit(&set->value[which], old + n,
			      memory_order_relaxed);
}

/* Adds a set to plain sums. Thread: any. */
static inline void counters_sum(const struct counters *set,
				uint64_t sums[COUNTER_COUNT])
{
	for (int i = 0; i < COUNTER_COUNT; i++)
		sums[i] += atomic_load_explicit(&set->value[i],
						memory_order_relaxed);
}

#define COUNT(worker, name) COUNT_N(worker, name, 1)
#define COUNT_N(worker, name, n) \
	counter_add(&(worker)->counters, COUNTER_##name, (n))

#endif
