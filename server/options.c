/*
 * options.c - the command line, read by the table.
 *
 * The tables of getopt_long() are made from the rows. Values are set as they
 * come, so the last one wins; what depends on several options (addresses,
 * limits that belong together) is worked out at the end.
 */
#include "server/options.h"

#include <ctype.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

#include "server/log.h"
#include "server/options_table.h"
#include "server/version.h"

/* getopt_long() gives this plus the row for a long option. */
#define LONG_BASE 256

#define VALUE_SOFT_MAX ((uint64_t)1 << 20)

struct parse {
	struct options options;
	FILE *out, *err;
	bool given[OPTION_ROWS_MAX];
	char unused[600]; /* options without effect, for one warning */
	char letters[3 + 4 * OPTION_ROWS_MAX];
	struct option longs[2 * OPTION_ROWS_MAX + 1];
};

static void __attribute__((format(printf, 2, 3)))
complain(struct parse *p, const char *format, ...)
{
	va_list args;

	fputs("memcachedb: ", p->err);
	va_start(args, format);
	(void)vfprintf(p->err, format, args);
	va_end(args);
	fputc('\n', p->err);
}

/* --- the tables of getopt ------------------------------------------------ */

static void add_letter(struct parse *p, const struct option_row *row,
		       char letter)
{
	size_t used = strlen(p->letters);

	if (letter != '\0')
		(void)snprintf(p->letters + used, sizeof(p->letters) - used,
			       "%c%s", letter, row->arg ? ":" : "");
}

static void add_long(struct parse *p, size_t *used, size_t row,
		     const char *name)
{
	if (name == NULL)
		return;
	p->longs[(*used)++] = (struct option){
		.name = name,
		.has_arg =
			option_rows[row].arg ? required_argument : no_argument,
		.val = LONG_BASE + (int)row,
	};
}

static void make_getopt_tables(struct parse *p)
{
	size_t used = 0;

	/* '+': stop at the first word; ':': tell a missing value apart. */
	(void)snprintf(p->letters, sizeof(p->letters), "+:");
	for (size_t i = 0; i < option_row_count; i++) {
		const struct option_row *row = &option_rows[i];

		add_letter(p, row, row->letter);
		add_letter(p, row, row->letter_too);
		add_long(p, &used, i, row->name);
		add_long(p, &used, i, row->o_name);
	}
	p->longs[used] = (struct option){0};
}

/* --- one option ---------------------------------------------------------- */

static bool was_given(const struct parse *p, const char *name)
{
	for (size_t i = 0; i < option_row_count; i++)
		if (p->given[i] && option_rows[i].name != NULL &&
		    strcmp(option_rows[i].name, name) == 0)
			return true;
	return false;
}

/* Remembers an option without effect; one warning at the end names all. */
static void note_unused(struct parse *p, const struct option_row *row,
			const char *spelled)
{
	size_t used = strlen(p->unused);

	(void)snprintf(p->unused + used, sizeof(p->unused) - used, "%s%s%s%s%s",
		       used > 0 ? ", " : "", spelled, row->help ? " (" : "",
		       row->help ? row->help : "", row->help ? ")" : "");
}

/* Sets a value; `spelled` is the option as the user wrote it. */
static enum options_result take_value(struct parse *p,
				      const struct option_row *row,
				      const char *value, const char *spelled)
{
	char expects[128], shown[128] = "";

	if (value != NULL)
		(void)log_escape(shown, sizeof(shown), value, strlen(value));
	switch (option_set(row, value, &p->options)) {
	case OPTION_TAKEN:
		p->given[row - option_rows] = true;
		return OPTIONS_RUN;
	case OPTION_BAD:
		option_expects(row, expects, sizeof(expects));
		complain(p, "%s: \"%s\" is not %s", spelled, shown, expects);
		break;
	case OPTION_NO_MEMORY:
		complain(p, "out of memory");
		break;
	}
	return OPTIONS_REFUSED;
}

static enum options_result take_extended(struct parse *p, const char *list);

