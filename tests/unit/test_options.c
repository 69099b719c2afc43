/*
 * test_options.c - what the command line takes, and what it refuses how.
 */
#include "tests/unit/test_options_run.h"

#include <unistd.h>

#include "tests/unit/run_suite.h"

/* --- what is understood -------------------------------------------------- */

#define TLS "-Z -o ssl_chain_cert=/c,ssl_key=/k"

static const struct {
	const char *line, *name, *value;
} taken[] = {
	{"", "tcpport", "21201"},
	{"", "inter", "127.0.0.1"},
	{"", "maxconns", "1024"},
	{"", "tcp_backlog", "1024"},
	{"", "maxbytes", "67108864"},
	{"", "item_size_max", "1048576"},
	{"", "num_threads", "4"},
	{"", "num_threads_per_udp", "4"},
	{"", "reqs_per_event", "20"},
	{"", "idle_timeout", "0"},
	{"", "verbosity", "0"},
	{"", "umask", "700"},
	{"", "domain_socket", "NULL"},
	{"", "sync", "always"},
	{"", "page_size", "4096"},
	{"", "data_file", "data.db"},
	{"", "log_dir", "NULL"},
	{"", "access_method", "btree"},
	{"", "checkpoint_interval", "60"},
	{"", "checkpoint_size", "268435456"},
	{"", "flush_grace", "600"},
	{"", "binding_protocol", "auto-negotiate"},
	{"", "flush_enabled", "yes"},
	{"", "dump_enabled", "yes"},
	{"", "cas_enabled", "yes"},
	{"", "shutdown_command", "no"},
	{"", "maxconns_fast", "yes"},
	{"", "detail_enabled", "no"},
	{"-p 1", "tcpport", "1"},
	{"-p 65535", "tcpport", "65535"},
	{"-p -1", "tcpport", "-1"},
	{"--port=7", "tcpport", "7"},
	{"--port 7", "tcpport", "7"},
	{"-p 5 -p 6", "tcpport", "6"},
	{"-p6", "tcpport", "6"},
	{"-s /x -p 0", "tcpport", "0"},
	{"-c 1", "maxconns", "1"},
	{"--conn-limit=1000000", "maxconns", "1000000"},
	{"--listen-backlog=5", "tcp_backlog", "5"},
	{"-m 1", "maxbytes", "1048576"},
	{"-m 2048", "maxbytes", "2147483648"},
	{"-m 512m -m 8m", "maxbytes", "8388608"},
	{"-m 8G", "maxbytes", "8589934592"},
	{"--memory-limit=100", "maxbytes", "104857600"},
	{"-b 1024", "item_size_max", "1024"},
	{"-I 1024", "item_size_max", "1024"},
	{"-I 1K", "item_size_max", "1024"},
	{"-I 512k", "item_size_max", "524288"},
	{"--max-item-size=1m", "item_size_max", "1048576"},
	{"-t 64", "num_threads", "64"},
	{"-t 64", "num_threads_per_udp", "64"},
	{"--max-reqs-per-event=1", "reqs_per_event", "1"},
	{"-o idle_timeout=9", "idle_timeout", "9"},
	{"--idle-timeout=9", "idle_timeout", "9"},
	{"--idle_timeout=9", "idle_timeout", "9"},
	{"-o no_maxconns_fast", "maxconns_fast", "no"},
	{"--no_maxconns_fast", "maxconns_fast", "no"},
	{"-o no_maxconns_fast,maxconns_fast", "maxconns_fast", "yes"},
	{"-o ,maxconns_fast,", "maxconns_fast", "yes"},
	{"-o relaxed_privileges", "maxconns_fast", "yes"},
	{"-v", "verbosity", "1"},
	{"-vv", "verbosity", "2"},
	{"-v -d --verbose", "verbosity", "2"},
	{"-a 0770", "umask", "770"},
	{"-a 7", "umask", "7"},
	{"", "udpport", "0"},
	{"-U 0", "tcpport", "21201"},
	{"-U 7", "udpport", "7"},
	{"-U 7", "tcpport", "7"},
	{"-U 7 -p 8", "udpport", "7"},
	{"-U 7 -p 8", "tcpport", "8"},
	{"-U 7 -p 0", "tcpport", "0"},
	{"-U -1", "udpport", "-1"},
	{"-U -1", "tcpport", "-1"},
	{"--udp-port=65535", "udpport", "65535"},
	{"-N", "sync", "interval:1000"},
	{"--sync=write", "sync", "write"},
	{"--sync=interval:1", "sync", "interval:1"},
	{"--sync interval:60000", "sync", "interval:60000"},
	{"-N --sync=always", "sync", "always"},
	{"-A 512", "page_size", "512"},
	{"-A 64k", "page_size", "65536"},
	{"-L 32", "log_buffer", "32768"},
	{"-L 1m", "log_buffer", "1048576"},
	{"--log-file-size=1g", "log_file_size", "1073741824"},
	{"-C 0", "checkpoint_interval", "0"},
	{"--checkpoint-size=1m", "checkpoint_size", "1048576"},
	{"-e 0", "trickle_percent", "0"},
	{"-B hash", "access_method", "hash"},
	{"-f other.db", "data_file", "other.db"},
	{"-H /data -G /log", "data_dir", "/data"},
	{"-H /data -G /log", "log_dir", "/log"},
	{"-P /run/pid", "pidfile", "/run/pid"},
	{"--reserve=0", "reserve", "0"},
	{"--flush-grace=0", "flush_grace", "0"},
	{"--keep-logs", "keep_logs", "yes"},
	{"--shared-regions", "shared_regions", "yes"},
	{"-F", "flush_enabled", "no"},
	{"--disable-flush-all", "flush_enabled", "no"},
	{"--disable-dumping", "dump_enabled", "no"},
	{"--disable-cas", "cas_enabled", "no"},
	{"--enable-shutdown", "shutdown_command", "yes"},
	{"--prefix-delimiter=/", "stat_key_prefix", "/"},
	{"--prefix-delimiter=:", "detail_enabled", "yes"},
	{"--protocol=ascii", "binding_protocol", "ascii"},
	{"--protocol=auto", "binding_protocol", "auto-negotiate"},
	{"--protocol=binary", "binding_protocol", "binary"},
	{"", "auth_enabled_sasl", "no"},
	{"", "auth_enabled_ascii", "no"},
	{"", "read_only_users", "NULL"},
	{"-S", "auth_enabled_sasl", "yes"},
	{"-S", "binding_protocol", "binary"},
	{"--enable-sasl --protocol=binary", "binding_protocol", "binary"},
	{"-Y /f", "auth_enabled_ascii", "/f"},
	{"-Y /f", "binding_protocol", "ascii"},
	{"--auth-file=/f --protocol=auto", "binding_protocol", "ascii"},
	{"-S --read-only-user=a,b --read-only-user=c", "read_only_users",
	 "a,b,c"},
	{"-Y /f --read-only-user=r", "read_only_users", "r"},
	{"-d", "daemon", "yes"},
	{"-r", "core_dumps", "yes"},
	{"-k", "lock_memory", "yes"},
	{"-u nobody", "user", "nobody"},
	{"--disable-evictions -W", "evictions", "off"},
	{"", "lru_crawler", "yes"},
	{"-o no_lru_crawler", "lru_crawler", "no"},
	{"-o no_modern", "lru_crawler", "no"},
	{"-o no_modern,lru_crawler", "lru_crawler", "yes"},
	{"-l 127.0.0.1:0,[::1]:5 -l ::1 -l *,host", "inter",
	 "127.0.0.1:0,[::1]:5,[::1],*,host"},
	{"-s /x", "inter", "NULL"},
	{"-s /x", "domain_socket", "/x"},
	{"-dvp 9", "tcpport", "9"},
	{"", "ssl_enabled", "no"},
	{"", "ssl_chain_cert", "NULL"},
	{"", "ssl_ca_cert", "NULL"},
	{"", "ssl_ciphers", "NULL"},
	{"", "ssl_verify_mode", "0"},
	{"", "ssl_keyformat", "1"},
	{"", "ssl_wbuf_size", "16384"},
	{"", "ssl_session_cache", "no"},
	{"", "ssl_kernel_tls", "no"},
	{"", "ssl_min_version", "tlsv1.2"},
	{TLS, "ssl_enabled", "yes"},
	{TLS, "ssl_chain_cert", "/c"},
	{TLS, "ssl_key", "/k"},
	{"--enable-ssl --ssl_chain_cert=/c --ssl_key=/k", "ssl_enabled", "yes"},
	{TLS ",ssl_ca_cert=/ca,ssl_verify_mode=3", "ssl_verify_mode", "3"},
	{TLS ",ssl_ca_cert=/ca", "ssl_ca_cert", "/ca"},
	{TLS ",ssl_wbuf_size=64", "ssl_wbuf_size", "65536"},
	{TLS ",ssl_keyformat=2", "ssl_keyformat", "2"},
	{TLS ",ssl_min_version=0", "ssl_min_version", "tlsv1.0"},
	{TLS ",ssl_min_version=3", "ssl_min_version", "tlsv1.3"},
	{TLS ",ssl_ciphers=A:B", "ssl_ciphers", "A:B"},
	{TLS ",ssl_session_cache,ssl_kernel_tls", "ssl_session_cache", "yes"},
	{TLS ",ssl_session_cache,ssl_kernel_tls", "ssl_kernel_tls", "yes"},
	{TLS ",ssl_ca_cert=/ca -l notls:a:1,btls:b:1,mtls:[::1]:2,c:1", "inter",
	 "notls:a:1,btls:b:1,mtls:[::1]:2,c:1"},
};

