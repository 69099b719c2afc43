/*
 * env.c - opens the environment, hears what it says, stops for good; env.h.
 */
#include "storage/env.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "storage/arena.h"
#include "storage/checksum.h"
#include "storage/disk.h"
#include "storage/home.h"
#include "storage/order.h"
#include "storage/refuse.h"
#include "storage/thread.h"

#define MESSAGE_WINDOW_MS    10000
#define MESSAGES_IN_WINDOW   5
#define GIB		     (UINT64_C(1) << 30)
#define CACHE_OVERHEAD_LIMIT (UINT64_C(500) << 20)
#define CACHE_MIN_BYTES	     (UINT64_C(64) << 10)
#define LOCKS_MAX	     20000
#define LOCKS_AT_FIRST	     4096 /* several for each op of a batch */
#define TRANSACTIONS_MAX     64

void env_say(struct env *env, enum store_severity severity, const char *format,
	     ...)
{
	char text[400];
	va_list args;

	va_start(args, format);
	(void)vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	env->config->on_message(env->config->arg, severity, text);
}

/* Returns true if a line may be said; *ret_unsaid: how many were not. */
static bool may_complain(struct env *env, unsigned *ret_unsaid)
{
	int64_t now = thread_now_ms();
	bool may;

	*ret_unsaid = 0;
	(void)pthread_mutex_lock(&env->message_lock);
	if (now - env->message_window >= MESSAGE_WINDOW_MS) {
		env->message_window = now;
		env->in_window = 0;
		*ret_unsaid = env->unsaid;
		env->unsaid = 0;
	}
	may = env->in_window < MESSAGES_IN_WINDOW;
	if (may)
		env->in_window++;
	else
		env->unsaid++;
	(void)pthread_mutex_unlock(&env->message_lock);
	return may;
}

void env_complain(struct env *env, const char *format, ...)
{
	char text[300];
	unsigned unsaid;
	va_list args;

	if (!may_complain(env, &unsaid))
		return;
	va_start(args, format);
	(void)vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	if (unsaid > 0)
		env_say(env, STORE_ERROR, "%s (%u more like it were not shown)",
			text, unsaid);
	else
		env_say(env, STORE_ERROR, "%s", text);
}

void env_fail(struct env *env, int error, const char *what)
{
	char text[300];

	if (atomic_exchange(&env->failed, true))
		return;
	if (env->opening) {
		(void)snprintf(env->words, sizeof(env->words), "%s failed: %s",
			       what, db_strerror(error));
		return;
	}
	(void)snprintf(text, sizeof(text),
		       "%s failed: %s; what was acknowledged is in the log, "
		       "restart to recover",
		       what, db_strerror(error));
	env->config->on_fatal(env->config->arg, text);
	if (env->on_failed != NULL)
		env->on_failed(env->on_failed_arg);
}

bool env_failed(const struct env *env)
{
	return atomic_load(&env->failed);
}

bool env_synced(struct env *env)
{
	if (disk_failed_syncs() != env->failed_syncs)
		env_fail(env, EIO, "fdatasync");
	return !env_failed(env);
}

int env_flush_log(struct env *env)
{
	int error = env->db_env->log_flush(env->db_env, NULL);

	if (!env_synced(env))
		return -EIO;
	if (env_error_is_space(error))
		return -ENOSPC;
	if (error != 0) {
		env_fail(env, error, "writing the log");
		return -EIO;
	}
	return 0;
}

bool env_error_is_conflict(int error)
{
	return error == DB_LOCK_DEADLOCK || error == DB_LOCK_NOTGRANTED;
}

bool env_error_is_space(int error)
{
	return error == ENOSPC || error == EDQUOT;
}

/* Berkeley DB speaks: keep it while opening, else pass it on, bounded. */
static void on_engine_words(const DB_ENV *db_env, const char *prefix,
			    const char *text)
{
	struct env *env = db_env->app_private;

	(void)prefix;
	if (env->opening) {
		if (env->words[0] == '\0')
			(void)snprintf(env->words, sizeof(env->words), "%s",
				       text);
		return;
	}
	if (!env_failed(env))
		env_complain(env, "Berkeley DB: %s", text);
}

