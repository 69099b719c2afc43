/*
 * test_protocol_binary.c - what a packet is read as, and what is refused.
 *
 * What the protocol says about each opcode stands here a second time, by hand,
 * and is held against the parser for all 256 of them and for lengths that fit,
 * nearly fit, and do not fit at all. Inputs lie between unreadable pages.
 */
#include "protocol/protocol.h"
#include "tests/unit/test_protocol_guard.h"

#include <check.h>
#include <stdio.h>

#include "tests/unit/run_suite.h"

#define HEAD	    24
#define GUARD_SIZE  (128 * 1024)
#define VALUE_LIMIT 20000
#define OPAQUE	    0xdeadbeef
#define GIB	    (UINT64_C(1) << 30)

static const struct proto_limits limits = {.value_max_bytes = VALUE_LIMIT};

/* A packet to be made. */
struct packet {
	uint8_t opcode;
	const char *extras;
	size_t extras_bytes;
	const char *key;
	size_t key_bytes;
	size_t value_bytes;
	uint64_t cas;
};

#define TEXT(text) (text), sizeof(text) - 1

static char *put_big_endian(char *at, uint64_t number, int bytes)
{
	while (bytes-- > 0)
		*at++ = (char)(number >> (8 * bytes));
	return at;
}

/* The head of any lengths, also of impossible ones. */
static void make_head(char *at, uint8_t opcode, size_t extras_bytes,
		      size_t key_bytes, uint64_t body_bytes, uint64_t cas)
{
	at = put_big_endian(at, 0x80, 1);
	at = put_big_endian(at, opcode, 1);
	at = put_big_endian(at, key_bytes, 2);
	at = put_big_endian(at, extras_bytes, 1);
	at = put_big_endian(at, 0x77, 1);   /* data type: ignored */
	at = put_big_endian(at, 0x1234, 2); /* bucket: ignored */
	at = put_big_endian(at, body_bytes, 4);
	at = put_big_endian(at, OPAQUE, 4);
	put_big_endian(at, cas, 8);
}

/* Head, extras and key; returns their length. The value stays out. */
static size_t make_packet(char *to, const struct packet *packet)
{
	make_head(to, packet->opcode, packet->extras_bytes, packet->key_bytes,
		  packet->extras_bytes + packet->key_bytes +
			  packet->value_bytes,
		  packet->cas);
	memcpy(to + HEAD, packet->extras, packet->extras_bytes);
	memcpy(to + HEAD + packet->extras_bytes, packet->key,
	       packet->key_bytes);
	return HEAD + packet->extras_bytes + packet->key_bytes;
}

static enum proto_event parse(const char *buf, size_t len,
			      struct proto_parsed *ret)
{
	return proto_binary_parse(buf, len, 0, &limits, ret);
}

/* --- what each opcode means --------------------------------------------- */