START_TEST(test_parse_takes)
{
	struct run run;

	run_fine(&run, taken[_i].line);
	check_setting(&run.options, taken[_i].name, taken[_i].value);
	run_end(&run);
}
END_TEST

/* --- what is refused ----------------------------------------------------- */

static const struct {
	const char *line, *message;
} refused[] = {
	{"-t 0", "-t: \"0\" is not a number from 1 to 64"},
	{"-t 65", "-t: \"65\" is not a number from 1 to 64"},
	{"--threads=4x", "--threads: \"4x\" is not a number from 1 to 64"},
	{"--threads=", "--threads: \"\" is not a number from 1 to 64"},
	{"-c +5", "-c: \"+5\" is not a number from 1 to 1000000"},
	{"-c -5", "-c: \"-5\" is not a number from 1 to 1000000"},
	{"-c 99999999999999999999999",
	 "-c: \"99999999999999999999999\" is not a number from 1 to "
	 "1000000"},
	{"-t", "-t: needs a value"},
	{"--threads", "--threads: needs a value"},
	{"--enable-shutdown=1", "--enable-shutdown: takes no value"},
	{"-q", "unknown option -q; -h lists them"},
	{"--nonsense=5", "unknown option --nonsense; -h lists them"},
	{"word", "\"word\" is not an option"},
	{"-d word", "\"word\" is not an option"},
	{"-- -d", "\"-d\" is not an option"},
	{"-p 65536", "-p: \"65536\" is not a port from 0 to 65535, or -1"},
	{"-p -2", "-p: \"-2\" is not a port from 0 to 65535, or -1"},
	{"-a 8", "-a: \"8\" is not an octal mode from 0 to 777"},
	{"-a 1777", "-a: \"1777\" is not an octal mode from 0 to 777"},
	{"-m 0", "-m: \"0\" is not a size from 1m to 16384g"},
	{"-m 1mb", "-m: \"1mb\" is not a size from 1m to 16384g"},
	{"-m k", "-m: \"k\" is not a size from 1m to 16384g"},
	{"-m 18446744073709551615",
	 "-m: \"18446744073709551615\" is not a size from 1m to 16384g"},
	{"-m 17179869184g",
	 "-m: \"17179869184g\" is not a size from 1m to 16384g"},
	{"-b 1023", "-b: \"1023\" is not a size from 1k to 1g"},
	{"-I 1025m", "-I: \"1025m\" is not a size from 1k to 1g"},
	{"-A 5000", "-A: 5000 is not a power of 2"},
	{"-A 128k", "-A: \"128k\" is not a size from 512 to 64k"},
	{"-L 32m", "-L: more than a quarter of --log-file-size"},
	{"-f a/b", "-f: \"a/b\" is not a file name without a directory"},
	{"-f ..", "-f: \"..\" is not a file name without a directory"},
	{"--data-dir=", "--data-dir: \"\" is not a path"},
	{"-B tree", "-B: \"tree\" is not one of btree|hash"},
	{"-B btree|hash", "-B: \"btree|hash\" is not one of btree|hash"},
	{"--protocol=b", "--protocol: \"b\" is not one of auto|ascii|binary"},
	{"--sync=never",
	 "--sync: \"never\" is not always, write, or interval:MS with MS "
	 "from 1 to 60000"},
	{"--sync=interval:0",
	 "--sync: \"interval:0\" is not always, write, or interval:MS with "
	 "MS from 1 to 60000"},
	{"--sync=interval:60001",
	 "--sync: \"interval:60001\" is not always, write, or interval:MS "
	 "with MS from 1 to 60000"},
	{"--prefix-delimiter=ab",
	 "--prefix-delimiter: \"ab\" is not one printable character"},
	{"-l [::1",
	 "-l: \"[::1\" is not a list of host, host:port, [v6]:port or *"},
	{"-l a,,b",
	 "-l: \"a,,b\" is not a list of host, host:port, [v6]:port or *"},
	{"-l [::1]x",
	 "-l: \"[::1]x\" is not a list of host, host:port, [v6]:port or *"},
	{"-l a:65536",
	 "-l: \"a:65536\" is not a list of host, host:port, [v6]:port or "
	 "*"},
	{"-l a:",
	 "-l: \"a:\" is not a list of host, host:port, [v6]:port or *"},
	{"-l :5",
	 "-l: \":5\" is not a list of host, host:port, [v6]:port or *"},
	{"-o bogus", "-o bogus: unknown option"},
	{"-o idle_timeout", "-o idle_timeout: needs a value"},
	{"-o maxconns_fast=1", "-o maxconns_fast: takes no value"},
	{"-o idle_timeout=x",
	 "-o idle_timeout: \"x\" is not a number from 0 to 31536000"},
	{"-o maxconns_fast,ext_path=/x:1g", "-o ext_path: unknown option"},
	{"-U 65536", "-U: \"65536\" is not a port from 0 to 65535, or -1"},
	{"-U 7 -S",
	 "-U: over UDP nobody can log in: it does not go with -S or -Y"},
	{"-Y /f -U -1",
	 "-U: over UDP nobody can log in: it does not go with -S or -Y"},
	{"-U x", "-U: \"x\" is not a port from 0 to 65535, or -1"},
	{"-?", "unknown option -?; -h lists them"},
	{"-S -Y /f", "-S is for binary clients and -Y for text clients: there "
		     "can be one of them"},
	{"-S --protocol=ascii",
	 "-S: text clients cannot log in that way: only --protocol=binary "
	 "goes with it"},
	{"--protocol=auto --enable-sasl",
	 "-S: text clients cannot log in that way: only --protocol=binary "
	 "goes with it"},
	{"-S --protocol=binary --protocol=ascii",
	 "-S: text clients cannot log in that way: only --protocol=binary "
	 "goes with it"},
	{"-Y /f --protocol=binary",
	 "-Y: binary clients cannot log in that way: only --protocol=ascii "
	 "goes with it"},
	{"-Y", "-Y: needs a value"},
	{"--read-only-user=r",
	 "--read-only-user: without -S or -Y there are no users"},
	{"-S --read-only-user=",
	 "--read-only-user: \"\" is not a list of names, with commas"},
	{"-S --read-only-user=a,,b",
	 "--read-only-user: \"a,,b\" is not a list of names, with commas"},
	{"-Z", "-Z: needs -o ssl_chain_cert=FILE,ssl_key=FILE"},
	{"-Z -o ssl_key=/k", "-Z: needs -o ssl_chain_cert=FILE,ssl_key=FILE"},
	{"-Z -o ssl_chain_cert=/c",
	 "-Z: needs -o ssl_chain_cert=FILE,ssl_key=FILE"},
	{"-Z -o ssl_chain_cert=/c,ssl_key=/k -s /x",
	 "-Z: there is no TLS without a TCP port"},
	{"-l notls:127.0.0.1", "-l: notls:, btls: and mtls: need -Z"},
	{"-l 127.0.0.1,mtls:127.0.0.1:5",
	 "-l: notls:, btls: and mtls: need -Z"},
	{"-l notls:", "-l: \"notls:\" is not a list of host, host:port, "
		      "[v6]:port or *"},
	{"-o ssl_verify_mode=4",
	 "-o ssl_verify_mode: \"4\" is not a number from 0 to 3"},
	{"-o ssl_min_version=4",
	 "-o ssl_min_version: \"4\" is not one of 0|1|2|3"},
	{"-o ssl_keyformat=0",
	 "-o ssl_keyformat: \"0\" is not a number from 1 to 2"},
	{"-o ssl_wbuf_size=0",
	 "-o ssl_wbuf_size: \"0\" is not a size from 1k to 64m"},
	{"-o ssl_key", "-o ssl_key: needs a value"},
	{"-o ssl_session_cache=1", "-o ssl_session_cache: takes no value"},
	{"-R 1.2.3.4:5",
	 "-R: replication (memcached's -R is --max-reqs-per-event) is not "
	 "available in this version"},
	{"-M", "-M: replication (memcached's -M is --disable-evictions) is not "
	       "available in this version"},
	{"-O h:1", "-O: replication is not available in this version"},
	{"-n 2", "-n: replication (memcached's -n is --slab-min-size) is not "
		 "available in this version"},
};

