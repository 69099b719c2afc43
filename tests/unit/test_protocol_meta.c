/*
 * test_protocol_meta.c - every line of the meta commands.
 */
#include "tests/unit/protocol_rig.h"

#include <check.h>
#include <string.h>

#include "tests/unit/run_suite.h"

#define K251 K250 "k"
/* 17 flags: with word, key and one more token 20 in all. */
#define MANY "b c f h k l q s t u v x I L P E1 J2"
/* "Zm9v" is "foo"; "AA0KIH8=" is NUL CR LF SPACE DEL. */

static const struct parse_case cases[] = {
	/* mg */
	{L("mg k\r\n"), "mg key=k"},
	{L("mg k\n"), "mg key=k"},
	{L("mg  k  v  t \r\n"), "mg key=k tv"},
	{L("mg k s v f c t h l u k\r\n"), "mg key=k cfhklstuv"},
	{L("mg k vxyz t12\r\n"), "mg key=k tv"},
	{L("mg k q v\r\n"), "mg +quiet key=k qv"},
	{L("mg k noreply\r\n"), "refused mg flag"},
	{L("mg k O123 v\r\n"), "mg key=k vO opaque=123"},
	{L("mg k O\r\n"), "mg key=k O opaque="},
	{L("mg k T30\r\n"), "mg key=k exptime=30 T"},
	{L("mg k T0\r\n"), "mg key=k T"},
	{L("mg k T-1\r\n"), "mg key=k exptime=-1 T"},
	{L("mg k N30 R10 E5\r\n"),
	 "mg key=k ENR recache=10 assign=5 create=30"},
	{L("mg k C18446744073709551615\r\n"),
	 "mg key=k cas=18446744073709551615 C"},
	{L("mg k C0\r\n"), "mg key=k cas=0 C"},
	{L("mg k E0\r\n"), "mg key=k E"},
	{L("mg " K250 " v\r\n"), "mg key=" K250 " v"},
	{L("mg " K251 " v\r\n"), "refused mg format"},
	{L("mg a\0b v\r\n"), "refused mg format"},
	{L("mg a\rb v\r\n"), "refused mg format"},
	{L("mg k\xe9\x01 k\r\n"), "mg key=k\xe9\x01 k"},
	{L("mg\r\n"), "refused mg format"},
	{L("mg \r\n"), "refused mg format"},
	{L(" mg k\r\n"), "refused unknown unknown"},
	{L("MG k\r\n"), "refused unknown unknown"},
	{L("mgk\r\n"), "refused unknown unknown"},
	{L("mg / HTTP/1.1\r\n"), "refused mg flag"},

	/* flags of other commands mean nothing, if they are well formed */
	{L("mg k v D1 J1 I x P L MX\r\n"),
	 "mg key=k vxDIJLMP mode=X initial=1 delta=1"},
	{L("mg k F7 Pfoo Lbar\r\n"), "mg key=k flags=7 FLP"},
	{L("mg k D\r\n"), "refused mg number"},
	{L("mg k Jx\r\n"), "refused mg number"},

	/* b: what the key means */
	{L("mg Zm9v b\r\n"), "mg key=Zm9v b means=foo"},
	{L("mg Zm8= b\r\n"), "mg key=Zm8= b means=fo"},
	{L("mg Zg== k b v\r\n"), "mg key=Zg== bkv means=f"},
	{L("mg Zm9v\r\n"), "mg key=Zm9v"},
	{L("mg Zm9 b\r\n"), "refused mg base64"},
	{L("mg Z b\r\n"), "refused mg base64"},
	{L("mg Zm9v==== b\r\n"), "refused mg base64"},
	{L("mg ==== b\r\n"), "refused mg base64"},
	{L("mg Zm!v b\r\n"), "refused mg base64"},
	{L("mg Zm9- b\r\n"), "refused mg base64"},

	/* wrong flags */
	{L("mg k v v\r\n"), "refused mg duplicate"},
	{L("mg k vx vy\r\n"), "refused mg duplicate"},
	{L("mg k T1 T1\r\n"), "refused mg duplicate"},
	{L("mg k q q\r\n"), "refused mg +quiet duplicate"},
	{L("mg k S1\r\n"), "refused mg flag"},
	{L("mg k a\r\n"), "refused mg flag"},
	{L("mg k 1\r\n"), "refused mg flag"},
	{L("mg k !\r\n"), "refused mg format"},
	{L("mg k \xff\r\n"), "refused mg format"},
	{L("mg k \x01\r\n"), "refused mg format"},
	{L("mg k T\r\n"), "refused mg number"},
	{L("mg k Tx\r\n"), "refused mg number"},
	{L("mg k T1x\r\n"), "refused mg number"},
	{L("mg k T+1\r\n"), "refused mg number"},
	{L("mg k T9223372036854775808\r\n"), "refused mg number"},
	{L("mg k N\r\n"), "refused mg number"},
	{L("mg k Nx\r\n"), "refused mg number"},
	{L("mg k Rx\r\n"), "refused mg number"},
	{L("mg k Cx\r\n"), "refused mg number"},
	{L("mg k C-1\r\n"), "refused mg number"},
	{L("mg k C18446744073709551616\r\n"), "refused mg number"},
	{L("mg k E-1\r\n"), "refused mg number"},
	{L("mg k Fx\r\n"), "refused mg format"},
	{L("mg k F4294967296\r\n"), "refused mg format"},
	{L("mg k Tx v v\r\n"), "refused mg duplicate"},
	{L("mg k v v Tx\r\n"), "refused mg duplicate"},
	{L("mg k Tx a\r\n"), "refused mg flag"},
	{L("mg k Tx q\r\n"), "refused mg +quiet number"},
	{L("mg k O2345678901234567890123456789012\r\n"),
	 "mg key=k O opaque=2345678901234567890123456789012"},
	{L("mg k O23456789012345678901234567890123\r\n"), "refused mg opaque"},
	{L("mg Zm9v " MANY " N3\r\n"),
	 "mg +quiet key=Zm9v bcfhklqstuvxEIJLNP means=foo assign=1 initial=2 "
	 "create=3"},
	{L("mg Zm9v " MANY " N3 R4\r\n"), "refused mg +quiet many"},
	{L("mg k v v v v v v v v v v v v v v v v v v\r\n"),
	 "refused mg duplicate"},
	{L("mg k v v v v v v v v v v v v v v v v v v v\r\n"),
	 "refused mg many"},

	/* ms */
	{L("ms k 2\r\n"), "ms key=k value=2"},
	{L("ms k 0\n"), "ms key=k value=0"},
	{L("ms  k  002  T9 \r\n"), "ms key=k exptime=9 T value=2"},
	{L("ms k 2 F7 T-1 C5 E6 I c s k O1 q\r\n"),
	 "ms +quiet key=k flags=7 exptime=-1 cas=5 ckqsCEFIOT opaque=1 "
	 "assign=6 value=2"},
	{L("ms k 2 MA N30\r\n"), "ms key=k MN mode=A create=30 value=2"},
	{L("ms k 2 ME\r\n"), "ms key=k M mode=E value=2"},
	{L("ms k 2 MP\r\n"), "ms key=k M mode=P value=2"},
	{L("ms k 2 MR\r\n"), "ms key=k M mode=R value=2"},
	{L("ms k 2 MS\r\n"), "ms key=k M value=2"},
	{L("ms k 2 MExtra\r\n"), "ms key=k M mode=E value=2"},
	{L("ms Zm9v 2 b\r\n"), "ms key=Zm9v b means=foo value=2"},
	{L("ms k 1000\r\n"), "ms key=k value=1000"},
	{L("ms " K250 " 1\r\n"), "ms key=" K250 " value=1"},

	/* ms: refused, and the block is skipped */
	{L("ms k 1001\r\n"), "refused ms too-large swallow=1003"},
	{L("ms k 1001 q\r\n"), "refused ms +quiet too-large swallow=1003"},
	{L("ms k 2147483645 T1\r\n"),
	 "refused ms too-large swallow=2147483647"},
	{L("ms " K251 " 11\r\n"), "refused ms format swallow=13"},
	{L("ms a\0b 11\r\n"), "refused ms format swallow=13"},
	{L("ms k 2 Me\r\n"), "refused ms ms-mode swallow=4"},
	{L("ms k 2 M\r\n"), "refused ms ms-mode swallow=4"},
	{L("ms k 2 M+\r\n"), "refused ms ms-mode swallow=4"},
	{L("ms k 2 MX q\r\n"), "refused ms +quiet ms-mode swallow=4"},
	{L("ms k 1001 MX\r\n"), "refused ms ms-mode swallow=1003"},
	{L("ms k 2 T1 T1\r\n"), "refused ms duplicate swallow=4"},
	{L("ms k 2 S2\r\n"), "refused ms flag swallow=4"},
	{L("ms k 2 !\r\n"), "refused ms format swallow=4"},
	{L("ms k 2 noreply\r\n"), "refused ms flag swallow=4"},
	{L("ms k 2 Tx\r\n"), "refused ms number swallow=4"},
	{L("ms k 2 C\r\n"), "refused ms number swallow=4"},
	{L("ms k 2 F-1\r\n"), "refused ms format swallow=4"},
	{L("ms Zm9 2 b\r\n"), "refused ms base64 swallow=4"},
	{L("ms k 2 O23456789012345678901234567890123\r\n"),
	 "refused ms opaque swallow=4"},
	{L("ms Zm9v 2 " MANY "\r\n"),
	 "ms +quiet key=Zm9v bcfhklqstuvxEIJLP means=foo assign=1 initial=2 "
	 "value=2"},
	{L("ms Zm9v 2 " MANY " F1\r\n"), "refused ms +quiet many swallow=4"},

	/* ms: where the block ends is not known */
	{L("ms k -1\r\n"), "refused ms format +close"},
	{L("ms k +3\r\n"), "refused ms format +close"},
	{L("ms k 2x\r\n"), "refused ms format +close"},
	{L("ms k S2\r\n"), "refused ms format +close"},
	{L("ms k 2147483646\r\n"), "refused ms format +close"},
	{L("ms k 99999999999999999999 q\r\n"), "refused ms format +close"},
	{L("ms  5\r\n"), "refused ms format +close"},
	{L("ms  5 q\r\n"), "refused ms format +close"},
	{L("ms " K251 "1\r\n"), "refused ms format +close"},
	/* ms: no block was announced */
	{L("ms\r\n"), "refused ms format"},
	{L("ms k\r\n"), "refused ms format"},
	{L("ms quiet S\r\n"), "refused ms format"},
	{L("ms quiet q\r\n"), "refused ms format"},

	/* md */
	{L("md k\r\n"), "md key=k"},
	{L("md k q\r\n"), "md +quiet key=k q"},
	{L("md k C5 I T30 x E9 O1 k\r\n"),
	 "md key=k exptime=30 cas=5 kxCEIOT opaque=1 assign=9"},
	{L("md Zm9v b\r\n"), "md key=Zm9v b means=foo"},
	{L("md k 0\r\n"), "refused md flag"},
	{L("md k Tx\r\n"), "refused md number"},
	{L("md k v v\r\n"), "refused md duplicate"},
	{L("md k MX\r\n"), "md key=k M mode=X"},
	{L("md\r\n"), "refused md format"},
	{L("md " K251 "\r\n"), "refused md format"},

	/* ma */
	{L("ma k\r\n"), "ma key=k"},
	{L("ma k D5\r\n"), "ma key=k D delta=5"},
	{L("ma k MI\r\n"), "ma key=k M"},
	{L("ma k MIncr\r\n"), "ma key=k M"},
	{L("ma k M+\r\n"), "ma key=k M"},
	{L("ma k MD\r\n"), "ma key=k M mode=D"},
	{L("ma k M-1\r\n"), "ma key=k M mode=D"},
	{L("ma k T9 N0 J13 D2 t c v q\r\n"),
	 "ma +quiet key=k exptime=9 cqtvDJNT initial=13 delta=2"},
	{L("mg k T9 R5\r\n"), "mg key=k exptime=9 RT recache-touched=5"},
	{L("mg k R5 T9\r\n"), "mg key=k exptime=9 RT recache=5"},
	{L("ma k N5 T9\r\n"), "ma key=k exptime=9 NT create-touched=5"},
	{L("mg k N5 T9\r\n"), "mg key=k exptime=9 NT create-touched=5"},
	{L("ma k N30 E7 C8\r\n"), "ma key=k cas=8 CEN assign=7 create=30"},
	{L("ma Zm9v b\r\n"), "ma key=Zm9v b means=foo"},
	{L("ma k Mi\r\n"), "refused ma ma-mode"},
	{L("ma k MA\r\n"), "refused ma ma-mode"},
	{L("ma k M\r\n"), "refused ma ma-mode"},
	{L("ma k M q\r\n"), "refused ma +quiet ma-mode"},
	{L("ma k D-1\r\n"), "refused ma ma-flag"},
	{L("ma k Jx\r\n"), "refused ma ma-flag"},
	{L("ma k Tx\r\n"), "refused ma ma-flag"},
	{L("ma k Fx\r\n"), "refused ma ma-flag"},
	{L("ma k v v\r\n"), "refused ma ma-flag"},
	{L("ma k !\r\n"), "refused ma ma-flag"},
	{L("ma k a\r\n"), "refused ma ma-flag"},
	{L("ma Zm9 b\r\n"), "refused ma ma-flag"},
	{L("ma k v v MX\r\n"), "refused ma ma-flag"},
	{L("ma k O23456789012345678901234567890123\r\n"), "refused ma ma-flag"},
	{L("ma\r\n"), "refused ma format"},
	{L("ma " K251 "\r\n"), "refused ma format"},

	/* me looks for b alone, mn for nothing */
	{L("me k\r\n"), "me key=k"},
	{L("me k q v v ! Tx\r\n"), "me key=k"},
	{L("me Zm9v b\r\n"), "me key=Zm9v b means=foo"},
	{L("me Zm9v k b b\r\n"), "me key=Zm9v b means=foo"},
	{L("me Zm9 b\r\n"), "refused me base64"},
	{L("me Zm9\r\n"), "me key=Zm9"},
	{L("me\r\n"), "refused me format"},
	{L("me " K251 "\r\n"), "refused me format"},
	{L("mn\r\n"), "mn"},
	{L("mn foo q !\r\n"), "mn"},
	{L("mx k\r\n"), "refused unknown unknown"},
};

