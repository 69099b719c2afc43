/*
 * run_suite.h - what is left of a test program's main(), and the time limit.
 *
 * The limit is minutes for each test, or what $CK_DEFAULT_TIMEOUT says, and it
 * is the only one: no wait inside a test has another.
 */
#ifndef TESTS_UNIT_RUN_SUITE_H
#define TESTS_UNIT_RUN_SUITE_H

#include <check.h>

/*
 * Runs each test in a process of its own, whatever $CK_FORK says, and frees the
 * suite. Returns the exit status of the program.
 */
int run_suite(Suite *suite);

#endif
