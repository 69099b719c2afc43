/*
 * One round of the C library libmemcached: libmemcached HOST PORT text|binary.
 *
 * Prints a line per failed check and ends with status 1, or prints "ok". What
 * it leaves behind is described in conftest.py. One thread.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <libmemcached/memcached.h>

#define LARGE_BYTES 500000
#define LIMIT_BYTES (1 << 20)
#define MANY	    300

struct round {
	memcached_st *client;
	bool binary;
	int failures;
};

static void check(struct round *round, const char *what, bool right)
{
	if (right)
		return;
	round->failures++;
	printf("%s: wrong (last error: %s)\n", what,
	       memcached_last_error_message(round->client));
}

static void check_answer(struct round *round, const char *what,
			 memcached_return_t got, memcached_return_t wanted)
{
	if (got == wanted)
		return;
	round->failures++;
	printf("%s: got %s, wanted %s\n", what,
	       memcached_strerror(round->client, got),
	       memcached_strerror(round->client, wanted));
}

static memcached_return_t set(struct round *round, const char *key,
			      const char *value, time_t expiry)
{
	return memcached_set(round->client, key, strlen(key), value,
			     strlen(value), expiry, 7);
}

static bool holds(struct round *round, const void *key, size_t key_length,
		  const void *wanted, size_t wanted_length)
{
	memcached_return_t result;
	uint32_t flags;
	size_t length;
	char *value = memcached_get(round->client, key, key_length, &length,
				    &flags, &result);
	bool right = result == MEMCACHED_SUCCESS && length == wanted_length &&
		     memcmp(value ? value : "", wanted, length) == 0;

	free(value);
	return right;
}

static bool says(struct round *round, const char *key, const char *wanted)
{
	return holds(round, key, strlen(key), wanted, strlen(wanted));
}

static void try_storing(struct round *round)
{
	memcached_st *m = round->client;

	check_answer(round, "set", set(round, "k", "value", 0),
		     MEMCACHED_SUCCESS);
	check(round, "get", says(round, "k", "value"));
	check_answer(round, "add what is there",
		     memcached_add(m, "k", 1, "x", 1, 0, 0),
		     round->binary ? MEMCACHED_DATA_EXISTS
				   : MEMCACHED_NOTSTORED);
	check_answer(round, "add", memcached_add(m, "new", 3, "x", 1, 0, 0),
		     MEMCACHED_SUCCESS);
	check_answer(round, "replace nothing",
		     memcached_replace(m, "none", 4, "x", 1, 0, 0),
		     round->binary ? MEMCACHED_NOTFOUND : MEMCACHED_NOTSTORED);
	check_answer(round, "replace",
		     memcached_replace(m, "new", 3, "yy", 2, 0, 0),
		     MEMCACHED_SUCCESS);
	check_answer(round, "append",
		     memcached_append(m, "new", 3, ">", 1, 0, 0),
		     MEMCACHED_SUCCESS);
	check_answer(round, "prepend",
		     memcached_prepend(m, "new", 3, "<", 1, 0, 0),
		     MEMCACHED_SUCCESS);
	check(round, "appended", says(round, "new", "<yy>"));
	check_answer(round, "append to nothing",
		     memcached_append(m, "none", 4, ">", 1, 0, 0),
		     MEMCACHED_NOTSTORED);
	check_answer(round, "empty value", set(round, "empty", "", 0),
		     MEMCACHED_SUCCESS);
	check(round, "empty value back", says(round, "empty", ""));
	check_answer(round, "dead on arrival", set(round, "dead", "1", 2592001),
		     MEMCACHED_SUCCESS);
	check_answer(round, "dead", memcached_exist(m, "dead", 4),
		     MEMCACHED_NOTFOUND);
}

static void try_numbers(struct round *round)
{
	memcached_st *m = round->client;
	memcached_return_t result;
	uint64_t number = 0;

	(void)set(round, "n", "99", 0);
	result = memcached_increment(m, "n", 1, 2, &number);
	check(round, "incr", result == MEMCACHED_SUCCESS && number == 101);
	result = memcached_decrement(m, "n", 1, 1, &number);
	check(round, "decr", result == MEMCACHED_SUCCESS && number == 100);
	check(round, "as text", says(round, "n", "100"));
	check_answer(round, "incr nothing",
		     memcached_increment(m, "none", 4, 1, &number),
		     MEMCACHED_NOTFOUND);
	if (!round->binary)
		return;
	result = memcached_increment_with_initial(m, "fresh", 5, 1, 70, 0,
						  &number);
	check(round, "initial", result == MEMCACHED_SUCCESS && number == 70);
	result = memcached_decrement_with_initial(m, "fresh", 5, 100, 70, 0,
						  &number);
	check(round, "not below 0", result == MEMCACHED_SUCCESS && number == 0);
}

static uint64_t cas_of(struct round *round, const char *key)
{
	const char *keys[] = {key};
	size_t lengths[] = {strlen(key)};
	memcached_return_t result;
	memcached_result_st *found;
	uint64_t cas = 0;

	if (memcached_mget(round->client, keys, lengths, 1) !=
	    MEMCACHED_SUCCESS)
		return 0;
	while ((found = memcached_fetch_result(round->client, NULL, &result))) {
		cas = memcached_result_cas(found);
		memcached_result_free(found);
	}
	return cas;
}

static void try_cas(struct round *round)
{
	memcached_st *m = round->client;
	uint64_t cas;

	memcached_behavior_set(m, MEMCACHED_BEHAVIOR_SUPPORT_CAS, 1);
	(void)set(round, "c", "1", 0);
	cas = cas_of(round, "c");
	check(round, "has a cas id", cas != 0);
	check_answer(round, "cas", memcached_cas(m, "c", 1, "2", 1, 0, 0, cas),
		     MEMCACHED_SUCCESS);
	check_answer(round, "cas with the old id",
		     memcached_cas(m, "c", 1, "3", 1, 0, 0, cas),
		     MEMCACHED_DATA_EXISTS);
	check_answer(round, "cas of nothing",
		     memcached_cas(m, "none", 4, "3", 1, 0, 0, cas),
		     MEMCACHED_NOTFOUND);
	check(round, "cas kept", says(round, "c", "2"));
}

static void try_touch_and_delete(struct round *round)
{
	memcached_st *m = round->client;

	check_answer(round, "touch", memcached_touch(m, "k", 1, 1000),
		     MEMCACHED_SUCCESS);
	check_answer(round, "touch nothing",
		     memcached_touch(m, "none", 4, 1000), MEMCACHED_NOTFOUND);
	check_answer(round, "exist", memcached_exist(m, "k", 1),
		     MEMCACHED_SUCCESS);
	check_answer(round, "delete", memcached_delete(m, "k", 1, 0),
		     MEMCACHED_SUCCESS);
	check_answer(round, "delete nothing", memcached_delete(m, "k", 1, 0),
		     MEMCACHED_NOTFOUND);
}

/* Sets of all keys, then one mget of them and of as many that are missing. */
static void try_many(struct round *round, const char *how)
{
	static char names[2 * MANY][16];
	const char *keys[2 * MANY];
	size_t lengths[2 * MANY];
	memcached_return_t result;
	memcached_result_st *found;
	int right = 0;

	for (size_t i = 0; i < 2 * MANY; i++) {
		lengths[i] = (size_t)snprintf(names[i], sizeof(names[i]),
					      "key%zu", i);
		keys[i] = names[i];
	}
	for (size_t i = 0; i < MANY; i++)
		(void)memcached_set(round->client, keys[i], lengths[i], keys[i],
				    lengths[i], 0, 0);
	result = memcached_flush_buffers(round->client);
	check_answer(round, how, result, MEMCACHED_SUCCESS);
	result = memcached_mget(round->client, keys, lengths, 2 * MANY);
	check_answer(round, how, result, MEMCACHED_SUCCESS);
	while ((found = memcached_fetch_result(round->client, NULL, &result))) {
		size_t length = memcached_result_length(found);

		right += length == memcached_result_key_length(found) &&
			 memcmp(memcached_result_value(found),
				memcached_result_key_value(found), length) == 0;
		memcached_result_free(found);
	}
	check_answer(round, how, result, MEMCACHED_NOTFOUND);
	check(round, how, right == MANY);
}

