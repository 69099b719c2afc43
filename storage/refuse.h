/*
 * refuse.h - says why a store is not opened.
 *
 * Threads: main, while opening.
 */
#ifndef STORAGE_REFUSE_H
#define STORAGE_REFUSE_H

#include "storage/config.h"

/*
 * Fills *refused with the reason and one line of text, made as by printf.
 * Control characters of file names are replaced. Returns -error.
 */
int refuse(struct store_refused *refused, enum store_refusal why, int error,
	   const char *format, ...) __attribute__((format(printf, 4, 5)));

/* The reason that an errno or a Berkeley DB error stands for while opening. */
enum store_refusal refusal_of(int error);

#endif