START_TEST(test_parse_refuses)
{
	char expected[300];
	struct run run;
	static const struct options zero;

	run_line(&run, refused[_i].line);
	(void)snprintf(expected, sizeof(expected), "memcachedb: %s\n",
		       refused[_i].message);
	ck_assert_str_eq(run.err, expected);
	ck_assert_str_eq(run.out, "");
	ck_assert_int_eq(run.result, OPTIONS_REFUSED);
	ck_assert_mem_eq(&run.options, &zero, sizeof(zero));
	run_end(&run);
}
END_TEST

/* Bytes that could change a terminal are not echoed. */
START_TEST(test_parse_escapes_what_it_echoes)
{
	static const char *const lines[] = {"-t \033[1m", "\033",    "--\033=1",
					    "-\033",	  "-o \033", "-a \n"};

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		struct run run;

		run_line(&run, lines[i]);
		ck_assert_int_eq(run.result, OPTIONS_REFUSED);
		ck_assert_ptr_null(strchr(run.err, '\033'));
		ck_assert_ptr_eq(strchr(run.err, '\n'),
				 run.err + strlen(run.err) - 1);
		run_end(&run);
	}
}
END_TEST

START_TEST(test_parse_wants_a_user_from_root)
{
	char name[] = "memcachedb";
	char *argv[] = {name, NULL};
	struct options options;
	size_t bytes;
	char *text;
	FILE *err = open_memstream(&text, &bytes);
	enum options_result result;

	ck_assert_ptr_nonnull(err);
	result = options_parse(1, argv, stdout, err, &options);
	fclose(err);
	if (geteuid() == 0) {
		ck_assert_int_eq(result, OPTIONS_REFUSED);
		ck_assert_str_eq(text, "memcachedb: started by root: say with "
				       "-u whom to become (-u root to stay)\n");
	} else {
		ck_assert_int_eq(result, OPTIONS_RUN);
		ck_assert_str_eq(text, "");
		options_free(&options);
	}
	free(text);
}
END_TEST

/* --- options without effect ---------------------------------------------- */

START_TEST(test_parse_warns_once_of_what_has_no_effect)
{
	struct run run;

	run_line(&run, "-o hashpower=20,slab_reassign,slab_automove "
		       "--slab-growth-factor=1.1 -D 100 --hot_lru_pct=5");
	ck_assert_int_eq(run.result, OPTIONS_RUN);
	ck_assert_str_eq(
		run.err,
		"memcachedb: warning: without effect here: -o hashpower, "
		"-o slab_reassign, -o slab_automove, --slab-growth-factor, "
		"-D (deadlocks are found at once; memcached's -D is "
		"--prefix-delimiter), --hot_lru_pct\n");
	run_end(&run);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("options");
	TCase *tcase = tcase_create("options");

	tcase_add_loop_test(tcase, test_parse_takes, 0,
			    sizeof(taken) / sizeof(taken[0]));
	tcase_add_loop_test(tcase, test_parse_refuses, 0,
			    sizeof(refused) / sizeof(refused[0]));
	tcase_add_test(tcase, test_parse_escapes_what_it_echoes);
	tcase_add_test(tcase, test_parse_wants_a_user_from_root);
	tcase_add_test(tcase, test_parse_warns_once_of_what_has_no_effect);
	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}
