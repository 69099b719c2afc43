/*
 * test_protocol_packet.c - the bytes of every binary answer, and when none is
 * given.
 *
 * Formatters write right before an unreadable page: the room their contract
 * asks for must do.
 */
#include "protocol/protocol.h"
#include "tests/unit/test_protocol_guard.h"

#include <check.h>
#include <stdio.h>

#include "tests/unit/run_suite.h"

#define HEAD   24
#define CAS    UINT64_C(0x1122334455667788)
#define OPAQUE UINT32_C(0xcafef00d)

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

/* Memory that ends before an unreadable page. */
static char *open_room(struct guard *guard, size_t bytes)
{
	guard_open(guard, bytes);
	memset(guard->data, 0xA5, guard->size);
	return guard->data + guard->size - bytes;
}

static uint64_t get_big_endian(const char *at, int bytes)
{
	uint64_t number = 0;

	while (bytes-- > 0)
		number = number << 8 | (unsigned char)*at++;
	return number;
}

static void check_head(const char *at, const struct proto_form *form,
		       unsigned int status, uint64_t cas)
{
	ck_assert_uint_eq(get_big_endian(at, 1), 0x81);
	ck_assert_uint_eq(get_big_endian(at + 1, 1), form->opcode);
	ck_assert_uint_eq(get_big_endian(at + 5, 1), 0);
	ck_assert_uint_eq(get_big_endian(at + 6, 2), status);
	ck_assert_uint_eq(get_big_endian(at + 12, 4), form->opaque);
	ck_assert_uint_eq(get_big_endian(at + 16, 8), cas);
}

static void check_lengths(const char *at, size_t extras, size_t key,
			  size_t body)
{
	ck_assert_uint_eq(get_big_endian(at + 2, 2), key);
	ck_assert_uint_eq(get_big_endian(at + 4, 1), extras);
	ck_assert_uint_eq(get_big_endian(at + 8, 4), body);
}

static struct proto_form form_of(enum proto_verb verb)
{
	return (struct proto_form){.dialect = PROTO_BINARY,
				   .verb = verb,
				   .opcode = 0xee,
				   .opaque = OPAQUE};
}

/* --- statuses ----------------------------------------------------------- */

/* The status and text of each code, after most verbs. */
static const struct {
	enum proto_code code;
	unsigned int status;
	const char *text;
} plain[] = {
	{PROTO_DONE, 0x00, ""},
	{PROTO_NOT_FOUND, 0x01, "Not found"},
	{PROTO_EXISTS, 0x02, "Data exists for key."},
	{PROTO_NOT_STORED, 0x05, "Not stored."},
	{PROTO_END, 0x00, ""},
	{PROTO_RESET, 0x00, ""},
	{PROTO_LOGIN_MORE, 0x21, ""},
	{PROTO_ERR_UNKNOWN, 0x81, "Unknown command"},
	{PROTO_ERR_FORMAT, 0x04, "Invalid arguments"},
	{PROTO_ERR_EXPTIME, 0x04, "Invalid arguments"},
	{PROTO_ERR_DELTA, 0x04, "Invalid arguments"},
	{PROTO_ERR_NOT_NUMBER, 0x06,
	 "Non-numeric server-side value for incr or decr"},
	{PROTO_ERR_TOO_LARGE, 0x03, "Too large."},
	{PROTO_ERR_NO_MEMORY, 0x82, "Out of memory"},
	{PROTO_ERR_STORAGE, 0x84, "Internal error"},
	{PROTO_ERR_READ_ONLY, 0x20, "Auth failure."},
	{PROTO_ERR_FLUSH_DISABLED, 0x20, "Auth failure."},
	{PROTO_ERR_UNAUTHENTICATED, 0x20, "Auth failure."},
	{PROTO_ERR_LOGIN_FAILED, 0x20, "Auth failure."},
	{PROTO_ERR_LOGIN_FORMAT, 0x20, "Auth failure."},
	{PROTO_ERR_LOGIN_LONG, 0x20, "Auth failure."},
	{PROTO_ERR_SHAPE, 0x04, "Invalid arguments"},
};

static void check_answer(enum proto_verb verb, enum proto_code code,
			 unsigned int status, const char *text, uint64_t cas)
{
	const struct proto_form form = form_of(verb);
	struct proto_slice answer;
	struct guard guard;
	char *room = open_room(&guard, PROTO_ANSWER_MAX);

	answer = proto_answer(&form, code, CAS, room);
	ck_assert_uint_eq(answer.len, HEAD + strlen(text));
	check_head(answer.data, &form, status, cas);
	check_lengths(answer.data, 0, 0, strlen(text));
	ck_assert_mem_eq(answer.data + HEAD, text, strlen(text));
	guard_close(&guard);
}

