/*
 * peek.c - see peek.h.
 */
#include "storage/peek.h"

#include "storage/dbt.h"

int peek_get(DBC *cursor, DBT *key, uint32_t flags, struct peek *peek)
{
	DBT data;
	int error;

	dbt_out(&data, peek->bytes, peek->room);
	error = cursor->get(cursor, key, &data, flags);
	peek->record_bytes = data.size;
	if (error == DB_BUFFER_SMALL && data.size > data.ulen) {
		/*
		 * The same again, in part: the cursor has not moved, or, if it
		 * works in place, goes to a key.
		 */
		data.flags |= DB_DBT_PARTIAL;
		data.dlen = data.ulen;
		error = cursor->get(cursor, key, &data, flags);
	}
	if (error != 0)
		return error;
	peek->have = data.size;
	return record_decode(peek->bytes, peek->have, &peek->record);
}

int peek_size(DBC *cursor, size_t *ret_bytes)
{
	DBT key, data;
	int error;

	dbt_out(&key, NULL, 0);
	key.flags |= DB_DBT_PARTIAL;
	/* It has to fail: only then it tells. */
	dbt_out(&data, NULL, 0);
	error = cursor->get(cursor, &key, &data, DB_CURRENT);
	if (error != 0 && error != DB_BUFFER_SMALL)
		return error;
	*ret_bytes = data.size;
	return 0;
}