static enum options_result take_row(struct parse *p,
				    const struct option_row *row,
				    const char *value, const char *spelled)
{
	switch (row->type) {
	case OPTION_HELP:
		options_print_help(p->out);
		return OPTIONS_DONE;
	case OPTION_MDOC:
		options_print_mdoc(p->out);
		return OPTIONS_DONE;
	case OPTION_LICENSE:
		options_print_license(p->out);
		return OPTIONS_DONE;
	case OPTION_VERSION:
		fprintf(p->out, "memcachedb %s\n", MEMCACHEDB_VERSION);
		return OPTIONS_DONE;
	case OPTION_EXTENDED:
		return take_extended(p, value);
	case OPTION_LATER:
		complain(p, "%s: %s is not available in this version", spelled,
			 row->help);
		return OPTIONS_REFUSED;
	case OPTION_NO_EFFECT:
		note_unused(p, row, spelled);
		return OPTIONS_RUN;
	case OPTION_SILENT:
		return OPTIONS_RUN;
	case OPTION_SWITCH:
	case OPTION_NUMBER:
	case OPTION_SIZE:
	case OPTION_PORT:
	case OPTION_MODE:
	case OPTION_CHAR:
	case OPTION_TEXT:
	case OPTION_PATH:
	case OPTION_NAME:
	case OPTION_NAMES:
	case OPTION_CHOICE:
	case OPTION_SYNC:
	case OPTION_LISTEN:
	case OPTION_COUNT:
		break;
	}
	return take_value(p, row, value, spelled);
}

/* --- -o name[=value],... ------------------------------------------------- */

/* One name of -o: text[0..len). */
static enum options_result take_o_name(struct parse *p, const char *text,
				       size_t len)
{
	const char *equals = memchr(text, '=', len);
	size_t name_len = equals != NULL ? (size_t)(equals - text) : len;
	const struct option_row *row = option_by_o_name(text, name_len);
	enum options_result result;
	char shown[64], spelled[80];
	char *value = NULL;

	(void)log_escape(shown, sizeof(shown), text, name_len);
	(void)snprintf(spelled, sizeof(spelled), "-o %s", shown);
	if (row == NULL) {
		complain(p, "%s: unknown option", spelled);
		return OPTIONS_REFUSED;
	}
	/* Where nothing is done with a value it may be left out, or not. */
	if (row->type != OPTION_NO_EFFECT &&
	    (row->arg != NULL) != (equals != NULL)) {
		complain(p, "%s: %s", spelled,
			 row->arg ? "needs a value" : "takes no value");
		return OPTIONS_REFUSED;
	}
	if (equals != NULL) {
		value = strndup(equals + 1, len - name_len - 1);
		if (value == NULL) {
			complain(p, "out of memory");
			return OPTIONS_REFUSED;
		}
	}
	result = take_row(p, row, value, spelled);
	free(value);
	return result;
}

static enum options_result take_extended(struct parse *p, const char *list)
{
	enum options_result result = OPTIONS_RUN;

	while (result == OPTIONS_RUN && *list != '\0') {
		size_t len = strcspn(list, ",");

		if (len > 0)
			result = take_o_name(p, list, len);
		list += len;
		list += *list == ',';
	}
	return result;
}

/* --- the whole line ------------------------------------------------------ */

/* getopt() did not like something: says what. */
static void complain_getopt(struct parse *p, int got, const char *word)
{
	const char *why = got == ':' ? "needs a value" : "takes no value";
	char shown[80];

	(void)log_escape(shown, sizeof(shown), word, strcspn(word, "="));
	if (optopt >= LONG_BASE)
		complain(p, "%s: %s", shown, why);
	else if (got == ':')
		complain(p, "-%c: %s", optopt, why);
	else if (optopt != 0)
		complain(p, "unknown option -%c; -h lists them",
			 isgraph(optopt) ? optopt : '?');
	else
		complain(p, "unknown option %s; -h lists them", shown);
}

static enum options_result take_line(struct parse *p, int argc, char **argv)
{
	enum options_result result = OPTIONS_RUN;

