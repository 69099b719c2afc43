/*
 * options_value.c - the values of options: from text to field.
 *
 * One function per type. All numbers are strict: digits only, in range,
 * nothing behind them. options_show.c goes the other way.
 */
#include "server/options_table.h"

#include <assert.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "protocol/protocol.h"

#define SYNC_INTERVAL_MAX_MS 60000

static bool parse_u64(const char *text, size_t len, uint64_t *ret)
{
	return proto_parse_u64((struct proto_slice){text, len}, ret);
}

static enum option_verdict set_string(char **field, char *copy)
{
	if (copy == NULL)
		return OPTION_NO_MEMORY;
	free(*field);
	*field = copy;
	return OPTION_TAKEN;
}

/* The path from the root; it need not exist. NULL: no memory. */
static char *absolute_path(const char *path)
{
	char *here, *joined;
	size_t room;

	if (path[0] == '/')
		return strdup(path);
	while (path[0] == '.' && path[1] == '/') {
		path += 2;
		path += strspn(path, "/");
	}
	here = getcwd(NULL, 0);
	if (here == NULL)
		return NULL;
	room = strlen(here) + 1 + strlen(path) + 1;
	joined = malloc(room);
	if (joined != NULL)
		(void)snprintf(joined, room, "%s/%s",
			       strcmp(here, "/") == 0 ? "" : here, path);
	free(here);
	return joined;
}

static enum option_verdict set_switch(const char *text, bool *field)
{
	if (strcmp(text, "yes") == 0)
		*field = true;
	else if (strcmp(text, "no") == 0)
		*field = false;
	else
		return OPTION_BAD;
	return OPTION_TAKEN;
}

static enum option_verdict set_number(const struct option_row *row,
				      const char *text, uint32_t *field)
{
	uint64_t number;

	if (!parse_u64(text, strlen(text), &number) || number < row->min ||
	    number > row->max)
		return OPTION_BAD;
	*field = (uint32_t)number;
	return OPTION_TAKEN;
}

static uint64_t suffix_unit(char suffix)
{
	switch (suffix) {
	case 'k':
	case 'K':
		return UINT64_C(1) << 10;
	case 'm':
	case 'M':
		return UINT64_C(1) << 20;
	case 'g':
	case 'G':
		return UINT64_C(1) << 30;
	}
	return 0;
}

static enum option_verdict set_size(const struct option_row *row,
				    const char *text, uint64_t *field)
{
	size_t len = strlen(text);
	uint64_t unit = len > 0 ? suffix_unit(text[len - 1]) : 0;
	uint64_t number;

	if (unit != 0)
		len--;
	else
		unit = row->unit;
	if (!parse_u64(text, len, &number) || number > UINT64_MAX / unit)
		return OPTION_BAD;
	number *= unit;
	if (number < row->min || number > row->max)
		return OPTION_BAD;
	*field = number;
	return OPTION_TAKEN;
}

static enum option_verdict set_port(const char *text, int32_t *field)
{
	uint64_t number;

	if (strcmp(text, "-1") == 0) {
		*field = -1;
		return OPTION_TAKEN;
	}
	if (!parse_u64(text, strlen(text), &number) || number > UINT16_MAX)
		return OPTION_BAD;
	*field = (int32_t)number;
	return OPTION_TAKEN;
}

static enum option_verdict set_mode(const char *text, uint32_t *field)
{
	size_t len = strlen(text);
	uint32_t mode = 0;

	if (len == 0 || len > 4 || strspn(text, "01234567") != len)
		return OPTION_BAD;
	for (size_t i = 0; i < len; i++)
		mode = mode * 8 + (uint32_t)(text[i] - '0');
	if (mode > 0777)
		return OPTION_BAD;
	*field = mode;
	return OPTION_TAKEN;
}

/* The position of a word in "a|b|c", or -1. */
static int find_word(const char *words, const char *text)
{
	size_t len = strlen(text);

	for (int at = 0; words != NULL; at++) {
		size_t word = strcspn(words, "|");

		if (word == len && memcmp(words, text, len) == 0)
			return at;
		words = words[word] == '|' ? words + word + 1 : NULL;
	}
	return -1;
}

static enum option_verdict set_choice(const struct option_row *row,
				      const char *text, void *field)
{
	int at = find_word(row->choices, text);
	unsigned int value = (unsigned int)at;

	static_assert(sizeof(enum options_protocol) == sizeof(value) &&
			      sizeof(enum options_tls_version) ==
				      sizeof(value) &&
			      sizeof(enum options_access) == sizeof(value),
		      "choices are stored as unsigned int");
	if (at < 0)
		return OPTION_BAD;
	memcpy(field, &value, sizeof(value));
	return OPTION_TAKEN;
}

static enum option_verdict set_sync(const char *text, struct options *options)
{
	static const char interval[] = "interval:";
	size_t head = sizeof(interval) - 1;
	uint64_t ms;

	if (strcmp(text, "always") == 0) {
		options->sync = STORE_SYNC_ALWAYS;
	} else if (strcmp(text, "write") == 0) {
		options->sync = STORE_SYNC_WRITE;
	} else if (strncmp(text, interval, head) == 0 &&
		   parse_u64(text + head, strlen(text + head), &ms) &&
		   ms >= 1 && ms <= SYNC_INTERVAL_MAX_MS) {
		options->sync = STORE_SYNC_INTERVAL;
		options->sync_interval_ms = (uint32_t)ms;
	} else {
		return OPTION_BAD;
	}
	return OPTION_TAKEN;
}

