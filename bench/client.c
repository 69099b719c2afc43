/*
 * client.c - see client.h.
 */
#include "bench/client.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/clock.h"
#include "bench/dialect.h"

/* Room for many small replies, beside the largest one. */
#define IN_EXTRA 16384

struct client {
	struct client_shared *shared;
	int fd;
	bool dead;
	char *in;
	size_t in_bytes, in_size;
	char *out;
	size_t out_bytes, out_size;
	struct request *window; /* a ring of `depth` requests */
	uint32_t first, count;
	uint32_t *ids; /* keys_per_get for each of the window */
};

/* Most bytes that one request of these options can have. */
static size_t request_bytes_max(const struct options *options)
{
	const struct dialect *dialect = options->dialect;
	size_t set =
		dialect->set_extra + options->key_bytes + options->value_bytes;
	size_t get = dialect->get_extra +
		     options->keys_per_get *
			     (dialect->get_key_extra + options->key_bytes);

	return set > get ? set : get;
}

static int make_buffers(struct client *client, const struct options *options)
{
	uint32_t depth = options->depth;

	client->in_size = IN_EXTRA + ITEM_KEY_MAX + options->value_bytes;
	client->out_size = depth * request_bytes_max(options);
	client->in = malloc(client->in_size);
	client->out = malloc(client->out_size);
	client->window = calloc(depth, sizeof(*client->window));
	client->ids = calloc((size_t)depth * options->keys_per_get,
			     sizeof(*client->ids));
	if (client->in == NULL || client->out == NULL ||
	    client->window == NULL || client->ids == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < depth; i++)
		client->window[i].ids =
			client->ids + (size_t)i * options->keys_per_get;
	return 0;
}

int client_new(struct client_shared *shared, int fd, struct client **ret_client)
{
	struct client *client = calloc(1, sizeof(*client));

	if (client == NULL)
		return -ENOMEM;
	client->shared = shared;
	client->fd = -1;
	if (make_buffers(client, shared->options) != 0) {
		client_free(client);
		return -ENOMEM;
	}
	client->fd = fd;
	*ret_client = client;
	return 0;
}

void client_free(struct client *client)
{
	if (client == NULL)
		return;
	if (client->fd >= 0)
		close(client->fd);
	free(client->in);
	free(client->out);
	free(client->window);
	free(client->ids);
	free(client);
}

int client_fd(const struct client *client)
{
	return client->fd;
}

/* The connection is of no use: what is in flight will not be answered. */
static enum client_state die(struct client *client, const char *what,
			     const char *said, size_t said_bytes)
{
	struct client_shared *shared = client->shared;

	assert(!client->dead);
	tally_error(&shared->tally, client->count > 0 ? client->count : 1, what,
		    said, said_bytes);
	shared->in_flight -= client->count;
	client->count = 0;
	client->dead = true;
	return CLIENT_DEAD;
}

static enum client_state die_of_errno(struct client *client, const char *what)
{
	const char *reason = strerror(errno);

	return die(client, what, reason, strlen(reason));
}

static void fill_window(struct client *client)
{
	struct client_shared *shared = client->shared;
	const struct options *options = shared->options;
	const struct dialect *dialect = options->dialect;
	char *end = client->out + client->out_bytes;
	struct request *last = NULL;

	while (client->count < options->depth) {
		uint32_t slot =
			(client->first + client->count) % options->depth;
		struct request *request = &client->window[slot];

		if (!workload_next(&shared->workload, request))
			break;
		request->sent_ns = shared->now_ns;
		end = request->is_set
			      ? dialect->put_set(end, shared->items, request)
			      : dialect->put_get(end, shared->items, request);
		request->ends_batch = false;
		last = request;
		client->count++;
		shared->in_flight++;
	}
	if (last != NULL && dialect->put_barrier != NULL) {
		last->ends_batch = true;
		end = dialect->put_barrier(end);
	}
	client->out_bytes = (size_t)(end - client->out);
	assert(client->out_bytes <= client->out_size);
}

enum client_state client_send(struct client *client, bool more)
{
	ssize_t sent;

