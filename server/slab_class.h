/*
 * slab_class.h - the one slab class that is shown of a store without slabs.
 *
 * Tools of memcached's ask for classes by number. All items are in class 1;
 * the other numbers exist and are empty. Thread: any. Blocks: never.
 */
#ifndef SERVER_SLAB_CLASS_H
#define SERVER_SLAB_CLASS_H

#include <stdbool.h>
#include <string.h>

#include "protocol/protocol.h"

#define SLAB_CLASS_OURS 1
#define SLAB_CLASS_MAX	63

/*
 * Reads "all", "hash", or numbers with commas. Returns false if one of them
 * is none of a class; else *ret_ours says whether class 1 is among them.
 */
static inline bool slab_classes(struct proto_slice words, bool *ret_ours)
{
	bool all =
		proto_slice_is(words, "all") || proto_slice_is(words, "hash");
	bool ours = all;

	while (!all && words.len > 0) {
		const char *comma = memchr(words.data, ',', words.len);
		size_t bytes = comma != NULL ? (size_t)(comma - words.data)
					     : words.len;
		struct proto_slice number = {words.data, bytes};
		uint32_t class;

		words.data += bytes + (comma != NULL);
		words.len -= bytes + (comma != NULL);
		if (bytes == 0)
			continue;
		if (!proto_parse_u32(number, &class) || class == 0 ||
		    class > SLAB_CLASS_MAX)
			return false;
		ours |= class == SLAB_CLASS_OURS;
	}
	*ret_ours = ours;
	return true;
}

#endif
