/*
 * shared.h - what all threads of one server share.
 *
 * Set up by server_run() before the workers start. What changes afterwards
 * is atomic, or has its lock named beside it.
 */
#ifndef SERVER_SHARED_H
#define SERVER_SHARED_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "protocol/protocol.h"
#include "server/access.h"
#include "server/clock.h"
#include "server/log.h"
#include "server/options.h"
#include "server/prefix.h"
#include "server/registry.h"
#include "server/totals.h"
#include "server/watch.h"
#include "storage/storage.h"

struct login_thread;
struct tls;
struct worker;

/* What main is asked to do, through server_request(). */
enum server_request {
	SERVER_STOP = 1,  /* finish and end with status 0 */
	SERVER_FATAL = 2, /* end at once: the storage failed */
};

struct server {
	const struct options *options;
	struct log log;
	struct clock clock;
	struct store *store;
	struct tls *tls; /* NULL: there is none */
	struct proto_limits limits;
	struct worker **workers;
	unsigned worker_count;
	struct registry registry;    /* the connections, for `stats conns` */
	struct prefixes prefixes;    /* `stats detail` */
	struct totals totals;	     /* `stats reset` */
	struct watch_hub watch;	     /* the log that clients watch */
	struct access_table *access; /* meta h and l */
	int64_t started_us;	     /* monotonic */
	struct log_pace flush_pace, memlimit_pace, compact_pace, pdelete_pace;
	struct login_thread *login; /* NULL: nobody has to log in */
	struct log_pace login_pace;

	int request_fd; /* wakes main */
	atomic_uint requests;

	atomic_uint curr_connections;
	atomic_uint conn_limit; /* what the descriptors allow */
	atomic_bool accepting;
	_Atomic uint64_t rejected_connections;
	_Atomic uint64_t listen_disabled;    /* times */
	_Atomic uint64_t listen_disabled_us; /* in all */
	_Atomic uint64_t memory_limit_bytes; /* cache_memlimit */
	_Atomic uint64_t receiving_bytes;    /* of big values: conn.h */
	atomic_bool crawler_enabled;	     /* lru_crawler */
};

/* Asks main for something. Thread: any. Blocks: never. */
void server_request(struct server *server, enum server_request request);

#endif