/* A second table of opcodes: extras and value as the protocol has them. */
static const struct known {
	uint8_t opcode;
	enum proto_verb verb;
	bool quiet, want_key;
	int extras; /* bytes; -4: 4 or none */
	char key;   /* y: needed, n: none, o: optional */
	bool value; /* may have one */
} known[] = {
	{0x00, PROTO_GET, false, false, 0, 'y', false},
	{0x09, PROTO_GET, true, false, 0, 'y', false},
	{0x0c, PROTO_GET, false, true, 0, 'y', false},
	{0x0d, PROTO_GET, true, true, 0, 'y', false},
	{0x01, PROTO_SET, false, false, 8, 'y', true},
	{0x11, PROTO_SET, true, false, 8, 'y', true},
	{0x02, PROTO_ADD, false, false, 8, 'y', true},
	{0x12, PROTO_ADD, true, false, 8, 'y', true},
	{0x03, PROTO_REPLACE, false, false, 8, 'y', true},
	{0x13, PROTO_REPLACE, true, false, 8, 'y', true},
	{0x04, PROTO_DELETE, false, false, 0, 'y', false},
	{0x14, PROTO_DELETE, true, false, 0, 'y', false},
	{0x05, PROTO_INCR, false, false, 20, 'y', false},
	{0x15, PROTO_INCR, true, false, 20, 'y', false},
	{0x06, PROTO_DECR, false, false, 20, 'y', false},
	{0x16, PROTO_DECR, true, false, 20, 'y', false},
	{0x07, PROTO_QUIT, false, false, 0, 'n', false},
	{0x17, PROTO_QUIT, true, false, 0, 'n', false},
	{0x08, PROTO_FLUSH_ALL, false, false, -4, 'n', false},
	{0x18, PROTO_FLUSH_ALL, true, false, -4, 'n', false},
	{0x0a, PROTO_NOOP, false, false, 0, 'n', false},
	{0x0b, PROTO_VERSION, false, false, 0, 'n', false},
	{0x0e, PROTO_APPEND, false, false, 0, 'y', true},
	{0x19, PROTO_APPEND, true, false, 0, 'y', true},
	{0x0f, PROTO_PREPEND, false, false, 0, 'y', true},
	{0x1a, PROTO_PREPEND, true, false, 0, 'y', true},
	{0x10, PROTO_STATS, false, false, 0, 'o', false},
	{0x1c, PROTO_TOUCH, false, false, 4, 'y', false},
	{0x1d, PROTO_GAT, false, false, 4, 'y', false},
	{0x1e, PROTO_GAT, true, false, 4, 'y', false},
	{0x23, PROTO_GAT, false, true, 4, 'y', false},
	{0x24, PROTO_GAT, true, true, 4, 'y', false},
	{0x20, PROTO_SASL_LIST, false, false, 0, 'n', false},
	{0x21, PROTO_SASL_START, false, false, 0, 'y', true},
	{0x22, PROTO_SASL_STEP, false, false, 0, 'y', true},
};

static const struct known *find_known(unsigned int opcode)
{
	size_t i;

	for (i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		if (known[i].opcode == opcode)
			return &known[i];
	}
	return NULL;
}

/* What the protocol says about a head; PROTO_DONE: it is a command. */
struct verdict {
	enum proto_code code;
	bool close;
};

static bool fits(const struct known *entry, size_t extras, size_t key,
		 uint64_t value)
{
	if (entry->extras < 0 ? extras != 0 && extras != 4
			      : extras != (size_t)entry->extras)
		return false;
	if (entry->key == 'y' ? key == 0 : entry->key == 'n' && key != 0)
		return false;
	return value == 0 || entry->value;
}

static struct verdict judge(const struct known *entry, size_t extras,
			    size_t key, uint64_t body)
{
	const bool login = entry && (entry->verb == PROTO_SASL_START ||
				     entry->verb == PROTO_SASL_STEP);
	const uint64_t value = body - extras - key;

	if (extras + key > body)
		return (struct verdict){PROTO_ERR_UNKNOWN, true};
	if (body > GIB || key > 250)
		return (struct verdict){PROTO_ERR_SHAPE, true};
	if (!entry)
		return (struct verdict){PROTO_ERR_UNKNOWN, false};
	if (!fits(entry, extras, key, value) || (login && value > 16384))
		return (struct verdict){PROTO_ERR_SHAPE, true};
	if (login && key > 32)
		return (struct verdict){PROTO_ERR_SHAPE, false};
	if (!login && value > VALUE_LIMIT)
		return (struct verdict){PROTO_ERR_TOO_LARGE, false};
	return (struct verdict){PROTO_DONE, false};
}

static bool is_form_right(const struct proto_form *form, unsigned int opcode)
{
	const struct known *entry = find_known(opcode);

	return form->dialect == PROTO_BINARY && form->opcode == opcode &&
	       form->opaque == OPAQUE && !form->want_cas &&
	       form->verb == (entry ? entry->verb : PROTO_VERB_COUNT) &&
	       form->quiet == (entry && entry->quiet) &&
	       form->want_key == (entry && entry->want_key);
}

