/*
 * order.c - see order.h.
 */
#include "storage/order.h"

#include <stdint.h>
#include <string.h>

static uint32_t shorter_of(const DBT *a, const DBT *b)
{
	return a->size < b->size ? a->size : b->size;
}

static int compare(DB *db, const DBT *a, const DBT *b)
{
	int order = memcmp(a->data, b->data, shorter_of(a, b));

	(void)db;
	if (order != 0)
		return order;
	return a->size < b->size ? -1 : a->size > b->size;
}

/* How many bytes of b, the greater key, tell it from a. */
static size_t distinguish(DB *db, const DBT *a, const DBT *b)
{
	const unsigned char *p = a->data, *q = b->data;
	uint32_t shorter = shorter_of(a, b);
	uint32_t same = 0;

	(void)db;
	while (same < shorter && p[same] == q[same])
		same++;
	if (same < shorter || a->size != b->size)
		return (size_t)same + 1;
	return same;
}

int order_use(DB *db)
{
	int error = db->set_bt_compare(db, compare);

	/* In this order: the other one takes the prefixes away. */
	if (error == 0)
		error = db->set_bt_prefix(db, distinguish);
	return error;
}