/* Takes what an address begins with off its front. */
static enum options_tls take_tls_prefix(const char **text, size_t *len)
{
	static const struct {
		const char *prefix;
		enum options_tls tls;
	} table[] = {
		{"notls:", OPTIONS_TLS_OFF},
		{"btls:", OPTIONS_TLS_BASIC},
		{"mtls:", OPTIONS_TLS_MUTUAL},
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		size_t head = strlen(table[i].prefix);

		if (*len < head || memcmp(*text, table[i].prefix, head) != 0)
			continue;
		*text += head;
		*len -= head;
		return table[i].tls;
	}
	return OPTIONS_TLS_DEFAULT;
}

/* Cuts host, host:port, [v6], [v6]:port or v6 apart. */
static enum option_verdict parse_address(const char *text, size_t len,
					 struct options_listen *ret)
{
	struct options_listen address = {.tls = take_tls_prefix(&text, &len)};
	const char *host = text, *end = text + len, *colon, *host_end;
	uint64_t port;

	colon = memchr(text, ':', len);
	if (len > 0 && text[0] == '[') {
		host = text + 1;
		host_end = memchr(text, ']', len);
		if (host_end == NULL)
			return OPTION_BAD;
		colon = host_end + 1 < end ? host_end + 1 : NULL;
		if (colon != NULL && *colon != ':')
			return OPTION_BAD;
	} else if (colon != NULL &&
		   memchr(colon + 1, ':', (size_t)(end - colon - 1)) != NULL) {
		host_end = end; /* more than one colon: all of it is IPv6 */
		colon = NULL;
	} else {
		host_end = colon != NULL ? colon : end;
	}
	if (host == host_end)
		return OPTION_BAD;
	if (colon != NULL) {
		if (!parse_u64(colon + 1, (size_t)(end - colon - 1), &port) ||
		    port > UINT16_MAX)
			return OPTION_BAD;
		address.port = (uint16_t)port;
		address.own_port = true;
	}
	if (host_end - host != 1 || *host != '*') {
		address.host = strndup(host, (size_t)(host_end - host));
		if (address.host == NULL)
			return OPTION_NO_MEMORY;
	}
	*ret = address;
	return OPTION_TAKEN;
}

static enum option_verdict add_address(const char *text, size_t len,
				       struct options *options)
{
	struct options_listen address, *grown;
	enum option_verdict verdict = parse_address(text, len, &address);

	if (verdict != OPTION_TAKEN)
		return verdict;
	grown = realloc(options->listen,
			(options->listen_count + 1) * sizeof(*grown));
	if (grown == NULL) {
		free(address.host);
		return OPTION_NO_MEMORY;
	}
	grown[options->listen_count++] = address;
	options->listen = grown;
	return OPTION_TAKEN;
}

static enum option_verdict set_listen(const char *text, struct options *options)
{
	enum option_verdict verdict;

	for (;;) {
		size_t len = strcspn(text, ",");

		verdict = add_address(text, len, options);
		if (verdict != OPTION_TAKEN || text[len] == '\0')
			return verdict;
		text += len + 1;
	}
}

static bool fits_name(const char *text)
{
	return text[0] != '\0' && strchr(text, '/') == NULL &&
	       strcmp(text, ".") != 0 && strcmp(text, "..") != 0;
}

static enum option_verdict set_text(const struct option_row *row,
				    const char *text, char **field)
{
	if (text[0] == '\0')
		return OPTION_BAD;
	if (row->type == OPTION_PATH)
		return set_string(field, absolute_path(text));
	if (row->type == OPTION_NAME && !fits_name(text))
		return OPTION_BAD;
	return set_string(field, strdup(text));
}

/* No client can send a name with a blank: the list was meant otherwise. */
static bool are_names(const char *text)
{
	for (;;) {
		size_t len = strcspn(text, ",");

		if (len == 0 || memchr(text, ' ', len) != NULL)
			return false;
		if (text[len] == '\0')
			return true;
		text += len + 1;
	}
}

static enum option_verdict add_names(const char *text, char **field)
{
	size_t room;
	char *joined;

	if (!are_names(text))
		return OPTION_BAD;
	if (*field == NULL)
		return set_string(field, strdup(text));
	room = strlen(*field) + 1 + strlen(text) + 1;
	joined = malloc(room);
	if (joined != NULL)
		(void)snprintf(joined, room, "%s,%s", *field, text);
	return set_string(field, joined);
}

static enum option_verdict set_char(const char *text, char *field)
{
	if (text[0] == '\0' || text[1] != '\0' ||
	    !isgraph((unsigned char)text[0]))
		return OPTION_BAD;
	*field = text[0];
	return OPTION_TAKEN;
}

/* Without a value: one more. The default is a value. */
static enum option_verdict set_count(const struct option_row *row,
				     const char *text, uint32_t *field)
{
	if (text != NULL)
		return set_number(row, text, field);
	++*field;
	return OPTION_TAKEN;
}

enum option_verdict option_set(const struct option_row *row, const char *text,
			       struct options *options)
{
	void *field = (char *)options + row->offset;

	if (text == NULL)
		text = row->implied;
	switch (row->type) {
	case OPTION_SWITCH:
		return set_switch(text, field);
	case OPTION_NUMBER:
		return set_number(row, text, field);
	case OPTION_SIZE:
		return set_size(row, text, field);
	case OPTION_PORT:
		return set_port(text, field);
	case OPTION_MODE:
		return set_mode(text, field);
	case OPTION_CHAR:
		return set_char(text, field);
	case OPTION_TEXT:
	case OPTION_PATH:
	case OPTION_NAME:
		return set_text(row, text, field);
	case OPTION_NAMES:
		return add_names(text, field);
	case OPTION_CHOICE:
		return set_choice(row, text, field);
	case OPTION_SYNC:
		return set_sync(text, options);
	case OPTION_LISTEN:
		return set_listen(text, options);
	case OPTION_COUNT:
		return set_count(row, text, field);
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
	return OPTION_TAKEN;
}
