/*
 * registry.c - see registry.h.
 */
#include "server/registry.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "server/conn.h"

void registry_init(struct registry *registry)
{
	(void)pthread_mutex_init(&registry->lock, NULL);
	TAILQ_INIT(&registry->conns);
	TAILQ_INIT(&registry->listeners);
}

void registry_done(struct registry *registry)
{
	(void)pthread_mutex_destroy(&registry->lock);
}

void registry_add(struct registry *registry, struct conn *conn)
{
	(void)pthread_mutex_lock(&registry->lock);
	TAILQ_INSERT_TAIL(&registry->conns, conn, registry_link);
	(void)pthread_mutex_unlock(&registry->lock);
}

void registry_remove(struct registry *registry, struct conn *conn)
{
	(void)pthread_mutex_lock(&registry->lock);
	TAILQ_REMOVE(&registry->conns, conn, registry_link);
	(void)pthread_mutex_unlock(&registry->lock);
}

void registry_add_listener(struct registry *registry,
			   struct registry_listener *listener)
{
	(void)pthread_mutex_lock(&registry->lock);
	TAILQ_INSERT_TAIL(&registry->listeners, listener, link);
	(void)pthread_mutex_unlock(&registry->lock);
}

void registry_remove_listener(struct registry *registry,
			      struct registry_listener *listener)
{
	(void)pthread_mutex_lock(&registry->lock);
	TAILQ_REMOVE(&registry->listeners, listener, link);
	(void)pthread_mutex_unlock(&registry->lock);
}

static int entry_order(const void *left, const void *right)
{
	const struct registry_entry *a = left, *b = right;

	return (a->fd > b->fd) - (a->fd < b->fd);
}

static void entry_of_conn(struct registry_entry *entry, struct conn *conn)
{
	*entry = (struct registry_entry){
		.fd = conn->transport.fd,
		.step = atomic_load_explicit(&conn->state,
					     memory_order_relaxed),
		.last_command = atomic_load_explicit(&conn->last_command,
						     memory_order_relaxed),
	};
	(void)snprintf(entry->addr, sizeof(entry->addr), "%s", conn->addr);
	(void)snprintf(entry->listen_addr, sizeof(entry->listen_addr), "%s",
		       conn->listen_addr);
}

static size_t registry_count(const struct registry *registry)
{
	const struct registry_listener *listener;
	const struct conn *conn;
	size_t count = 0;

	TAILQ_FOREACH (listener, &registry->listeners, link)
		count++;
	TAILQ_FOREACH (conn, &registry->conns, registry_link)
		count++;
	return count;
}

int registry_list(struct registry *registry,
		  struct registry_entry **ret_entries)
{
	struct registry_listener *listener;
	struct registry_entry *entries;
	struct conn *conn;
	int count = 0;

	(void)pthread_mutex_lock(&registry->lock);
	entries = calloc(registry_count(registry) + 1, sizeof(*entries));
	if (entries == NULL) {
		(void)pthread_mutex_unlock(&registry->lock);
		return -ENOMEM;
	}
	TAILQ_FOREACH (listener, &registry->listeners, link) {
		entries[count].fd = listener->fd;
		entries[count].step = -1;
		entries[count].is_udp = listener->is_udp;
		(void)snprintf(entries[count].addr, sizeof(entries[count].addr),
			       "%s", listener->addr);
		count++;
	}
	TAILQ_FOREACH (conn, &registry->conns, registry_link)
		entry_of_conn(&entries[count++], conn);
	(void)pthread_mutex_unlock(&registry->lock);
	qsort(entries, (size_t)count, sizeof(*entries), entry_order);
	*ret_entries = entries;
	return count;
}

void registry_format_sockaddr(const union registry_sockaddr *addr, bool is_udp,
			      char *buf, size_t buf_bytes)
{
	const char *kind = is_udp ? "udp" : "tcp";
	char text[INET6_ADDRSTRLEN] = "?";

	if (addr->any.sa_family == AF_INET) {
		(void)inet_ntop(AF_INET, &addr->in.sin_addr, text,
				sizeof(text));
		(void)snprintf(buf, buf_bytes, "%s:%s:%u", kind, text,
			       ntohs(addr->in.sin_port));
	} else {
		(void)inet_ntop(AF_INET6, &addr->in6.sin6_addr, text,
				sizeof(text));
		(void)snprintf(buf, buf_bytes, "%s6:[%s]:%u", kind, text,
			       ntohs(addr->in6.sin6_port));
	}
}

static bool is_udp(int fd)
{
	socklen_t len = sizeof(int);
	int type;

	return getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) == 0 &&
	       type == SOCK_DGRAM;
}

void registry_format_addr(int fd, bool peer, char *buf, size_t buf_bytes)
{
	union registry_sockaddr addr = {.any.sa_family = AF_UNSPEC};
	socklen_t len = sizeof(addr);

	if ((peer ? getpeername(fd, &addr.any, &len)
		  : getsockname(fd, &addr.any, &len)) != 0)
		addr.any.sa_family = AF_UNSPEC;
	switch (addr.any.sa_family) {
	case AF_INET:
	case AF_INET6:
		registry_format_sockaddr(&addr, is_udp(fd), buf, buf_bytes);
		break;
	case AF_UNIX:
		/* A client's end has no name: show whom it called. */
		if (peer && len <= offsetof(struct sockaddr_un, sun_path)) {
			registry_format_addr(fd, false, buf, buf_bytes);
			break;
		}
		(void)snprintf(buf, buf_bytes, "unix:%s", addr.un.sun_path);
		break;
	default:
		(void)snprintf(buf, buf_bytes, "?");
		break;
	}
}
