/*
 * dialect.c - the table of dialects and what they share, see dialect.h.
 */
#include "bench/dialect.h"

#include <string.h>

static const struct dialect *const dialects[] = {
	&dialect_classic,    &dialect_classic_quiet, &dialect_meta,
	&dialect_meta_quiet, &dialect_binary,	     &dialect_binary_quiet,
	&dialect_redis,
};

const struct dialect *dialect_at(size_t i)
{
	return i < sizeof(dialects) / sizeof(dialects[0]) ? dialects[i] : NULL;
}

const struct dialect *dialect_find(const char *name)
{
	const struct dialect *dialect;

	for (size_t i = 0; (dialect = dialect_at(i)) != NULL; i++)
		if (strcmp(dialect->name, name) == 0)
			return dialect;
	return NULL;
}

size_t dialect_line(const char *buf, size_t len)
{
	const char *end = memchr(buf, '\n', len);

	if (end == NULL)
		return 0;
	return (size_t)(end - buf) + 1;
}

bool dialect_number(const char **text, const char *end, size_t *ret)
{
	const char *at = *text;
	size_t number = 0;

	while (at < end && *at >= '0' && *at <= '9' && at - *text < 18)
		number = number * 10 + (size_t)(*at++ - '0');
	if (at == *text || (at < end && *at >= '0' && *at <= '9'))
		return false;
	*text = at;
	*ret = number;
	return true;
}

char *dialect_put_number(char *out, size_t number)
{
	char digits[20];
	size_t count = 0;

	do {
		digits[count++] = (char)('0' + number % 10);
		number /= 10;
	} while (number > 0);
	while (count > 0)
		*out++ = digits[--count];
	return out;
}

char *dialect_put_text(char *out, const char *text, size_t bytes)
{
	memcpy(out, text, bytes);
	return out + bytes;
}
