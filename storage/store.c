/*
 * store.c - opens and closes the parts in order, and the small verbs.
 *
 * Order of opening: directory locked and judged, environment recovered,
 * databases opened, state read, threads started. Closing is the reverse: the
 * writer empties its queue, the flusher runs a last round, then the handles,
 * the final checkpoint, the environment, the lock.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "storage/hash.h"
#include "storage/refuse.h"
#include "storage/store_priv.h"

/* A reader and a client each for the sweep and the jobs. */
#define OWN_READERS 4

static DBTYPE data_type(const struct store_config *config)
{
	return config->hash ? DB_HASH : DB_BTREE;
}

/* Both databases appear in one transaction: after a crash there is none. */
static int create_databases(struct store *store, DB **ret_data)
{
	const struct store_config *config = &store->config;
	const struct state state = {.next_stamp = 1};
	DB_ENV *db_env = store->env.db_env;
	DB *data = NULL;
	DB_TXN *txn;
	int error = db_env->txn_begin(db_env, NULL, &txn, 0);

	if (error != 0)
		return error;
	error = env_open_db(&store->env, txn, config->data_file,
			    data_type(config), config->page_bytes,
			    DB_CREATE | DB_EXCL, &data);
	if (error == 0)
		error = meta_create(&store->meta, &store->env, txn,
				    config->hash, &state);
	if (error != 0) {
		(void)txn->abort(txn);
		goto out_close;
	}
	error = txn->commit(txn, DB_TXN_SYNC);
	if (error == 0)
		error = db_env->txn_checkpoint(db_env, 0, 0, DB_FORCE);
	if (error != 0)
		goto out_close;
	*ret_data = data;
	return 0;

out_close:
	if (data != NULL)
		(void)data->close(data, 0);
	meta_close(&store->meta);
	return error;
}

/* A crash anywhere in here leaves the mark, and it is all made again. */
static int create_store(struct store *store, struct store_refused *refused)
{
	DB *data = NULL;
	int error;

	error = create_databases(store, &data);
	if (error != 0)
		return env_refuse(&store->env, error, store->home.dir, refused);
	(void)data->close(data, 0);
	meta_close(&store->meta);
	error = -home_end_creating(&store->home);
	if (error != 0)
		return env_refuse(&store->env, error, store->home.dir, refused);
	return 0;
}

static int open_databases(struct store *store, DB **ret_data,
			  struct state *ret_state,
			  struct store_refused *refused)
{
	DB *data;
	int error, rc;

	rc = meta_open(&store->meta, &store->env, &store->home, ret_state,
		       refused);
	if (rc != 0)
		return rc;
	error = env_open_db(&store->env, NULL, store->config.data_file,
			    store->meta.data_type, 0, DB_AUTO_COMMIT, &data);
	if (error != 0) {
		rc = env_refuse(&store->env, error, store->config.data_file,
				refused);
		meta_close(&store->meta);
		return rc;
	}
	*ret_data = data;
	return 0;
}

static int open_environment(struct store *store, struct store_refused *refused)
{
	int rc;

	if (store->home.fresh) {
		rc = home_begin_creating(&store->home);
		if (rc != 0)
			return refuse(refused, refusal_of(-rc), -rc,
				      "%s: cannot make files: %s",
				      store->home.dir, strerror(-rc));
	} else {
		rc = meta_judge(&store->home, refused);
		if (rc != 0)
			return rc;
	}
	space_prepare(&store->home);
	spare_prepare(&store->home, store->config.log_file_bytes);
	rc = env_open(&store->env, &store->config, &store->home, refused);
	if (rc != 0)
		return rc;
	store->env.on_failed = clients_release;
	store->env.on_failed_arg = &store->clients;
	if (store->home.fresh)
		rc = create_store(store, refused);
	if (rc != 0)
		(void)env_close(&store->env);
	return rc;
}

static void warn_of_big_pages(struct store *store, DB *data)
{
	uint32_t page_bytes = 0;

	(void)data->get_pagesize(data, &page_bytes);
	if (page_bytes > ENV_SAFE_PAGE)
		env_say(&store->env, STORE_WARNING,
			"%s: has pages of %u bytes; above %d a kill or a power "
			"cut can damage one beyond repair, keep backups",
			store->config.data_file, (unsigned)page_bytes,
			ENV_SAFE_PAGE);
}

