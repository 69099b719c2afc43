/*
 * loop.c - see loop.h.
 */
#include "bench/loop.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "bench/clock.h"

#define EVENTS_PER_TURN 256
/* A silent loop looks at the phase and the time-out this often. */
#define TURN_MS 50

struct loop_client {
	struct client *client;
	enum client_state state;
};

struct loop {
	struct client_shared shared;
	const _Atomic int *phase;
	enum loop_phase seen;
	int epoll;
	uint32_t count, alive;
	uint32_t silent_ms; /* since something was heard */
	struct loop_client clients[];
};

static int add_client(struct loop *loop, const struct address *address)
{
	struct loop_client *place = &loop->clients[loop->count];
	struct epoll_event event = {.events = EPOLLIN, .data.ptr = place};
	int fd = address_connect(address);
	int error;

	if (fd < 0)
		return fd;
	error = client_new(&loop->shared, fd, &place->client);
	if (error != 0) {
		close(fd);
		return error;
	}
	place->state = CLIENT_READY;
	loop->count++;
	loop->alive++;
	if (epoll_ctl(loop->epoll, EPOLL_CTL_ADD, fd, &event) < 0)
		return -errno;
	return 0;
}

int loop_new(const struct options *options, const struct items *items,
	     const struct zipf *zipf, const struct address *address,
	     uint32_t thread, const _Atomic int *phase, struct loop **ret_loop)
{
	uint32_t count = options->connections / options->threads +
			 (thread < options->connections % options->threads);
	struct loop *loop;
	int error = 0;

	loop = calloc(1, sizeof(*loop) + count * sizeof(loop->clients[0]));
	if (loop == NULL)
		return -ENOMEM;
	loop->shared.options = options;
	loop->shared.items = items;
	workload_init(&loop->shared.workload, options, zipf, thread);
	loop->phase = phase;
	loop->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (loop->epoll < 0)
		error = -errno;
	while (error == 0 && loop->count < count)
		error = add_client(loop, address);
	if (error != 0) {
		loop_free(loop);
		return error;
	}
	*ret_loop = loop;
	return 0;
}

void loop_free(struct loop *loop)
{
	if (loop == NULL)
		return;
	for (uint32_t i = 0; i < loop->count; i++)
		client_free(loop->clients[i].client);
	if (loop->epoll >= 0)
		close(loop->epoll);
	free(loop);
}

/* Makes the set of events fit what the client wants now. */
static void set_state(struct loop *loop, struct loop_client *place,
		      enum client_state state)
{
	struct epoll_event event = {.events = EPOLLIN, .data.ptr = place};
	int fd = client_fd(place->client);

	if (state == place->state)
		return;
	place->state = state;
	switch (state) {
	case CLIENT_DEAD:
		loop->alive--;
		epoll_ctl(loop->epoll, EPOLL_CTL_DEL, fd, NULL);
		return;
	case CLIENT_BLOCKED:
		event.events |= EPOLLOUT;
		break;
	case CLIENT_READY:
		break;
	}
	epoll_ctl(loop->epoll, EPOLL_CTL_MOD, fd, &event);
}

static void serve(struct loop *loop, struct loop_client *place, uint32_t events)
{
	enum client_state state = place->state;

	if (events & (EPOLLIN | EPOLLERR | EPOLLHUP))
		state = client_receive(place->client);
	if (state != CLIENT_DEAD)
		state = client_send(place->client, loop->seen != LOOP_DRAIN);
	set_state(loop, place, state);
}

static void look_at_phase(struct loop *loop)
{
	enum loop_phase phase = (enum loop_phase)atomic_load_explicit(
		loop->phase, memory_order_relaxed);

	loop->seen = phase;
	loop->shared.counting = phase == LOOP_MEASURE;
}

static bool has_ended(struct loop *loop)
{
	struct client_shared *shared = &loop->shared;

	if (loop->alive == 0)
		return true;
	if (shared->in_flight == 0)
		return loop->seen == LOOP_DRAIN || shared->workload.left == 0;
	if (loop->silent_ms < shared->options->timeout_ms)
		return false;
	tally_error(&shared->tally, shared->in_flight, "no answer", "", 0);
	return true;
}

void loop_run(struct loop *loop)
{
	struct epoll_event events[EVENTS_PER_TURN];

	look_at_phase(loop);
	for (uint32_t i = 0; i < loop->count; i++) {
		loop->shared.now_ns = clock_ns();
		serve(loop, &loop->clients[i], 0);
	}
	while (!has_ended(loop)) {
		int count = epoll_wait(loop->epoll, events, EVENTS_PER_TURN,
				       TURN_MS);

		/* Turns, not the clock: stopping both ends is no silence. */
		loop->silent_ms = count > 0 ? 0 : loop->silent_ms + TURN_MS;
		look_at_phase(loop);
		for (int i = 0; i < count; i++)
			serve(loop, events[i].data.ptr, events[i].events);
	}
}

const struct tally *loop_tally(const struct loop *loop)
{
	return &loop->shared.tally;
}