/*
 * Quiet binary commands answer when they fail, and the library does not expect
 * that: there only what succeeds is sent.
 */
static void try_noreply(struct round *round)
{
	memcached_st *m = round->client;

	memcached_behavior_set(m, MEMCACHED_BEHAVIOR_NOREPLY, 1);
	try_many(round, "noreply");
	(void)memcached_append(m, "key1", 4, "+", 1, 0, 0);
	(void)memcached_delete(m, "key2", 4, 0);
	if (!round->binary) {
		(void)memcached_add(m, "key1", 4, "x", 1, 0, 0);
		(void)memcached_replace(m, "none", 4, "x", 1, 0, 0);
		(void)memcached_delete(m, "none", 4, 0);
	}
	memcached_behavior_set(m, MEMCACHED_BEHAVIOR_NOREPLY, 0);
	check(round, "appended without reply", says(round, "key1", "key1+"));
	check_answer(round, "deleted without reply",
		     memcached_exist(m, "key2", 4), MEMCACHED_NOTFOUND);
	check_answer(round, "in step", memcached_exist(m, "none", 4),
		     MEMCACHED_NOTFOUND);
}

static void try_without_waiting(struct round *round)
{
	memcached_st *m = round->client;

	try_many(round, "one by one");
	memcached_behavior_set(m, MEMCACHED_BEHAVIOR_BUFFER_REQUESTS, 1);
	try_many(round, "buffered");
	memcached_behavior_set(m, MEMCACHED_BEHAVIOR_BUFFER_REQUESTS, 0);
	try_noreply(round);
	memcached_behavior_set(m, MEMCACHED_BEHAVIOR_NO_BLOCK, 1);
	memcached_behavior_set(m, MEMCACHED_BEHAVIOR_TCP_NODELAY, 1);
	try_many(round, "non-blocking");
	memcached_behavior_set(m, MEMCACHED_BEHAVIOR_NO_BLOCK, 0);
}

