/*
 * dbt.h - fills Berkeley DB's argument records.
 *
 * Threads: any.
 */
#ifndef STORAGE_DBT_H
#define STORAGE_DBT_H

#include <db.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Bytes that are only read. DBT has no const, Berkeley DB keeps the promise. */
static inline void dbt_in(DBT *dbt, const void *bytes, size_t size)
{
	memset(dbt, 0, sizeof(*dbt));
	dbt->data = (void *)(uintptr_t)bytes;
	dbt->size = (uint32_t)size;
}

/*
 * A key that is looked for. Where there is a comparison of ours Berkeley DB
 * would give back the key it has found, which is the same.
 */
static inline void dbt_key(DBT *dbt, const void *key, size_t size)
{
	dbt_in(dbt, key, size);
	dbt->flags = DB_DBT_READONLY;
}

/* Room that is written to: at most `room` bytes. */
static inline void dbt_out(DBT *dbt, void *to, size_t room)
{
	memset(dbt, 0, sizeof(*dbt));
	dbt->data = to;
	dbt->ulen = (uint32_t)room;
	dbt->flags = DB_DBT_USERMEM;
}

#endif
