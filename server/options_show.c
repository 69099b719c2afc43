/*
 * options_show.c - the values of options, from field to text, and the lines
 * of `stats settings` made of them.
 *
 * memcached shows about seventy settings, and tools look for them by name.
 * Those that we have come from the rows of the table; the rest, about memory
 * that is organised otherwise here, are constants: memcached's defaults.
 */
#include "server/options_table.h"

#include <inttypes.h>
#include <string.h>

#include "server/log.h"

/* Longest value shown; longer paths are cut. */
#define SHOWN_MAX 1024

/* A round number of bytes as people write it: 64m. */
static void size_text(uint64_t bytes, char *buf, size_t buf_bytes)
{
	static const char *const suffixes[] = {"", "k", "m", "g"};
	size_t at = 0;

	while (bytes != 0 && bytes % 1024 == 0 && at < 3) {
		bytes /= 1024;
		at++;
	}
	(void)snprintf(buf, buf_bytes, "%" PRIu64 "%s", bytes, suffixes[at]);
}

void option_expects(const struct option_row *row, char *buf, size_t buf_bytes)
{
	static const char *const fixed[] = {
		[OPTION_SWITCH] = "yes or no",
		[OPTION_PORT] = "a port from 0 to 65535, or -1",
		[OPTION_MODE] = "an octal mode from 0 to 777",
		[OPTION_CHAR] = "one printable character",
		[OPTION_TEXT] = "a name",
		[OPTION_PATH] = "a path",
		[OPTION_NAME] = "a file name without a directory",
		[OPTION_NAMES] = "a list of names, with commas",
		[OPTION_SYNC] = "always, write, or interval:MS with MS from 1 "
				"to 60000",
		[OPTION_LISTEN] = "a list of host, host:port, [v6]:port or *",
		[OPTION_VERSION] = NULL,
	};
	char min[32], max[32];

	if (row->type == OPTION_NUMBER) {
		(void)snprintf(buf, buf_bytes,
			       "a number from %" PRIu64 " to %" PRIu64,
			       row->min, row->max);
	} else if (row->type == OPTION_SIZE) {
		size_text(row->min, min, sizeof(min));
		size_text(row->max, max, sizeof(max));
		(void)snprintf(buf, buf_bytes, "a size from %s to %s", min,
			       max);
	} else if (row->type == OPTION_CHOICE) {
		(void)snprintf(buf, buf_bytes, "one of %s", row->choices);
	} else {
		(void)snprintf(buf, buf_bytes, "%s",
			       fixed[row->type] != NULL ? fixed[row->type]
							: "no value");
	}
}

/* Copies the word at a position of "a|b|c". */
static void show_word(const char *words, unsigned int at, char *buf,
		      size_t buf_bytes)
{
	while (at > 0) {
		words += strcspn(words, "|") + 1;
		at--;
	}
	(void)snprintf(buf, buf_bytes, "%.*s", (int)strcspn(words, "|"), words);
}

static void show_sync(const struct options *options, char *buf,
		      size_t buf_bytes)
{
	switch (options->sync) {
	case STORE_SYNC_ALWAYS:
		(void)snprintf(buf, buf_bytes, "always");
		break;
	case STORE_SYNC_WRITE:
		(void)snprintf(buf, buf_bytes, "write");
		break;
	case STORE_SYNC_INTERVAL:
		(void)snprintf(buf, buf_bytes, "interval:%" PRIu32,
			       options->sync_interval_ms);
		break;
	}
}

static void show_text(const char *text, char *buf, size_t buf_bytes)
{
	if (text == NULL)
		text = "NULL";
	(void)log_escape(buf, buf_bytes, text, strlen(text));
}

/* The addresses as -l takes them; what does not fit is left out. */
static void show_listen(const struct options *options, char *buf,
			size_t buf_bytes)
{
	static const char *const prefixes[] = {
		[OPTIONS_TLS_DEFAULT] = "",
		[OPTIONS_TLS_OFF] = "notls:",
		[OPTIONS_TLS_BASIC] = "btls:",
		[OPTIONS_TLS_MUTUAL] = "mtls:",
	};
	size_t used = 0;

	show_text(NULL, buf, buf_bytes);
	for (size_t i = 0; i < options->listen_count; i++) {
		const struct options_listen *address = &options->listen[i];
		const char *host = address->host ? address->host : "*";
		const char *prefix = prefixes[address->tls];
		bool v6 = strchr(host, ':') != NULL;
		char name[300], port[8] = "";

		show_text(host, name, sizeof(name));
		if (address->own_port)
			(void)snprintf(port, sizeof(port), ":%u",
				       (unsigned int)address->port);
		if (used + strlen(prefix) + strlen(name) + sizeof(port) + 4 >
		    buf_bytes)
			return;
		used += (size_t)snprintf(buf + used, buf_bytes - used,
					 "%s%s%s%s%s%s", i > 0 ? "," : "",
					 prefix, v6 ? "[" : "", name,
					 v6 ? "]" : "", port);
	}
}