	make_getopt_tables(p);
	opterr = 0;
	optind = 0; /* GNU: start anew */
	while (result == OPTIONS_RUN) {
		const struct option_row *row;
		char spelled[80];
		int index = -1;
		int got = getopt_long(argc, argv, p->letters, p->longs, &index);

		if (got == -1)
			break;
		if (got == '?' || got == ':') {
			complain_getopt(p, got, argv[optind - 1]);
			return OPTIONS_REFUSED;
		}
		if (index >= 0) {
			row = &option_rows[got - LONG_BASE];
			(void)snprintf(spelled, sizeof(spelled), "--%s",
				       p->longs[index].name);
		} else {
			row = option_by_letter(got);
			(void)snprintf(spelled, sizeof(spelled), "-%c", got);
		}
		result = take_row(p, row, optarg, spelled);
	}
	if (result == OPTIONS_RUN && optind < argc) {
		char shown[128];

		(void)log_escape(shown, sizeof(shown), argv[optind],
				 strlen(argv[optind]));
		complain(p, "\"%s\" is not an option", shown);
		result = OPTIONS_REFUSED;
	}
	return result;
}

static enum options_result take_presets(struct parse *p)
{
	for (size_t i = 0; i < option_row_count; i++) {
		const struct option_row *row = &option_rows[i];
		enum options_result result;

		if (row->preset == NULL)
			continue;
		result = take_value(p, row, row->preset, "default");
		if (result != OPTIONS_RUN)
			return result;
		p->given[i] = false;
	}
	return OPTIONS_RUN;
}

/* --- what depends on several options ------------------------------------- */

static void drop_addresses(struct options *options)
{
	for (size_t i = 0; i < options->listen_count; i++)
		free(options->listen[i].host);
	free(options->listen);
	options->listen = NULL;
	options->listen_count = 0;
}

static void settle_ports(const struct options *options,
			 struct options_listen *listen)
{
	listen->udp_port = listen->port;
	if (listen->own_port)
		return;
	if (options->port > 0)
		listen->port = (uint16_t)options->port;
	if (options->udp_port > 0)
		listen->udp_port = (uint16_t)options->udp_port;
}

/* Makes listen[] final: the addresses and ports to bind. */
static enum options_result settle_addresses(struct parse *p)
{
	struct options *options = &p->options;
	bool asked = was_given(p, "listen") || was_given(p, "port");

	if (options->unix_socket != NULL && asked && options->port != 0)
		complain(p, "warning: -s turns TCP off: -p and -l are unused");
	if (options->unix_socket != NULL && options->udp_port != 0) {
		complain(p, "warning: -s turns UDP off: -U is unused");
		options->udp_port = 0;
	}
	if (options->udp_port != 0 && !was_given(p, "port"))
		options->port = options->udp_port;
	if (options->unix_socket != NULL ||
	    (options->port == 0 && options->udp_port == 0)) {
		drop_addresses(options);
		if (options->unix_socket == NULL)
			complain(p, "warning: -p 0 without -s or -U: no client "
				    "can come");
		return OPTIONS_RUN;
	}
	if (options->listen_count == 0) {
		enum options_result result =
			take_row(p, option_by_letter('l'), "127.0.0.1", "-l");

		if (result != OPTIONS_RUN)
			return result;
	}
	for (size_t i = 0; i < options->listen_count; i++)
		settle_ports(options, &options->listen[i]);
	return OPTIONS_RUN;
}

/* True if the limits fit each other; else the line is written. */
static bool check_limits(struct parse *p)
{
	const struct options *options = &p->options;
	const struct sockaddr_un *address = NULL;

	if (options->unix_socket != NULL &&
	    strlen(options->unix_socket) >= sizeof(address->sun_path)) {
		complain(p, "-s: the absolute path is longer than %zu bytes",
			 sizeof(address->sun_path) - 1);
		return false;
	}
	if ((options->page_bytes & (options->page_bytes - 1)) != 0) {
		complain(p, "-A: %" PRIu64 " is not a power of 2",
			 options->page_bytes);
		return false;
	}
	/* Berkeley DB asks for room for four buffers in a log file. */
	if (options->log_buffer_bytes > options->log_file_bytes / 4) {
		complain(p, "-L: more than a quarter of --log-file-size");
		return false;
	}
	/* An old script with a small -m goes on working without -I. */
	if (was_given(p, "max-item-size") &&
	    options->value_max_bytes > options->cache_bytes / 2) {
		complain(p, "-I: more than half of -m");
		return false;
	}
	if (options->value_max_bytes > VALUE_SOFT_MAX)
		complain(p, "warning: -I above 1m: each value is in memory as "
			    "a whole while it is stored or sent");
	return true;
}