START_TEST(test_status_of_each_code)
{
	check_answer(PROTO_DELETE, plain[_i].code, plain[_i].status,
		     plain[_i].text, 0);
	check_answer(PROTO_VERB_COUNT, plain[_i].code, plain[_i].status,
		     plain[_i].text, 0);
	/* A success of these tells the id; nothing else of them does. */
	check_answer(PROTO_SET, plain[_i].code, plain[_i].status,
		     plain[_i].text, plain[_i].status == 0 ? CAS : 0);
	check_answer(PROTO_INCR, plain[_i].code, plain[_i].status,
		     plain[_i].text, plain[_i].status == 0 ? CAS : 0);
}
END_TEST

/* Every code is some answer, after any verb, and a refusal is no success. */
START_TEST(test_every_code_after_every_verb)
{
	const enum proto_code code = (enum proto_code)_i;
	char room[PROTO_ANSWER_MAX];
	struct proto_slice answer;
	int verb;

	for (verb = 0; verb <= PROTO_VERB_COUNT; verb++) {
		const struct proto_form form = form_of((enum proto_verb)verb);
		uint64_t status;

		answer = proto_answer(&form, code, CAS, room);
		status = get_big_endian(answer.data + 6, 2);
		ck_assert_uint_eq(answer.len,
				  HEAD + get_big_endian(answer.data + 8, 4));
		ck_assert((status == 0) ==
			  (code == PROTO_DONE || code == PROTO_END ||
			   code == PROTO_RESET));
		/* A failure of the engine is never a miss. */
		if (code == PROTO_ERR_STORAGE || code == PROTO_ERR_NO_MEMORY)
			ck_assert_uint_ge(status, 0x80);
	}
}
END_TEST

/* Verbs after which a code says something else. */
START_TEST(test_statuses_of_some_verbs)
{
	check_answer(PROTO_ADD, PROTO_NOT_STORED, 0x02, "Data exists for key.",
		     0);
	check_answer(PROTO_REPLACE, PROTO_NOT_STORED, 0x01, "Not found", 0);
	check_answer(PROTO_APPEND, PROTO_NOT_STORED, 0x05, "Not stored.", 0);
	check_answer(PROTO_APPEND, PROTO_NOT_FOUND, 0x05, "Not stored.", 0);
	check_answer(PROTO_PREPEND, PROTO_NOT_STORED, 0x05, "Not stored.", 0);
	check_answer(PROTO_PREPEND, PROTO_NOT_FOUND, 0x05, "Not stored.", 0);
	check_answer(PROTO_SET, PROTO_NOT_FOUND, 0x01, "Not found", 0);
	check_answer(PROTO_STATS, PROTO_NOT_FOUND, 0x01, "Not found", 0);
	check_answer(PROTO_STATS, PROTO_RESET, 0x00, "", 0);
	check_answer(PROTO_STATS, PROTO_END, 0x00, "", 0);
	check_answer(PROTO_NOOP, PROTO_DONE, 0x00, "", 0);
	check_answer(PROTO_FLUSH_ALL, PROTO_DONE, 0x00, "", 0);
	check_answer(PROTO_SASL_START, PROTO_DONE, 0x00, "Authenticated", 0);
	check_answer(PROTO_SASL_STEP, PROTO_DONE, 0x00, "Authenticated", 0);
}
END_TEST

/* --- values and numbers ------------------------------------------------- */

START_TEST(test_number)
{
	const uint64_t numbers[] = {0, 1, 255, 1 << 16, UINT64_MAX};
	const struct proto_form form = form_of(PROTO_INCR);
	struct proto_slice answer;
	struct guard guard;
	char *room = open_room(&guard, PROTO_ANSWER_MAX);
	size_t i;

	for (i = 0; i < COUNT(numbers); i++) {
		answer = proto_number(&form, numbers[i], CAS, room);
		ck_assert_uint_eq(answer.len, HEAD + 8);
		check_head(answer.data, &form, 0, CAS);
		check_lengths(answer.data, 0, 0, 8);
		ck_assert_uint_eq(get_big_endian(answer.data + HEAD, 8),
				  numbers[i]);
	}
	guard_close(&guard);
}
END_TEST

START_TEST(test_touched)
{
	const struct proto_form form = form_of(PROTO_TOUCH);
	struct proto_slice answer;
	struct guard guard;
	char *room = open_room(&guard, PROTO_ANSWER_MAX);

	answer = proto_touched(&form, 0xdeadbeef, CAS, room);
	ck_assert_uint_eq(answer.len, HEAD + 4);
	check_head(answer.data, &form, 0, CAS);
	check_lengths(answer.data, 4, 0, 4);
	ck_assert_uint_eq(get_big_endian(answer.data + HEAD, 4), 0xdeadbeef);
	guard_close(&guard);
}
END_TEST