/*
 * One head, with extras and key behind it if the protocol lets them come.
 * No ck_assert() in here: check makes a record of each, of millions.
 */
static bool is_judged_right(char *at, unsigned int opcode, size_t extras,
			    size_t key, uint64_t body)
{
	const struct known *entry = find_known(opcode);
	const struct verdict want = judge(entry, extras, key, body);
	const struct proto_request *request;
	struct proto_parsed parsed;
	enum proto_event event;

	make_head(at, (uint8_t)opcode, extras, key, body, 0);
	if (want.code == PROTO_DONE) {
		event = parse(at, HEAD + extras + key, &parsed);
		request = &parsed.request;
		return event == PROTO_COMMAND &&
		       parsed.consumed == HEAD + extras + key &&
		       request->value_bytes == body - extras - key &&
		       request->value_tail == 0 &&
		       request->has_value == entry->value &&
		       is_form_right(&request->form, opcode);
	}
	event = parse(at, HEAD, &parsed);
	return event == PROTO_REFUSED && parsed.consumed == HEAD &&
	       parsed.code == want.code && parsed.close == want.close &&
	       parsed.swallow == (want.close ? 0 : body) &&
	       is_form_right(&parsed.request.form, opcode);
}

static void check_lengths(char *at, unsigned int opcode, size_t extras,
			  size_t key, uint64_t body)
{
	if (!is_judged_right(at, opcode, extras, key, body))
		ck_abort_msg("opcode %#x, extras %zu, key %zu, body %ju",
			     opcode, extras, key, (uintmax_t)body);
}

static const size_t extras_lengths[] = {0, 1, 3,  4,  5,  7,
					8, 9, 19, 20, 21, 255};
static const size_t key_lengths[] = {0,	  1,   31,  32,	 33,
				     249, 250, 251, 256, 65535};
static const uint64_t value_lengths[] = {
	0,	     1,
	16384,	     16385,
	VALUE_LIMIT, VALUE_LIMIT + 1,
	65536,	     GIB - 1,
	GIB,	     UINT32_MAX - 65535 - 255,
};

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

static void check_opcode(char *at, unsigned int opcode)
{
	size_t i, j, k;

	for (i = 0; i < COUNT(extras_lengths); i++) {
		for (j = 0; j < COUNT(key_lengths); j++) {
			const size_t front = extras_lengths[i] + key_lengths[j];

			for (k = 0; k < COUNT(value_lengths); k++)
				check_lengths(at, opcode, extras_lengths[i],
					      key_lengths[j],
					      front + value_lengths[k]);
			if (front > 0)
				check_lengths(at, opcode, extras_lengths[i],
					      key_lengths[j], front - 1);
		}
	}
}

START_TEST(test_every_opcode_with_all_lengths)
{
	struct guard guard;
	unsigned int opcode;

	guard_open(&guard, HEAD + 255 + 250);
	memset(guard.data, 'x', guard.size);
	for (opcode = 0; opcode < 256; opcode++)
		check_opcode(guard.data, opcode);
	guard_close(&guard);
}
END_TEST

/* --- the fields --------------------------------------------------------- */

#define EXTRAS_STORE "\xde\xad\xbe\xef\xff\xff\xff\xff"
#define EXTRAS_ARITH                       \
	"\x80\x00\x00\x00\x00\x00\x00\x05" \
	"\xff\xff\xff\xff\xff\xff\xff\xff"

