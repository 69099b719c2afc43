/*
 * test_protocol_login.c - what a text client may send before it is logged in.
 */
#include "protocol/protocol.h"

#include <check.h>
#include <string.h>

#include "tests/unit/run_suite.h"
#include "tests/unit/test_protocol_guard.h"

#define GUARD_SIZE 4096

static const struct proto_limits limits = {
	.value_max_bytes = 10,
	.line_max_bytes = 2048,
	.get_line_max_bytes = 4096,
};

static const struct {
	const char *line;
	enum proto_event event;
	unsigned code_or_bytes;
} lines[] = {
	{"set a 0 0 3\r\n", PROTO_COMMAND, 3},
	{"set a 0 0 3\n", PROTO_COMMAND, 3},
	{"set a b c 3 d e f\r\n", PROTO_COMMAND, 3},
	{"set  a  b  c  3  \r\n", PROTO_COMMAND, 3},
	{" set a 0 0 3\r\n", PROTO_COMMAND, 3},
	{"set a 0 0 0\r\n", PROTO_COMMAND, 0},
	{"set a 0 0 16384 noreply\r\n", PROTO_COMMAND, 16384},
	{"set a 0 0 16385\r\n", PROTO_REFUSED, PROTO_ERR_LOGIN_LONG},
	{"set a 0 0 4294967295\r\n", PROTO_REFUSED, PROTO_ERR_LOGIN_LONG},
	{"set a 0 0 4294967296\r\n", PROTO_REFUSED, PROTO_ERR_UNAUTHENTICATED},
	{"set a 0 0 -1\r\n", PROTO_REFUSED, PROTO_ERR_UNAUTHENTICATED},
	{"set a 0 0 3x\r\n", PROTO_REFUSED, PROTO_ERR_UNAUTHENTICATED},
	{"set a 0 0\r\n", PROTO_REFUSED, PROTO_ERR_UNAUTHENTICATED},
	{"set   \r\n", PROTO_REFUSED, PROTO_ERR_UNAUTHENTICATED},
	{"SET a 0 0 3\r\n", PROTO_REFUSED, PROTO_ERR_UNAUTHENTICATED},
	{"sets a 0 0 3\r\n", PROTO_REFUSED, PROTO_ERR_UNAUTHENTICATED},
	{"add a 0 0 3\r\n", PROTO_REFUSED, PROTO_ERR_UNAUTHENTICATED},
	{"get a\r\n", PROTO_REFUSED, PROTO_ERR_UNAUTHENTICATED},
	{"      \r\n", PROTO_REFUSED, PROTO_ERR_UNAUTHENTICATED},
	{"quit\r\n", PROTO_HANGUP, 0},
	{"get a\n", PROTO_HANGUP, 0},
	{"\n", PROTO_HANGUP, 0},
	{"\x80\x0b\n", PROTO_HANGUP, 0},
	{"\x80", PROTO_HANGUP, 0},
};

START_TEST(test_line)
{
	size_t len = strlen(lines[_i].line);
	struct proto_parsed parsed;
	struct guard guard;

	guard_open(&guard, GUARD_SIZE);
	ck_assert_int_eq(
		proto_login_parse(guard_at_end(&guard, lines[_i].line, len),
				  len, 0, &limits, &parsed),
		lines[_i].event);
	if (lines[_i].event != PROTO_HANGUP) {
		ck_assert_uint_eq(parsed.consumed, len);
		ck_assert_int_eq(parsed.request.form.verb, PROTO_SASL_START);
		ck_assert(!parsed.request.form.quiet && !parsed.close);
		ck_assert_uint_eq(parsed.swallow, 0);
	}
	if (lines[_i].event == PROTO_REFUSED)
		ck_assert_uint_eq(parsed.code, lines[_i].code_or_bytes);
	if (lines[_i].event == PROTO_COMMAND) {
		ck_assert(parsed.request.has_value);
		ck_assert_uint_eq(parsed.request.value_bytes,
				  lines[_i].code_or_bytes);
		ck_assert_uint_eq(parsed.request.value_tail, 2);
	}
	guard_close(&guard);
}
END_TEST

/* A piece of a line is waited for, up to the limit. */
START_TEST(test_pieces)
{
	static const char line[] = "set a 0 0 3\r\n";
	char long_line[2049];
	struct proto_parsed parsed;
	size_t scanned = 0;

	for (size_t len = 0; len < sizeof(line) - 1; len++) {
		ck_assert_int_eq(
			proto_login_parse(line, len, scanned, &limits, &parsed),
			PROTO_WAIT);
		ck_assert_uint_eq(parsed.scanned, len);
		scanned = len;
	}
	ck_assert_int_eq(proto_login_parse(line, sizeof(line) - 1, scanned,
					   &limits, &parsed),
			 PROTO_COMMAND);
	memset(long_line, 's', sizeof(long_line));
	ck_assert_int_eq(
		proto_login_parse(long_line, 2048, 0, &limits, &parsed),
		PROTO_WAIT);
	ck_assert_int_eq(
		proto_login_parse(long_line, 2049, 0, &limits, &parsed),
		PROTO_HANGUP);
}
END_TEST

START_TEST(test_answers)
{
	static const struct {
		enum proto_code code;
		const char *line;
	} answers[] = {
		{PROTO_DONE, "STORED\r\n"},
		{PROTO_ERR_UNAUTHENTICATED, "CLIENT_ERROR unauthenticated\r\n"},
		{PROTO_ERR_LOGIN_FAILED,
		 "CLIENT_ERROR authentication failure\r\n"},
		{PROTO_ERR_LOGIN_FORMAT,
		 "CLIENT_ERROR bad authentication token format\r\n"},
		{PROTO_ERR_LOGIN_END,
		 "CLIENT_ERROR bad command line termination\r\n"},
		{PROTO_ERR_LOGIN_LONG, "CLIENT_ERROR auth token too long\r\n"},
	};
	const struct proto_form form = {.verb = PROTO_SASL_START};
	char room[PROTO_ANSWER_MAX];

	for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
		struct proto_slice got =
			proto_answer(&form, answers[i].code, 0, room);

		ck_assert(!proto_is_silent(&form, answers[i].code));
		ck_assert(proto_slice_is(got, answers[i].line));
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("protocol login");
	TCase *tests = tcase_create("login");

	tcase_add_loop_test(tests, test_line, 0,
			    sizeof(lines) / sizeof(lines[0]));
	tcase_add_test(tests, test_pieces);
	tcase_add_test(tests, test_answers);
	suite_add_tcase(suite, tests);
	return run_suite(suite);
}
