/*
 * Answers leave in order, whole, and not before they may.
 *
 * The store is not needed: this file is the store, as far as output.c calls
 * it. `durable` is the position up to which changes may be shown.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "server/output.h"
#include "tests/unit/run_suite.h"

static uint64_t durable;
static int freed_ops;

bool store_shown(struct store_client *client, uint64_t shown_from)
{
	(void)client;
	return shown_from <= durable;
}

void store_op_free(struct store_op *op)
{
	if (op != NULL)
		freed_ops++;
}

struct fixture {
	struct pool pool;
	struct output out;
	int ours, theirs;
};

static struct fixture *f;

static void set_up(void)
{
	const int room = 100000; /* whatever the system's is */
	int pair[2];

	f = calloc(1, sizeof(*f));
	ck_assert(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair) ==
		  0);
	ck_assert_int_eq(
		setsockopt(pair[0], SOL_SOCKET, SO_SNDBUF, &room, sizeof(room)),
		0);
	f->ours = pair[0];
	f->theirs = pair[1];
	output_init(&f->out, &f->pool);
	durable = 0;
	freed_ops = 0;
}

static void tear_down(void)
{
	output_clear(&f->out);
	ck_assert_uint_eq(f->out.held, 0);
	pool_done(&f->pool);
	close(f->ours);
	close(f->theirs);
	free(f);
}

static void write_text(const char *text)
{
	ck_assert(output_write(&f->out, text, strlen(text)));
}

static enum output_state send_all(void)
{
	struct transport plain = {.fd = f->ours};
	size_t sent;

	return output_send(&f->out, &plain, NULL, &sent);
}

/* What has arrived by now is exactly this. */
static void expect(const char *text)
{
	char got[256] = "";
	ssize_t n = recv(f->theirs, got, sizeof(got) - 1, 0);

	if (n < 0)
		n = 0;
	got[n] = '\0';
	ck_assert_str_eq(got, text);
}

START_TEST(test_output_send_packs_small_answers)
{
	write_text("one ");
	write_text("two ");
	write_text("three");
	ck_assert_uint_eq(f->pool.taken, 1);
	ck_assert_int_eq(send_all(), OUTPUT_EMPTY);
	expect("one two three");
	ck_assert_uint_eq(f->pool.taken, 0);
}
END_TEST

START_TEST(test_output_pending_holds_back_what_follows)
{
	static struct store_op op;
	struct reply first, second;

	write_text("a");
	output_expect(&f->out, &first, &op, 100);
	write_text("b");
	output_expect(&f->out, &second, &op, 100);
	write_text("c");
	ck_assert_int_eq(send_all(), OUTPUT_PENDING);
	expect("a");
	/* The second is answered first: it still waits for its turn. */
	output_fill(&f->out, &second, "[2]", 3, 0);
	ck_assert_int_eq(send_all(), OUTPUT_PENDING);
	expect("");
	output_fill(&f->out, &first, "[1]", 3, 0);
	ck_assert_int_eq(send_all(), OUTPUT_EMPTY);
	expect("[1]b[2]c");
	ck_assert_int_eq(freed_ops, 2);
}
END_TEST

START_TEST(test_output_hidden_until_durable)
{
	size_t room;
	char *to;

	write_text("before ");
	ck_assert_int_eq(send_all(), OUTPUT_EMPTY);
	expect("before ");
	to = output_room(&f->out, 10, &room);
	ck_assert_ptr_nonnull(to);
	memcpy(to, "value ", 6);
	output_keep(&f->out, 6, 7);
	write_text("after");
	durable = 6;
	ck_assert_int_eq(send_all(), OUTPUT_HIDDEN);
	expect("");
	durable = 7;
	ck_assert_int_eq(send_all(), OUTPUT_EMPTY);
	expect("value after");
}
END_TEST

START_TEST(test_output_hidden_does_not_hold_back_what_is_in_front)
{
	size_t room;
	char *to;

	write_text("before ");
	to = output_room(&f->out, 10, &room);
	ck_assert_ptr_nonnull(to);
	memcpy(to, "value ", 6);
	output_keep(&f->out, 6, 7);
	write_text("after");
	ck_assert_int_eq(send_all(), OUTPUT_HIDDEN);
	expect("before ");
	durable = 7;
	ck_assert_int_eq(send_all(), OUTPUT_EMPTY);
	expect("value after");
}
END_TEST

START_TEST(test_output_hidden_miss_holds_back_the_end)
{
	size_t room;

	/* A miss says nothing, but even that may not be known yet. */
	ck_assert_ptr_nonnull(output_room(&f->out, 10, &room));
	output_keep(&f->out, 0, 3);
	ck_assert_int_eq(send_all(), OUTPUT_HIDDEN);
	write_text("END");
	ck_assert_int_eq(send_all(), OUTPUT_HIDDEN);
	expect("");
	durable = 3;
	ck_assert_int_eq(send_all(), OUTPUT_EMPTY);
	expect("END");
}
END_TEST

START_TEST(test_output_heap_reply_is_sent_in_place)
{
	struct reply *reply;
	char *memory;

	write_text("<");
	reply = output_heap_new(100, &memory);
	ck_assert_ptr_nonnull(reply);
	memcpy(memory + 50, "inside", 6);
	output_heap_keep(&f->out, reply, memory + 50, 6, 0);
	write_text(">");
	ck_assert_uint_gt(f->out.held, 100);
	ck_assert_int_eq(send_all(), OUTPUT_EMPTY);
	expect("<inside>");
}
END_TEST