/* The text protocol allows neither blanks nor control characters in keys. */
static void try_odd_bytes(struct round *round)
{
	static const char key[] = "all \r\n\t\0bytes \x80\xff";
	static const char longest[251] = {0};
	char every[256];
	size_t length = round->binary ? sizeof(key) : 1;

	for (size_t i = 0; i < sizeof(every); i++)
		every[i] = (char)i;
	check_answer(round, "set every byte",
		     memcached_set(round->client, key, length, every,
				   sizeof(every), 0, 0),
		     MEMCACHED_SUCCESS);
	check(round, "every byte back",
	      holds(round, key, length, every, sizeof(every)));
	if (!round->binary)
		return;
	check_answer(round, "250 NULs as key",
		     memcached_set(round->client, longest, 250, "1", 1, 0, 0),
		     MEMCACHED_SUCCESS);
	check(round, "250 NULs back", holds(round, longest, 250, "1", 1));
}

static void try_server(struct round *round, in_port_t port)
{
	memcached_st *m = round->client;
	memcached_return_t result;
	memcached_stat_st *stats;
	const memcached_instance_st *server =
		memcached_server_instance_by_position(m, 0);

	check_answer(round, "version", memcached_version(m), MEMCACHED_SUCCESS);
	check(round, "version is n.n.n",
	      memcached_server_major_version(server) != UINT8_MAX);
	stats = memcached_stat(m, NULL, &result);
	check_answer(round, "stats", result, MEMCACHED_SUCCESS);
	if (stats)
		check(round, "pid in stats", stats->pid > 1);
	memcached_stat_free(m, stats);
	check(round, "port", memcached_server_port(server) == port);
	check_answer(round, "flush", memcached_flush(m, 0), MEMCACHED_SUCCESS);
	check_answer(round, "flushed", memcached_exist(m, "key1", 4),
		     MEMCACHED_NOTFOUND);
}

static void leave_behind(struct round *round)
{
	char *large = malloc(LIMIT_BYTES + 1);

	if (!large)
		abort();
	memset(large, 'x', LIMIT_BYTES + 1);
	check_answer(round, "large",
		     memcached_set(round->client, "large", 5, large,
				   LARGE_BYTES, 0, 0),
		     MEMCACHED_SUCCESS);
	check(round, "large back",
	      holds(round, "large", 5, large, LARGE_BYTES));
	check(round, "too large is refused",
	      memcached_set(round->client, "large", 5, large, LIMIT_BYTES + 1,
			    0, 0) != MEMCACHED_SUCCESS);
	free(large);
	check_answer(round, "brief", set(round, "brief", "1", 1),
		     MEMCACHED_SUCCESS);
	check_answer(round, "lasting", set(round, "lasting", "1", 1000),
		     MEMCACHED_SUCCESS);
}

int main(int argc, char **argv)
{
	struct round round = {.client = memcached_create(NULL)};
	const char *patience_s = getenv("PATIENCE_S");
	uint64_t patience_ms;
	in_port_t port = 0;

	if (argc != 4 || !round.client || !patience_s)
		return 2;
	port = (in_port_t)strtoul(argv[2], NULL, 10);
	patience_ms = strtoul(patience_s, NULL, 10) * 1000;
	round.binary = strcmp(argv[3], "binary") == 0;
	memcached_behavior_set(round.client, MEMCACHED_BEHAVIOR_BINARY_PROTOCOL,
			       round.binary);
	memcached_behavior_set(round.client, MEMCACHED_BEHAVIOR_POLL_TIMEOUT,
			       patience_ms);
	memcached_behavior_set(round.client, MEMCACHED_BEHAVIOR_CONNECT_TIMEOUT,
			       patience_ms);
	check_answer(&round, "server",
		     memcached_server_add(round.client, argv[1], port),
		     MEMCACHED_SUCCESS);
	try_storing(&round);
	try_numbers(&round);
	try_cas(&round);
	try_touch_and_delete(&round);
	try_without_waiting(&round);
	try_odd_bytes(&round);
	try_server(&round, port);
	leave_behind(&round);
	memcached_free(round.client);
	if (round.failures == 0)
		puts("ok");
	return round.failures ? 1 : 0;
}
