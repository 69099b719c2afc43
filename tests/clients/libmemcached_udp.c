/*
 * Writes of the C library libmemcached by UDP: libmemcached_udp HOST PORT.
 *
 * By UDP it only sends, and reads no answer. test_libmemcached.py looks at what
 * has come of it. Prints "ok". One thread.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <libmemcached/memcached.h>

static bool write_items(memcached_st *m)
{
	bool right = true;

	for (int i = 0; i < 50; i++) {
		char key[16];
		size_t length = (size_t)snprintf(key, sizeof(key), "key%d", i);

		right &= memcached_set(m, key, length, key, length, 0, 0) ==
			 MEMCACHED_SUCCESS;
	}
	right &= memcached_add(m, "key1", 4, "x", 1, 0, 0) == MEMCACHED_SUCCESS;
	right &= memcached_append(m, "key2", 4, "+", 1, 0, 0) ==
		 MEMCACHED_SUCCESS;
	right &= memcached_prepend(m, "key3", 4, "-", 1, 0, 0) ==
		 MEMCACHED_SUCCESS;
	right &= memcached_replace(m, "key4", 4, "new", 3, 0, 0) ==
		 MEMCACHED_SUCCESS;
	right &= memcached_delete(m, "key5", 4, 0) == MEMCACHED_SUCCESS;
	right &= memcached_set(m, "last", 4, "1", 1, 0, 0) == MEMCACHED_SUCCESS;
	return right;
}

int main(int argc, char **argv)
{
	memcached_st *m = memcached_create(NULL);
	bool right = argc == 3 && m != NULL;

	right = right && memcached_behavior_set(m, MEMCACHED_BEHAVIOR_USE_UDP,
						1) == MEMCACHED_SUCCESS;
	right = right &&
		memcached_server_add(m, argv[1],
				     (in_port_t)strtoul(argv[2], NULL, 10)) ==
			MEMCACHED_SUCCESS;
	right = right && write_items(m);
	puts(right ? "ok" : memcached_last_error_message(m));
	memcached_free(m);
	return right ? 0 : 1;
}
