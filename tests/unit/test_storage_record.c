/*
 * test_storage_record.c - the bytes of a record, and bytes that are none.
 */
#include <check.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "storage/record.h"
#include "tests/unit/run_suite.h"

/* The byte tables of FORMAT.md: heads of today ... */
static const unsigned char plain_head[] = {
	0x80, 0x08, 0x07, 0x06, 0x05, 0x04, 0x03, 0x02, 0x01, /* cas */
};
static const unsigned char usual_head[] = {
	0x83, 0x08, 0x07, 0x06, 0x05, 0x04, 0x03, 0x02, 0x01, /* cas */
	0xef, 0xbe, 0xad, 0xde,				      /* flags */
	0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11,	      /* expiry */
};
static const unsigned char full_head[] = {
	0xbf, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, /* cas */
	1,    0,    0,	  0,				      /* flags */
	0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,	      /* expiry */
	7,    0,    0,	  0,	0,    0,    0,	  0,	      /* stamp */
	0xcd, 0xab,					      /* won in */
};

/* ... and of version 1. */
static const unsigned char old_short_head[] = {
	1,    0,    0,	  0,	0xef, 0xbe, 0xad, 0xde, /* flags */
	0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11, /* expiry */
	0x08, 0x07, 0x06, 0x05, 0x04, 0x03, 0x02, 0x01, /* cas */
};
static const unsigned char old_long_head[] = {
	1,    15,   0xcd, 0xab, 1,    0,    0,	  0,	/* flags */
	0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, /* expiry */
	0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, /* cas */
	7,    0,    0,	  0,	0,    0,    0,	  0,	/* stamp */
};

static const struct record plain = {.cas = 0x0102030405060708,
				    .stamp = 0x0102030405060708};
static const struct record usual = {.flags = 0xdeadbeef,
				    .expiry = 0x1122334455667788,
				    .cas = 0x0102030405060708,
				    .stamp = 0x0102030405060708};
static const struct record full = {.flags = 1,
				   .expiry = -1,
				   .cas = UINT64_MAX,
				   .stamp = 7,
				   .key_base64 = true,
				   .stale = true,
				   .won = true,
				   .won_start = 0xabcd};

/* Heads, and what they mean. */
static const struct {
	const unsigned char *bytes;
	size_t size;
	const struct record *record;
} heads[] = {
	{plain_head, sizeof(plain_head), &plain},
	{usual_head, sizeof(usual_head), &usual},
	{full_head, sizeof(full_head), &full},
	{old_short_head, sizeof(old_short_head), &usual},
	{old_long_head, sizeof(old_long_head), &full},
};

enum { HEADS_OF_TODAY = 3, HEADS = sizeof(heads) / sizeof(heads[0]) };

static void expect_same(const struct record *record,
			const struct record *expected)
{
	ck_assert_uint_eq(record->flags, expected->flags);
	ck_assert_int_eq(record->expiry, expected->expiry);
	ck_assert_uint_eq(record->cas, expected->cas);
	ck_assert_uint_eq(record->stamp, expected->stamp);
	ck_assert_int_eq(record->key_base64, expected->key_base64);
	ck_assert_int_eq(record->stale, expected->stale);
	ck_assert_int_eq(record->won, expected->won);
	ck_assert_uint_eq(record->won_start, expected->won_start);
}

START_TEST(test_encode_writes_the_bytes_of_the_table)
{
	unsigned char room[RECORD_HEAD_MAX + 1], *head;
	size_t size = heads[_i].size;

	ck_assert_uint_eq(record_head_bytes(heads[_i].record), size);
	head = record_encode(heads[_i].record, room + RECORD_HEAD_MAX);
	ck_assert_ptr_eq(head, room + RECORD_HEAD_MAX - size);
	ck_assert_mem_eq(head, heads[_i].bytes, size);
}
END_TEST

START_TEST(test_decode_reads_the_bytes_of_the_table)
{
	struct record record;

	memset(&record, 0xff, sizeof(record));
	ck_assert_int_eq(
		record_decode(heads[_i].bytes, heads[_i].size, &record), 0);
	ck_assert_uint_eq(record.head_bytes, heads[_i].size);
	expect_same(&record, heads[_i].record);
}
END_TEST

