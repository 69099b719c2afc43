/*
 * reader.c - gets: on the reader's own handle, without a transaction.
 *
 * A get holds a page lock for as long as it copies. If it runs into the
 * writer's locks and Berkeley DB sees a deadlock, the get loses and is done
 * again; it holds nothing then. Any other error is a failure, never a miss.
 */
#include "storage/reader.h"

#include <errno.h>
#include <stdlib.h>

#include "storage/dbt.h"
#include "storage/hash.h"
#include "storage/peek.h"
#include "storage/store_priv.h"

static int open_handle(struct store *store, struct store_reader *reader)
{
	int error;

	if (reader->shared) {
		reader->db = store->writer.data;
		return 0;
	}
	error = env_open_db(&store->env, NULL, store->config.data_file,
			    store->meta.data_type, 0, DB_RDONLY, &reader->db);
	return error > 0 ? -error : error != 0 ? -EIO : 0;
}

static int new_reader(struct store *store, bool shared,
		      struct store_reader **ret_reader)
{
	struct store_reader *reader = calloc(1, sizeof(*reader));
	int rc;

	if (reader == NULL)
		return -ENOMEM;
	rc = clients_enter(&store->clients);
	if (rc != 0)
		goto out_free;
	reader->store = store;
	reader->shared = shared;
	rc = open_handle(store, reader);
	if (rc != 0)
		goto out_leave;
	*ret_reader = reader;
	return 0;

out_leave:
	clients_leave(&store->clients);
out_free:
	free(reader);
	return rc;
}

int store_reader_new(struct store *store, struct store_reader **ret_reader)
{
	return new_reader(store, false, ret_reader);
}

int reader_new_shared(struct store *store, struct store_reader **ret_reader)
{
	return new_reader(store, true, ret_reader);
}

void store_reader_free(struct store_reader *reader)
{
	if (reader == NULL)
		return;
	if (!reader->shared)
		(void)reader->db->close(reader->db, DB_NOSYNC);
	clients_leave(&reader->store->clients);
	free(reader->gather);
	free(reader);
}

/* From when on may be shown what was changed there, and flushed. */
static uint64_t wait_for(const struct store *store, uint64_t position,
			 bool flushed)
{
	uint64_t flush;

	if (store->config.sync != STORE_SYNC_ALWAYS)
		return 0;
	if (flushed) {
		flush = atomic_load(&store->writer.published.flush_position);
		if (flush > position)
			position = flush;
	}
	if (position <= atomic_load(&store->clients.durable))
		return 0;
	return position;
}

/* Looks at the table of changes only now that the item was read. */
static uint64_t shown_from(const struct store *store, uint64_t hash,
			   bool flushed)
{
	return wait_for(store, change_last(store->changes, hash), flushed);
}

uint64_t store_scanned(const struct store_reader *reader)
{
	const struct store *store = reader->store;

	return wait_for(store, change_newest(store->changes), true);
}

bool reader_judge(const struct store_reader *reader, uint64_t hash,
		  const struct record *record, int64_t now_seconds,
		  struct store_item *ret)
{
	const struct store *store = reader->store;
	uint64_t cutoff = atomic_load(&store->writer.published.flush_cutoff);

	ret->value = NULL;
	ret->value_bytes = 0;
	ret->hash = hash;
	record_show(record, store->writer.start, ret);
	ret->win = false;
	ret->cached = false;
	ret->flushed = record_flushed(record, cutoff);
	ret->expired = !ret->flushed && record_expired(record, now_seconds);
	ret->shown_from = shown_from(store, hash, ret->flushed);
	return !ret->flushed && !ret->expired;
}

enum store_status reader_failed(struct store_reader *reader, int error)
{
	struct env *env = &reader->store->env;

	if (error == DB_RUNRECOVERY)
		env_fail(env, error, "Berkeley DB");
	else
		env_complain(env, "a read failed: %s",
			     error == -EBADMSG ? "unknown record head"
					       : db_strerror(error));
	return error == ENOMEM ? STORE_NO_MEMORY : STORE_FAILED;
}

/* A key that is looked for. */
struct wanted {
	const char *key;
	size_t key_bytes;
	uint64_t hash;
};

static enum store_status missing(const struct store_reader *reader,
				 const struct wanted *wanted,
				 struct store_item *ret)
{
	memset(ret, 0, sizeof(*ret));
	ret->hash = wanted->hash;
	ret->shown_from = shown_from(reader->store, wanted->hash, false);
	return STORE_NOT_FOUND;
}

/* Sets data->size to that of the whole record, also on DB_BUFFER_SMALL. */
static int read_record(struct store_reader *reader, const struct wanted *wanted,
		       void *to, size_t room, DBT *data)
{
	DBT key_dbt;
	int error;

	dbt_key(&key_dbt, wanted->key, wanted->key_bytes);
	do {
		dbt_out(data, to, room);
		error = reader->db->get(reader->db, NULL, &key_dbt, data, 0);
	} while (env_error_is_conflict(error));
	return error;
}

