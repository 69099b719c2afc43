/*
 * reply.c - the text dialects: from a result to bytes.
 *
 * Every answer that carries no number is a line in a table. What carries a
 * number is put together from a few pieces, two digits at a time.
 */
#include "protocol/reply.h"
#include "protocol/verbs.h"

#include <string.h>

#define LINE(text)                                   \
	{                                            \
		text "\r\n", sizeof(text "\r\n") - 1 \
	}
#define CLIENT_LINE(text) LINE("CLIENT_ERROR " text)
#define SERVER_LINE(text) LINE("SERVER_ERROR " text)

static const struct proto_slice two_classes_line =
	LINE("BADCLASS invalid src or dst class id");

/* Codes that no text command has are an ERROR, too. */
static const struct proto_slice lines[PROTO_CODE_COUNT] = {
	[PROTO_NOT_FOUND] = LINE("NOT_FOUND"),
	[PROTO_EXISTS] = LINE("EXISTS"),
	[PROTO_NOT_STORED] = LINE("NOT_STORED"),
	[PROTO_END] = LINE("END"),
	[PROTO_RESET] = LINE("RESET"),
	[PROTO_BUSY] = LINE("BUSY this is under way already"),
	[PROTO_LOGIN_MORE] = LINE("ERROR"),

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
	[PROTO_ERR_READ_ONLY] = CLIENT_LINE("read-only user"),
	[PROTO_ERR_FLUSH_DISABLED] = CLIENT_LINE("flush_all not allowed"),
	/* The colon is memcached's. */
	[PROTO_ERR_SHUTDOWN_DISABLED] =
		LINE("SERVER_ERROR: shutdown not enabled"),
	[PROTO_ERR_SHUTDOWN_MODE] = CLIENT_LINE("invalid shutdown mode"),
	[PROTO_ERR_CACHEDUMP_DISABLED] =
		CLIENT_LINE("stats cachedump not allowed"),
	[PROTO_ERR_METADUMP_DISABLED] = LINE("ERROR metadump not allowed"),
	[PROTO_ERR_MGDUMP_DISABLED] = LINE("ERROR key dump not allowed"),
	[PROTO_ERR_METADUMP_PIPELINED] =
		LINE("ERROR cannot pipeline other commands before metadump"),
	[PROTO_ERR_MGDUMP_PIPELINED] =
		LINE("ERROR cannot pipeline other commands before mgdump"),
	[PROTO_ERR_DETAIL_DISABLED] = CLIENT_LINE("stats detail not allowed"),
	[PROTO_ERR_DETAIL_USAGE] =
		CLIENT_LINE("usage: stats detail on|off|dump"),
	[PROTO_ERR_CACHEDUMP_LINE] = CLIENT_LINE("bad command line"),
	[PROTO_ERR_CACHEDUMP_CLASS] = CLIENT_LINE("Illegal slab id"),
	[PROTO_ERR_CLASS] = LINE("BADCLASS invalid class id"),
	[PROTO_ERR_CRAWLER_SLEEP] =
		CLIENT_LINE("sleep must be one second or less"),
	[PROTO_ERR_CRAWLER_DISABLED] = CLIENT_LINE("lru crawler disabled"),
	[PROTO_ERR_CRAWLER_ENABLED] =
		LINE("ERROR failed to start lru crawler thread"),
	[PROTO_ERR_AUTOMOVE_WINDOW] =
		CLIENT_LINE("automove window too low or too high"),
	[PROTO_ERR_NO_SPARE_PAGE] =
		LINE("NOSPARE source class has no spare pages"),
	[PROTO_ERR_SAME_CLASS] = LINE("SAME src and dst class are identical"),
	[PROTO_ERR_WATCH_DISABLED] = CLIENT_LINE("watch commands not allowed"),
	[PROTO_ERR_WATCH_PIPELINED] =
		LINE("ERROR cannot pipeline other commands before watch"),
	[PROTO_ERR_WATCH_MANY] =
		LINE("WATCHER_TOO_MANY log watcher limit reached"),
	[PROTO_ERR_NO_TLS] = LINE("Error TLS not enabled"),
	[PROTO_ERR_CERTS] = LINE("Error loading the certificates"),
	[PROTO_ERR_MEMLIMIT_SMALL] =
		LINE("MEMLIMIT_TOO_SMALL cannot set maxbytes to less than 8m"),
	[PROTO_ERR_MEMLIMIT_UNIT] = LINE(
		"MEMLIMIT_ADJUST_FAILED input value is megabytes not bytes"),
	[PROTO_ERR_MEMLIMIT_FIXED] = LINE(
		"MEMLIMIT_ADJUST_FAILED out of bounds or unable to adjust"),
	[PROTO_ERR_HASH] = SERVER_LINE("not possible in a hash"),
	[PROTO_ERR_NO_ORDER] = SERVER_LINE("this store keeps no key order"),
	[PROTO_ERR_META_DUPLICATE] = CLIENT_LINE("duplicate flag"),
	[PROTO_ERR_META_FLAG] = CLIENT_LINE("invalid flag"),
	[PROTO_ERR_META_ARITH_FLAG] = CLIENT_LINE("invalid or duplicate flag"),
	[PROTO_ERR_META_NUMBER] =
		CLIENT_LINE("bad token in command line format"),
	[PROTO_ERR_META_KEY] = CLIENT_LINE("error decoding key"),
	[PROTO_ERR_META_OPAQUE] = CLIENT_LINE("opaque token too long"),
	[PROTO_ERR_META_MANY] = CLIENT_LINE("options flags are too long"),
	[PROTO_ERR_META_SET_MODE] = CLIENT_LINE("invalid mode for ms M token"),
	[PROTO_ERR_META_ARITH_MODE] =
		CLIENT_LINE("invalid mode for ma M token"),
	[PROTO_ERR_UNAUTHENTICATED] = CLIENT_LINE("unauthenticated"),
	[PROTO_ERR_LOGIN_FAILED] = CLIENT_LINE("authentication failure"),
	[PROTO_ERR_LOGIN_FORMAT] =
		CLIENT_LINE("bad authentication token format"),
	[PROTO_ERR_LOGIN_END] = CLIENT_LINE("bad command line termination"),
	[PROTO_ERR_LOGIN_LONG] = CLIENT_LINE("auth token too long"),
	[PROTO_ERR_SHAPE] = LINE("ERROR"),
};

