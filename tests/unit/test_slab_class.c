/*
 * Lists of slab classes as memcached's tools send them.
 */
#include <check.h>
#include <string.h>

#include "server/slab_class.h"
#include "tests/unit/run_suite.h"

static const struct {
	const char *words;
	bool good, ours;
} lists[] = {
	{"all", true, true},
	{"hash", true, true},
	{"1", true, true},
	{"2", true, false},
	{"63", true, false},
	{"1,2,3", true, true},
	{"2,1", true, true},
	{"2,3", true, false},
	{"1,1", true, true},
	{"2,,1", true, true},
	{"1,", true, true},
	{",", true, false},
	{"0", false, false},

	{"64", false, false},
	{"1,0", false, false},
	{"1,nonsense", false, false},
	{"1,64", false, false},
	{"nonsense", false, false},
	{"-1", false, false},
	{"All", false, false},
	{"all,1", false, false},
	{"4294967297", false, false},
};

START_TEST(test_slab_classes)
{
	struct proto_slice words = {lists[_i].words, strlen(lists[_i].words)};
	bool ours = !lists[_i].ours;

	ck_assert_int_eq(slab_classes(words, &ours), lists[_i].good);
	if (lists[_i].good)
		ck_assert_int_eq(ours, lists[_i].ours);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("slab_class");
	TCase *tests = tcase_create("slab_class");

	tcase_add_loop_test(tests, test_slab_classes, 0,
			    sizeof(lists) / sizeof(lists[0]));
	suite_add_tcase(suite, tests);
	return run_suite(suite);
}
