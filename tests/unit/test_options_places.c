/*
 * test_options_places.c - what several options say together: limits, where
 * the server listens, and paths.
 */
#include "tests/unit/test_options_run.h"

#include <unistd.h>

#include "tests/unit/run_suite.h"

/* --- limits that belong together ----------------------------------------- */

START_TEST(test_parse_item_size_against_memory)
{
	struct run run;

	run_line(&run, "-I 256m");
	ck_assert_int_eq(run.result, OPTIONS_REFUSED);
	ck_assert_str_eq(run.err, "memcachedb: -I: more than half of -m\n");
	run_end(&run);

	run_line(&run, "-m 256 -I 32m");
	ck_assert_int_eq(run.result, OPTIONS_RUN);
	ck_assert_ptr_nonnull(strstr(run.err, "warning: -I above 1m"));
	run_end(&run);

	/* The order does not matter. */
	run_line(&run, "-I 32m -m 63");
	ck_assert_int_eq(run.result, OPTIONS_REFUSED);
	run_end(&run);
}
END_TEST

START_TEST(test_parse_unix_socket_turns_tcp_off)
{
	struct run run;

	run_fine(&run, "-s /x");
	ck_assert_uint_eq(run.options.listen_count, 0);
	run_end(&run);

	run_fine(&run, "-s /x -p 0");
	ck_assert_uint_eq(run.options.listen_count, 0);
	run_end(&run);

	run_line(&run, "-s /x -l 127.0.0.1");
	ck_assert_int_eq(run.result, OPTIONS_RUN);
	ck_assert_uint_eq(run.options.listen_count, 0);
	ck_assert_str_eq(run.err, "memcachedb: warning: -s turns TCP off: "
				  "-p and -l are unused\n");
	run_end(&run);
}
END_TEST

START_TEST(test_parse_nothing_to_listen_on)
{
	static const char *const lines[] = {"-p 0", "-U 0 -p 0",
					    "-p 0 -l 127.0.0.1"};

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		struct run run;

		run_line(&run, lines[i]);
		ck_assert_int_eq(run.result, OPTIONS_RUN);
		ck_assert_uint_eq(run.options.listen_count, 0);
		ck_assert_str_eq(run.err,
				 "memcachedb: warning: -p 0 without -s or -U: "
				 "no client can come\n");
		run_end(&run);
	}
}
END_TEST

START_TEST(test_parse_unix_socket_turns_udp_off)
{
	struct run run;

	run_line(&run, "-s /x -U 7 -S");
	ck_assert_int_eq(run.result, OPTIONS_RUN);
	ck_assert_uint_eq(run.options.listen_count, 0);
	ck_assert_int_eq(run.options.udp_port, 0);
	ck_assert_str_eq(run.err, "memcachedb: warning: -s turns UDP off: "
				  "-U is unused\n");
	run_end(&run);
}
END_TEST

START_TEST(test_parse_unix_socket_too_long)
{
	char line[200];
	struct run run;

	/* 107 bytes fit into the address of a UNIX socket, 108 do not. */
	(void)snprintf(line, sizeof(line), "-s /%0106d", 0);
	run_fine(&run, line);
	run_end(&run);
	(void)snprintf(line, sizeof(line), "-s /%0107d", 0);
	run_line(&run, line);
	ck_assert_int_eq(run.result, OPTIONS_REFUSED);
	ck_assert_str_eq(run.err, "memcachedb: -s: the absolute path is longer "
				  "than 107 bytes\n");
	run_end(&run);
}
END_TEST

/* --- addresses ----------------------------------------------------------- */

static void check_listen(const struct options *options, size_t at,
			 const char *host, unsigned int port)
{
	ck_assert_uint_lt(at, options->listen_count);
	if (host == NULL)
		ck_assert_ptr_null(options->listen[at].host);
	else
		ck_assert_str_eq(options->listen[at].host, host);
	ck_assert_uint_eq(options->listen[at].port, port);
}

