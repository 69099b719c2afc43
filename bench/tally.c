/*
 * tally.c - see tally.h.
 */
#include "bench/tally.h"

#include <stdio.h>
#include <string.h>

#define SAID_MAX 120

void tally_merge(struct tally *to, const struct tally *from)
{
	to->hits += from->hits;
	to->misses += from->misses;
	to->bytes_sent += from->bytes_sent;
	to->bytes_received += from->bytes_received;
	histogram_merge(&to->set_ns, &from->set_ns);
	histogram_merge(&to->get_ns, &from->get_ns);
	histogram_merge(&to->hot_ns, &from->hot_ns);
	if (to->errors == 0)
		memcpy(to->first_error, from->first_error,
		       sizeof(to->first_error));
	to->errors += from->errors;
}

void tally_error(struct tally *tally, uint64_t count, const char *what,
		 const char *said, size_t said_bytes)
{
	char text[SAID_MAX + 1];
	size_t bytes = said_bytes < SAID_MAX ? said_bytes : SAID_MAX;

	if (tally->errors == 0) {
		for (size_t i = 0; i < bytes; i++)
			text[i] = said[i] >= ' ' && said[i] <= '~' ? said[i]
								   : '.';
		text[bytes] = '\0';
		snprintf(tally->first_error, sizeof(tally->first_error),
			 "%s: %s", what, text);
	}
	tally->errors += count;
}
