/*
 * refuse.c - see refuse.h.
 */
#include "storage/refuse.h"

#include <db.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

int refuse(struct store_refused *refused, enum store_refusal why, int error,
	   const char *format, ...)
{
	va_list args;

	va_start(args, format);
	(void)vsnprintf(refused->text, sizeof(refused->text), format, args);
	va_end(args);
	for (char *p = refused->text; *p != '\0'; p++)
		if ((unsigned char)*p < ' ')
			*p = '?';
	refused->why = why;
	return -error;
}

enum store_refusal refusal_of(int error)
{
	switch (error) {
	case EACCES:
	case EPERM:
	case EROFS:
		return STORE_REFUSED_PERMISSION;
	case ENOMEM:
	case ENOSPC:
	case EDQUOT:
	case EMFILE:
	case ENFILE:
	case EAGAIN:
	case EFBIG:
		return STORE_REFUSED_SYSTEM;
	case DB_VERSION_MISMATCH:
	case DB_OLD_VERSION:
		return STORE_REFUSED_FOREIGN;
	default:
		return STORE_REFUSED_DAMAGED;
	}
}