START_TEST(test_parse_addresses)
{
	struct run run;

	run_fine(&run, "-l 10.0.0.1,host:7 -l [fe80::1]:8,fe80::2 -l [::1] "
		       "-l *:9 -p 5");
	ck_assert_uint_eq(run.options.listen_count, 6);
	check_listen(&run.options, 0, "10.0.0.1", 5);
	check_listen(&run.options, 1, "host", 7);
	check_listen(&run.options, 2, "fe80::1", 8);
	check_listen(&run.options, 3, "fe80::2", 5);
	check_listen(&run.options, 4, "::1", 5);
	check_listen(&run.options, 5, NULL, 9);
	run_end(&run);
}
END_TEST

START_TEST(test_parse_addresses_of_udp)
{
	struct run run;

	run_fine(&run, "-l a,b:7 -U 6");
	check_listen(&run.options, 0, "a", 6);
	check_listen(&run.options, 1, "b", 7);
	ck_assert_uint_eq(run.options.listen[0].udp_port, 6);
	ck_assert_uint_eq(run.options.listen[1].udp_port, 7);
	run_end(&run);

	run_fine(&run, "-l a,b:7 -p 5 -U -1");
	check_listen(&run.options, 0, "a", 5);
	ck_assert_uint_eq(run.options.listen[0].udp_port, 0);
	ck_assert_uint_eq(run.options.listen[1].udp_port, 7);
	run_end(&run);

	run_fine(&run, "-p 0 -U 6");
	ck_assert_uint_eq(run.options.listen_count, 1);
	ck_assert_int_eq(run.options.port, 0);
	ck_assert_uint_eq(run.options.listen[0].udp_port, 6);
	run_end(&run);
}
END_TEST

START_TEST(test_parse_address_default)
{
	struct run run;

	run_fine(&run, "");
	ck_assert_uint_eq(run.options.listen_count, 1);
	check_listen(&run.options, 0, "127.0.0.1", 21201);
	run_end(&run);

	run_fine(&run, "-p -1");
	check_listen(&run.options, 0, "127.0.0.1", 0);
	run_end(&run);
}
END_TEST

/* --- paths --------------------------------------------------------------- */

/* U70: the daemon goes to "/" later; paths must mean the same there. */
START_TEST(test_U70_relative_paths_become_absolute)
{
	char here[] = "/tmp/test_optionsXXXXXX", expected[64];
	struct run run;

	ck_assert_ptr_nonnull(mkdtemp(here));
	ck_assert_int_eq(chdir(here), 0);
	run_fine(&run, "-H d/e -G ./log -s .//sock -P ../pid");
	ck_assert_int_eq(chdir("/"), 0);
	ck_assert_int_eq(rmdir(here), 0);

	(void)snprintf(expected, sizeof(expected), "%s/d/e", here);
	ck_assert_str_eq(run.options.data_dir, expected);
	(void)snprintf(expected, sizeof(expected), "%s/log", here);
	ck_assert_str_eq(run.options.log_dir, expected);
	(void)snprintf(expected, sizeof(expected), "%s/sock", here);
	ck_assert_str_eq(run.options.unix_socket, expected);
	(void)snprintf(expected, sizeof(expected), "%s/../pid", here);
	ck_assert_str_eq(run.options.pidfile, expected);
	run_end(&run);

	run_fine(&run, "");
	ck_assert_str_eq(run.options.data_dir, "/data");
	run_end(&run);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("options that belong together");
	TCase *tcase = tcase_create("places");

	tcase_add_test(tcase, test_parse_item_size_against_memory);
	tcase_add_test(tcase, test_parse_unix_socket_turns_tcp_off);
	tcase_add_test(tcase, test_parse_nothing_to_listen_on);
	tcase_add_test(tcase, test_parse_unix_socket_turns_udp_off);
	tcase_add_test(tcase, test_parse_unix_socket_too_long);
	tcase_add_test(tcase, test_parse_addresses);
	tcase_add_test(tcase, test_parse_addresses_of_udp);
	tcase_add_test(tcase, test_parse_address_default);
	tcase_add_test(tcase, test_U70_relative_paths_become_absolute);
	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}
