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

/* The byte table of FORMAT.md. */
static const unsigned char short_head[] = {
	1,    0,    0,	  0,	0xef, 0xbe, 0xad, 0xde, /* flags */
	0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11, /* expiry */
	0x08, 0x07, 0x06, 0x05, 0x04, 0x03, 0x02, 0x01, /* cas */
};
static const unsigned char long_head[] = {
	1,    1,    0,	  0,	1,    0,    0,	  0,	/* flags */
	0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, /* expiry */
	0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, /* cas */
	7,    0,    0,	  0,	0,    0,    0,	  0,	/* stamp */
};

static const unsigned char marked_head[] = {
	1, 14, 0xcd, 0xab, 0, 0, 0, 0, /* flags */
	0, 0,  0,    0,	   0, 0, 0, 0, /* expiry */
	9, 0,  0,    0,	   0, 0, 0, 0, /* cas */
};

START_TEST(test_encode_writes_the_bytes_of_the_table)
{
	const struct record record = {.flags = 0xdeadbeef,
				      .expiry = 0x1122334455667788,
				      .cas = 0x0102030405060708,
				      .stamp = 0x0102030405060708};
	unsigned char room[32 + 1];
	unsigned char *head = record_encode(&record, room + 32);

	ck_assert_uint_eq(record_head_bytes(&record), 24);
	ck_assert_ptr_eq(head, room + 8);
	ck_assert_mem_eq(head, short_head, 24);
}
END_TEST

START_TEST(test_encode_keeps_the_stamp_beside_a_given_id)
{
	const struct record record = {
		.flags = 1, .expiry = -1, .cas = UINT64_MAX, .stamp = 7};
	unsigned char room[32];
	unsigned char *head = record_encode(&record, room + 32);

	ck_assert_ptr_eq(head, room);
	ck_assert_mem_eq(head, long_head, 32);
}
END_TEST

START_TEST(test_marks_are_bits_of_the_state)
{
	struct record record = {
		.cas = 9, .stamp = 9, .key_base64 = true, .stale = true};
	unsigned char room[32];

	record_set_won(&record, 0x1234abcd);
	ck_assert_mem_eq(record_encode(&record, room + 32), marked_head, 24);
	ck_assert_int_eq(record_decode(marked_head, 24, &record), 0);
	ck_assert(record.key_base64 && record.stale && record.won);
	ck_assert_uint_eq(record.won_start, 0xabcd);
	ck_assert_int_eq(record_decode(short_head, 24, &record), 0);
	ck_assert(!record.key_base64 && !record.stale && !record.won);
}
END_TEST

/* Each bit is one mark, and all go with a given id. */
START_TEST(test_every_set_of_marks_comes_back)
{
	unsigned char room[32], *head;
	struct record read;

	for (int set = 0; set < 16; set++) {
		const struct record record = {.cas = 9,
					      .stamp = set & 1 ? 8 : 9,
					      .stale = (set & 2) != 0,
					      .won = (set & 4) != 0,
					      .key_base64 = (set & 8) != 0};

		head = record_encode(&record, room + 32);
		ck_assert_int_eq(head[1], set);
		ck_assert_int_eq(
			record_decode(head, (size_t)(room + 32 - head), &read),
			0);
		ck_assert_uint_eq(read.stamp, record.stamp);
		ck_assert_int_eq(read.stale, record.stale);
		ck_assert_int_eq(read.won, record.won);
		ck_assert_int_eq(read.key_base64, record.key_base64);
	}
}
END_TEST

START_TEST(test_a_won_mark_counts_in_its_own_start)
{
	struct record record = {.won = false};
	unsigned char room[24];

	ck_assert(!record_won(&record, 0));
	record_set_won(&record, 5);
	ck_assert(record_won(&record, 5));
	ck_assert(!record_won(&record, 6));
	ck_assert(!record_won(&record, 0));
	record.won = false;
	ck_assert(!record_won(&record, 5));
	(void)record_encode(&record, room + 24);
	ck_assert_int_eq(room[2] | room[3], 0); /* nothing is left behind */
}
END_TEST

START_TEST(test_decode_gives_back_what_was_encoded)
{
	struct record record;

	ck_assert_int_eq(record_decode(short_head, 24, &record), 0);
	ck_assert_uint_eq(record.head_bytes, 24);
	ck_assert_uint_eq(record.flags, 0xdeadbeef);
	ck_assert_int_eq(record.expiry, 0x1122334455667788);
	ck_assert_uint_eq(record.cas, 0x0102030405060708);
	ck_assert_uint_eq(record.stamp, record.cas);
	ck_assert_int_eq(record_decode(long_head, 32, &record), 0);
	ck_assert_uint_eq(record.head_bytes, 32);
	ck_assert_int_eq(record.expiry, -1);
	ck_assert_uint_eq(record.cas, UINT64_MAX);
	ck_assert_uint_eq(record.stamp, 7);
}
END_TEST

/* The bytes end where a page begins that may not be read. */
START_TEST(test_decode_reads_no_byte_too_many)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *pages = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct record record;

	ck_assert_ptr_ne(pages, MAP_FAILED);
	ck_assert_int_eq(mprotect(pages + page, page, PROT_NONE), 0);
	for (size_t size = 0; size <= 32; size++) {
		char *bytes = pages + page - size;

		memcpy(bytes, short_head, size < 24 ? size : 24);
		ck_assert_int_eq(record_decode(bytes, size, &record),
				 size < 24 ? -EBADMSG : 0);
		memcpy(bytes, long_head, size);
		ck_assert_int_eq(record_decode(bytes, size, &record),
				 size < 32 ? -EBADMSG : 0);
	}
	ck_assert_int_eq(munmap(pages, 2 * page), 0);
}
END_TEST

START_TEST(test_decode_refuses_what_it_does_not_know)
{
	unsigned char bytes[24];
	struct record record = {.flags = 5};

	for (int value = 0; value < 256; value++) {
		memcpy(bytes, short_head, 24);
		bytes[0] = (unsigned char)value;
		ck_assert_int_eq(record_decode(bytes, 24, &record),
				 value == 1 ? 0 : -EBADMSG);
		memcpy(bytes, short_head, 24);
		bytes[1] = (unsigned char)value;
		ck_assert_int_eq(record_decode(bytes, 24, &record),
				 value < 16 && value % 2 == 0 ? 0 : -EBADMSG);
	}
}
END_TEST

START_TEST(test_decode_sets_nothing_on_failure)
{
	struct record record = {.flags = 5, .head_bytes = 99};

	ck_assert_int_eq(record_decode(short_head, 23, &record), -EBADMSG);
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

	tcase_add_test(tcase, test_encode_writes_the_bytes_of_the_table);
	tcase_add_test(tcase, test_encode_keeps_the_stamp_beside_a_given_id);
	tcase_add_test(tcase, test_marks_are_bits_of_the_state);
	tcase_add_test(tcase, test_every_set_of_marks_comes_back);
	tcase_add_test(tcase, test_a_won_mark_counts_in_its_own_start);
	tcase_add_test(tcase, test_decode_gives_back_what_was_encoded);
	tcase_add_test(tcase, test_decode_reads_no_byte_too_many);
	tcase_add_test(tcase, test_decode_refuses_what_it_does_not_know);
	tcase_add_test(tcase, test_decode_sets_nothing_on_failure);
	tcase_add_test(tcase, test_expired_from_the_second_on);
	tcase_add_test(tcase, test_flushed_below_the_cutoff);
	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}