static int open_data(struct store *store, struct store_refused *refused)
{
	struct state state;
	DB *data = NULL;
	int rc = open_databases(store, &data, &state, refused);

	if (rc != 0)
		return rc;
	warn_of_big_pages(store, data);
	rc = space_init(&store->space, &store->env, &store->home);
	if (rc != 0)
		goto out_data;
	rc = writer_init(&store->writer, store, data, &state);
	if (rc != 0)
		goto out_space;
	return 0;

out_space:
	space_done(&store->space);
out_data:
	(void)data->close(data, 0);
	meta_close(&store->meta);
	return env_refuse(&store->env, -rc, store->home.dir, refused);
}

static int start_threads(struct store *store, struct store_refused *refused)
{
	int rc = maint_start(&store->maint, &store->env, &store->space,
			     &store->clients);

	if (rc != 0)
		goto out_refuse;
	rc = flusher_start(&store->flusher, store);
	if (rc != 0)
		goto out_maint;
	rc = spare_start(&store->spare, &store->home, &store->space,
			 store->config.log_file_bytes);
	if (rc != 0)
		goto out_flusher;
	rc = writer_start(&store->writer);
	if (rc != 0)
		goto out_spare;
	rc = sweep_start(&store->sweep, store);
	if (rc != 0)
		goto out_writer;
	rc = jobs_start(&store->jobs, store);
	if (rc != 0)
		goto out_sweep;
	return 0;

out_sweep:
	sweep_stop(&store->sweep);
out_writer:
	writer_stop(&store->writer);
out_spare:
	spare_stop(&store->spare);
out_flusher:
	flusher_stop(&store->flusher);
out_maint:
	maint_stop(&store->maint);
out_refuse:
	return refuse(refused, STORE_REFUSED_SYSTEM, -rc,
		      "cannot start a thread: %s", strerror(-rc));
}

static void close_data(struct store *store)
{
	writer_done(&store->writer);
	space_done(&store->space);
	meta_close(&store->meta);
}

static int open_parts(struct store *store, struct store_refused *refused)
{
	int rc = home_open(&store->home, &store->config, refused);

	if (rc != 0)
		return rc;
	rc = open_environment(store, refused);
	if (rc != 0)
		goto out_home;
	rc = open_data(store, refused);
	if (rc != 0)
		goto out_env;
	store->env.opening = false;
	rc = start_threads(store, refused);
	if (rc != 0)
		goto out_data;
	return 0;

out_data:
	close_data(store);
out_env:
	(void)env_close(&store->env);
out_home:
	home_close(&store->home);
	return rc;
}

/* Is it a name that something else in the directory has, or may get? */
static bool is_taken(const char *name)
{
	static const char *const taken[] = {HOME_META_FILE, "LOCK",
					    "CREATING",	    "ballast",
					    "spare",	    "spare.new"};

	for (size_t i = 0; i < sizeof(taken) / sizeof(taken[0]); i++)
		if (strcmp(name, taken[i]) == 0)
			return true;
	return strncmp(name, "log.", 4) == 0 || strncmp(name, "__db", 4) == 0;
}

static int check_settings(const struct store_config *config,
			  struct store_refused *refused)
{
	uint32_t page = config->page_bytes;
	const char *name = config->data_file;

	if (page < 512 || page > 65536 || (page & (page - 1)) != 0)
		return refuse(refused, STORE_REFUSED_SETTING, EINVAL,
			      "page size %u: must be a power of two from 512 "
			      "to 65536",
			      (unsigned)page);
	if (name[0] == '\0' || strchr(name, '/') != NULL || name[0] == '.' ||
	    is_taken(name))
		return refuse(refused, STORE_REFUSED_SETTING, EINVAL,
			      "data file name %s: must be a plain file name, "
			      "and none the store uses itself",
			      name);
	if (config->log_buffer_bytes > config->log_file_bytes / 4)
		return refuse(refused, STORE_REFUSED_SETTING, EINVAL,
			      "log buffer %u: must be at most a quarter of the "
			      "log file size %u",
			      (unsigned)config->log_buffer_bytes,
			      (unsigned)config->log_file_bytes);
	return 0;
}

int store_open(const struct store_config *config, struct store **ret_store,
	       struct store_refused *refused)
{
	struct store *store;
	int rc = check_settings(config, refused);

	if (rc != 0)
		return rc;
	store = calloc(1, sizeof(*store));
	if (store == NULL)
		return refuse(refused, STORE_REFUSED_SYSTEM, ENOMEM,
			      "no memory");
	store->config = *config;
	store->changes = change_table_new();
	if (store->changes == NULL) {
		rc = refuse(refused, STORE_REFUSED_SYSTEM, ENOMEM, "no memory");
		goto out_free;
	}
	rc = cache_init(&store->cache, config->item_cache_bytes);
	if (rc != 0) {
		(void)refuse(refused, STORE_REFUSED_SYSTEM, -rc, "no memory");
		goto out_changes;
	}
	rc = clients_init(&store->clients, config->readers_max + OWN_READERS);
	if (rc != 0) {
		(void)refuse(refused, STORE_REFUSED_SYSTEM, -rc, "no memory");
		goto out_cache;
	}
	rc = open_parts(store, refused);
	if (rc != 0)
		goto out_clients;
	*ret_store = store;
	return 0;

out_clients:
	clients_done(&store->clients);
out_cache:
	cache_done(&store->cache);
out_changes:
	change_table_free(store->changes);
out_free:
	free(store);
	return rc;
}

