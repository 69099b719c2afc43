/*
 * options_help.c - the help texts, made from the table: -h for a terminal
 * of 80 columns, and mdoc for the manual.
 */
#include "server/options_table.h"

#include <ctype.h>
#include <string.h>

#include "server/version.h"

#define HELP_COLUMN 30
#define HELP_WIDTH  80
#define MDOC_BREAK  60

/* The long name; an -o name is one, too. */
static const char *long_name(const struct option_row *row)
{
	return row->name != NULL ? row->name : row->o_name;
}

static bool is_shown(const struct option_row *row, enum option_group group)
{
	return row->group == group && row->help != NULL &&
	       (row->letter != '\0' || long_name(row) != NULL);
}

/* Prints one word, on the next line if this one is full; moves *column. */
static void print_word(FILE *out, const char *word, size_t len, size_t *column)
{
	if (*column > HELP_COLUMN && *column + 1 + len <= HELP_WIDTH) {
		fputc(' ', out);
		++*column;
	} else if (*column != HELP_COLUMN) {
		fprintf(out, "\n%*s", HELP_COLUMN, "");
		*column = HELP_COLUMN;
	}
	fprintf(out, "%.*s", (int)len, word);
	*column += len;
}

/* Prints the text in the right column; the default is kept in one piece. */
static void print_text(FILE *out, const struct option_row *row, size_t column)
{
	char preset[80];

	for (const char *at = row->help; *at != '\0'; at += *at == ' ') {
		size_t len = strcspn(at, " ");

		print_word(out, at, len, &column);
		at += len;
	}
	if (row->preset != NULL && row->arg != NULL) {
		(void)snprintf(preset, sizeof(preset), "(default %s)",
			       row->preset);
		print_word(out, preset, strlen(preset), &column);
	}
	fputc('\n', out);
}

/* "  -p, --port=num"; returns the columns used. */
static size_t print_names(FILE *out, const struct option_row *row)
{
	const char *name = long_name(row);
	char letters[16] = "", text[80];

	if (row->letter != '\0')
		(void)snprintf(letters, sizeof(letters), "-%c, ", row->letter);
	if (row->letter_too != '\0')
		(void)snprintf(letters, sizeof(letters), "-%c, -%c, ",
			       row->letter, row->letter_too);
	(void)snprintf(text, sizeof(text), "%s--%s%s%s", letters, name,
		       row->arg ? "=" : "", row->arg ? row->arg : "");
	fprintf(out, "  %*s%s", letters[0] == '\0' ? 4 : 0, "", text);
	return strlen(text) + (letters[0] == '\0' ? 6 : 2);
}

static void print_row(FILE *out, const struct option_row *row)
{
	size_t column = print_names(out, row);

	if (column + 2 <= HELP_COLUMN) {
		fprintf(out, "%*s", (int)(HELP_COLUMN - column), "");
		column = HELP_COLUMN;
	} else {
		column = HELP_WIDTH;
	}
	print_text(out, row, column);
}

void options_print_help(FILE *out)
{
	fprintf(out,
		"memcachedb %s - a memcached that keeps its data\n"
		"usage: memcachedb [options]\n"
		"A size is a number with an optional k, m or g.\n",
		MEMCACHEDB_VERSION);
	for (int group = OPTION_NETWORK; group < OPTION_GROUPS; group++) {
		fprintf(out, "\n%s:\n", option_group_title(group));
		for (size_t i = 0; i < option_row_count; i++)
			if (is_shown(&option_rows[i], group))
				print_row(out, &option_rows[i]);
	}
}

/* One character, so that mdoc takes it as it is. */
static void print_mdoc_char(FILE *out, char c, bool first)
{
	if (first && (c == '.' || c == '\''))
		fputs("\\&", out);
	if (c == '\\')
		fputs("\\e", out);
	else if (c == '-')
		fputs("\\-", out);
	else
		fputc(c, out);
}

/* A sentence, in lines that are not too long to read. */
static void print_mdoc_text(FILE *out, const char *text)
{
	size_t column = 0;

	for (; *text != '\0'; text++) {
		if (*text == ' ' && column >= MDOC_BREAK) {
			fputc('\n', out);
			column = 0;
		} else {
			print_mdoc_char(out, *text, column == 0);
			column++;
		}
	}
	fputs(".\n", out);
}

static void print_mdoc_arg(FILE *out, const struct option_row *row,
			   const char *glue)
{
	if (row->arg != NULL)
		fprintf(out, "%s Ar %s", glue, row->arg);
}

/* True if the range says more than the option's own text. */
static bool has_range(const struct option_row *row)
{
	return row->type == OPTION_NUMBER || row->type == OPTION_SIZE ||
	       row->type == OPTION_CHOICE || row->type == OPTION_PORT ||
	       row->type == OPTION_MODE;
}

static void print_mdoc_row(FILE *out, const struct option_row *row)
{
	char text[400], expects[128];

	fputs(".It", out);
	for (int i = 0; i < 2; i++) {
		char letter = i == 0 ? row->letter : row->letter_too;

		if (letter == '\0')
			continue;
		fprintf(out, " Fl %c", letter);
		print_mdoc_arg(out, row, "");
		fputs(" ,", out);
	}
	fprintf(out, " Fl \\-%s", long_name(row));
	print_mdoc_arg(out, row, " Ns = Ns");
	fputc('\n', out);
	(void)snprintf(text, sizeof(text), "%s", row->help);
	text[0] = (char)toupper((unsigned char)text[0]);
	print_mdoc_text(out, text);
	if (has_range(row)) {
		option_expects(row, expects, sizeof(expects));
		(void)snprintf(text, sizeof(text), "Takes %s", expects);
		print_mdoc_text(out, text);
	}
	if (row->preset != NULL && row->arg != NULL) {
		(void)snprintf(text, sizeof(text), "The default is %s",
			       row->preset);
		print_mdoc_text(out, text);
	}
}

void options_print_mdoc(FILE *out)
{
	for (int group = OPTION_NETWORK; group < OPTION_GROUPS; group++) {
		fprintf(out, ".Ss %s\n.Bl -tag -width Ds\n",
			option_group_title(group));
		for (size_t i = 0; i < option_row_count; i++)
			if (is_shown(&option_rows[i], group))
				print_mdoc_row(out, &option_rows[i]);
		fputs(".El\n", out);
	}
}

void options_print_license(FILE *out)
{
	fputs("memcachedb: BSD 3-Clause License\n"
	      "Copyright (c) The memcachedb authors. The text is in the file "
	      "LICENSE.\n\n"
	      "It uses libevent (BSD 3-Clause License) and Berkeley DB 5.3\n"
	      "(Sleepycat License: whoever passes a binary on offers the "
	      "sources, too).\n",
	      out);
}