/* Field types that are one printf() each. */
static void show_plain(const struct option_row *row, const void *field,
		       char *buf, size_t buf_bytes)
{
	const char *text = NULL;
	uint64_t number = 0;

	if (row->type == OPTION_SWITCH)
		text = *(const bool *)field ? "yes" : "no";
	else if (row->type == OPTION_SIZE)
		number = *(const uint64_t *)field;
	else
		number = *(const uint32_t *)field;
	if (text != NULL)
		(void)snprintf(buf, buf_bytes, "%s", text);
	else
		(void)snprintf(buf, buf_bytes, "%" PRIu64, number);
}

void option_show(const struct option_row *row, const struct options *options,
		 char *buf, size_t buf_bytes)
{
	const void *field = (const char *)options + row->offset;
	unsigned int choice;
	const char *text;

	switch (row->type) {
	case OPTION_SWITCH:
	case OPTION_NUMBER:
	case OPTION_COUNT:
	case OPTION_SIZE:
		show_plain(row, field, buf, buf_bytes);
		return;
	case OPTION_PORT:
		(void)snprintf(buf, buf_bytes, "%" PRId32,
			       *(const int32_t *)field);
		return;
	case OPTION_MODE:
		(void)snprintf(buf, buf_bytes, "%" PRIo32,
			       *(const uint32_t *)field);
		return;
	case OPTION_CHAR:
		(void)snprintf(buf, buf_bytes, "%c", *(const char *)field);
		return;
	case OPTION_TEXT:
	case OPTION_PATH:
	case OPTION_NAME:
	case OPTION_NAMES:
		text = *(char *const *)field;
		show_text(text != NULL ? text : row->unset, buf, buf_bytes);
		return;
	case OPTION_CHOICE:
		memcpy(&choice, field, sizeof(choice));
		show_word(row->choices_shown ? row->choices_shown
					     : row->choices,
			  choice, buf, buf_bytes);
		return;
	case OPTION_SYNC:
		show_sync(options, buf, buf_bytes);
		return;
	case OPTION_LISTEN:
		show_listen(options, buf, buf_bytes);
		return;
	case OPTION_EXTENDED:
	case OPTION_LATER:
	case OPTION_NO_EFFECT:
	case OPTION_SILENT:
	case OPTION_HELP:
	case OPTION_MDOC:
	case OPTION_LICENSE:
	case OPTION_VERSION:
		break;
	}
	show_text(NULL, buf, buf_bytes);
}

/* memcached's settings that are not options here. */
static const struct {
	const char *name, *value;
} constants[] = {
	{"oldest", "0"},
	{"evictions", "off"},
	{"growth_factor", "1.25"},
	{"chunk_size", "48"},
	{"hashpower_init", "0"},
	{"slab_reassign", "yes"},
	{"slab_automove", "1"},
	{"slab_automove_ratio", "0.80"},
	{"slab_automove_window", "30"},
	{"slab_automove_freeratio", "0.010"},
	{"slab_chunk_max", "524288"},
	{"lru_crawler_sleep", "100"},
	{"lru_crawler_tocrawl", "0"},
	{"tail_repair_time", "0"},
	{"hash_algorithm", "murmur3"},
	{"lru_maintainer_thread", "yes"},
	{"lru_segmented", "yes"},
	{"hot_lru_pct", "20"},
	{"warm_lru_pct", "40"},
	{"hot_max_factor", "0.20"},
	{"warm_max_factor", "2.00"},
	{"temp_lru", "no"},
	{"temporary_ttl", "61"},
	{"watcher_logbuf_size", "262144"},
	{"worker_logbuf_size", "65536"},
	{"read_buf_mem_limit", "0"},
	{"track_sizes", "no"},
	{"inline_ascii_response", "no"},
	{"ext_item_size", "512"},
	{"ext_item_age", "4294967295"},
	{"ext_low_ttl", "0"},
	{"ext_recache_rate", "2000"},
	{"ext_wbuf_size", "4194304"},
	{"ext_compact_under", "0"},
	{"ext_drop_under", "0"},
	{"ext_max_sleep", "1000000"},
	{"ext_max_frag", "0.80"},
	{"ext_drop_unread", "no"},
	{"num_napi_ids", "NULL"},
	{"memory_file", "NULL"},
	{"client_flags_size", "4"},
};

void options_each_setting(const struct options *options, options_setting_fn fn,
			  void *arg)
{
	char shown[SHOWN_MAX];

	for (size_t i = 0; i < option_row_count; i++) {
		const struct option_row *row = &option_rows[i];

		if (row->setting == NULL)
			continue;
		option_show(row, options, shown, sizeof(shown));
		fn(arg, row->setting, shown);
		if (row->setting_too != NULL)
			fn(arg, row->setting_too, shown);
	}
	for (size_t i = 0; i < sizeof(constants) / sizeof(constants[0]); i++)
		fn(arg, constants[i].name, constants[i].value);
}
