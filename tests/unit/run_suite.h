/*
 * run_suite.h - what is left of a test program's main(), and the time limit.
 *
 * Each test may take minutes, or as long as $CK_DEFAULT_TIMEOUT says. Nothing
 * in a test waits for less: it waits for what it waits for.
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