struct proto_slice text_answer(const struct proto_form *form,
			       enum proto_code code)
{
	if (code == PROTO_DONE)
		return proto_verb_done(form->verb);
	if (code == PROTO_ERR_CLASS && form->verb == PROTO_SLABS)
		return two_classes_line;
	return lines[code];
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

char *put_number(char *at, uint64_t number)
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

char *put_signed(char *at, int64_t number)
{
	if (number >= 0)
		return put_number(at, (uint64_t)number);
	*at++ = '-';
	return put_number(at, -(uint64_t)number);
}

char *put_bytes(char *at, const char *bytes, size_t len)
{
	memcpy(at, bytes, len);
	return at + len;
}

struct proto_slice text_number(uint64_t number, char *room)
{
	char *end = put_number(room, number);

	end = put_bytes(end, "\r\n", 2);
	return (struct proto_slice){room, (size_t)(end - room)};
}

size_t text_value(char *buf, const struct proto_form *form,
		  struct proto_slice key, uint32_t flags, size_t value_bytes,
		  uint64_t cas)
{
	char *at = buf;

	at = put_bytes(at, "VALUE ", 6);
	at = put_slice(at, key);
	*at++ = ' ';
	at = put_number(at, flags);
	*at++ = ' ';
	at = put_number(at, value_bytes);
	if (form->want_cas) {
		*at++ = ' ';
		at = put_number(at, cas);
	}
	at = put_bytes(at, "\r\n", 2);
	return (size_t)(at - buf);
}

bool proto_key_breaks_line(struct proto_slice key)
{
	for (size_t i = 0; i < key.len; i++) {
		char byte = key.data[i];

		if (byte == ' ' || byte == '\r' || byte == '\n' || byte == '\0')
			return true;
	}
	return false;
}
