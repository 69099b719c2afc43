/*
 * order.h - the order of keys: bytes as memcmp compares them, shorter first.
 *
 * That is Berkeley DB's own order, and its own way to shorten keys on inner
 * pages, so the files are the same and its tools can work with them. Only it
 * is not done byte by byte: a look-up compares about 20 keys.
 *
 * Threads: any.
 */
#ifndef STORAGE_ORDER_H
#define STORAGE_ORDER_H

#include <db.h>

/* Makes a handle that will be opened as a B-tree use it. 0 or an error. */
int order_use(DB *db);

#endif