static void on_engine_event(DB_ENV *db_env, uint32_t event, void *info)
{
	struct env *env = db_env->app_private;

	(void)info;
	if (event == DB_EVENT_PANIC && !env->opening)
		env_fail(env, DB_RUNRECOVERY, "Berkeley DB");
}

static void on_recovery(DB_ENV *db_env, int opcode, int percent)
{
	struct env *env = db_env->app_private;

	/* It is nonsense where the size of log files was changed. */
	if (opcode != DB_RECOVER || percent > 100 ||
	    percent < env->recovered_percent + 10)
		return;
	env->recovered_percent = percent;
	env_say(env, STORE_INFO, "recovery: %d %% done", percent);
}

static void set_callbacks(struct env *env)
{
	DB_ENV *db_env = env->db_env;

	db_env->app_private = env;
	db_env->set_errcall(db_env, on_engine_words);
	(void)db_env->set_event_notify(db_env, on_engine_event);
	(void)db_env->set_feedback(db_env, on_recovery);
}

/* Below 500 MB Berkeley DB adds a quarter by itself; ours means the whole. */
static int set_cache(DB_ENV *db_env, uint64_t bytes)
{
	if (bytes < CACHE_OVERHEAD_LIMIT)
		bytes -= bytes / 5;
	if (bytes < CACHE_MIN_BYTES)
		bytes = CACHE_MIN_BYTES;
	return db_env->set_cachesize(db_env, (uint32_t)(bytes / GIB),
				     (uint32_t)(bytes % GIB), 1);
}

static int set_locks(DB_ENV *db_env, uint32_t readers_max)
{
	int error = db_env->set_lk_max_locks(db_env, LOCKS_MAX);

	if (error == 0)
		error = db_env->set_lk_max_objects(db_env, LOCKS_MAX);
	if (error == 0)
		error = db_env->set_lk_max_lockers(
			db_env, readers_max * 4 + TRANSACTIONS_MAX * 4);
	/* Else each lock of a batch is looked for in other partitions first. */
	if (error == 0)
		error = db_env->set_memory_init(db_env, DB_MEM_LOCK,
						LOCKS_AT_FIRST);
	if (error == 0)
		error = db_env->set_memory_init(db_env, DB_MEM_LOCKOBJECT,
						LOCKS_AT_FIRST);
	/* The writer has write locks, a reader has none: the reader loses. */
	if (error == 0)
		error = db_env->set_lk_detect(db_env, DB_LOCK_MINWRITE);
	return error;
}

static int set_log(DB_ENV *db_env, const struct store_config *config,
		   const struct home *home)
{
	int error = db_env->set_lg_max(db_env, config->log_file_bytes);

	if (error == 0)
		error = db_env->set_lg_bsize(db_env, config->log_buffer_bytes);
	if (error == 0 && strcmp(home->dir, home->log_dir) != 0)
		error = db_env->set_lg_dir(db_env, home->log_dir);
	if (error == 0)
		error = db_env->set_lg_filemode(db_env, 0640);
	return error;
}

/* The arena is for Berkeley DB's own memory: what it hands to us we free(). */
static int set_memory(DB_ENV *db_env, const struct store_config *config)
{
	if (!config->shared_regions)
		arena_install(config->cache_bytes);
	return db_env->set_alloc(db_env, malloc, realloc, free);
}

static int set_all(struct env *env, const struct home *home)
{
	const struct store_config *config = env->config;
	DB_ENV *db_env = env->db_env;
	int error = set_memory(db_env, config);

	if (error == 0)
		error = set_cache(db_env, config->cache_bytes);
	if (error == 0)
		error = set_log(db_env, config, home);
	if (error == 0)
		error = set_locks(db_env, config->readers_max);
	if (error == 0)
		error = db_env->set_tx_max(db_env, TRANSACTIONS_MAX);
	if (error == 0)
		error = db_env->mutex_set_increment(
			db_env, (config->readers_max + 8) * 16);
	return error;
}

