/*
 * test_protocol_classic.c - every line of the classic dialect.
 *
 * One table: a line, and what the parser makes of it, written as text. Each
 * line is parsed whole, with other bytes behind it, split at every byte, and
 * between two unreadable pages.
 */
#include "protocol/protocol.h"
#include "tests/unit/test_protocol_guard.h"

#include <check.h>
#include <stdarg.h>
#include <stdio.h>

#include "tests/unit/run_suite.h"

#define TEXT_MAX   8192
#define GUARD_SIZE 16384

static const struct proto_limits limits = {
	.value_max_bytes = 1000,
	.line_max_bytes = 2048,
	.get_line_max_bytes = 8192,
};

struct text {
	char bytes[TEXT_MAX];
	size_t len;
};

static void __attribute__((format(printf, 2, 3)))
text_add(struct text *text, const char *format, ...)
{
	va_list args;
	int len;

	va_start(args, format);
	len = vsnprintf(text->bytes + text->len,
			sizeof(text->bytes) - text->len, format, args);
	va_end(args);
	ck_assert_int_ge(len, 0);
	text->len += (size_t)len;
	ck_assert_uint_lt(text->len, sizeof(text->bytes));
}

static void text_add_slice(struct text *text, const char *label,
			   struct proto_slice slice)
{
	text_add(text, "%s%.*s", label, (int)slice.len, slice.data);
}

static const char *code_name(enum proto_code code)
{
	static const char *const names[PROTO_CODE_COUNT] = {
		[PROTO_ERR_UNKNOWN] = "unknown",
		[PROTO_ERR_FORMAT] = "format",
		[PROTO_ERR_EXPTIME] = "exptime",
		[PROTO_ERR_DELTA] = "delta",
		[PROTO_ERR_DELETE_USAGE] = "usage",
		[PROTO_ERR_TOO_LARGE] = "too-large",
	};

	ck_assert_ptr_nonnull(names[code]);
	return names[code];
}

/* Fields that are 0 are not mentioned. */
static void describe_command(struct text *text,
			     const struct proto_request *request)
{
	struct proto_slice keys = request->keys, key;
	size_t i;

	text_add(text, "%s", proto_verb_name(request->verb));
	if (request->want_cas)
		text_add(text, " +cas");
	if (request->quiet)
		text_add(text, " +quiet");
	if (request->key.data)
		text_add_slice(text, " key=", request->key);
	while (proto_next_key(&keys, &key))
		text_add_slice(text, ",", key);
	if (request->client_flags != 0)
		text_add(text, " flags=%u", request->client_flags);
	if (request->exptime != 0)
		text_add(text, " exptime=%lld", (long long)request->exptime);
	if (request->cas != 0)
		text_add(text, " cas=%llu", (unsigned long long)request->cas);
	if (request->delta != 0)
		text_add(text, " delta=%llu",
			 (unsigned long long)request->delta);
	if (request->has_value)
		text_add(text, " value=%u", request->value_bytes);
	else
		ck_assert_uint_eq(request->value_bytes, 0);
	for (i = 0; i < request->arg_count; i++)
		text_add_slice(text, i == 0 ? " args=" : ",", request->args[i]);
}

static void describe_refusal(struct text *text,
			     const struct proto_parsed *parsed)
{
	text_add(text, "refused %s %s", proto_verb_name(parsed->verb),
		 code_name(parsed->code));
	if (parsed->swallow != 0)
		text_add(text, " swallow=%llu",
			 (unsigned long long)parsed->swallow);
	if (parsed->quiet)
		text_add(text, " +quiet");
	if (parsed->close)
		text_add(text, " +close");
}

static void describe(struct text *text, enum proto_event event,
		     const struct proto_parsed *parsed)
{
	text->len = 0;
	switch (event) {
	case PROTO_WAIT:
		text_add(text, "wait");
		break;
	case PROTO_COMMAND:
		describe_command(text, &parsed->request);
		break;
	case PROTO_REFUSED:
		describe_refusal(text, parsed);
		break;
	case PROTO_HANGUP:
		text_add(text, "hangup");
		break;
	}
}