static void check_value(char *room, const struct proto_form *form,
			struct proto_slice key, size_t value_bytes)
{
	const size_t key_bytes = form->want_key ? key.len : 0;
	const size_t len =
		proto_value(room, form, key, 0x01020304, value_bytes, CAS);

	ck_assert_uint_eq(len, HEAD + 4 + key_bytes);
	ck_assert_uint_le(len, PROTO_VALUE_HEAD_MAX);
	check_head(room, form, 0, CAS);
	check_lengths(room, 4, key_bytes, 4 + key_bytes + value_bytes);
	ck_assert_uint_eq(get_big_endian(room + HEAD, 4), 0x01020304);
	ck_assert_mem_eq(room + HEAD + 4, key.data, key_bytes);
}

START_TEST(test_value)
{
	const struct proto_slice names[] = {{"k", 1}, {"a\0 \n", 4}};
	struct proto_form form = form_of(_i ? PROTO_GET : PROTO_GAT);
	char longest[PROTO_KEY_MAX];
	struct guard guard;
	char *room = open_room(&guard, PROTO_VALUE_HEAD_MAX);
	size_t i;

	memset(longest, 'k', sizeof(longest));
	for (i = 0; i < 4; i++) {
		form.want_key = i & 1;
		form.quiet = i & 2; /* a hit is sent all the same */
		check_value(room, &form, names[0], 0);
		check_value(room, &form, names[1], 1 << 20);
		check_value(room, &form,
			    (struct proto_slice){longest, sizeof(longest)},
			    1 << 30);
	}
	ck_assert_uint_eq(proto_value_tail(&form).len, 0);
	ck_assert_uint_eq(proto_value_end(&form).len, 0);
	guard_close(&guard);
}
END_TEST

START_TEST(test_miss)
{
	struct proto_form form = form_of(_i ? PROTO_GET : PROTO_GAT);
	char longest[PROTO_KEY_MAX];
	const struct proto_slice key = {longest, sizeof(longest)};
	struct guard guard;
	char *room = open_room(&guard, PROTO_VALUE_HEAD_MAX);

	memset(longest, 'k', sizeof(longest));
	ck_assert_uint_eq(proto_value_miss(room, &form, key), HEAD + 9);
	check_head(room, &form, 1, 0);
	check_lengths(room, 0, 0, 9);
	ck_assert_mem_eq(room + HEAD, "Not found", 9);

	form.want_key = true;
	ck_assert_uint_eq(proto_value_miss(room, &form, key), HEAD + key.len);
	check_head(room, &form, 1, 0);
	check_lengths(room, 0, key.len, key.len);
	ck_assert_mem_eq(room + HEAD, key.data, key.len);

	form.quiet = true;
	ck_assert_uint_eq(proto_value_miss(room, &form, key), 0);
	form.want_key = false;
	ck_assert_uint_eq(proto_value_miss(room, &form, key), 0);
	guard_close(&guard);
}
END_TEST

START_TEST(test_packet_head)
{
	const struct proto_form form = form_of(PROTO_STATS);
	struct guard guard;
	char *room = open_room(&guard, PROTO_PACKET_HEAD);

	proto_packet_head(room, &form, PROTO_DONE, 3, 10);
	check_head(room, &form, 0, 0);
	check_lengths(room, 0, 3, 10);
	proto_packet_head(room, &form, PROTO_DONE, 0, 0);
	check_head(room, &form, 0, 0);
	check_lengths(room, 0, 0, 0);
	proto_packet_head(room, &form, PROTO_LOGIN_MORE, 0, 40);
	check_head(room, &form, 0x21, 0);
	check_lengths(room, 0, 0, 40);
	guard_close(&guard);
}
END_TEST

/* --- silence ------------------------------------------------------------ */

/* The codes of quiet commands that are not said. */
static const struct {
	enum proto_dialect dialect;
	enum proto_verb verb;
	enum proto_code silent;
} silences[] = {
	{PROTO_BINARY, PROTO_GET, PROTO_NOT_FOUND},
	{PROTO_BINARY, PROTO_GAT, PROTO_NOT_FOUND},
	{PROTO_BINARY, PROTO_SET, PROTO_DONE},
	{PROTO_BINARY, PROTO_ADD, PROTO_DONE},
	{PROTO_BINARY, PROTO_REPLACE, PROTO_DONE},
	{PROTO_BINARY, PROTO_APPEND, PROTO_DONE},
	{PROTO_BINARY, PROTO_PREPEND, PROTO_DONE},
	{PROTO_BINARY, PROTO_DELETE, PROTO_DONE},
	{PROTO_BINARY, PROTO_INCR, PROTO_DONE},
	{PROTO_BINARY, PROTO_DECR, PROTO_DONE},
	{PROTO_BINARY, PROTO_FLUSH_ALL, PROTO_DONE},
	{PROTO_BINARY, PROTO_QUIT, PROTO_DONE},
	{PROTO_META, PROTO_META_GET, PROTO_END},
	{PROTO_META, PROTO_META_SET, PROTO_DONE},
	{PROTO_META, PROTO_META_DELETE, PROTO_DONE},
	{PROTO_META, PROTO_META_ARITH, PROTO_DONE},
	{PROTO_META, PROTO_META_DEBUG, PROTO_CODE_COUNT},
	{PROTO_META, PROTO_NOOP, PROTO_CODE_COUNT},
	{PROTO_META, PROTO_VERB_COUNT, PROTO_CODE_COUNT},
};

