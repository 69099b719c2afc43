/*
 * test_storage_threads.c - several clients and readers at once.
 */
#include <check.h>
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "tests/unit/run_suite.h"
#include "tests/unit/storage_rig.h"

#define THREADS	     4
#define OPS	     1500
#define IN_FLIGHT    16
#define ADD_KEYS     200
#define PATTERN_KEYS 8
#define CHANGES_MIN  300
#define READS_MIN    300

static struct rig rig;

/* A submitter: a thread, its client, how to wait for it. */
struct crew {
	pthread_t thread;
	int number;
	int wake_fd;
	struct store_client *client;
	uint64_t done, ok;
	atomic_uint reads;
	atomic_bool *stop;
};

static void set_up(void)
{
	rig_init(&rig);
	rig_open(&rig);
}

static void tear_down(void)
{
	rig_done(&rig);
}

static void crew_wake(void *arg)
{
	struct crew *crew = arg;
	uint64_t one = 1;

	ck_assert_int_eq(write(crew->wake_fd, &one, sizeof(one)), 8);
}

static void crew_wait(struct crew *crew)
{
	struct pollfd fd = {.fd = crew->wake_fd, .events = POLLIN};
	uint64_t count;

	ck_assert_int_eq(poll(&fd, 1, -1), 1);
	ck_assert_int_eq(read(crew->wake_fd, &count, sizeof(count)), 8);
}

static void crew_join(struct crew *crew)
{
	crew->wake_fd = eventfd(0, EFD_CLOEXEC);
	ck_assert_int_ge(crew->wake_fd, 0);
	ck_assert_int_eq(
		store_client_new(rig.store, crew_wake, crew, &crew->client), 0);
}

static void crew_leave(struct crew *crew)
{
	store_client_free(crew->client);
	(void)close(crew->wake_fd);
}

/* Takes what is done; the order is that of the submits. */
static void crew_reap(struct crew *crew)
{
	struct store_op *op;

	while ((op = store_reap(crew->client)) != NULL) {
		ck_assert_uint_eq(*(uint64_t *)op->user, crew->done);
		crew->done++;
		if (op->status == STORE_OK)
			crew->ok++;
		store_op_free(op);
	}
}

static void crew_submit(struct crew *crew, enum store_op_kind kind,
			const char *key, uint64_t number)
{
	struct store_op *op =
		store_op_new(kind, key, strlen(key), 1, sizeof(uint64_t));

	ck_assert_ptr_nonnull(op);
	op->value[0] = 'x';
	op->delta = 1;
	*(uint64_t *)op->user = number;
	store_submit(crew->client, op);
}

static void *incr_main(void *arg)
{
	struct crew *crew = arg;

	crew_join(crew);
	for (uint64_t sent = 0; crew->done < OPS;) {
		while (sent < OPS && sent - crew->done < IN_FLIGHT)
			crew_submit(crew, STORE_INCR, "counter", sent++);
		crew_wait(crew);
		crew_reap(crew);
	}
	crew_leave(crew);
	return NULL;
}

static void run_crews(struct crew *crews, void *(*run)(void *arg))
{
	for (int i = 0; i < THREADS; i++) {
		crews[i].number = i;
		ck_assert_int_eq(
			pthread_create(&crews[i].thread, NULL, run, &crews[i]),
			0);
	}
	for (int i = 0; i < THREADS; i++)
		ck_assert_int_eq(pthread_join(crews[i].thread, NULL), 0);
}

START_TEST(test_no_incr_is_lost)
{
	struct crew crews[THREADS] = {0};
	char text[32];

	rig_set(&rig, "counter", "0");
	run_crews(crews, incr_main);
	(void)snprintf(text, sizeof(text), "%d", THREADS * OPS);
	rig_expect(&rig, "counter", text);
	for (int i = 0; i < THREADS; i++)
		ck_assert_uint_eq(crews[i].ok, OPS);
}
END_TEST

static void *add_main(void *arg)
{
	struct crew *crew = arg;
	char key[32];

	crew_join(crew);
	for (int i = 0; i < ADD_KEYS; i++) {
		(void)snprintf(key, sizeof(key), "lock%d", i);
		crew_submit(crew, STORE_ADD, key, (uint64_t)i);
	}
	while (store_in_flight(crew->client) > 0) {
		crew_wait(crew);
		crew_reap(crew);
	}
	crew_leave(crew);
	return NULL;
}

START_TEST(test_one_add_wins)
{
	struct crew crews[THREADS] = {0};
	uint64_t won = 0;

	run_crews(crews, add_main);
	for (int i = 0; i < THREADS; i++)
		won += crews[i].ok;
	ck_assert_uint_eq(won, ADD_KEYS);
	rig_expect_items(&rig, ADD_KEYS);
}
END_TEST