/* A recovery only says that it has failed; what failed, it said before. */
static bool has_said(const struct env *env, int error)
{
	return strstr(env->words, strerror(error)) != NULL;
}

int env_refuse(struct env *env, int error, const char *what,
	       struct store_refused *refused)
{
	const char *words = env->words[0] != '\0' ? env->words : "no details";

	if (env_error_is_space(error) || has_said(env, ENOSPC))
		return refuse(refused, STORE_REFUSED_SYSTEM, ENOSPC,
			      "%s: the disk is full (%s); free some space, the "
			      "data are kept as they are",
			      what, words);
	if (error == ENOMEM || has_said(env, ENOMEM))
		return refuse(refused, STORE_REFUSED_SYSTEM, ENOMEM,
			      "%s: there is not enough memory (%s); the data "
			      "are kept as they are",
			      what, words);
	if (error == DB_RUNRECOVERY)
		return refuse(refused, STORE_REFUSED_DAMAGED, EIO,
			      "%s: recovery failed (%s); restore a backup",
			      what, words);
	return refuse(refused, refusal_of(error), error > 0 ? error : EIO,
		      "%s: cannot be opened: %s (%s)", what, db_strerror(error),
		      words);
}

static void env_init(struct env *env, const struct store_config *config)
{
	memset(env, 0, sizeof(*env));
	env->config = config;
	env->opening = true;
	env->failed_syncs = disk_failed_syncs();
	atomic_init(&env->failed, false);
	(void)pthread_mutex_init(&env->message_lock, NULL);
	disk_install();
	checksum_link();
}

int env_open(struct env *env, const struct store_config *config,
	     const struct home *home, struct store_refused *refused)
{
	uint32_t flags = DB_CREATE | DB_INIT_TXN | DB_INIT_LOG | DB_INIT_LOCK |
			 DB_INIT_MPOOL | DB_THREAD | DB_RECOVER;
	int error;

	env_init(env, config);
	if (!config->shared_regions)
		flags |= DB_PRIVATE;
	error = db_env_create(&env->db_env, 0);
	if (error != 0) {
		(void)pthread_mutex_destroy(&env->message_lock);
		return refuse(refused, STORE_REFUSED_SYSTEM, ENOMEM, "%s: %s",
			      home->dir, db_strerror(error));
	}
	set_callbacks(env);
	error = set_all(env, home);
	if (error != 0) {
		error = refuse(refused, STORE_REFUSED_SETTING, EINVAL,
			       "%s: cache, log or lock setting refused: %s",
			       home->dir,
			       env->words[0] ? env->words : "invalid");
		goto out_close;
	}
	error = env->db_env->open(env->db_env, home->dir, flags, 0640);
	if (error != 0) {
		error = env_refuse(env, error, home->dir, refused);
		goto out_close;
	}
	return 0;

out_close:
	(void)env->db_env->close(env->db_env, 0);
	(void)pthread_mutex_destroy(&env->message_lock);
	return error;
}

int env_close(struct env *env)
{
	int error = env->db_env->close(env->db_env, 0);

	(void)pthread_mutex_destroy(&env->message_lock);
	return error == 0 && !env_failed(env) ? 0 : -EIO;
}

int env_open_db(struct env *env, DB_TXN *txn, const char *file, DBTYPE type,
		uint32_t page_bytes, uint32_t flags, DB **ret_db)
{
	DB *db;
	int error = db_create(&db, env->db_env, 0);

	if (error != 0)
		return error;
	if (page_bytes != 0)
		error = db->set_pagesize(db, page_bytes);
	if (error == 0 && page_bytes > ENV_SAFE_PAGE)
		error = db->set_flags(db, DB_CHKSUM);
	if (error == 0 && type == DB_BTREE)
		error = order_use(db);
	if (error == 0)
		error = db->open(db, txn, file, NULL, type, flags, 0640);
	if (error != 0) {
		(void)db->close(db, 0);
		return error;
	}
	*ret_db = db;
	return 0;
}
