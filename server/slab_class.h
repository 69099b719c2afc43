/*
 * slab_class.h - the one slab class that is shown of a store without slabs.
 *
 * Tools of memcached's ask for classes by number. All items are in class 1;
 * the other numbers exist and are empty. Thread: any. Blocks: never.
 */
#ifndef SERVER_SLAB_CLASS_H
#define SERVER_SLAB_CLASS_H

#include <stdbool.h>

#include "protocol/protocol.h"

#define SLAB_CLASS_OURS 1
#define SLAB_CLASS_MAX	63

/*
 * Reads "all", "hash", or numbers with commas. Returns false if one of them
 * is none of a class; else *ret_ours says whether class 1 is among them.
 */
static inline bool slab_classes(struct proto_slice words, bool *ret_ours)
{
	bool ours =
		proto_slice_is(words, "all") || proto_slice_is(words, "hash");
	size_t start = 0;

	for (size_t i = 0; !ours && i <= words.len; i++) {
		struct proto_slice number = {words.data + start, i - start};
		uint32_t class;

		if (i < words.len && words.data[i] != ',')
			continue;
		if (!proto_parse_u32(number, &class) || class == 0 ||
		    class > SLAB_CLASS_MAX)
			return false;
		start = i + 1;
		ours = class == SLAB_CLASS_OURS;
	}
	*ret_ours = ours;
	return true;
}

#endif
