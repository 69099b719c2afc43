/*
 * options.c - see options.h. Every option is a line of the table.
 */
#include "bench/options.h"

#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "bench/dialect.h"
#include "bench/keys.h"

struct option {
	const char *name;
	const char *argument; /* NULL: a flag */
	size_t offset;	      /* of its field in struct options */
	uint32_t min, max;
	/* Sets the field; false if the text is no good. */
	bool (*set)(const struct option *option, const char *text,
		    struct options *options);
	const char *help;
};

static void *field_of(const struct option *option, struct options *options)
{
	return (char *)options + option->offset;
}

static bool set_text(const struct option *option, const char *text,
		     struct options *options)
{
	*(const char **)field_of(option, options) = text;
	return true;
}

static bool set_flag(const struct option *option, const char *text,
		     struct options *options)
{
	(void)text; /* a flag has none */
	*(bool *)field_of(option, options) = true;
	return true;
}

static bool set_u32(const struct option *option, const char *text,
		    struct options *options)
{
	const char *end = text + strlen(text);
	size_t number;

	if (!dialect_number(&text, end, &number) || text != end ||
	    number < option->min || number > option->max)
		return false;
	*(uint32_t *)field_of(option, options) = (uint32_t)number;
	return true;
}

/* Reads all of text as a number that is not negative. */
static bool read_real(const char *text, double *ret)
{
	char *end;
	double number = strtod(text, &end);

	if (end == text || *end != '\0' || !isfinite(number) || number < 0)
		return false;
	*ret = number;
	return true;
}

/* Seconds, fractions too; the field, min and max are milliseconds. */
static bool set_seconds(const struct option *option, const char *text,
			struct options *options)
{
	double seconds;

	if (!read_real(text, &seconds) || seconds * 1000 < option->min ||
	    seconds * 1000 > option->max)
		return false;
	*(uint32_t *)field_of(option, options) = (uint32_t)(seconds * 1000);
	return true;
}

static bool set_dialect(const struct option *option, const char *text,
			struct options *options)
{
	(void)option; /* it has one field of its own type */
	options->dialect = dialect_find(text);
	return options->dialect != NULL;
}

static bool set_ratio(const struct option *option, const char *text,
		      struct options *options)
{
	const char *end = text + strlen(text);
	size_t sets;
	size_t gets;

	if (!dialect_number(&text, end, &sets) || *text++ != ':' ||
	    !dialect_number(&text, end, &gets) || text != end)
		return false;
	if (sets > option->max || gets > option->max || sets + gets == 0)
		return false;
	options->sets = (uint32_t)sets;
	options->gets = (uint32_t)gets;
	return true;
}

static bool set_distribution(const struct option *option, const char *text,
			     struct options *options)
{
	options->zipf = strncmp(text, "zipf:", 5) == 0;
	if (!options->zipf)
		return strcmp(text, "uniform") == 0;
	return read_real(text + 5, &options->zipf_exponent) &&
	       options->zipf_exponent <= option->max;
}

static bool set_load(const struct option *option, const char *text,
		     struct options *options)
{
	(void)option; /* it has one field of its own type */
	if (strcmp(text, "sequence") == 0)
		options->load = LOAD_SEQUENCE;
	else if (strcmp(text, "shuffled") == 0)
		options->load = LOAD_SHUFFLED;
	else
		return false;
	return true;
}

#define FIELD(name) offsetof(struct options, name)

static const struct option option_table[] = {
	{"host", "ADDRESS", FIELD(host), 0, 0, set_text,
	 "numeric address (127.0.0.1)"},
	{"port", "N", FIELD(port), 1, 65535, set_u32, "TCP port"},
	{"unix", "PATH", FIELD(unix_path), 0, 0, set_text,
	 "UNIX socket, instead of host and port"},
	{"allow-remote", NULL, FIELD(allow_remote), 0, 0, set_flag,
	 "accept an address that is not loopback"},
	{"protocol", "NAME", FIELD(dialect), 0, 0, set_dialect,
	 "classic, meta, binary, each -quiet; redis (classic)"},
	{"connections", "N", FIELD(connections), 1, 100000, set_u32,
	 "open connections (50)"},
	{"threads", "N", FIELD(threads), 1, 64, set_u32, "threads (1)"},
	{"depth", "N", FIELD(depth), 1, 4096, set_u32,
	 "requests in flight per connection (1)"},
	{"ratio", "SETS:GETS", 0, 0, 1000000, set_ratio,
	 "how often each is chosen (1:9)"},
	{"keys", "N", FIELD(keys), 1, 2000000000, set_u32,
	 "key space (1000000)"},
	{"key-prefix", "TEXT", FIELD(key_prefix), 0, 0, set_text,
	 "what each key begins with (key-)"},
	{"key-size", "BYTES", FIELD(key_bytes), 1, ITEM_KEY_MAX, set_u32,
	 "size of each key (20)"},
	{"value-size", "BYTES", FIELD(value_bytes), 0, 64 << 20, set_u32,
	 "size of each value (100)"},
	{"multiget", "N", FIELD(keys_per_get), 1, 10000, set_u32,
	 "keys in each get (1)"},
	{"distribution", "NAME", 0, 0, 10, set_distribution,
	 "of the keys: uniform or zipf:EXPONENT (uniform)"},
	{"hot", "N", FIELD(hot_keys), 1, 2000000000, set_u32,
	 "report gets of the N most popular keys apart, too"},
	{"requests", "N", FIELD(requests), 1, UINT32_MAX, set_u32,
	 "stop after so many, instead of after a time"},
	{"seconds", "S", FIELD(run_ms), 10, 86400000, set_seconds,
	 "how long to measure (5)"},
	{"warmup", "S", FIELD(warmup_ms), 0, 86400000, set_seconds,
	 "run before measuring; not with --requests (0)"},
	{"timeout", "S", FIELD(timeout_ms), 100, 3600000, set_seconds,
	 "give up when nothing is answered for so long (10)"},
	{"load", "ORDER", 0, 0, 0, set_load,
	 "store each key once: sequence or shuffled"},
	{"verify", NULL, FIELD(verify), 0, 0, set_flag,
	 "check every byte of every value"},
	{"seed", "N", FIELD(seed), 0, UINT32_MAX, set_u32,
	 "of the random numbers (1)"},
	{"server-pid", "PID", FIELD(server_pid), 1, INT32_MAX, set_u32,
	 "report the CPU time of this process, too"},
	{"raw-sync", "DIR", FIELD(raw_sync_dir), 0, 0, set_text,
	 "measure writes and syncs in DIR; no server is needed"},
	{"help", NULL, FIELD(help), 0, 0, set_flag, "print this"},
};

