/*
 * options_table.h - the one description of every option.
 *
 * Private to server/options*.c. A row is an option, or (without names) a
 * setting that is only shown, or an option of memcached or MemcacheDB that is
 * accepted or refused for a reason. The table is constant: any thread may
 * read it, nothing here blocks.
 */
#ifndef SERVER_OPTIONS_TABLE_H
#define SERVER_OPTIONS_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "server/options.h"

/* More than there are; the table checks itself against it. */
#define OPTION_ROWS_MAX 160

/* What a value is, and the type of the field in struct options it goes to. */
enum option_type {
	OPTION_SWITCH, /* bool: yes or no */
	OPTION_NUMBER, /* uint32_t, from min to max */
	OPTION_SIZE,   /* uint64_t, bytes from min to max; k, m, g; see unit */
	OPTION_PORT,   /* int32_t, -1 to 65535 */
	OPTION_MODE,   /* uint32_t, octal, to 0777 */
	OPTION_CHAR,   /* char, one printable character */
	OPTION_TEXT,   /* char *, not empty */
	OPTION_PATH,   /* char *, made absolute */
	OPTION_NAME,   /* char *, a file name without '/' */
	OPTION_NAMES,  /* char *, names and commas; another one is added */
	OPTION_CHOICE, /* an enum, the position in `choices` */
	OPTION_SYNC,   /* sync and sync_interval_ms */
	OPTION_LISTEN, /* adds to listen[] */
	OPTION_COUNT,  /* uint32_t, one more each time */
	/* These set no field. */
	OPTION_EXTENDED,  /* a list of -o names */
	OPTION_LATER,	  /* refused: `help` is not available */
	OPTION_NO_EFFECT, /* accepted, and said so; `help`: why */
	OPTION_SILENT,	  /* accepted: what it asks for is always so */
	OPTION_HELP,
	OPTION_MDOC,
	OPTION_LICENSE,
	OPTION_VERSION
};

enum option_group {
	OPTION_HIDDEN, /* in no help text */
	OPTION_NETWORK,
	OPTION_PROCESS,
	OPTION_CLIENTS,
	OPTION_TLS,
	OPTION_DATA,
	OPTION_OLD,
	OPTION_GROUPS
};

struct option_row {
	enum option_type type;
	enum option_group group;
	char letter, letter_too; /* NUL: none */
	const char *name;	 /* --name, or NULL */
	const char *o_name;	 /* -o name and also --name, or NULL */
	const char *arg;	 /* its value in help texts; NULL: takes none */
	const char *implied;	 /* takes none: the value it stands for */
	const char *preset;	 /* the default, as one would type it */
	size_t offset;		 /* of the field in struct options */
	uint64_t min, max;
	uint64_t unit;		   /* OPTION_SIZE: what a plain number counts */
	const char *choices;	   /* "auto|ascii" */
	const char *choices_shown; /* in settings, if different */
	const char *setting, *setting_too; /* names in stats settings */
	const char *unset; /* in settings, of a text that is not there */
	const char *help;  /* OPTION_LATER: what is not there */
};

extern const struct option_row option_rows[];
extern const size_t option_row_count;

/* The heading of a group in help texts. */
const char *option_group_title(enum option_group group);

/* The row with this letter, or NULL. */
const struct option_row *option_by_letter(int letter);

/* The row with this -o name of so many bytes, or NULL. */
const struct option_row *option_by_o_name(const char *name, size_t len);

enum option_verdict {
	OPTION_TAKEN,
	OPTION_BAD, /* not what option_expects() says */
	OPTION_NO_MEMORY
};

/*
 * Reads a value (the implied one if text is NULL) into its field; a string
 * there is freed first. Anything but TAKEN leaves the field.
 */
enum option_verdict option_set(const struct option_row *row, const char *text,
			       struct options *options);

/* Writes what the value must be to buf: "a number from 1 to 64". */
void option_expects(const struct option_row *row, char *buf, size_t buf_bytes);

/*
 * Writes the field's value as `stats settings` shows it to buf; a string
 * escaped, so that it has no blanks.
 */
void option_show(const struct option_row *row, const struct options *options,
		 char *buf, size_t buf_bytes);

/* The help text of -h. */
void options_print_help(FILE *out);

/* The same as mdoc, for the manual. */
void options_print_mdoc(FILE *out);

void options_print_license(FILE *out);

#endif