/* Makes the dialect final: a login is of one dialect, or it has holes. */
static bool settle_login(struct parse *p)
{
	struct options *options = &p->options;
	bool protocol_given = was_given(p, "protocol");

	if (options->sasl && options->auth_file != NULL) {
		complain(p, "-S is for binary clients and -Y for text clients: "
			    "there can be one of them");
	} else if (options->sasl && protocol_given &&
		   options->protocol != OPTIONS_BINARY) {
		complain(p, "-S: text clients cannot log in that way: only "
			    "--protocol=binary goes with it");
	} else if (options->auth_file != NULL &&
		   options->protocol == OPTIONS_BINARY) {
		complain(p, "-Y: binary clients cannot log in that way: only "
			    "--protocol=ascii goes with it");
	} else if (options->udp_port != 0 &&
		   (options->sasl || options->auth_file != NULL)) {
		complain(p, "-U: over UDP nobody can log in: it does not go "
			    "with -S or -Y");
	} else if (options->read_only_users != NULL && !options->sasl &&
		   options->auth_file == NULL) {
		complain(p, "--read-only-user: without -S or -Y there are no "
			    "users");
	} else {
		if (options->sasl)
			options->protocol = OPTIONS_BINARY;
		if (options->auth_file != NULL)
			options->protocol = OPTIONS_ASCII;
		return true;
	}
	return false;
}

/* True if there is all that TLS needs, or no TLS; else a line is written. */
static bool check_tls(struct parse *p)
{
	const struct options *options = &p->options;
	bool asks = options->tls_verify_mode > 0, chosen = false;

	for (size_t i = 0; i < options->listen_count; i++) {
		asks |= options->listen[i].tls == OPTIONS_TLS_MUTUAL;
		chosen |= options->listen[i].tls != OPTIONS_TLS_DEFAULT;
	}
	if (!options->tls_enabled) {
		if (chosen)
			complain(p, "-l: notls:, btls: and mtls: need -Z");
		else if (options->tls_chain_file != NULL ||
			 options->tls_key_file != NULL)
			complain(p, "warning: nothing is encrypted without -Z");
		return !chosen;
	}
	if (options->listen_count == 0 || options->port == 0) {
		complain(p, "-Z: there is no TLS without a TCP port");
		return false;
	}
	if (options->tls_chain_file == NULL || options->tls_key_file == NULL) {
		complain(p, "-Z: needs -o ssl_chain_cert=FILE,ssl_key=FILE");
		return false;
	}
	if (options->udp_port != 0)
		complain(p, "warning: -U: datagrams are not encrypted");
	if (asks && options->tls_ca_file == NULL)
		complain(p, "warning: without -o ssl_ca_cert=FILE there is no "
			    "certificate of a client that is trusted");
	return true;
}

static enum options_result finish(struct parse *p)
{
	enum options_result result = settle_addresses(p);

	if (result != OPTIONS_RUN)
		return result;
	if (!check_limits(p) || !settle_login(p) || !check_tls(p))
		return OPTIONS_REFUSED;
	if (geteuid() == 0 && p->options.user == NULL) {
		complain(p, "started by root: say with -u whom to become "
			    "(-u root to stay)");
		return OPTIONS_REFUSED;
	}
	if (was_given(p, "prefix-delimiter"))
		p->options.detail_enabled = true;
	if (p->unused[0] != '\0')
		complain(p, "warning: without effect here: %s", p->unused);
	return OPTIONS_RUN;
}

enum options_result options_parse(int argc, char **argv, FILE *out, FILE *err,
				  struct options *ret)
{
	struct parse p = {.out = out, .err = err};
	enum options_result result = take_presets(&p);

	if (result == OPTIONS_RUN)
		result = take_line(&p, argc, argv);
	if (result == OPTIONS_RUN)
		result = finish(&p);
	if (result == OPTIONS_RUN)
		*ret = p.options;
	else
		options_free(&p.options);
	return result;
}

void options_free(struct options *options)
{
	drop_addresses(options);
	for (size_t i = 0; i < option_row_count; i++) {
		const struct option_row *row = &option_rows[i];
		char **text = (char **)(void *)((char *)options + row->offset);

		if (row->type != OPTION_TEXT && row->type != OPTION_PATH &&
		    row->type != OPTION_NAME && row->type != OPTION_NAMES)
			continue;
		free(*text);
		*text = NULL; /* another row may be of the same field */
	}
	*options = (struct options){0};
}
