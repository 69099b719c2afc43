/*
 * run_suite.c - see run_suite.h.
 */
#include "tests/unit/run_suite.h"

#include <stdlib.h>

/*
 * check's own 4 s are little on a busy machine: a limit is there to end what
 * hangs, and nothing else.
 */
#define SECONDS_MAX "300"

__attribute__((constructor)) static void be_patient(void)
{
	/* check reads it when a case is made, which is before run_suite(). */
	(void)setenv("CK_DEFAULT_TIMEOUT", SECONDS_MAX, 0);
}

int run_suite(Suite *suite)
{
	SRunner *runner = srunner_create(suite);
	int failed;

	srunner_set_fork_status(runner, CK_FORK);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
