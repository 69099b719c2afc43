/*
 * fuzz_classic.c - any bytes to the classic parser.
 *
 * An input is what one connection sends. It is walked as the server would
 * walk it: command by command, values and refused blocks skipped. For each
 * command this file checks what must hold whatever the bytes are:
 *
 * - a line gives the same result alone, in memory of exactly its size, as
 *   with more bytes behind it, and as fed byte by byte;
 * - every shorter piece of it is waited for, or was too long already;
 * - slices lie inside the line, keys are legal, lengths are in bounds;
 * - keys and numbers are those that a second, naive reader finds.
 *
 * Built with libFuzzer it searches; built with -DFUZZ_REPLAY it replays the
 * files and folders it is given.
 */
#include "protocol/protocol.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* Small, so that short inputs reach them. */
static const struct proto_limits limits = {
	.value_max_bytes = 64,
	.line_max_bytes = 48,
	.get_line_max_bytes = 600,
};

struct line {
	const char *bytes;
	size_t len; /* with its LF */
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The naive reader: the n-th token of a line, empty if there is none. */
static struct proto_slice nth_token(struct line line, size_t n)
{
	size_t at = 0, end = line.len - 1, start;

	if (end > 0 && line.bytes[end - 1] == '\r')
		end--;
	for (;;) {
		while (at < end && line.bytes[at] == ' ')
			at++;
		start = at;
		while (at < end && line.bytes[at] != ' ')
			at++;
		if (n-- == 0 || start == end)
			break;
	}
	return (struct proto_slice){line.bytes + start, at - start};
}

static void check_same_slice(struct proto_slice a, const char *a_base,
			     struct proto_slice b, const char *b_base)
{
	assert(a.len == b.len);
	assert(!a.data == !b.data);
	assert(!a.data || a.data - a_base == b.data - b_base);
}

static void check_same_request(const struct proto_request *a,
			       const char *a_base,
			       const struct proto_request *b,
			       const char *b_base)
{
	size_t i;

	assert(a->verb == b->verb && a->quiet == b->quiet);
	assert(a->want_cas == b->want_cas && a->has_value == b->has_value);
	assert(a->client_flags == b->client_flags && a->cas == b->cas);
	assert(a->exptime == b->exptime && a->delta == b->delta);
	assert(a->value_bytes == b->value_bytes);
	assert(a->arg_count == b->arg_count);
	check_same_slice(a->key, a_base, b->key, b_base);
	check_same_slice(a->keys, a_base, b->keys, b_base);
	for (i = 0; i < PROTO_ARGS_MAX; i++)
		check_same_slice(a->args[i], a_base, b->args[i], b_base);
}

static void check_same(enum proto_event event, const struct proto_parsed *a,
		       const char *a_base, const struct proto_parsed *b,
		       const char *b_base)
{
	if (event == PROTO_HANGUP)
		return;
	assert(a->consumed == b->consumed);
	if (event == PROTO_COMMAND) {
		check_same_request(&a->request, a_base, &b->request, b_base);
		return;
	}
	assert(a->code == b->code && a->verb == b->verb);
	assert(a->swallow == b->swallow);
	assert(a->quiet == b->quiet && a->close == b->close);
}

/* The line alone, in memory of its size, and byte by byte into the same. */
static void check_alone(struct line line, enum proto_event event,
			const struct proto_parsed *want)
{
	char *copy = malloc(line.len);
	struct proto_parsed parsed = {.scanned = 0};
	enum proto_event got = PROTO_WAIT;
	size_t len;

	assert(copy);
	memcpy(copy, line.bytes, line.len);
	assert(proto_classic_parse(copy, line.len, 0, &limits, &parsed) ==
	       event);
	check_same(event, want, line.bytes, &parsed, copy);

	parsed.scanned = 0;
	for (len = 1; len <= line.len && got == PROTO_WAIT; len++) {
		got = proto_classic_parse(copy, len, parsed.scanned, &limits,
					  &parsed);
		assert(got != PROTO_WAIT || parsed.scanned == len);
		if (len < line.len)
			assert(got == PROTO_WAIT ||
			       (got == PROTO_HANGUP &&
				len > limits.line_max_bytes));
	}
	if (len > line.len) {
		assert(got == event);
		check_same(event, want, line.bytes, &parsed, copy);
	}
	free(copy);
}

static void check_key(struct line line, struct proto_slice key)
{
	char head[PROTO_VALUE_HEAD_MAX];
	size_t len, i;

	assert(key.len >= 1 && key.len <= PROTO_KEY_MAX);
	assert(key.data >= line.bytes);
	assert(key.data + key.len < line.bytes + line.len);
	for (i = 0; i < key.len; i++)
		assert(key.data[i] != ' ' && key.data[i] != '\0' &&
		       key.data[i] != '\r' && key.data[i] != '\n');
	len = proto_classic_value(head, key, UINT32_MAX, SIZE_MAX, true,
				  UINT64_MAX);
	assert(len <= sizeof(head));
	assert(memcmp(head + 6, key.data, key.len) == 0);
}

static void check_keys(struct line line, const struct proto_request *request,
		       size_t first)
{
	struct proto_slice keys = request->keys, key = request->key, want;
	size_t n = first;

	do {
		check_key(line, key);
		want = nth_token(line, n++);
		assert(want.data == key.data && want.len == key.len);
	} while (proto_next_key(&keys, &key));
	assert(nth_token(line, n).len == 0);
}

/* A number as the C library reads it, from a token of digits. */
static uint64_t naive_number(struct line line, size_t n)
{
	struct proto_slice token = nth_token(line, n);
	char text[64] = "";
	const char *digits = text;

	/* Longer ones are leading zeros, and out of reach for strtoull(). */
	while (token.len >= sizeof(text)) {
		assert(*token.data == '0');
		token.data++;
		token.len--;
	}
	memcpy(text, token.data, token.len);
	assert(token.len > 0 && strspn(digits, "0123456789") == token.len);
	return strtoull(digits, NULL, 10);
}

static void check_one_key(struct line line, const struct proto_request *request)
{
	struct proto_slice want = nth_token(line, 1);

	check_key(line, request->key);
	assert(want.data == request->key.data);
	assert(want.len == request->key.len);
	assert(request->keys.len == 0);
}

static void check_block(struct line line, const struct proto_request *request)
{
	check_one_key(line, request);
	assert(request->has_value);
	assert(request->value_bytes <= limits.value_max_bytes);
	assert(request->value_bytes == naive_number(line, 4));
	assert(request->client_flags == naive_number(line, 2));
	if (request->verb == PROTO_CAS)
		assert(request->cas == naive_number(line, 5));
}

static void check_args(struct line line, const struct proto_request *request)
{
	size_t i;

	assert(request->arg_count <= PROTO_ARGS_MAX);
	for (i = 0; i < request->arg_count; i++) {
		struct proto_slice want = nth_token(line, i + 1);

		assert(want.data == request->args[i].data);
		assert(want.len == request->args[i].len && want.len > 0);
	}
}

static void check_quiet(struct line line, const struct proto_request *request)
{
	struct proto_slice token = nth_token(line, 0), last = token;
	size_t n = 0;

	while (token.len > 0) {
		last = token;
		token = nth_token(line, ++n);
	}
	/* Two tokens are enough for "flush_all noreply" alone. */
	assert(proto_slice_is(last, "noreply"));
	assert(n >= (request->verb == PROTO_FLUSH_ALL ? 2 : 3));
}

static void check_command(struct line line, const struct proto_request *request)
{
	const char *name = proto_verb_name(request->verb);
	struct proto_slice word = nth_token(line, 0);

	assert(word.data == line.bytes);
	if (request->want_cas)
		word.len--;
	assert(proto_slice_is(word, name));
	if (request->quiet)
		check_quiet(line, request);
	switch (request->verb) {
	case PROTO_GET:
		check_keys(line, request, 1);
		assert(!request->quiet);
		break;
	case PROTO_GAT:
		check_keys(line, request, 2);
		assert(!request->quiet);
		break;
	case PROTO_SET:
	case PROTO_ADD:
	case PROTO_REPLACE:
	case PROTO_APPEND:
	case PROTO_PREPEND:
	case PROTO_CAS:
		check_block(line, request);
		break;
	case PROTO_INCR:
	case PROTO_DECR:
		assert(request->delta == naive_number(line, 2));
		check_one_key(line, request);
		break;
	case PROTO_TOUCH:
	case PROTO_DELETE:
		check_one_key(line, request);
		break;
	case PROTO_FLUSH_ALL:
		break;
	case PROTO_STATS:
	case PROTO_VERSION:
	case PROTO_VERBOSITY:
	case PROTO_CACHE_MEMLIMIT:
	case PROTO_SHUTDOWN:
	case PROTO_QUIT:
		check_args(line, request);
		break;
	case PROTO_VERB_COUNT:
		abort();
	}
}

static void check_refusal(const struct proto_parsed *parsed)
{
	struct proto_slice answer =
		proto_classic_line(parsed->verb, parsed->code);

	assert(answer.len > 2 && answer.data[answer.len - 1] == '\n');
	assert(parsed->swallow == 0 || parsed->swallow >= 2);
	assert(parsed->swallow <= INT32_MAX);
	/* A client that cannot go on must learn why. */
	if (parsed->close)
		assert(parsed->swallow == 0 && !parsed->quiet);
	if (parsed->verb == PROTO_VERB_COUNT)
		assert(parsed->swallow == 0 && !parsed->quiet);
}

/* Returns how many bytes the server would go on by; 0: it would not. */
static size_t check_first(const char *bytes, size_t len)
{
	const char *lf = memchr(bytes, '\n', len);
	struct proto_parsed parsed;
	enum proto_event event =
		proto_classic_parse(bytes, len, 0, &limits, &parsed);
	struct line line = {bytes, lf ? (size_t)(lf - bytes) + 1 : len};

	if (!lf) {
		assert(event == PROTO_WAIT || event == PROTO_HANGUP);
		assert(event == PROTO_HANGUP || parsed.scanned == len);
		return 0;
	}
	check_alone(line, event, &parsed);
	switch (event) {
	case PROTO_WAIT:
		abort();
	case PROTO_HANGUP:
		return 0;
	case PROTO_COMMAND:
		assert(parsed.consumed == line.len);
		check_command(line, &parsed.request);
		return line.len + (parsed.request.has_value
					   ? parsed.request.value_bytes + 2
					   : 0);
	case PROTO_REFUSED:
		assert(parsed.consumed == line.len);
		check_refusal(&parsed);
		return parsed.close ? 0 : line.len + (size_t)parsed.swallow;
	}
	abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *bytes = (const char *)data;
	size_t step;

	while (size > 0) {
		step = check_first(bytes, size);
		if (step == 0 || step > size)
			break;
		bytes += step;
		size -= step;
	}
	return 0;
}

#ifdef FUZZ_REPLAY

#include <dirent.h>
#include <errno.h>
#include <stdio.h>

static int replay_file(const char *path)
{
	FILE *file = fopen(path, "rb");
	uint8_t *data = NULL;
	long size;
	int r = -EIO;

	if (!file)
		return -errno;
	if (fseek(file, 0, SEEK_END) != 0 || (size = ftell(file)) < 0 ||
	    fseek(file, 0, SEEK_SET) != 0)
		goto out_close;
	data = malloc((size_t)size + (size == 0));
	if (!data)
		goto out_close;
	if (fread(data, 1, (size_t)size, file) != (size_t)size)
		goto out_free;
	LLVMFuzzerTestOneInput(data, (size_t)size);
	r = 0;
out_free:
	free(data);
out_close:
	fclose(file);
	return r;
}

/* Replays a file, or every file of a folder. */
static int replay(const char *path, size_t *count)
{
	DIR *folder = opendir(path);
	struct dirent *entry;
	char name[4096];
	int r = 0;

	if (!folder) {
		++*count;
		return errno == ENOTDIR ? replay_file(path) : -errno;
	}
	while (r == 0 && (entry = readdir(folder)) != NULL) {
		if (entry->d_name[0] == '.')
			continue;
		snprintf(name, sizeof(name), "%s/%s", path, entry->d_name);
		r = replay_file(name);
		++*count;
	}
	closedir(folder);
	return r;
}

int main(int argc, char **argv)
{
	size_t count = 0;
	int i, r;

	for (i = 1; i < argc; i++) {
		r = replay(argv[i], &count);
		if (r < 0) {
			fprintf(stderr, "%s: %s\n", argv[i], strerror(-r));
			return EXIT_FAILURE;
		}
	}
	printf("fuzz_classic: %zu inputs replayed\n", count);
	return count > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

#endif