/* Returns true if a last checkpoint will not take long. */
static bool write_out(struct store *store)
{
	const struct store_config *config = &store->config;
	char *path = home_path(store->home.dir, config->data_file);
	bool written = config->close_ms == 0 || path == NULL ||
		       trickle_out(&store->env, path, config->close_ms);

	free(path);
	if (written)
		return true;
	env_say(&store->env, STORE_WARNING,
		"%u ms were not enough to write all changed pages; they are in "
		"the log, the next start recovers them",
		(unsigned)config->close_ms);
	return false;
}

int store_close(struct store *store)
{
	bool written;
	int rc;

	jobs_stop(&store->jobs);
	sweep_stop(&store->sweep);
	writer_stop(&store->writer);
	spare_stop(&store->spare);
	flusher_stop(&store->flusher);
	maint_stop(&store->maint);
	rc = env_failed(&store->env) ? -EIO : writer_settle(&store->writer);
	written = rc == 0 && write_out(store);
	close_data(store);
	if (written)
		rc = maint_last_checkpoint(&store->env);
	if (env_close(&store->env) != 0)
		rc = -EIO;
	home_close(&store->home);
	clients_done(&store->clients);
	cache_done(&store->cache);
	change_table_free(store->changes);
	free(store);
	return rc;
}

struct store_op *store_op_new(enum store_op_kind kind, const char *key,
			      size_t key_bytes, uint32_t value_bytes,
			      size_t user_bytes)
{
	const size_t align = _Alignof(max_align_t);
	size_t user_at = (sizeof(struct store_op) + align - 1) / align * align;
	size_t key_at = user_at + user_bytes;
	size_t value_at = key_at + key_bytes + STORE_RECORD_HEAD_MAX;
	struct store_op *op = malloc(value_at + value_bytes);
	char *bytes = (char *)op;

	if (op == NULL)
		return NULL;
	memset(op, 0, key_at);
	op->kind = kind;
	op->user = bytes + user_at;
	op->key = bytes + key_at;
	op->key_bytes = key_bytes;
	if (key_bytes > 0) {
		memcpy(op->key, key, key_bytes);
		op->hash = key_hash(key, key_bytes);
	}
	op->value = bytes + value_at;
	op->value_bytes = value_bytes;
	return op;
}

void store_op_free(struct store_op *op)
{
	if (op == NULL)
		return;
	free(op->found_memory);
	free(op);
}

int64_t store_seconds(int64_t us)
{
	return us / 1000000 - (us % 1000000 < 0);
}

int64_t store_now_seconds(const struct store *store)
{
	return store_seconds(store->config.now_us(store->config.arg));
}

void store_counts(const struct store *store, struct store_counts *ret)
{
	const struct published *published = &store->writer.published;
	uint32_t gbytes = 0, bytes = 0;
	int regions;

	ret->items = atomic_load(&published->live_items);
	ret->bytes = atomic_load(&published->live_bytes);
	ret->total_items = atomic_load(&published->stored);
	ret->expired = atomic_load(&published->expired);
	ret->flushed = atomic_load(&published->flushed);
	ret->ops = atomic_load(&published->ops);
	ret->commits = atomic_load(&published->commits);
	ret->syncs = atomic_load(&store->flusher.syncs);
	(void)store->env.db_env->get_cachesize(store->env.db_env, &gbytes,
					       &bytes, &regions);
	ret->cache_bytes = ((uint64_t)gbytes << 30) + bytes;
}

int store_resize_cache(struct store *store, uint64_t cache_bytes)
{
	/*
	 * Berkeley DB 5.3 resizes a private cache to sizes nobody asked for,
	 * and then reads through wild pointers when the store is busy.
	 */
	return cache_bytes == store->config.cache_bytes ? 0 : -EINVAL;
}

#define TEXT_OF(number) #number
#define TEXT(number)	TEXT_OF(number)
#define ENGINE_VERSION         \
	TEXT(DB_VERSION_MAJOR) \
	"." TEXT(DB_VERSION_MINOR) "." TEXT(DB_VERSION_PATCH)

const char *store_engine_version(void)
{
	return ENGINE_VERSION;
}
