/*
 * test_options_shown.c - what the table of options shows: help texts, the
 * list of the manual, settings. And that the table itself is sound.
 */
#include "tests/unit/test_options_run.h"

#include <ctype.h>

#include "server/options_table.h"
#include "server/version.h"
#include "tests/unit/run_suite.h"

/* --- texts --------------------------------------------------------------- */

/* What decides which of memcached's own tests are run against us. */
START_TEST(test_help_words)
{
	static const char *const absent[] = {
		"ext_path",
		"proxy_config",
	};
	struct run run;

	run_line(&run, "-h");
	ck_assert_int_eq(run.result, OPTIONS_DONE);
	ck_assert_str_eq(run.err, "");
	ck_assert_ptr_nonnull(strstr(run.out, "unix-socket"));
	ck_assert_ptr_nonnull(strstr(run.out, "enable-ssl"));
	for (char *at = run.out; *at != '\0'; at++)
		*at = (char)tolower((unsigned char)*at);
	for (size_t i = 0; i < sizeof(absent) / sizeof(absent[0]); i++)
		ck_assert_ptr_null(strstr(run.out, absent[i]));
	run_end(&run);
}
END_TEST

START_TEST(test_help_fits_a_terminal)
{
	struct run run;

	run_line(&run, "--help");
	for (const char *line = run.out; *line != '\0';) {
		size_t len = strcspn(line, "\n");

		ck_assert_msg(len <= 80, "too long: %.*s", (int)len, line);
		ck_assert_msg(len == 0 || line[len - 1] != ' ',
			      "trailing blank: %.*s", (int)len, line);
		line += len + 1;
	}
	run_end(&run);
}
END_TEST

/* The two help texts show every option that is not hidden, with its name. */
START_TEST(test_help_is_complete)
{
	struct run help, mdoc;

	run_line(&help, "-h");
	run_line(&mdoc, "--help-mdoc");
	ck_assert_int_eq(mdoc.result, OPTIONS_DONE);
	for (size_t i = 0; i < option_row_count; i++) {
		const struct option_row *row = &option_rows[i];
		char name[64];

		if (row->group == OPTION_HIDDEN || row->name == NULL)
			continue;
		(void)snprintf(name, sizeof(name), "--%s", row->name);
		ck_assert_msg(strstr(help.out, name) != NULL, "%s", name);
		(void)snprintf(name, sizeof(name), "Fl \\-%s", row->name);
		ck_assert_msg(strstr(mdoc.out, name) != NULL, "%s", name);
	}
	run_end(&help);
	run_end(&mdoc);
}
END_TEST

START_TEST(test_version_text)
{
	struct run run;

	run_line(&run, "-V");
	ck_assert_int_eq(run.result, OPTIONS_DONE);
	ck_assert_str_eq(run.out, "memcachedb " MEMCACHEDB_VERSION "\n");
	run_end(&run);

	run_line(&run, "-i");
	ck_assert_int_eq(run.result, OPTIONS_DONE);
	ck_assert_ptr_nonnull(strstr(run.out, "BSD 3-Clause"));
	run_end(&run);
}
END_TEST

/* What comes before -h must still be right. */
START_TEST(test_help_after_an_error)
{
	struct run run;

	run_line(&run, "-t 0 -h");
	ck_assert_int_eq(run.result, OPTIONS_REFUSED);
	ck_assert_str_eq(run.out, "");
	run_end(&run);
}
END_TEST

/* --- settings ------------------------------------------------------------ */

/* What memcached 1.6 shows, and 1.6.45's client_flags_size. */
static const char memcached_settings[] =
	"maxbytes maxconns tcpport udpport inter verbosity oldest evictions "
	"domain_socket umask shutdown_command growth_factor chunk_size "
	"num_threads num_threads_per_udp stat_key_prefix detail_enabled "
	"reqs_per_event cas_enabled tcp_backlog binding_protocol "
	"auth_enabled_sasl auth_enabled_ascii item_size_max maxconns_fast "
	"hashpower_init slab_reassign slab_automove slab_automove_ratio "
	"slab_automove_window slab_chunk_max lru_crawler lru_crawler_sleep "
	"lru_crawler_tocrawl tail_repair_time flush_enabled dump_enabled "
	"hash_algorithm lru_maintainer_thread lru_segmented hot_lru_pct "
	"warm_lru_pct hot_max_factor warm_max_factor temp_lru temporary_ttl "
	"idle_timeout watcher_logbuf_size worker_logbuf_size "
	"read_buf_mem_limit track_sizes inline_ascii_response ext_item_size "
	"ext_item_age ext_low_ttl ext_recache_rate ext_wbuf_size "
	"ext_compact_under ext_drop_under ext_max_sleep ext_max_frag "
	"slab_automove_freeratio ext_drop_unread ssl_enabled ssl_chain_cert "
	"ssl_key ssl_verify_mode ssl_keyformat ssl_ciphers ssl_ca_cert "
	"ssl_wbuf_size ssl_session_cache ssl_kernel_tls ssl_min_version "
	"num_napi_ids memory_file client_flags_size";

