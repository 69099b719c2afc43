/*
 * meta.c - see meta.h; FORMAT.md has the byte tables.
 */
#include "storage/meta.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "storage/dbt.h"
#include "storage/home.h"
#include "storage/record.h"
#include "storage/refuse.h"

#define META_PAGE_BYTES 4096
#define FORMAT_KEY	"format"
#define STATE_KEY	"state"
#define FORMAT_BYTES	40
#define STATE_FIELDS	11
#define STATE_BYTES	(8 * STATE_FIELDS)

enum { TYPE_BTREE = 1, TYPE_HASH = 2 };

static int put(DB *db, DB_TXN *txn, const char *name, const void *bytes,
	       size_t size)
{
	DBT key, data;

	dbt_in(&key, name, strlen(name));
	dbt_in(&data, bytes, size);
	return db->put(db, txn, &key, &data, 0);
}

/* A record of another size than expected is -EBADMSG. */
static int get(DB *db, const char *name, void *bytes, size_t size)
{
	DBT key, data;
	int error;

	dbt_key(&key, name, strlen(name));
	dbt_out(&data, bytes, size);
	error = db->get(db, NULL, &key, &data, 0);
	if (error == DB_BUFFER_SMALL || (error == 0 && data.size != size))
		return -EBADMSG;
	return error;
}

static void encode_state(const struct state *state, unsigned char *to)
{
	const uint64_t fields[STATE_FIELDS] = {
		state->next_stamp,
		state->live_items,
		state->live_bytes,
		state->hidden_items,
		state->hidden_bytes,
		state->flush_cutoff,
		(uint64_t)state->flush_due,
		state->reclaim_cutoff,
		state->grace_cutoff,
		(uint64_t)state->grace_until,
		state->loose | (uint64_t)state->start << 32,
	};

	for (size_t i = 0; i < STATE_FIELDS; i++)
		record_put64(to + 8 * i, fields[i]);
}

static void decode_state(const unsigned char *from, struct state *ret)
{
	uint64_t fields[STATE_FIELDS];

	for (size_t i = 0; i < STATE_FIELDS; i++)
		fields[i] = record_get64(from + 8 * i);
	ret->next_stamp = fields[0];
	ret->live_items = fields[1];
	ret->live_bytes = fields[2];
	ret->hidden_items = fields[3];
	ret->hidden_bytes = fields[4];
	ret->flush_cutoff = fields[5];
	ret->flush_due = (int64_t)fields[6];
	ret->reclaim_cutoff = fields[7];
	ret->grace_cutoff = fields[8];
	ret->grace_until = (int64_t)fields[9];
	ret->loose = (uint32_t)fields[10];
	ret->start = (uint32_t)(fields[10] >> 32);
}

static int put_format(struct meta *meta, DB_TXN *txn, bool hash)
{
	unsigned char bytes[FORMAT_BYTES] = {0};
	int major, minor, patch;

	(void)db_version(&major, &minor, &patch);
	record_put32(bytes, META_FORMAT_VERSION);
	record_put32(bytes + 4, (uint32_t)major);
	record_put32(bytes + 8, (uint32_t)minor);
	record_put32(bytes + 12, (uint32_t)patch);
	record_put32(bytes + 16, hash ? TYPE_HASH : TYPE_BTREE);
	memcpy(bytes + 24, meta->history, META_HISTORY_BYTES);
	return put(meta->db, txn, FORMAT_KEY, bytes, sizeof(bytes));
}

static int judge_format(const unsigned char *bytes, const char *path,
			struct store_refused *refused)
{
	int major, minor, patch;
	uint32_t version = record_get32(bytes);
	uint32_t type = record_get32(bytes + 16);

	(void)db_version(&major, &minor, &patch);
	if (version < META_FORMAT_OLDEST || version > META_FORMAT_VERSION)
		return refuse(refused, STORE_REFUSED_FOREIGN, EINVAL,
			      "%s: format version %u, this server knows %d; "
			      "use the server that wrote it, or dump and load",
			      path, (unsigned)version, META_FORMAT_VERSION);
	if (record_get32(bytes + 4) != (uint32_t)major ||
	    record_get32(bytes + 8) != (uint32_t)minor)
		return refuse(refused, STORE_REFUSED_FOREIGN, EINVAL,
			      "%s: written with Berkeley DB %u.%u, this server "
			      "has %d.%d; use that version, or dump and load",
			      path, (unsigned)record_get32(bytes + 4),
			      (unsigned)record_get32(bytes + 8), major, minor);
	if (type != TYPE_BTREE && type != TYPE_HASH)
		return refuse(refused, STORE_REFUSED_FOREIGN, EINVAL,
			      "%s: unknown type %u of the data; use the server "
			      "that wrote it, or dump and load",
			      path, (unsigned)type);
	return 0;
}