#define L(text)                        \
	{                              \
		text, sizeof(text) - 1 \
	}
#define K50  "kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk"
#define K250 K50 K50 K50 K50 K50
#define B100                                                 \
	"                                                  " \
	"                                                  "
#define UNKNOWN "refused unknown unknown"
#define SHORT	"refused unknown format"

struct parse_case {
	struct proto_slice line;
	const char *want;
};

static const struct parse_case cases[] = {
	/* framing and first words */
	{L("get a\r\n"), "get key=a"},
	{L("get a\n"), "get key=a"},
	{L("get  a\r\n"), "get key=a"},
	{L("get a \r\n"), "get key=a"},
	{L("get   a   b   \r\n"), "get key=a,b"},
	{L(" get a\r\n"), UNKNOWN},
	{L("\r\n"), SHORT},
	{L("\n"), SHORT},
	{L("a\r\n"), SHORT},
	{L(" \r\n"), SHORT},
	{L("\r\r\n"), SHORT},
	{L("  \r\n"), UNKNOWN},
	{L(B100 B100 "\r\n"), UNKNOWN},
	{L("ab\n"), UNKNOWN},
	{L("a b\r\n"), UNKNOWN},
	{L("GET a\r\n"), UNKNOWN},
	{L("Get a\r\n"), UNKNOWN},
	{L("get\ta\r\n"), UNKNOWN},
	{L("getx a\r\n"), UNKNOWN},
	{L("ge a\r\n"), UNKNOWN},
	{L("get\0a\r\n"), UNKNOWN},
	{L("nonsense noreply\r\n"), UNKNOWN},
	{L("\x80\x01\x02\n"), UNKNOWN},

	/* other protocols */
	{L("GET / HTTP/1.1\r\n"), "hangup"},
	{L("POST /x HTTP/1.0\r\n"), "hangup"},
	{L("POST /x HTTP/1.0  \n"), "hangup"},
	{L("GET HTTP/\r\n"), "hangup"},
	{L("GET / http/1.1\r\n"), UNKNOWN},
	{L("GET / HTTP\r\n"), UNKNOWN},
	{L("GET HTTP/1.1 x\r\n"), UNKNOWN},
	{L("GET xHTTP/1.1\r\n"), UNKNOWN},
	{L("HTTP/1.1\r\n"), UNKNOWN},
	{L("Host: x\r\n"), UNKNOWN},
	{L("get HTTP/1.1\r\n"), "get key=HTTP/1.1"},

	/* get, gets */
	{L("gets a b c\r\n"), "get +cas key=a,b,c"},
	{L("get a a a\r\n"), "get key=a,a,a"},
	{L("get noreply\r\n"), "get key=noreply"},
	{L("get a noreply\r\n"), "get key=a,noreply"},
	{L("get a\tb\r\n"), "get key=a\tb"},
	{L("get \x01\x7f\xff\x80\r\n"), "get key=\x01\x7f\xff\x80"},
	{L("get " K250 "\r\n"), "get key=" K250},
	{L("get " K250 " " K250 "\r\n"), "get key=" K250 "," K250},
	{L("get " K250 "x\r\n"), "refused get format"},
	{L("get a " K250 "x\r\n"), "refused get format"},
	{L("get " K250 "x a\r\n"), "refused get format"},
	{L("get a\0b\r\n"), "refused get format"},
	{L("get a b\0\r\n"), "refused get format"},
	{L("get a\rb\r\n"), "refused get format"},
	{L("get a\r\r\n"), "refused get format"},
	{L("get\r\n"), "refused get format"},
	{L("get \r\n"), "refused get format"},
	{L("gets\r\n"), "refused get format"},

	/* gat, gats */
	{L("gat 100 a\r\n"), "gat key=a exptime=100"},
	{L("gat 0 a\r\n"), "gat key=a"},
	{L("gats -1 a b\r\n"), "gat +cas key=a,b exptime=-1"},
	{L("gat 100 a noreply\r\n"), "gat key=a,noreply exptime=100"},
	{L("gat x a\r\n"), "refused gat exptime"},
	{L("gats 1x a\r\n"), "refused gat exptime"},
	{L("gat 9223372036854775808 a\r\n"), "refused gat exptime"},
	{L("gat 100 " K250 "x\r\n"), "refused gat format"},
	{L("gat 100 a b\0\r\n"), "refused gat format"},
	{L("gat 100\r\n"), "refused gat format"},
	{L("gat x\r\n"), "refused gat format"},
	{L("gat\r\n"), "refused gat format"},
	{L("gats\r\n"), "refused gat format"},

	/* the set family: what is accepted */
	{L("set k 0 0 0\r\n"), "set key=k value=0"},
	{L("set k 1 2 3\n"), "set key=k flags=1 exptime=2 value=3"},
	{L("add k 1 2 3\r\n"), "add key=k flags=1 exptime=2 value=3"},
	{L("replace k 1 2 3\r\n"), "replace key=k flags=1 exptime=2 value=3"},
	{L("append k 1 2 3\r\n"), "append key=k flags=1 exptime=2 value=3"},
	{L("prepend k 1 2 3\r\n"), "prepend key=k flags=1 exptime=2 value=3"},
	{L("set  k  1  2  3  \r\n"), "set key=k flags=1 exptime=2 value=3"},
	{L("set k 0 0 3 noreply\r\n"), "set +quiet key=k value=3"},
	{L("set k 0 0 3 noreply \r\n"), "set +quiet key=k value=3"},
	{L("set k 0 0 3 foo noreply\r\n"), "set +quiet key=k value=3"},
	{L("set k 0 0 3 noreply foo\r\n"), "set key=k value=3"},
	{L("set k 0 0 3 xnoreply\r\n"), "set key=k value=3"},
	{L("set k 0 0 3 noreplyx\r\n"), "set key=k value=3"},
	{L("set k 0 0 3 NOREPLY\r\n"), "set key=k value=3"},
	{L("set noreply 0 0 3\r\n"), "set key=noreply value=3"},
	{L("set k 0 0 1000\r\n"), "set key=k value=1000"},
	{L("set k 007 008 009\r\n"), "set key=k flags=7 exptime=8 value=9"},
	{L("set k 4294967295 0 1\r\n"), "set key=k flags=4294967295 value=1"},
	{L("set k 0 -1 1\r\n"), "set key=k exptime=-1 value=1"},
	{L("set k 0 2147483648 1\r\n"), "set key=k exptime=2147483648 value=1"},
	{L("set k 0 9223372036854775807 1\r\n"),
	 "set key=k exptime=9223372036854775807 value=1"},
	{L("set k 0 -9223372036854775808 1\r\n"),
	 "set key=k exptime=-9223372036854775808 value=1"},
	{L("set " K250 " 0 0 1\r\n"), "set key=" K250 " value=1"},

	/* the set family: refused, and the block is skipped */
	{L("set k 0 0 1001\r\n"), "refused set too-large swallow=1003"},
	{L("set k 0 0 1001 noreply\r\n"),
	 "refused set too-large swallow=1003 +quiet"},
	{L("set k 0 0 2147483645\r\n"),
	 "refused set too-large swallow=2147483647"},
	{L("set " K250 "x 0 0 11\r\n"), "refused set format swallow=13"},
	{L("add " K250 "x 0 0 11\r\n"), "refused add format swallow=13"},
	{L("replace " K250 "x 0 0 11\r\n"),
	 "refused replace format swallow=13"},
	{L("append " K250 "x 0 0 11\r\n"), "refused append format swallow=13"},
	{L("prepend " K250 "x 0 0 11\r\n"),
	 "refused prepend format swallow=13"},
	{L("cas " K250 "x 0 0 11 5\r\n"), "refused cas format swallow=13"},
	{L("set " K250 "x 0 0 11 noreply\r\n"),
	 "refused set format swallow=13 +quiet"},
	{L("set " K250 "x 0 0 1001\r\n"), "refused set format swallow=1003"},
	{L("set a\0b 0 0 1\r\n"), "refused set format swallow=3"},
	{L("set a\rb 0 0 1\r\n"), "refused set format swallow=3"},
	{L("set k 4294967296 0 1\r\n"), "refused set format swallow=3"},
	{L("set k -1 0 1\r\n"), "refused set format swallow=3"},
	{L("set k +1 0 1\r\n"), "refused set format swallow=3"},
	{L("set k 1x 0 1\r\n"), "refused set format swallow=3"},
	{L("set k x 0 1 noreply\r\n"), "refused set format swallow=3 +quiet"},
	{L("set k 0 x 1\r\n"), "refused set format swallow=3"},
	{L("set k 0 1x 1\r\n"), "refused set format swallow=3"},
	{L("set k 0 +1 1\r\n"), "refused set format swallow=3"},
	{L("set k 0 - 1\r\n"), "refused set format swallow=3"},
	{L("set k 0 9223372036854775808 1\r\n"),
	 "refused set format swallow=3"},

	/* the set family: where the block ends is not known */
	{L("set k 0 0 -1\r\n"), "refused set format +close"},
	{L("set k 0 0 +3\r\n"), "refused set format +close"},
	{L("set k 0 0 12x\r\n"), "refused set format +close"},
	{L("set k 0 0 x\r\n"), "refused set format +close"},
	{L("set k 0 0 1\r2\r\n"), "refused set format +close"},
	{L("set k 0 0 2147483646\r\n"), "refused set format +close"},
	{L("set k 0 0 2147483647\r\n"), "refused set format +close"},
	{L("set k 0 0 4294967295\r\n"), "refused set format +close"},
	{L("set k 0 0 4294967296\r\n"), "refused set format +close"},
	{L("set k 0 0 99999999999999999999\r\n"), "refused set format +close"},
	{L("set k 0 0 -1 noreply\r\n"), "refused set format +close"},
	{L("set k 0 0 noreply\r\n"), "refused set format +close"},
	{L("cas k 0 0 x 5\r\n"), "refused cas format +close"},
	{L("set " K250 "x 0 0 x\r\n"), "refused set format +close"},
	{L("set  0 0 9\r\n"), "refused set format +close"},
	{L("set k 0 0\r\n"), "refused set format +close"},
	{L("cas k 0 0\r\n"), "refused cas format +close"},
	{L("set k 0\r\n"), "refused set format"},
	{L("set k\r\n"), "refused set format"},
	{L("set\r\n"), "refused set format"},
	{L("set noreply\r\n"), "refused set format"},
	{L("cas\r\n"), "refused cas format"},

	/* cas */
	{L("cas k 1 2 3 4\r\n"), "cas key=k flags=1 exptime=2 cas=4 value=3"},
	{L("cas k 0 0 3 0\r\n"), "cas key=k value=3"},
	{L("cas k 0 0 3 18446744073709551615\r\n"),
	 "cas key=k cas=18446744073709551615 value=3"},
	{L("cas k 0 0 3 4 noreply\r\n"), "cas +quiet key=k cas=4 value=3"},
	{L("cas k 0 0 3 4 5 noreply\r\n"), "cas +quiet key=k cas=4 value=3"},
	{L("cas k 0 0 3\r\n"), "refused cas format swallow=5"},
	{L("cas k 0 0 3 \r\n"), "refused cas format swallow=5"},
	{L("cas k 0 0 3 noreply\r\n"), "refused cas format swallow=5 +quiet"},
	{L("cas k 0 0 3 x\r\n"), "refused cas format swallow=5"},
	{L("cas k 0 0 3 -1\r\n"), "refused cas format swallow=5"},
	{L("cas k 0 0 3 18446744073709551616\r\n"),
	 "refused cas format swallow=5"},
	{L("cas k 0 0 1001 4\r\n"), "refused cas too-large swallow=1003"},

	/* incr, decr */
	{L("incr k 1\r\n"), "incr key=k delta=1"},
	{L("decr k 0\r\n"), "decr key=k"},
	{L("incr k 18446744073709551615\r\n"),
	 "incr key=k delta=18446744073709551615"},
	{L("incr k 1 noreply\r\n"), "incr +quiet key=k delta=1"},
	{L("incr k 1 foo\r\n"), "incr key=k delta=1"},
	{L("incr k 1 foo noreply\r\n"), "incr +quiet key=k delta=1"},
	{L("incr k -1\r\n"), "refused incr delta"},
	{L("incr k +1\r\n"), "refused incr delta"},
	{L("decr k x\r\n"), "refused decr delta"},
	{L("decr k 1x\r\n"), "refused decr delta"},
	{L("incr k 18446744073709551616\r\n"), "refused incr delta"},
	{L("incr k x noreply\r\n"), "refused incr delta +quiet"},
	{L("incr k noreply\r\n"), "refused incr format +quiet"},
	{L("incr noreply\r\n"), "refused incr format"},
	{L("incr noreply 1\r\n"), "incr key=noreply delta=1"},
	{L("incr k\r\n"), "refused incr format"},
	{L("incr\r\n"), "refused incr format"},
	{L("decr\r\n"), "refused decr format"},
	{L("incr " K250 " 1\r\n"), "incr key=" K250 " delta=1"},
	{L("incr " K250 "x 1\r\n"), "refused incr format"},
	{L("incr " K250 "x 1 noreply\r\n"), "refused incr format +quiet"},
	{L("decr a\0b 1\r\n"), "refused decr format"},

	/* touch */
	{L("touch k 100\r\n"), "touch key=k exptime=100"},
	{L("touch k -1\r\n"), "touch key=k exptime=-1"},
	{L("touch k 0 noreply\r\n"), "touch +quiet key=k"},
	{L("touch k x\r\n"), "refused touch exptime"},
	{L("touch k x noreply\r\n"), "refused touch exptime +quiet"},
	{L("touch k noreply\r\n"), "refused touch format +quiet"},
	{L("touch k\r\n"), "refused touch format"},
	{L("touch\r\n"), "refused touch format"},
	{L("touch " K250 "x 0\r\n"), "refused touch format"},

	/* delete, also in its old form with a hold time */
	{L("delete k\r\n"), "delete key=k"},
	{L("delete k noreply\r\n"), "delete +quiet key=k"},
	{L("delete k  noreply \r\n"), "delete +quiet key=k"},
	{L("delete k 0\r\n"), "delete key=k"},
	{L("delete k 0 noreply\r\n"), "delete +quiet key=k"},
	{L("delete noreply\r\n"), "delete key=noreply"},
	{L("delete noreply noreply\r\n"), "delete +quiet key=noreply"},
	{L("delete k 10\r\n"), "refused delete usage"},
	{L("delete k 10 noreply\r\n"), "refused delete usage +quiet"},
	{L("delete k 0 0\r\n"), "refused delete usage"},
	{L("delete k 0 x noreply\r\n"), "refused delete usage +quiet"},
	{L("delete k x\r\n"), "refused delete usage"},
	{L("delete k noreply x\r\n"), "refused delete usage"},
	{L("delete\r\n"), "refused delete format"},
	{L("delete " K250 "\r\n"), "delete key=" K250},
	{L("delete " K250 "x\r\n"), "refused delete format"},
	{L("delete " K250 "x noreply\r\n"), "refused delete format +quiet"},

	/* flush_all */
	{L("flush_all\r\n"), "flush_all"},
	{L("flush_all noreply\r\n"), "flush_all +quiet"},
	{L("flush_all 0\r\n"), "flush_all"},
	{L("flush_all 0 noreply\r\n"), "flush_all +quiet"},
	{L("flush_all 10\r\n"), "flush_all exptime=10"},
	{L("flush_all -10 noreply\r\n"), "flush_all +quiet exptime=-10"},
	{L("flush_all x\r\n"), "refused flush_all exptime"},
	{L("flush_all x noreply\r\n"), "refused flush_all exptime +quiet"},

	/* administration: the server looks at the words */
	{L("version\r\n"), "version"},
	{L("version x\r\n"), "version args=x"},
	{L("quit\r\n"), "quit"},
	{L("quit now\r\n"), "quit args=now"},
	{L("stats\r\n"), "stats"},
	{L("stats  items \r\n"), "stats args=items"},
	{L("stats noreply\r\n"), "stats args=noreply"},
	{L("stats cachedump 1 5\r\n"), "stats args=cachedump,1,5"},
	{L("stats 1 2 3 4 5 6\r\n"), "stats args=1,2,3,4"},
	{L("shutdown\r\n"), "shutdown"},
	{L("shutdown graceful\r\n"), "shutdown args=graceful"},
	{L("verbosity 1\r\n"), "verbosity args=1"},
	{L("verbosity 1 noreply\r\n"), "verbosity +quiet args=1"},
	{L("verbosity x\r\n"), "verbosity args=x"},
	{L("verbosity\r\n"), "refused verbosity format"},
	{L("verbosity noreply\r\n"), "refused verbosity format +quiet"},
	{L("cache_memlimit 64\r\n"), "cache_memlimit args=64"},
	{L("cache_memlimit 64 noreply\r\n"), "cache_memlimit +quiet args=64"},
	{L("cache_memlimit\r\n"), "refused cache_memlimit unknown"},
};