START_TEST(test_settings_have_memcacheds_names)
{
	char names[sizeof(memcached_settings)];
	unsigned int count = 0;
	struct run run;

	run_fine(&run, "");
	memcpy(names, memcached_settings, sizeof(names));
	for (char *name = names; name != NULL;) {
		char *next = strchr(name, ' ');
		struct wanted wanted = {.name = name};

		if (next != NULL)
			*next++ = '\0';
		options_each_setting(&run.options, find_setting, &wanted);
		ck_assert_msg(wanted.count == 1, "%s: %u times", name,
			      wanted.count);
		count++;
		name = next;
	}
	ck_assert_uint_eq(count, 77);
	run_end(&run);
}
END_TEST

static void check_shape(void *arg, const char *name, const char *value)
{
	unsigned int *count = arg;

	++*count;
	ck_assert_msg(name[0] != '\0' && strpbrk(name, " \r\n") == NULL,
		      "name \"%s\"", name);
	ck_assert_msg(value[0] != '\0' && strpbrk(value, " \r\n") == NULL,
		      "%s: value \"%s\"", name, value);
}

/* A line of stats is three words, whatever the values contain. */
START_TEST(test_settings_are_one_word)
{
	struct options options = {0};
	char blank[] = "/a b\r\n\tc", long_path[3000];
	unsigned int count = 0;

	memset(long_path, 'x', sizeof(long_path) - 1);
	long_path[sizeof(long_path) - 1] = '\0';
	options.data_dir = blank;
	options.unix_socket = long_path;
	options.prefix_delimiter = ':';
	options_each_setting(&options, check_shape, &count);
	ck_assert_uint_gt(count, 77);
	check_setting(&options, "data_dir", "/a%20b%0D%0A%09c");
}
END_TEST

/* Addresses that do not fit are left out, never cut. */
START_TEST(test_settings_of_many_addresses)
{
	struct options_listen listen[200];
	struct options options = {
		.prefix_delimiter = ':', .listen = listen, .listen_count = 200};
	char host[] = "a-rather-long-name.example.com";
	unsigned int count = 0;

	for (size_t i = 0; i < options.listen_count; i++)
		listen[i] = (struct options_listen){
			.host = host, .port = 65535, .own_port = true};
	options_each_setting(&options, check_shape, &count);
	ck_assert_uint_gt(count, 77);
}
END_TEST

/* What changes while the server runs is shown from a changed copy. */
START_TEST(test_settings_of_a_changed_copy)
{
	struct options now;
	struct run run;

	run_fine(&run, "-m 64");
	now = run.options;
	now.verbosity = 2;
	now.cache_bytes = 1 << 20;
	check_setting(&now, "verbosity", "2");
	check_setting(&now, "maxbytes", "1048576");
	check_setting(&run.options, "maxbytes", "67108864");
	run_end(&run);
}
END_TEST

/* --- the table ----------------------------------------------------------- */

static bool same_text(const char *a, const char *b)
{
	return a != NULL && b != NULL && strcmp(a, b) == 0;
}

static bool clash(const struct option_row *a, const struct option_row *b)
{
	const char letters[] = {a->letter, a->letter_too};

	for (size_t i = 0; i < sizeof(letters); i++)
		if (letters[i] != '\0' &&
		    (letters[i] == b->letter || letters[i] == b->letter_too))
			return true;
	return same_text(a->name, b->name) || same_text(a->name, b->o_name) ||
	       same_text(a->o_name, b->name) ||
	       same_text(a->o_name, b->o_name) ||
	       same_text(a->setting, b->setting);
}

START_TEST(test_table_is_consistent)
{
	for (size_t i = 0; i < option_row_count; i++) {
		const struct option_row *row = &option_rows[i];

		/* Who takes no value must know what it stands for. */
		if (row->type < OPTION_COUNT && row->name != NULL)
			ck_assert_msg((row->arg == NULL) ==
					      (row->implied != NULL),
				      "%s", row->name);
		if (row->type == OPTION_SIZE)
			ck_assert_uint_ge(row->unit, 1);
		for (size_t j = i + 1; j < option_row_count; j++)
			ck_assert_msg(!clash(row, &option_rows[j]),
				      "rows %zu and %zu clash", i, j);
	}
}
END_TEST

START_TEST(test_free_of_a_zeroed_struct)
{
	struct options options = {0};

	options_free(&options);
	options_free(&options);
	ck_assert_ptr_null(options.data_dir);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("options shown");
	TCase *tcase = tcase_create("options shown");

	tcase_add_test(tcase, test_help_words);
	tcase_add_test(tcase, test_help_fits_a_terminal);
	tcase_add_test(tcase, test_help_is_complete);
	tcase_add_test(tcase, test_version_text);
	tcase_add_test(tcase, test_help_after_an_error);
	tcase_add_test(tcase, test_settings_have_memcacheds_names);
	tcase_add_test(tcase, test_settings_are_one_word);
	tcase_add_test(tcase, test_settings_of_many_addresses);
	tcase_add_test(tcase, test_settings_of_a_changed_copy);
	tcase_add_test(tcase, test_table_is_consistent);
	tcase_add_test(tcase, test_free_of_a_zeroed_struct);
	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}