/* The first `room` bytes of a record, and how big all of it is. */
static int read_start_at(DBC *cursor, const struct wanted *wanted, void *to,
			 size_t room, size_t *ret_have, size_t *ret_bytes)
{
	DBT key, data;
	int error;

	dbt_key(&key, wanted->key, wanted->key_bytes);
	dbt_out(&data, to, room);
	data.flags |= DB_DBT_PARTIAL;
	data.dlen = (uint32_t)room;
	error = cursor->get(cursor, &key, &data, DB_SET);
	if (error != 0)
		return error;
	*ret_have = data.size;
	return peek_size(cursor, ret_bytes);
}

/*
 * The same by a cursor, which holds the lock of the page in between: the head
 * and the size are of the same record.
 */
static int read_start(struct store_reader *reader, const struct wanted *wanted,
		      void *to, size_t room, size_t *ret_have,
		      size_t *ret_bytes)
{
	DBC *cursor;
	int error, close_error;

	do {
		error = reader->db->cursor(reader->db, NULL, &cursor, 0);
		if (error != 0)
			return error;
		error = read_start_at(cursor, wanted, to, room, ret_have,
				      ret_bytes);
		close_error = cursor->close(cursor);
		if (error == 0)
			error = close_error;
	} while (env_error_is_conflict(error));
	return error;
}

/* Reads the record from the cache, or from the database into it, too. */
static int find_record(struct store_reader *reader, const struct wanted *wanted,
		       void *to, size_t room, size_t *ret_bytes,
		       bool *ret_cached)
{
	struct store *store = reader->store;
	struct cache_ticket ticket;
	DBT data;
	int error;

	*ret_cached = cache_get(&store->cache, wanted->hash, wanted->key,
				wanted->key_bytes, to, room, ret_bytes);
	if (*ret_cached)
		return *ret_bytes <= room ? 0 : DB_BUFFER_SMALL;
	/* In this order: a change that is under way must be seen as such. */
	ticket.change = change_last(store->changes, wanted->hash);
	ticket.steady = ticket.change <= atomic_load(&store->clients.applied);
	error = read_record(reader, wanted, to, room, &data);
	*ret_bytes = data.size;
	if (error == 0)
		cache_put(&store->cache, wanted->hash, wanted->key,
			  wanted->key_bytes, to, data.size, store->changes,
			  &ticket);
	return error;
}

/* The record is bigger than the buffer: is it worth more room? */
static enum store_status get_size(struct store_reader *reader,
				  const struct wanted *wanted,
				  struct store_item *ret)
{
	const struct cache *cache = &reader->store->cache;
	unsigned char head[RECORD_HEAD_MAX] = {0};
	size_t have = sizeof(head), record_bytes;
	struct record record;
	int error = 0;

	if (!cache_get(cache, wanted->hash, wanted->key, wanted->key_bytes,
		       head, sizeof(head), &record_bytes))
		error = read_start(reader, wanted, head, sizeof(head), &have,
				   &record_bytes);
	if (error == DB_NOTFOUND)
		return missing(reader, wanted, ret);
	if (error == 0)
		error = record_decode(head, have, &record);
	if (error != 0)
		return reader_failed(reader, error);
	if (!reader_judge(reader, wanted->hash, &record,
			  store_now_seconds(reader->store), ret))
		return STORE_NOT_FOUND;
	ret->value_bytes = record_bytes - record.head_bytes;
	return STORE_GROW;
}

enum store_status store_get(struct store_reader *reader, const char *key,
			    size_t key_bytes, char *buf, size_t buf_bytes,
			    size_t head_room, struct store_item *ret)
{
	const struct wanted wanted = {key, key_bytes, key_hash(key, key_bytes)};
	size_t room = buf_bytes > head_room ? buf_bytes - head_room : 0;
	char *bytes = buf + (room > 0 ? head_room : 0);
	struct record record;
	size_t record_bytes;
	bool cached;
	int error;

	if (room > UINT32_MAX)
		room = UINT32_MAX;
	error = find_record(reader, &wanted, bytes, room, &record_bytes,
			    &cached);
	if (error == DB_NOTFOUND)
		return missing(reader, &wanted, ret);
	if (error == DB_BUFFER_SMALL)
		return get_size(reader, &wanted, ret);
	if (error == 0)
		error = record_decode(bytes, record_bytes, &record);
	if (error != 0)
		return reader_failed(reader, error);
	if (!reader_judge(reader, wanted.hash, &record,
			  store_now_seconds(reader->store), ret))
		return STORE_NOT_FOUND;
	ret->cached = cached;
	ret->value = bytes + record.head_bytes;
	ret->value_bytes = record_bytes - record.head_bytes;
	return STORE_OK;
}

uint64_t store_prefetch(const struct store_reader *reader, const char *key,
			size_t key_bytes)
{
	const struct store *store = reader->store;
	uint64_t hash = key_hash(key, key_bytes);

	cache_prefetch_index(&store->cache, hash);
	change_prefetch(store->changes, hash);
	return hash;
}

void store_prefetch_record(const struct store_reader *reader, uint64_t hash)
{
	cache_prefetch_record(&reader->store->cache, hash);
}