#define CASE_COUNT ((int)(sizeof(cases) / sizeof(cases[0])))

START_TEST(test_parse_line)
{
	rig_check_line(&cases[_i]);
}
END_TEST

static enum proto_event parse(struct proto_slice line, struct proto_parsed *ret)
{
	const struct proto_limits limits = {.value_max_bytes = 10,
					    .line_max_bytes = 2048,
					    .get_line_max_bytes = 8192};

	return proto_text_parse(line.data, line.len, 0, &limits, ret);
}

static const char known[] = "bcfhklqstuvxCDEFIJLMNOPRT";

/* Of all bytes, only the known letters are flags. */
START_TEST(test_every_byte_as_a_flag)
{
	for (unsigned int byte = 1; byte < 256; byte++) {
		const char text[] = "mg Zm9v X1\n";
		char line[sizeof(text)];
		struct proto_parsed parsed;
		bool good = strchr(known, (int)byte) != NULL;

		if (byte == '\n' || byte == ' ')
			continue;
		memcpy(line, text, sizeof(text));
		line[8] = (char)byte;
		ck_assert_int_eq(
			parse((struct proto_slice){line, sizeof(line) - 1},
			      &parsed),
			good ? PROTO_COMMAND : PROTO_REFUSED);
		if (good)
			ck_assert(proto_has(&parsed.request, (char)byte));
	}
}
END_TEST