/* Each bit is one field or mark: all sets of them. */
START_TEST(test_every_head_comes_back)
{
	unsigned char room[RECORD_HEAD_MAX], *end = room + sizeof(room), *head;
	struct record read;

	for (int set = 0; set < 64; set++) {
		const struct record record = {.flags = set & 1 ? 5 : 0,
					      .expiry = set & 2 ? 6 : 0,
					      .cas = 9,
					      .stamp = set & 4 ? 8 : 9,
					      .won = (set & 8) != 0,
					      .won_start = set & 8 ? 0x1234 : 0,
					      .stale = (set & 16) != 0,
					      .key_base64 = (set & 32) != 0};

		head = record_encode(&record, end);
		ck_assert_int_eq(head[0], 0x80 + set);
		ck_assert_int_eq(
			record_decode(head, (size_t)(end - head), &read), 0);
		ck_assert_uint_eq(read.head_bytes, (size_t)(end - head));
		expect_same(&read, &record);
	}
}
END_TEST

START_TEST(test_a_won_mark_counts_in_its_own_start)
{
	struct record record = {.won = false};

	ck_assert(!record_won(&record, 0));
	record_set_won(&record, 0x12340005);
	ck_assert(record_won(&record, 0x12340005));
	ck_assert(!record_won(&record, 6));
	ck_assert(!record_won(&record, 0));
	record.won = false;
	ck_assert(!record_won(&record, 0x12340005));
	/* nothing is left behind */
	ck_assert_uint_eq(record_head_bytes(&record), RECORD_HEAD_MIN);
}
END_TEST

/* The bytes end where a page begins that may not be read. */
START_TEST(test_decode_reads_no_byte_too_many)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), whole = heads[_i].size;
	char *pages = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct record record;

	ck_assert_ptr_ne(pages, MAP_FAILED);
	ck_assert_int_eq(mprotect(pages + page, page, PROT_NONE), 0);
	for (size_t size = 0; size <= whole; size++) {
		char *bytes = pages + page - size;

		memcpy(bytes, heads[_i].bytes, size);
		ck_assert_int_eq(record_decode(bytes, size, &record),
				 size < whole ? -EBADMSG : 0);
	}
	ck_assert_int_eq(munmap(pages, 2 * page), 0);
}
END_TEST

START_TEST(test_decode_refuses_what_it_does_not_know)
{
	unsigned char bytes[RECORD_HEAD_MAX] = {0};
	struct record record;

	for (int value = 0; value < 256; value++) {
		bool known = value == 1 || (value >= 0x80 && value < 0xc0);

		bytes[0] = (unsigned char)value;
		ck_assert_int_eq(record_decode(bytes, sizeof(bytes), &record),
				 known ? 0 : -EBADMSG);
	}
	bytes[0] = 1;
	for (int value = 0; value < 256; value++) {
		bytes[1] = (unsigned char)value;
		ck_assert_int_eq(record_decode(bytes, sizeof(bytes), &record),
				 value < 16 ? 0 : -EBADMSG);
	}
}
END_TEST

START_TEST(test_decode_sets_nothing_on_failure)
{
	struct record record = {.flags = 5, .head_bytes = 99};

	ck_assert_int_eq(
		record_decode(heads[_i].bytes, heads[_i].size - 1, &record),
		-EBADMSG);
	ck_assert_uint_eq(record.flags, 5);
	ck_assert_uint_eq(record.head_bytes, 99);
}
END_TEST

START_TEST(test_expired_from_the_second_on)
{
	struct record record = {.expiry = 100};

	ck_assert(!record_expired(&record, 99));
	ck_assert(record_expired(&record, 100));
	ck_assert(record_expired(&record, INT64_MAX));
	record.expiry = 0;
	ck_assert(!record_expired(&record, INT64_MAX));
	record.expiry = -1;
	ck_assert(record_expired(&record, 0));
	record.expiry = INT64_MAX;
	ck_assert(!record_expired(&record, INT64_MAX - 1));
}
END_TEST

START_TEST(test_flushed_below_the_cutoff)
{
	const struct record record = {.cas = 1000, .stamp = 9};

	ck_assert(!record_flushed(&record, 0));
	ck_assert(!record_flushed(&record, 9));
	ck_assert(record_flushed(&record, 10));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("storage record");
	TCase *tcase = tcase_create("record");

	tcase_add_loop_test(tcase, test_encode_writes_the_bytes_of_the_table, 0,
			    HEADS_OF_TODAY);
	tcase_add_loop_test(tcase, test_decode_reads_the_bytes_of_the_table, 0,
			    HEADS);
	tcase_add_test(tcase, test_every_head_comes_back);
	tcase_add_test(tcase, test_a_won_mark_counts_in_its_own_start);
	tcase_add_loop_test(tcase, test_decode_reads_no_byte_too_many, 0,
			    HEADS);
	tcase_add_test(tcase, test_decode_refuses_what_it_does_not_know);
	tcase_add_loop_test(tcase, test_decode_sets_nothing_on_failure, 0,
			    HEADS);
	tcase_add_test(tcase, test_expired_from_the_second_on);
	tcase_add_test(tcase, test_flushed_below_the_cutoff);
	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}