START_TEST(test_silence)
{
	struct proto_form form = {.dialect = silences[_i].dialect,
				  .verb = silences[_i].verb};
	int code;

	for (code = 0; code < PROTO_CODE_COUNT; code++) {
		form.quiet = false;
		ck_assert(!proto_is_silent(&form, (enum proto_code)code));
		form.quiet = true;
		ck_assert(proto_is_silent(&form, (enum proto_code)code) ==
			  ((enum proto_code)code == silences[_i].silent));
	}
}
END_TEST

/* noreply hides everything. */
START_TEST(test_silence_of_classic)
{
	struct proto_form form = {.dialect = PROTO_CLASSIC,
				  .verb = (enum proto_verb)_i};
	int code;

	for (code = 0; code < PROTO_CODE_COUNT; code++) {
		form.quiet = false;
		ck_assert(!proto_is_silent(&form, (enum proto_code)code));
		form.quiet = true;
		ck_assert(proto_is_silent(&form, (enum proto_code)code));
	}
}
END_TEST

/* --- the other dialects through the same functions ---------------------- */

START_TEST(test_lines_of_classic)
{
	const struct proto_form form = {.dialect = PROTO_CLASSIC,
					.verb = PROTO_TOUCH};
	const struct proto_slice key = {"k", 1};
	char room[PROTO_ANSWER_MAX], head[PROTO_VALUE_HEAD_MAX];

	ck_assert(proto_slice_is(proto_answer(&form, PROTO_EXISTS, CAS, room),
				 "EXISTS\r\n"));
	ck_assert(proto_slice_is(proto_touched(&form, 1, CAS, room),
				 "TOUCHED\r\n"));
	ck_assert(proto_slice_is(proto_number(&form, 12, CAS, room), "12\r\n"));
	ck_assert_uint_eq(proto_value(head, &form, key, 5, 6, CAS), 13);
	ck_assert_mem_eq(head, "VALUE k 5 6\r\n", 13);
	ck_assert_uint_eq(proto_value_miss(head, &form, key), 0);
	ck_assert(proto_slice_is(proto_value_tail(&form), "\r\n"));
	ck_assert(proto_slice_is(proto_value_end(&form), "END\r\n"));
}
END_TEST

START_TEST(test_lines_of_meta)
{
	const struct proto_form form = {.dialect = PROTO_META,
					.verb = PROTO_META_GET};
	const struct proto_slice key = {"k", 1};
	char room[PROTO_ANSWER_MAX];

	ck_assert(proto_slice_is(
		proto_answer(&form, PROTO_ERR_META_FLAG, CAS, room),
		"CLIENT_ERROR invalid flag\r\n"));
	ck_assert_uint_eq(proto_value_miss(room, &form, key), 0);
	ck_assert(proto_slice_is(proto_value_tail(&form), "\r\n"));
	ck_assert_uint_eq(proto_value_end(&form).len, 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("protocol_packet");
	TCase *statuses = tcase_create("statuses");
	TCase *values = tcase_create("values");
	TCase *silence = tcase_create("silence");
	TCase *lines = tcase_create("lines");

	tcase_add_loop_test(statuses, test_status_of_each_code, 0,
			    (int)COUNT(plain));
	tcase_add_loop_test(statuses, test_every_code_after_every_verb, 0,
			    PROTO_CODE_COUNT);
	tcase_add_test(statuses, test_statuses_of_some_verbs);
	suite_add_tcase(suite, statuses);

	tcase_add_test(values, test_number);
	tcase_add_test(values, test_touched);
	tcase_add_loop_test(values, test_value, 0, 2);
	tcase_add_loop_test(values, test_miss, 0, 2);
	tcase_add_test(values, test_packet_head);
	suite_add_tcase(suite, values);

	tcase_add_loop_test(silence, test_silence, 0, (int)COUNT(silences));
	tcase_add_loop_test(silence, test_silence_of_classic, 0,
			    PROTO_VERB_COUNT + 1);
	suite_add_tcase(suite, silence);

	tcase_add_test(lines, test_lines_of_classic);
	tcase_add_test(lines, test_lines_of_meta);
	suite_add_tcase(suite, lines);

	return run_suite(suite);
}