static const struct {
	struct packet packet;
	struct proto_request want; /* key and form are checked by the packet */
} fields[] = {
	{{0x00, TEXT(""), TEXT("k"), 0, 7}, {.exptime = 0}},
	{{0x0d, TEXT(""), TEXT("a b\r\n\0c"), 0, 0}, {.exptime = 0}},
	{{0x01, TEXT(EXTRAS_STORE), TEXT("k"), 5, 0},
	 {.client_flags = 0xdeadbeef,
	  .exptime = 0xffffffff,
	  .has_value = true,
	  .value_bytes = 5}},
	{{0x11, TEXT("\0\0\0\0\0\0\0\x01"), TEXT("k"), 0, UINT64_MAX},
	 {.exptime = 1, .compare = true, .cas = UINT64_MAX, .has_value = true}},
	{{0x02, TEXT("\0\0\0\x01\0\0\0\0"), TEXT("k"), 1, 1},
	 {.client_flags = 1,
	  .compare = true,
	  .cas = 1,
	  .has_value = true,
	  .value_bytes = 1}},
	{{0x13, TEXT(EXTRAS_STORE), TEXT("k"), VALUE_LIMIT, 9},
	 {.client_flags = 0xdeadbeef,
	  .exptime = 0xffffffff,
	  .compare = true,
	  .cas = 9,
	  .has_value = true,
	  .value_bytes = VALUE_LIMIT}},
	{{0x0e, TEXT(""), TEXT("k"), 3, 0},
	 {.has_value = true, .value_bytes = 3}},
	{{0x1a, TEXT(""), TEXT("k"), 3, 8},
	 {.compare = true, .cas = 8, .has_value = true, .value_bytes = 3}},
	{{0x04, TEXT(""), TEXT("k"), 0, 0}, {.exptime = 0}},
	{{0x14, TEXT(""), TEXT("k"), 0, 6}, {.compare = true, .cas = 6}},
	{{0x05, TEXT(EXTRAS_ARITH "\xff\xff\xff\xff"), TEXT("n"), 0, 0},
	 {.delta = (UINT64_C(1) << 63) + 5}},
	{{0x06, TEXT(EXTRAS_ARITH "\xff\xff\xff\xfe"), TEXT("n"), 0, 3},
	 {.delta = (UINT64_C(1) << 63) + 5,
	  .create = true,
	  .initial = UINT64_MAX,
	  .create_exptime = 0xfffffffe,
	  .compare = true,
	  .cas = 3}},
	{{0x15, TEXT(EXTRAS_ARITH "\0\0\0\0"), TEXT("n"), 0, 0},
	 {.delta = (UINT64_C(1) << 63) + 5,
	  .create = true,
	  .initial = UINT64_MAX}},
	{{0x1c, TEXT("\0\0\0\x64"), TEXT("k"), 0, 5}, {.exptime = 100}},
	{{0x24, TEXT("\xff\xff\xff\xff"), TEXT("k"), 0, 0},
	 {.exptime = 0xffffffff}},
	{{0x08, TEXT(""), TEXT(""), 0, 0}, {.has_exptime = false}},
	{{0x18, TEXT("\0\0\0\0"), TEXT(""), 0, 0}, {.has_exptime = true}},
	{{0x18, TEXT("\0\0\x01\0"), TEXT(""), 0, 0},
	 {.has_exptime = true, .exptime = 256}},
	{{0x07, TEXT(""), TEXT(""), 0, 0}, {.exptime = 0}},
	{{0x0a, TEXT(""), TEXT(""), 0, 4}, {.exptime = 0}},
	{{0x21, TEXT(""), TEXT("PLAIN"), 9, 0},
	 {.has_value = true, .value_bytes = 9}},
	{{0x22, TEXT(""), TEXT("CRAM-MD5"), 0, 0}, {.has_value = true}},
};

#define FIELDS_COUNT ((int)COUNT(fields))

static void check_request(const struct proto_request *got,
			  const struct proto_request *want)
{
	ck_assert_uint_eq(got->client_flags, want->client_flags);
	ck_assert(got->has_exptime == want->has_exptime);
	ck_assert_int_eq(got->exptime, want->exptime);
	ck_assert(got->compare == want->compare);
	ck_assert_uint_eq(got->cas, want->cas);
	ck_assert_uint_eq(got->delta, want->delta);
	ck_assert(got->create == want->create);
	ck_assert_uint_eq(got->initial, want->initial);
	ck_assert_int_eq(got->create_exptime, want->create_exptime);
	ck_assert(got->has_value == want->has_value);
	ck_assert_uint_eq(got->value_bytes, want->value_bytes);
	ck_assert_uint_eq(got->value_tail, 0);
	ck_assert_uint_eq(got->keys.len, 0);
	ck_assert_uint_eq(got->arg_count, 0);
	ck_assert_uint_eq(got->rest.len, 0);
	ck_assert_uint_eq(got->meta.present, 0);
}

