/*
 * test_protocol_framing.c - where a line ends, and how long one is waited for.
 */
#include "protocol/protocol.h"
#include "tests/unit/test_protocol_guard.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/unit/run_suite.h"

#define GUARD_SIZE 16384

static const struct proto_limits limits = {
	.value_max_bytes = 1000,
	.line_max_bytes = 2048,
	.get_line_max_bytes = 8192,
};

START_TEST(test_wait_sets_only_scanned)
{
	struct proto_parsed parsed, before;

	memset(&before, 0xA5, sizeof(before));
	memcpy(&parsed, &before, sizeof(parsed));
	ck_assert_int_eq(proto_text_parse("get a", 5, 0, &limits, &parsed),
			 PROTO_WAIT);
	ck_assert_uint_eq(parsed.scanned, 5);
	before.scanned = 5;
	ck_assert_mem_eq(&parsed, &before, sizeof(parsed));
}
END_TEST

START_TEST(test_wait_on_empty_buffer)
{
	struct proto_parsed parsed;

	ck_assert_int_eq(proto_text_parse(NULL, 0, 0, &limits, &parsed),
			 PROTO_WAIT);
	ck_assert_uint_eq(parsed.scanned, 0);
}
END_TEST

/* What was scanned once is not searched again: the LF at 5 stays unseen. */
START_TEST(test_scanned_bytes_are_not_searched_again)
{
	struct proto_parsed parsed;

	ck_assert_int_eq(
		proto_text_parse("get a\nget b", 11, 6, &limits, &parsed),
		PROTO_WAIT);
	ck_assert_uint_eq(parsed.scanned, 11);
}
END_TEST

/* What stands in one buffer, command by command. */
static const struct {
	enum proto_event event;
	enum proto_verb verb;
	const char *key;
} pipeline[] = {
	{PROTO_COMMAND, PROTO_GET, "a"},
	{PROTO_COMMAND, PROTO_INCR, "b"},
	{PROTO_REFUSED, PROTO_VERB_COUNT, NULL},
	{PROTO_COMMAND, PROTO_QUIT, NULL},
};

START_TEST(test_pipelined_commands)
{
	static const char stream[] = "get a\r\nincr b 2\nbogus\r\nquit\r\nget";
	const char *at = stream, *end = stream + sizeof(stream) - 1;
	struct proto_parsed parsed;
	size_t i;

	for (i = 0; i < sizeof(pipeline) / sizeof(pipeline[0]); i++) {
		ck_assert_int_eq(proto_text_parse(at, (size_t)(end - at), 0,
						  &limits, &parsed),
				 pipeline[i].event);
		ck_assert_int_eq(parsed.request.form.verb, pipeline[i].verb);
		if (pipeline[i].key)
			ck_assert(proto_slice_is(parsed.request.key,
						 pipeline[i].key));
		at += parsed.consumed;
	}
	ck_assert_ptr_eq(at, end - 3);
	ck_assert_int_eq(proto_text_parse(at, 3, 0, &limits, &parsed),
			 PROTO_WAIT);
}
END_TEST

/* Text keys are opaque but for the bytes that shape a line. */
static void check_byte_in_key(unsigned char byte)
{
	const char line[] = {'g',	 'e', 't',  ' ', 'a',
			     (char)byte, 'b', '\r', '\n'};
	struct proto_parsed parsed;
	enum proto_event event;

	event = proto_text_parse(line, sizeof(line), 0, &limits, &parsed);
	if (byte == '\0' || byte == '\r') {
		ck_assert_int_eq(event, PROTO_REFUSED);
		ck_assert_int_eq(parsed.code, PROTO_ERR_FORMAT);
		return;
	}
	ck_assert_int_eq(event, PROTO_COMMAND);
	if (byte == ' ' || byte == '\n') {
		ck_assert_uint_eq(parsed.request.key.len, 1);
		return;
	}
	ck_assert_uint_eq(parsed.request.key.len, 3);
	ck_assert_mem_eq(parsed.request.key.data, line + 4, 3);
	ck_assert_uint_eq(parsed.request.keys.len, 0);
}

START_TEST(test_every_byte_in_a_key)
{
	unsigned int byte;

	for (byte = 0; byte < 256; byte++)
		check_byte_in_key((unsigned char)byte);
}
END_TEST

/* Starts of endless lines, and how many bytes of them are waited for. */
static const struct {
	const char *start;
	char fill;
	size_t waits;
} endless[] = {
	{"", 'x', 2048},	{"", ' ', 2048},
	{"get ", 'x', 8192},	{"gets ", 'x', 8192},
	{"get  a ", ' ', 8192}, {"get", 'x', 2048},
	{"getsx ", 'x', 2048},	{" get ", 'x', 2048},
	{"gat 0 ", 'x', 2048},	{"gats 0 ", 'x', 2048},
	{"set ", ' ', 2048},	{"\x16\x03\x01", '\0', 2048},
};

#define ENDLESS_COUNT ((int)(sizeof(endless) / sizeof(endless[0])))