/* Every letter has a bit of its own. */
START_TEST(test_flag_bits)
{
	uint64_t seen = 0;

	for (const char *letter = known; *letter; letter++) {
		ck_assert_uint_eq(seen & PROTO_FLAG(*letter), 0);
		seen |= PROTO_FLAG(*letter);
	}
}
END_TEST

/* What answers are made from is the line's own bytes, without its end. */
START_TEST(test_flags_as_sent)
{
	struct proto_slice line = L("ms key 10  k O12  q  \r\n");
	struct proto_slice flags, token;
	struct proto_parsed parsed;

	ck_assert_int_eq(parse(line, &parsed), PROTO_COMMAND);
	flags = parsed.request.meta.flags;
	ck_assert(proto_next_token(&flags, &token));
	ck_assert_ptr_eq(token.data, line.data + 11);
	ck_assert(proto_next_token(&flags, &token));
	ck_assert(proto_slice_is(token, "O12"));
	ck_assert(proto_next_token(&flags, &token));
	ck_assert(proto_slice_is(token, "q"));
	ck_assert(!proto_next_token(&flags, &token));
}
END_TEST

/* The longest base64 there is room for, and what it means. */
START_TEST(test_longest_base64_key)
{
	char line[512] = "mg ", room[PROTO_KEY_MAX], bytes[187];
	struct proto_slice key = {bytes, 186};
	struct proto_parsed parsed;
	size_t len;

	memset(bytes, 0xFF, sizeof(bytes));
	len = proto_base64_encode(key, line + 3);
	ck_assert_uint_eq(len, 248);
	memcpy(line + 3 + len, " b\n", 3);
	ck_assert_int_eq(parse((struct proto_slice){line, len + 6}, &parsed),
			 PROTO_COMMAND);
	key = proto_meta_key(&parsed.request, room);
	ck_assert_uint_eq(key.len, 186);
	ck_assert_mem_eq(key.data, bytes, 186);

	key = (struct proto_slice){bytes, 187};
	len = proto_base64_encode(key, line + 3);
	ck_assert_uint_eq(len, 252);
	memcpy(line + 3 + len, " b\n", 3);
	ck_assert_int_eq(parse((struct proto_slice){line, len + 6}, &parsed),
			 PROTO_REFUSED);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("protocol_meta");
	TCase *lines = tcase_create("lines");
	TCase *flags = tcase_create("flags");

	tcase_add_loop_test(lines, test_parse_line, 0, CASE_COUNT);
	suite_add_tcase(suite, lines);

	tcase_add_test(flags, test_every_byte_as_a_flag);
	tcase_add_test(flags, test_flag_bits);
	tcase_add_test(flags, test_flags_as_sent);
	tcase_add_test(flags, test_longest_base64_key);
	suite_add_tcase(suite, flags);
	return run_suite(suite);
}
