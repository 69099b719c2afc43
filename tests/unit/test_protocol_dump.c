/*
 * The lines of dumps: every byte of a key, every number, within the room that
 * is promised.
 */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "protocol/protocol.h"
#include "tests/unit/run_suite.h"

static char buf[PROTO_DUMP_LINE_MAX + 1];

static const char *metadump(const struct proto_dump_item *item)
{
	buf[proto_metadump_line(buf, item)] = '\0';
	return buf;
}

static const char *mgdump(const struct proto_dump_item *item)
{
	buf[proto_mgdump_line(buf, item)] = '\0';
	return buf;
}

START_TEST(test_dump_metadump_line)
{
	struct proto_dump_item item = {
		.key = {"some key", 8},
		.flags = 7,
		.cas = 12,
		.bytes = 100,
		.expiry = 1700000000,
		.last_access = 1600000000,
	};

	ck_assert_str_eq(metadump(&item),
			 "key=some%20key exp=1700000000 la=1600000000 cas=12 "
			 "fetch=no cls=1 size=100 flags=7 \n");
	item.expiry = 0;
	item.fetched = true;
	item.key_base64 = true; /* the key is shown decoded all the same */
	ck_assert_str_eq(metadump(&item),
			 "key=some%20key exp=-1 la=1600000000 cas=12 "
			 "fetch=yes cls=1 size=100 flags=7 \n");
}
END_TEST

START_TEST(test_dump_percent_code_of_every_byte)
{
	static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "abcdefghijklmnopqrstuvwxyz0123456789-._~";

	for (int byte = 0; byte < 256; byte++) {
		char key = (char)byte, text[4], wanted[4] = {key};
		size_t bytes = proto_percent_encode(
			(struct proto_slice){&key, 1}, text);

		if (byte == 0 || strchr(plain, byte) == NULL)
			(void)snprintf(wanted, sizeof(wanted), "%%%02X", byte);
		ck_assert_uint_eq(bytes, strlen(wanted));
		ck_assert_int_eq(memcmp(text, wanted, bytes), 0);
	}
}
END_TEST

START_TEST(test_dump_longest_lines_fit)
{
	char key[PROTO_KEY_MAX];
	struct proto_dump_item item = {
		.key = {key, sizeof(key)},
		.flags = UINT32_MAX,
		.cas = UINT64_MAX,
		.bytes = SIZE_MAX,
		.expiry = INT64_MIN,
		.last_access = INT64_MIN,
	};

	memset(key, '\xff', sizeof(key));
	ck_assert_uint_le(proto_metadump_line(buf, &item), PROTO_DUMP_LINE_MAX);
	ck_assert_uint_eq(proto_mgdump_line(buf, &item), 250 + 3 + 2);
	item.key_base64 = true;
	ck_assert_uint_eq(proto_mgdump_line(buf, &item), 336 + 3 + 2 + 2);
}
END_TEST

/* What a line cannot hold, or was stored so, is in base64. */
START_TEST(test_dump_mgdump_line)
{
	struct proto_dump_item item = {.key = {"plain%\xc3\xa9", 8}};

	ck_assert_str_eq(mgdump(&item), "mg plain%\xc3\xa9\r\n");
	item.key_base64 = true;
	ck_assert_str_eq(mgdump(&item), "mg cGxhaW4lw6k= b\r\n");
	item.key_base64 = false;
	item.key = (struct proto_slice){"a b", 3};
	ck_assert_str_eq(mgdump(&item), "mg YSBi b\r\n");
	item.key = (struct proto_slice){"a\nb", 3};
	ck_assert_str_eq(mgdump(&item), "mg YQpi b\r\n");
	item.key = (struct proto_slice){"a\0b", 3};
	ck_assert_str_eq(mgdump(&item), "mg YQBi b\r\n");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("dump");
	TCase *tests = tcase_create("dump");

	tcase_add_test(tests, test_dump_metadump_line);
	tcase_add_test(tests, test_dump_percent_code_of_every_byte);
	tcase_add_test(tests, test_dump_longest_lines_fit);
	tcase_add_test(tests, test_dump_mgdump_line);
	suite_add_tcase(suite, tests);
	return run_suite(suite);
}