#define CASE_COUNT ((int)(sizeof(cases) / sizeof(cases[0])))

/* Parses and compares with what is wanted. Returns the bytes consumed. */
static void expect(const char *buf, size_t len, size_t scanned,
		   const struct parse_case *want)
{
	struct proto_parsed parsed;
	enum proto_event event;
	struct text got;

	memset(&parsed, 0xA5, sizeof(parsed));
	event = proto_classic_parse(buf, len, scanned, &limits, &parsed);
	describe(&got, event, &parsed);
	ck_assert_str_eq(got.bytes, want->want);
	if (event != PROTO_HANGUP)
		ck_assert_uint_eq(parsed.consumed, want->line.len);
}

static void check_whole(struct guard *guard, const struct parse_case *want)
{
	expect(guard_at_start(guard, want->line.data, want->line.len),
	       want->line.len, 0, want);
	expect(guard_at_end(guard, want->line.data, want->line.len),
	       want->line.len, 0, want);
}

static void check_with_more_behind(struct guard *guard,
				   const struct parse_case *want)
{
	static const char more[] = "\r\nnoreply HTTP/1.1\r\n";
	const size_t len = want->line.len;

	memset(guard->data, 'z', guard->size);
	guard_at_start(guard, want->line.data, len);
	expect(guard->data, len + 1, 0, want);
	memcpy(guard->data + len, more, sizeof(more));
	expect(guard->data, len + sizeof(more), 0, want);
}

static void check_split(struct guard *guard, const struct parse_case *want,
			size_t len)
{
	const char *buf = guard_at_end(guard, want->line.data, len);
	struct proto_parsed parsed;

	ck_assert_int_eq(proto_classic_parse(buf, len, 0, &limits, &parsed),
			 PROTO_WAIT);
	ck_assert_uint_eq(parsed.scanned, len);
	ck_assert_int_eq(proto_classic_parse(buf, len, len, &limits, &parsed),
			 PROTO_WAIT);
	ck_assert_uint_eq(parsed.scanned, len);
	buf = guard_at_end(guard, want->line.data, want->line.len);
	expect(buf, want->line.len, len, want);
}

START_TEST(test_parse_line)
{
	const struct parse_case *want = &cases[_i];
	struct guard guard;
	size_t len;

	guard_open(&guard, GUARD_SIZE);
	check_whole(&guard, want);
	check_with_more_behind(&guard, want);
	for (len = 0; len < want->line.len; len++)
		check_split(&guard, want, len);
	guard_close(&guard);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("protocol_classic");
	TCase *lines = tcase_create("lines");

	tcase_add_loop_test(lines, test_parse_line, 0, CASE_COUNT);
	suite_add_tcase(suite, lines);
	return run_suite(suite);
}