START_TEST(test_line_that_does_not_end)
{
	const size_t waits = endless[_i].waits;
	struct proto_parsed parsed;
	struct guard guard;

	guard_open(&guard, GUARD_SIZE);
	memset(guard.data, endless[_i].fill, guard.size);
	memcpy(guard.data, endless[_i].start, strlen(endless[_i].start));
	ck_assert_int_eq(
		proto_text_parse(guard.data, waits, 0, &limits, &parsed),
		PROTO_WAIT);
	ck_assert_uint_eq(parsed.scanned, waits);
	ck_assert_int_eq(proto_text_parse(guard.data, waits + 1, waits, &limits,
					  &parsed),
			 PROTO_HANGUP);
	ck_assert_int_eq(
		proto_text_parse(guard.data, guard.size, 0, &limits, &parsed),
		PROTO_HANGUP);
	guard_close(&guard);
}
END_TEST

/* With its LF already there, no line is too long. */
START_TEST(test_long_line_that_is_complete)
{
	static char line[10002];
	struct proto_parsed parsed;

	memset(line, 'x', sizeof(line));
	memcpy(line + 10000, "\r\n", 2);
	ck_assert_int_eq(
		proto_text_parse(line, sizeof(line), 0, &limits, &parsed),
		PROTO_REFUSED);
	ck_assert_int_eq(parsed.code, PROTO_ERR_UNKNOWN);
	ck_assert_uint_eq(parsed.consumed, sizeof(line));

	memset(line, ' ', 10000);
	ck_assert_int_eq(
		proto_text_parse(line, sizeof(line), 0, &limits, &parsed),
		PROTO_REFUSED);
	ck_assert_int_eq(parsed.code, PROTO_ERR_UNKNOWN);

	memcpy(line, "get k", 5);
	ck_assert_int_eq(
		proto_text_parse(line, sizeof(line), 0, &limits, &parsed),
		PROTO_COMMAND);
	ck_assert_uint_eq(parsed.request.key.len, 1);
	ck_assert_uint_eq(parsed.request.keys.len, 0);
}
END_TEST

/* A get line of 4 MiB that comes in pieces of 16 KiB. */
START_TEST(test_get_line_of_four_megabytes)
{
	const struct proto_limits wide = {.line_max_bytes = 2048,
					  .get_line_max_bytes = 5 << 20};
	const size_t len = 4 << 20, piece = 16384;
	struct proto_parsed parsed = {.scanned = 0};
	size_t have, count = 1, i;
	struct proto_slice key;
	char *line = malloc(len);

	ck_assert_ptr_nonnull(line);
	for (i = 0; i < len; i++)
		line[i] = i % 8 == 3 ? ' ' : 'k';
	memcpy(line, "get ", 4);
	line[len - 1] = '\n';
	for (have = piece; have < len; have += piece) {
		ck_assert_int_eq(proto_text_parse(line, have, parsed.scanned,
						  &wide, &parsed),
				 PROTO_WAIT);
		ck_assert_uint_eq(parsed.scanned, have);
	}
	ck_assert_int_eq(
		proto_text_parse(line, len, parsed.scanned, &wide, &parsed),
		PROTO_COMMAND);
	ck_assert_uint_eq(parsed.request.key.len, 7);
	while (proto_next_token(&parsed.request.keys, &key)) {
		ck_assert_ptr_eq(key.data, line + 4 + 8 * count);
		count++;
	}
	ck_assert_uint_eq(count, len / 8);
	free(line);
}
END_TEST

START_TEST(test_verb_name_parses_back)
{
	const enum proto_verb verb = (enum proto_verb)_i;
	const char *name = proto_verb_name(verb);
	struct proto_parsed parsed;
	char line[64];
	int len = snprintf(line, sizeof(line), "%s 1 2 3 4 5\r\n", name);
	enum proto_event event =
		proto_text_parse(line, (size_t)len, 0, &limits, &parsed);

	ck_assert_str_ne(name, "unknown");
	ck_assert_int_ne(event, PROTO_WAIT);
	ck_assert_int_ne(event, PROTO_HANGUP);
	if (verb >= PROTO_SASL_LIST)
		ck_assert_int_eq(parsed.request.form.verb, PROTO_VERB_COUNT);
	else
		ck_assert_int_eq(parsed.request.form.verb, verb);
}
END_TEST

START_TEST(test_verb_name_of_no_verb)
{
	ck_assert_str_eq(proto_verb_name(PROTO_VERB_COUNT), "unknown");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("protocol_framing");
	TCase *framing = tcase_create("framing");
	TCase *verbs = tcase_create("verbs");

	tcase_add_test(framing, test_wait_sets_only_scanned);
	tcase_add_test(framing, test_wait_on_empty_buffer);
	tcase_add_test(framing, test_scanned_bytes_are_not_searched_again);
	tcase_add_test(framing, test_pipelined_commands);
	tcase_add_test(framing, test_every_byte_in_a_key);
	tcase_add_loop_test(framing, test_line_that_does_not_end, 0,
			    ENDLESS_COUNT);
	tcase_add_test(framing, test_long_line_that_is_complete);
	tcase_add_test(framing, test_get_line_of_four_megabytes);
	suite_add_tcase(suite, framing);

	tcase_add_loop_test(verbs, test_verb_name_parses_back, 0,
			    PROTO_VERB_COUNT);
	tcase_add_test(verbs, test_verb_name_of_no_verb);
	suite_add_tcase(suite, verbs);

	return run_suite(suite);
}