static void check_packet(const char *at, size_t len, int i)
{
	const struct packet *packet = &fields[i].packet;
	struct proto_parsed parsed;

	ck_assert_int_eq(parse(at, len, &parsed), PROTO_COMMAND);
	ck_assert_uint_eq(parsed.consumed,
			  HEAD + packet->extras_bytes + packet->key_bytes);
	ck_assert(is_form_right(&parsed.request.form, packet->opcode));
	check_request(&parsed.request, &fields[i].want);
	ck_assert_uint_eq(parsed.request.key.len, packet->key_bytes);
	if (packet->key_bytes > 0)
		ck_assert_ptr_eq(parsed.request.key.data,
				 at + HEAD + packet->extras_bytes);
}

/* Between the unreadable pages, and with the next packet behind it. */
START_TEST(test_fields)
{
	char bytes[HEAD + 20 + 250];
	size_t len = make_packet(bytes, &fields[_i].packet);
	struct guard guard;

	guard_open(&guard, GUARD_SIZE);
	memset(guard.data, 0x80, guard.size);
	check_packet(guard_at_end(&guard, bytes, len), len, _i);
	check_packet(guard_at_start(&guard, bytes, len), len, _i);
	check_packet(guard_at_start(&guard, bytes, len), guard.size, _i);
	guard_close(&guard);
}
END_TEST

/* However the bytes come, nothing is said before the key is whole. */
START_TEST(test_every_split)
{
	char bytes[HEAD + 20 + 250];
	size_t whole = make_packet(bytes, &fields[_i].packet), len, scanned = 0;
	struct proto_parsed parsed;
	struct guard guard;

	guard_open(&guard, GUARD_SIZE);
	for (len = 0; len < whole; len++) {
		const char *at = guard_at_end(&guard, bytes, len);

		ck_assert_int_eq(
			proto_binary_parse(at, len, scanned, &limits, &parsed),
			PROTO_WAIT);
		scanned = parsed.scanned;
		ck_assert_uint_eq(scanned, len);
	}
	ck_assert_int_eq(proto_binary_parse(guard_at_end(&guard, bytes, whole),
					    whole, scanned, &limits, &parsed),
			 PROTO_COMMAND);
	check_request(&parsed.request, &fields[_i].want);
	guard_close(&guard);
}
END_TEST

/* --- words of stat ------------------------------------------------------ */

static const struct {
	const char *key;
	size_t count;
	const char *args[PROTO_ARGS_MAX];
	const char *rest;
} words[] = {
	{"", 0, {NULL}, ""},
	{"settings", 1, {"settings"}, ""},
	{"detail on", 2, {"detail", "on"}, " on"},
	{" cachedump  1 0 0 ", 4, {"cachedump", "1", "0", "0"}, "  1 0 0"},
	{"a b c d e f", 5, {"a", "b", "c", "d", "e"}, " b c d e f"},
	{"   ", 0, {NULL}, ""},
	{"tab\there", 1, {"tab\there"}, ""},
};