static DBTYPE data_type_in(const unsigned char *format)
{
	return record_get32(format + 16) == TYPE_HASH ? DB_HASH : DB_BTREE;
}

static int read_format(DB *db, const char *path, unsigned char *bytes,
		       struct store_refused *refused)
{
	int error = get(db, FORMAT_KEY, bytes, FORMAT_BYTES);

	if (error == 0)
		return judge_format(bytes, path, refused);
	if (error == -EBADMSG)
		return refuse(refused, STORE_REFUSED_FOREIGN, EINVAL,
			      "%s: format record of an unknown size; use the "
			      "server that wrote it",
			      path);
	return refuse(refused, STORE_REFUSED_DAMAGED, EINVAL,
		      "%s: no format record: %s; restore a backup", path,
		      db_strerror(error));
}

static void ignore_words(const DB_ENV *db_env, const char *prefix,
			 const char *text)
{
	(void)db_env;
	(void)prefix;
	(void)text;
}

int meta_judge(const struct home *home, struct store_refused *refused)
{
	unsigned char bytes[FORMAT_BYTES];
	char *path = home_path(home->dir, HOME_META_FILE);
	DB *db = NULL;
	int error;

	if (path == NULL || db_create(&db, NULL, 0) != 0) {
		free(path);
		return refuse(refused, STORE_REFUSED_SYSTEM, ENOMEM,
			      "%s: no memory", home->dir);
	}
	db->set_errcall(db, ignore_words);
	error = db->open(db, NULL, path, NULL, DB_BTREE, DB_RDONLY, 0);
	if (error != 0)
		error = refuse(
			refused, refusal_of(error), error > 0 ? error : EIO,
			"%s: cannot be opened: %s", path, db_strerror(error));
	else
		error = read_format(db, path, bytes, refused);
	(void)db->close(db, 0);
	free(path);
	return error;
}

int meta_create(struct meta *meta, struct env *env, DB_TXN *txn, bool hash,
		const struct state *state)
{
	int error;

	if (getrandom(meta->history, META_HISTORY_BYTES, 0) !=
	    META_HISTORY_BYTES)
		return EIO;
	error = env_open_db(env, txn, HOME_META_FILE, DB_BTREE, META_PAGE_BYTES,
			    DB_CREATE | DB_EXCL, &meta->db);
	if (error != 0)
		return error;
	error = put_format(meta, txn, hash);
	if (error == 0)
		error = meta_put_state(meta, txn, state);
	return error;
}

/* From now on an older server must refuse the directory. */
static int raise_format(struct meta *meta, unsigned char *format)
{
	if (record_get32(format) == META_FORMAT_VERSION)
		return 0;
	record_put32(format, META_FORMAT_VERSION);
	return put(meta->db, NULL, FORMAT_KEY, format, FORMAT_BYTES);
}

int meta_open(struct meta *meta, struct env *env, const struct home *home,
	      struct state *ret_state, struct store_refused *refused)
{
	unsigned char format[FORMAT_BYTES], state[STATE_BYTES];
	int error = env_open_db(env, NULL, HOME_META_FILE, DB_BTREE, 0,
				DB_AUTO_COMMIT, &meta->db);

	if (error != 0)
		return env_refuse(env, error, HOME_META_FILE, refused);
	error = read_format(meta->db, HOME_META_FILE, format, refused);
	if (error != 0)
		goto out_close;
	meta->data_type = data_type_in(format);
	memcpy(meta->history, format + 24, META_HISTORY_BYTES);
	error = get(meta->db, STATE_KEY, state, STATE_BYTES);
	if (error != 0) {
		error = refuse(refused, STORE_REFUSED_DAMAGED, EINVAL,
			       "%s/%s: no state record; restore a backup",
			       home->dir, HOME_META_FILE);
		goto out_close;
	}
	error = raise_format(meta, format);
	if (error != 0) {
		error = env_refuse(env, error, HOME_META_FILE, refused);
		goto out_close;
	}
	decode_state(state, ret_state);
	return 0;

out_close:
	meta_close(meta);
	return error;
}

int meta_put_state(struct meta *meta, DB_TXN *txn, const struct state *state)
{
	unsigned char bytes[STATE_BYTES];

	encode_state(state, bytes);
	return put(meta->db, txn, STATE_KEY, bytes, sizeof(bytes));
}

/* Nothing to sync: a checkpoint does it, or the store has failed. */
void meta_close(struct meta *meta)
{
	if (meta->db != NULL)
		(void)meta->db->close(meta->db, DB_NOSYNC);
	meta->db = NULL;
}