static void *read_main(void *arg)
{
	struct crew *crew = arg;
	struct store_reader *reader;
	char buffer[8192], key[16];
	struct store_item item;

	crew_join(crew);
	ck_assert_int_eq(store_reader_new(rig.store, &reader), 0);
	for (uint64_t i = 0; !atomic_load(crew->stop); i++) {
		enum store_status status;

		(void)snprintf(key, sizeof(key), "p%" PRIu64, i % PATTERN_KEYS);
		status = store_get(reader, key, strlen(key), buffer,
				   sizeof(buffer), 0, &item);
		ck_assert(status == STORE_OK || status == STORE_NOT_FOUND);
		while (!store_shown(crew->client, item.shown_from))
			crew_wait(crew);
		for (size_t b = 1; status == STORE_OK && b < item.value_bytes;
		     b++)
			ck_assert_int_eq(item.value[b], item.value[0]);
		atomic_fetch_add(&crew->reads, 1);
	}
	store_reader_free(reader);
	crew_leave(crew);
	return NULL;
}

/* Values of one letter each: a torn one has two. */
START_TEST(test_reads_are_never_torn)
{
	struct crew crews[2] = {{.number = 0}, {.number = 1}};
	atomic_bool stop = false;
	struct store_op *op;
	char key[16];

	for (int i = 0; i < 2; i++) {
		crews[i].stop = &stop;
		ck_assert_int_eq(pthread_create(&crews[i].thread, NULL,
						read_main, &crews[i]),
				 0);
	}
	/* Goes on until both have read often while it changed. */
	for (uint32_t i = 0;
	     i < CHANGES_MIN || atomic_load(&crews[0].reads) < READS_MIN ||
	     atomic_load(&crews[1].reads) < READS_MIN;
	     i++) {
		uint32_t bytes = 1 + i * 131 % 6000;

		(void)snprintf(key, sizeof(key), "p%u", i % PATTERN_KEYS);
		op = rig_op_sized(i % 5 == 4 ? STORE_DELETE : STORE_SET, key,
				  (char)('a' + i % 26), bytes);
		rig_do(&rig, op);
		ck_assert(op->status == STORE_OK ||
			  op->status == STORE_NOT_FOUND);
		store_op_free(op);
	}
	atomic_store(&stop, true);
	for (int i = 0; i < 2; i++)
		ck_assert_int_eq(pthread_join(crews[i].thread, NULL), 0);
}
END_TEST

START_TEST(test_applied_changes_are_read)
{
	struct crew crew = {.number = 0};
	struct store_item item;
	struct store_op *op;
	char text[16];

	crew_join(&crew);
	for (int i = 0; i < 100; i++) {
		(void)snprintf(text, sizeof(text), "%d", i);
		op = rig_op(STORE_SET, "k", text);
		store_submit(crew.client, op);
		while (!store_applied(crew.client, op->ticket))
			crew_wait(&crew);
		ck_assert_int_eq(rig_get(&rig, "k", &item), STORE_OK);
		ck_assert_uint_eq(item.value_bytes, strlen(text));
		ck_assert_mem_eq(item.value, text, item.value_bytes);
		while ((op = store_reap(crew.client)) == NULL)
			crew_wait(&crew);
		store_op_free(op);
		ck_assert(store_shown(crew.client, item.shown_from));
	}
	crew_leave(&crew);
}
END_TEST

START_TEST(test_client_free_waits_for_what_is_in_flight)
{
	struct crew crew = {.number = 0};
	char key[16];

	crew_join(&crew);
	for (int i = 0; i < 500; i++) {
		(void)snprintf(key, sizeof(key), "f%d", i);
		crew_submit(&crew, STORE_SET, key, (uint64_t)i);
	}
	ck_assert_uint_eq(store_in_flight(crew.client), 500);
	crew_leave(&crew);
	rig_expect_items(&rig, 500);
}
END_TEST

START_TEST(test_readers_and_clients_are_limited)
{
	struct store_reader *readers[64];
	int count = 0;

	rig_close(&rig);
	rig.config.readers_max = 10;
	rig_open(&rig); /* a client and a reader of its own */
	while (store_reader_new(rig.store, &readers[count]) == 0)
		ck_assert_int_lt(++count, 64);
	ck_assert_int_eq(count, 8);
	ck_assert_int_eq(store_reader_new(rig.store, &readers[count]), -ENFILE);
	store_reader_free(readers[--count]);
	ck_assert_int_eq(store_reader_new(rig.store, &readers[count++]), 0);
	while (count > 0)
		store_reader_free(readers[--count]);
	store_reader_free(NULL);
	store_client_free(NULL);
}
END_TEST

/* What is submitted before the end is durable after it. */
START_TEST(test_close_finishes_what_is_in_flight)
{
	char key[16];

	rig_close(&rig);
	rig.config.sync = (enum store_sync)_i;
	rig_open(&rig);
	for (int i = 0; i < 300; i++) {
		(void)snprintf(key, sizeof(key), "c%d", i);
		store_submit(rig.client, rig_op(STORE_SET, key, "v"));
	}
	rig_reopen(&rig);
	rig_expect_items(&rig, 300);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("storage threads");
	TCase *tcase = tcase_create("threads");

	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_add_test(tcase, test_no_incr_is_lost);
	tcase_add_test(tcase, test_one_add_wins);
	tcase_add_test(tcase, test_reads_are_never_torn);
	tcase_add_test(tcase, test_applied_changes_are_read);
	tcase_add_test(tcase, test_client_free_waits_for_what_is_in_flight);
	tcase_add_test(tcase, test_readers_and_clients_are_limited);
	tcase_add_loop_test(tcase, test_close_finishes_what_is_in_flight, 0, 3);
	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}