START_TEST(test_words_of_stat)
{
	const struct packet packet = {.opcode = 0x10,
				      .extras = "",
				      .key = words[_i].key,
				      .key_bytes = strlen(words[_i].key)};
	struct proto_parsed parsed;
	char bytes[HEAD + 250];
	size_t len = make_packet(bytes, &packet), i;

	ck_assert_int_eq(parse(bytes, len, &parsed), PROTO_COMMAND);
	ck_assert_int_eq(parsed.request.form.verb, PROTO_STATS);
	ck_assert_uint_eq(parsed.request.arg_count, words[_i].count);
	ck_assert_uint_eq(parsed.request.key.len, 0);
	for (i = 0; i < words[_i].count; i++)
		ck_assert(proto_slice_is(parsed.request.args[i],
					 words[_i].args[i]));
	ck_assert_uint_eq(parsed.request.rest.len, strlen(words[_i].rest));
	if (parsed.request.rest.len > 0)
		ck_assert(proto_slice_is(parsed.request.rest, words[_i].rest));
}
END_TEST

/* --- framing ------------------------------------------------------------ */

START_TEST(test_wait_sets_only_scanned)
{
	struct proto_parsed parsed, before;
	char bytes[HEAD];

	make_head(bytes, 0x00, 0, 1, 1, 0);
	memset(&before, 0xA5, sizeof(before));
	memcpy(&parsed, &before, sizeof(parsed));
	ck_assert_int_eq(parse(bytes, HEAD, &parsed), PROTO_WAIT);
	ck_assert_uint_eq(parsed.scanned, HEAD);
	before.scanned = HEAD;
	ck_assert_mem_eq(&parsed, &before, sizeof(parsed));
	ck_assert_int_eq(parse(NULL, 0, &parsed), PROTO_WAIT);
	ck_assert_uint_eq(parsed.scanned, 0);
}
END_TEST

static void check_magic(unsigned int magic)
{
	struct proto_parsed parsed;
	char bytes[HEAD];

	make_head(bytes, 0x0a, 0, 0, 0, 0);
	bytes[0] = (char)magic;
	ck_assert(proto_is_binary(bytes[0]) == (magic == 0x80));
	ck_assert_int_eq(parse(bytes, HEAD - 1, &parsed), PROTO_WAIT);
	ck_assert_int_eq(parse(bytes, HEAD, &parsed),
			 magic == 0x80 ? PROTO_COMMAND : PROTO_HANGUP);
}

/* The first byte of a packet, looked at once its head is whole. */
START_TEST(test_magic)
{
	unsigned int magic;

	for (magic = 0; magic < 256; magic++)
		check_magic(magic);
}
END_TEST

/* Refusals are the same when the whole packet is there. */
START_TEST(test_refusal_does_not_depend_on_what_came)
{
	struct proto_parsed parsed;
	char bytes[HEAD + 64];
	size_t len;

	memset(bytes, 'x', sizeof(bytes));
	make_head(bytes, 0x30, 4, 10, 50, 0);
	for (len = 0; len < HEAD; len++)
		ck_assert_int_eq(parse(bytes, len, &parsed), PROTO_WAIT);
	for (; len <= sizeof(bytes); len++) {
		ck_assert_int_eq(parse(bytes, len, &parsed), PROTO_REFUSED);
		ck_assert_int_eq(parsed.code, PROTO_ERR_UNKNOWN);
		ck_assert_uint_eq(parsed.consumed, HEAD);
		ck_assert_uint_eq(parsed.swallow, 50);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("protocol_binary");
	TCase *opcodes = tcase_create("opcodes");
	TCase *packets = tcase_create("packets");
	TCase *framing = tcase_create("framing");

	tcase_add_test(opcodes, test_every_opcode_with_all_lengths);
	suite_add_tcase(suite, opcodes);

	tcase_add_loop_test(packets, test_fields, 0, FIELDS_COUNT);
	tcase_add_loop_test(packets, test_every_split, 0, FIELDS_COUNT);
	tcase_add_loop_test(packets, test_words_of_stat, 0, (int)COUNT(words));
	suite_add_tcase(suite, packets);

	tcase_add_test(framing, test_wait_sets_only_scanned);
	tcase_add_test(framing, test_magic);
	tcase_add_test(framing, test_refusal_does_not_depend_on_what_came);
	suite_add_tcase(suite, framing);

	return run_suite(suite);
}
