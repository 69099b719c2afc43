/*
 * reply.c - the classic text dialect: from a result to bytes.
 *
 * Every answer that carries no number is a line in a table. What carries a
 * number is written by the two formatters, two digits at a time.
 */
#include "protocol/protocol.h"

#include <string.h>

#define LINE(text)                                   \
	{                                            \
		text "\r\n", sizeof(text "\r\n") - 1 \
	}
#define CLIENT_LINE(text) LINE("CLIENT_ERROR " text)
#define SERVER_LINE(text) LINE("SERVER_ERROR " text)

static const struct proto_slice stored_line = LINE("STORED");
static const struct proto_slice deleted_line = LINE("DELETED");
static const struct proto_slice touched_line = LINE("TOUCHED");
static const struct proto_slice ok_line = LINE("OK");

static const struct proto_slice lines[PROTO_CODE_COUNT] = {
	[PROTO_NOT_FOUND] = LINE("NOT_FOUND"),
	[PROTO_EXISTS] = LINE("EXISTS"),
	[PROTO_NOT_STORED] = LINE("NOT_STORED"),
	[PROTO_END] = LINE("END"),
	[PROTO_RESET] = LINE("RESET"),

	[PROTO_ERR_UNKNOWN] = LINE("ERROR"),
	[PROTO_ERR_FORMAT] = CLIENT_LINE("bad command line format"),
	[PROTO_ERR_CHUNK] = CLIENT_LINE("bad data chunk"),
	[PROTO_ERR_EXPTIME] = CLIENT_LINE("invalid exptime argument"),
	[PROTO_ERR_DELTA] = CLIENT_LINE("invalid numeric delta argument"),
	[PROTO_ERR_NOT_NUMBER] =
		CLIENT_LINE("cannot increment or decrement non-numeric value"),
	[PROTO_ERR_DELETE_USAGE] = CLIENT_LINE(
		"bad command line format.  Usage: delete <key> [noreply]"),
	[PROTO_ERR_TOO_LARGE] = SERVER_LINE("object too large for cache"),
	[PROTO_ERR_NO_MEMORY] = SERVER_LINE("out of memory storing object"),
	[PROTO_ERR_STORAGE] = SERVER_LINE("storage failure"),
	[PROTO_ERR_FLUSH_DISABLED] = CLIENT_LINE("flush_all not allowed"),
	/* The colon is memcached's. */
	[PROTO_ERR_SHUTDOWN_DISABLED] =
		LINE("SERVER_ERROR: shutdown not enabled"),
	[PROTO_ERR_SHUTDOWN_MODE] = CLIENT_LINE("invalid shutdown mode"),
	[PROTO_ERR_DUMP_DISABLED] = CLIENT_LINE("stats cachedump not allowed"),
	[PROTO_ERR_DETAIL_DISABLED] = CLIENT_LINE("stats detail not allowed"),
	[PROTO_ERR_DETAIL_USAGE] =
		CLIENT_LINE("usage: stats detail on|off|dump"),
	[PROTO_ERR_CACHEDUMP_LINE] = CLIENT_LINE("bad command line"),
	[PROTO_ERR_CACHEDUMP_CLASS] = CLIENT_LINE("Illegal slab id"),
	[PROTO_ERR_MEMLIMIT_SMALL] =
		LINE("MEMLIMIT_TOO_SMALL cannot set maxbytes to less than 8m"),
	[PROTO_ERR_MEMLIMIT_UNIT] = LINE(
		"MEMLIMIT_ADJUST_FAILED input value is megabytes not bytes"),
	[PROTO_ERR_MEMLIMIT_FIXED] = LINE(
		"MEMLIMIT_ADJUST_FAILED out of bounds or unable to adjust"),
};

static struct proto_slice done_line(enum proto_verb verb)
{
	switch (verb) {
	case PROTO_SET:
	case PROTO_ADD:
	case PROTO_REPLACE:
	case PROTO_APPEND:
	case PROTO_PREPEND:
	case PROTO_CAS:
		return stored_line;
	case PROTO_DELETE:
		return deleted_line;
	case PROTO_TOUCH:
		return touched_line;
	case PROTO_GET:
	case PROTO_GAT:
	case PROTO_INCR:
	case PROTO_DECR:
	case PROTO_FLUSH_ALL:
	case PROTO_STATS:
	case PROTO_VERSION:
	case PROTO_VERBOSITY:
	case PROTO_CACHE_MEMLIMIT:
	case PROTO_SHUTDOWN:
	case PROTO_QUIT:
	case PROTO_VERB_COUNT:
		break;
	}
	return ok_line;
}

struct proto_slice proto_classic_line(enum proto_verb verb,
				      enum proto_code code)
{
	return code == PROTO_DONE ? done_line(verb) : lines[code];
}

static size_t count_digits(uint64_t number)
{
	size_t count = 1;

	for (; number >= 10000; number /= 10000)
		count += 4;
	if (number >= 1000)
		return count + 3;
	if (number >= 100)
		return count + 2;
	return number >= 10 ? count + 1 : count;
}

/* Returns the end of what was written. */
static char *put_number(char *at, uint64_t number)
{
	static const char pairs[] = "00010203040506070809"
				    "10111213141516171819"
				    "20212223242526272829"
				    "30313233343536373839"
				    "40414243444546474849"
				    "50515253545556575859"
				    "60616263646566676869"
				    "70717273747576777879"
				    "80818283848586878889"
				    "90919293949596979899";
	char *end = at + count_digits(number);
	char *digit = end;

	for (; number >= 100; number /= 100) {
		digit -= 2;
		memcpy(digit, pairs + number % 100 * 2, 2);
	}
	if (number >= 10)
		memcpy(at, pairs + number * 2, 2);
	else
		*at = (char)('0' + number);
	return end;
}

static char *put_bytes(char *at, const char *bytes, size_t len)
{
	memcpy(at, bytes, len);
	return at + len;
}

size_t proto_classic_value(char *buf, struct proto_slice key, uint32_t flags,
			   size_t value_bytes, bool with_cas, uint64_t cas)
{
	char *at = buf;

	at = put_bytes(at, "VALUE ", 6);
	at = put_bytes(at, key.data, key.len);
	*at++ = ' ';
	at = put_number(at, flags);
	*at++ = ' ';
	at = put_number(at, value_bytes);
	if (with_cas) {
		*at++ = ' ';
		at = put_number(at, cas);
	}
	at = put_bytes(at, "\r\n", 2);
	return (size_t)(at - buf);
}

size_t proto_classic_number(char *buf, uint64_t number)
{
	char *at = put_number(buf, number);

	at = put_bytes(at, "\r\n", 2);
	return (size_t)(at - buf);
}