	if (more)
		fill_window(client);
	if (client->out_bytes == 0)
		return CLIENT_READY;
	sent = write(client->fd, client->out, client->out_bytes);
	if (sent < 0 && errno != EAGAIN && errno != EINTR)
		return die_of_errno(client, "write");
	if (sent < 0)
		return CLIENT_BLOCKED;
	if (client->shared->counting)
		client->shared->tally.bytes_sent += (uint64_t)sent;
	client->out_bytes -= (size_t)sent;
	if (client->out_bytes == 0)
		return CLIENT_READY;
	memmove(client->out, client->out + sent, client->out_bytes);
	return CLIENT_BLOCKED;
}

static void count_request(struct client_shared *shared,
			  const struct request *request)
{
	struct tally *tally = &shared->tally;
	uint64_t took_ns = shared->now_ns - request->sent_ns;

	if (request->is_set) {
		histogram_record(&tally->set_ns, took_ns);
		return;
	}
	histogram_record(&tally->get_ns, took_ns);
	if (request->is_hot)
		histogram_record(&tally->hot_ns, took_ns);
	tally->hits += request->hits;
	tally->misses += request->key_count - request->hits;
}

static void finish_request(struct client *client, const struct request *request)
{
	struct client_shared *shared = client->shared;

	if (shared->counting)
		count_request(shared, request);
	client->first = (client->first + 1) % shared->options->depth;
	client->count--;
	shared->in_flight--;
}

static void check_value(struct client_shared *shared, struct request *request,
			const struct reply_part *part)
{
	static const char what[] = "a value that was never stored";

	request->hits++;
	if (shared->options->verify &&
	    !item_is_value(shared->items, part->value, part->value_bytes,
			   part->id))
		tally_error(&shared->tally, 1, what, part->value,
			    part->value_bytes);
}

/*
 * Reads replies from in[0..in_bytes). Returns false if there is something
 * that is no answer; *ret_used are the bytes of what was.
 */
static bool read_replies(struct client *client, size_t *ret_used)
{
	struct client_shared *shared = client->shared;
	const struct dialect *dialect = shared->options->dialect;
	size_t used = 0;
	bool good = true;
	bool wait = false;

	while (client->count > 0 && good && !wait) {
		struct request *request = &client->window[client->first];
		const char *at = client->in + used;
		struct reply_part part = {0};

		switch (dialect->read_reply(at, client->in_bytes - used,
					    shared->items, request, &part)) {
		case REPLY_WAIT:
			wait = true;
			continue;
		case REPLY_PART:
			break;
		case REPLY_HIT:
			check_value(shared, request, &part);
			break;
		case REPLY_REFUSED:
			tally_error(&shared->tally, 1, "refused", at,
				    part.consumed);
			finish_request(client, request);
			break;
		case REPLY_DONE:
			finish_request(client, request);
			break;
		case REPLY_BROKEN:
			good = false;
			continue;
		}
		used += part.consumed;
	}
	*ret_used = used;
	return good;
}

enum client_state client_receive(struct client *client)
{
	size_t used;
	size_t room = client->in_size - client->in_bytes;
	ssize_t got;

	if (room == 0)
		return die(client, "a reply that is too long", client->in,
			   client->in_bytes);
	got = read(client->fd, client->in + client->in_bytes, room);
	if (got < 0 && errno != EAGAIN && errno != EINTR)
		return die_of_errno(client, "read");
	if (got < 0)
		return CLIENT_READY;
	if (got == 0)
		return die(client, "closed by the server", "", 0);
	client->shared->now_ns = clock_ns();
	if (client->shared->counting)
		client->shared->tally.bytes_received += (uint64_t)got;
	client->in_bytes += (size_t)got;
	if (!read_replies(client, &used) ||
	    (client->count == 0 && used < client->in_bytes))
		return die(client, "not an answer to what was asked",
			   client->in + used, client->in_bytes - used);
	client->in_bytes -= used;
	memmove(client->in, client->in + used, client->in_bytes);
	return CLIENT_READY;
}