#define OPTION_COUNT (sizeof(option_table) / sizeof(option_table[0]))

static const struct options defaults = {
	.host = "127.0.0.1",
	.dialect = &dialect_classic,
	.connections = 50,
	.threads = 1,
	.depth = 1,
	.sets = 1,
	.gets = 9,
	.keys = 1000000,
	.key_prefix = "key-",
	.key_bytes = 20,
	.value_bytes = 100,
	.keys_per_get = 1,
	.run_ms = 5000,
	.timeout_ms = 10000,
	.seed = 1,
};

void options_print_help(FILE *out)
{
	for (size_t i = 0; i < OPTION_COUNT; i++) {
		const struct option *option = &option_table[i];
		const char *argument =
			option->argument != NULL ? option->argument : "";

		fprintf(out, "  --%s %-*s %s\n", option->name,
			(int)(23 - strlen(option->name)), argument,
			option->help);
	}
}

/* The option whose name is the first name_bytes of name; NULL if none. */
static const struct option *find_option(const char *name, size_t name_bytes)
{
	for (size_t i = 0; i < OPTION_COUNT; i++)
		if (strlen(option_table[i].name) == name_bytes &&
		    memcmp(option_table[i].name, name, name_bytes) == 0)
			return &option_table[i];
	return NULL;
}

/* What no single option can see. NULL: fine. */
static const char *find_conflict(const struct options *options)
{
	if (options->help || options->raw_sync_dir != NULL)
		return NULL;
	if (options->unix_path == NULL && options->port == 0)
		return "--port or --unix is needed";
	if (options->requests > 0 && options->warmup_ms > 0)
		return "--warmup goes with --seconds only";
	if (options->load != LOAD_NONE &&
	    (options->requests > 0 || options->warmup_ms > 0))
		return "--load ends by itself: no --requests, no --warmup";
	if (options->verify && options->value_bytes < ITEM_VERIFY_MIN)
		return "--verify needs a --value-size of at least 32";
	if (options->hot_keys > 0 &&
	    (!options->zipf || options->keys_per_get > 1))
		return "--hot needs --distribution=zipf:..., and one key a get";
	if (options->threads > options->connections)
		return "more --threads than --connections";
	return NULL;
}

/* Takes the option at argv[*at] and its argument; moves *at behind them. */
static int parse_one(int argc, char *const *argv, int *at, FILE *errors,
		     struct options *options)
{
	const char *name = argv[*at];
	const struct option *option = NULL;
	const char *text = strchr(name, '=');

	if (strncmp(name, "--", 2) == 0)
		option = find_option(name + 2,
				     text != NULL ? (size_t)(text - name - 2)
						  : strlen(name + 2));
	if (option == NULL || (option->argument == NULL && text != NULL)) {
		fprintf(errors, "loadgen: unknown option %s\n", name);
		return -EINVAL;
	}
	(*at)++;
	if (text != NULL)
		text++;
	else if (option->argument != NULL && *at < argc)
		text = argv[(*at)++];
	if (option->argument != NULL && text == NULL) {
		fprintf(errors, "loadgen: --%s needs %s\n", option->name,
			option->argument);
		return -EINVAL;
	}
	if (!option->set(option, text, options)) {
		fprintf(errors, "loadgen: bad value for --%s: %s\n",
			option->name, text);
		return -EINVAL;
	}
	return 0;
}

int options_parse(int argc, char *const *argv, FILE *errors,
		  struct options *ret)
{
	struct options options = defaults;
	const char *conflict;
	int at = 1;

	while (at < argc)
		if (parse_one(argc, argv, &at, errors, &options) != 0)
			return -EINVAL;
	conflict = find_conflict(&options);
	if (conflict != NULL) {
		fprintf(errors, "loadgen: %s\n", conflict);
		return -EINVAL;
	}
	*ret = options;
	return 0;
}