START_TEST(test_output_blocked_socket_loses_nothing)
{
	size_t total = 3 * 1024 * 1024, got = 0, i;
	char *data = malloc(total), *back = malloc(total);

	for (i = 0; i < total; i++)
		data[i] = (char)(i * 7 + i / 251);
	ck_assert(output_write(&f->out, data, total));
	ck_assert_uint_gt(f->out.held, total);
	ck_assert_int_eq(send_all(), OUTPUT_BLOCKED);
	while (got < total) {
		ssize_t n = recv(f->theirs, back + got, total - got, 0);

		if (n > 0)
			got += (size_t)n;
		else
			(void)send_all();
	}
	ck_assert_mem_eq(data, back, total);
	ck_assert_int_eq(send_all(), OUTPUT_EMPTY);
	free(data);
	free(back);
}
END_TEST

START_TEST(test_output_more_replies_than_one_call_takes)
{
	static struct store_op op;
	struct reply replies[1000];
	char got[4000];
	size_t i;

	for (i = 0; i < 1000; i++)
		output_expect(&f->out, &replies[i], &op, 1);
	for (i = 0; i < 1000; i++)
		output_fill(&f->out, &replies[i], "abc", 3, 0);
	ck_assert_int_eq(send_all(), OUTPUT_EMPTY);
	ck_assert_int_eq(recv(f->theirs, got, sizeof(got), 0), 3000);
	ck_assert_int_eq(freed_ops, 1000);
}
END_TEST

START_TEST(test_output_small_answers_behind_pending_ones_share_a_block)
{
	static struct store_op op;
	struct reply replies[50];
	size_t i;

	for (i = 0; i < 50; i++) {
		output_expect(&f->out, &replies[i], &op, 1000);
		write_text("small");
	}
	ck_assert_uint_eq(f->pool.taken, 1);
	ck_assert_uint_eq(f->out.held, 50 * 1000 + POOL_BLOCK_BYTES);
	for (i = 0; i < 50; i++)
		output_fill(&f->out, &replies[i], "", 0, 7);
	ck_assert_uint_eq(f->out.held, 50 * 1007 + POOL_BLOCK_BYTES);
	ck_assert_int_eq(send_all(), OUTPUT_EMPTY);
	ck_assert_uint_eq(f->out.held, 0);
	ck_assert_uint_eq(f->pool.taken, 0);
}
END_TEST

START_TEST(test_output_broken_peer)
{
	write_text("anybody there?");
	shutdown(f->theirs, SHUT_RDWR);
	ck_assert_int_eq(send_all(), OUTPUT_BROKEN);
}
END_TEST

/* What is not sent, but taken: the same order, the same conditions. */
START_TEST(test_output_ready_is_what_would_be_sent)
{
	static struct store_op op;
	static struct reply reply;
	size_t bytes, room;
	char *to;

	ck_assert_int_eq(output_ready(&f->out, NULL, &bytes), OUTPUT_EMPTY);
	ck_assert_uint_eq(bytes, 0);
	write_text("four");
	output_expect(&f->out, &reply, &op, 100);
	ck_assert_int_eq(output_ready(&f->out, NULL, &bytes), OUTPUT_PENDING);
	ck_assert_uint_eq(bytes, 4);
	output_fill(&f->out, &reply, "six", 3, 0);
	to = output_room(&f->out, 1, &room);
	ck_assert_ptr_nonnull(to);
	*to = '!';
	output_keep(&f->out, 1, 9);
	ck_assert_int_eq(output_ready(&f->out, NULL, &bytes), OUTPUT_HIDDEN);
	ck_assert_uint_eq(bytes, 7);
	durable = 9;
	ck_assert_int_eq(output_ready(&f->out, NULL, &bytes), OUTPUT_EMPTY);
	ck_assert_uint_eq(bytes, 8);
}
END_TEST

START_TEST(test_output_take_gives_parts_of_any_size)
{
	static struct store_op op;
	struct reply silent, reply;
	char got[8];

	write_text("abc");
	output_expect(&f->out, &silent, &op, 100);
	output_fill(&f->out, &silent, "", 0, 0);
	output_expect(&f->out, &reply, &op, 100);
	output_fill(&f->out, &reply, "defg", 4, 0);
	write_text("h");
	ck_assert_uint_eq(output_take(&f->out, got, 2), 2);
	ck_assert_mem_eq(got, "ab", 2);
	ck_assert_uint_eq(output_take(&f->out, got, 3), 3);
	ck_assert_mem_eq(got, "cde", 3);
	ck_assert_uint_eq(output_take(&f->out, got, sizeof(got)), 3);
	ck_assert_mem_eq(got, "fgh", 3);
	ck_assert_uint_eq(output_take(&f->out, got, sizeof(got)), 0);
	ck_assert_int_eq(freed_ops, 2);
	ck_assert_uint_eq(f->pool.taken, 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("output");
	TCase *tests = tcase_create("output");

	tcase_add_checked_fixture(tests, set_up, tear_down);
	tcase_add_test(tests, test_output_send_packs_small_answers);
	tcase_add_test(tests, test_output_pending_holds_back_what_follows);
	tcase_add_test(tests, test_output_hidden_until_durable);
	tcase_add_test(tests,
		       test_output_hidden_does_not_hold_back_what_is_in_front);
	tcase_add_test(tests, test_output_hidden_miss_holds_back_the_end);
	tcase_add_test(tests, test_output_heap_reply_is_sent_in_place);
	tcase_add_test(tests, test_output_blocked_socket_loses_nothing);
	tcase_add_test(tests, test_output_more_replies_than_one_call_takes);
	tcase_add_test(
		tests,
		test_output_small_answers_behind_pending_ones_share_a_block);
	tcase_add_test(tests, test_output_broken_peer);
	tcase_add_test(tests, test_output_ready_is_what_would_be_sent);
	tcase_add_test(tests, test_output_take_gives_parts_of_any_size);
	suite_add_tcase(suite, tests);
	return run_suite(suite);
}
