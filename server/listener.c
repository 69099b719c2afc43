/*
 * listener.c - see listener.h.
 */
#define _GNU_SOURCE /* accept4 */

#include "server/listener.h"

#include <arpa/inet.h>
#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "server/shared.h"
#include "server/worker.h"

/* Connections taken in one go, so that the other events get their turn. */
#define ACCEPTS_A_TURN	 64
#define UDP_BUFFER_BYTES (4 * 1024 * 1024)

enum listener_kind { LISTENER_TCP, LISTENER_UDP, LISTENER_UNIX };

struct listener {
	struct registry_listener entry; /* for `stats conns`; holds the fd */
	enum listener_kind kind;
	struct event *event; /* UDP: none */
	struct listeners *all;
	enum options_tls tls; /* TCP: of its connections */
	bool registered;
};

struct listeners {
	struct server *server;
	struct listener *list;
	size_t count;
	unsigned next_worker;
	struct stat unix_stat;	    /* of our UNIX socket's file */
	struct event *resume_event; /* looks for a free place while paused */
	int64_t paused_us;
};

/* --- binding ------------------------------------------------------------ */

static int listeners_add(struct listeners *all, int fd, enum listener_kind kind,
			 enum options_tls tls)
{
	struct listener *list =
		realloc(all->list, (all->count + 1) * sizeof(*list));
	struct listener *added;

	if (list == NULL) {
		(void)close(fd);
		return -ENOMEM;
	}
	all->list = list;
	added = &list[all->count++];
	memset(added, 0, sizeof(*added));
	added->entry.fd = fd;
	added->all = all;
	added->kind = kind;
	added->tls = tls;
	added->entry.is_udp = kind == LISTENER_UDP;
	registry_format_addr(fd, false, added->entry.addr,
			     sizeof(added->entry.addr));
	return 0;
}

/* Room for a burst of requests, and for an answer of many datagrams. */
static void set_udp_options(int fd)
{
	int bytes = UDP_BUFFER_BYTES; /* or as much as the system allows */

	(void)setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof(bytes));
	(void)setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes));
}

/* SO_REUSEADDR is not for UDP: two servers could share a port with it. */
static void set_tcp_options(int fd)
{
	int one = 1;

	(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	/* Accepted sockets inherit these two. */
	(void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof(one));
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
}

static int bind_inet(const struct addrinfo *info, int *ret_fd)
{
	int one = 1, err;
	int fd = socket(info->ai_family,
			info->ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -errno;
	if (info->ai_socktype == SOCK_STREAM)
		set_tcp_options(fd);
	else
		set_udp_options(fd);
	if (info->ai_family == AF_INET6)
		(void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &one,
				 sizeof(one));
	if (bind(fd, info->ai_addr, info->ai_addrlen) != 0) {
		err = -errno;
		(void)close(fd);
		return err;
	}
	*ret_fd = fd;
	return 0;
}

static bool is_loopback(const struct sockaddr *addr)
{
	struct sockaddr_in in;
	struct sockaddr_in6 in6;

	if (addr->sa_family == AF_INET) {
		memcpy(&in, addr, sizeof(in));
		return ntohl(in.sin_addr.s_addr) >> 24 == 127;
	}
	memcpy(&in6, addr, sizeof(in6));
	return IN6_IS_ADDR_LOOPBACK(&in6.sin6_addr);
}

/* True if a client needs a login or a certificate. */
static bool is_guarded(const struct options *options, enum listener_kind kind,
		       enum options_tls tls)
{
	if (options->sasl || options->auth_file != NULL)
		return true;
	if (!options->tls_enabled || kind != LISTENER_TCP)
		return false;
	return tls == OPTIONS_TLS_MUTUAL ||
	       (tls == OPTIONS_TLS_DEFAULT && options->tls_verify_mode >= 2);
}

static void warn_if_public(struct server *server, const struct sockaddr *addr,
			   const char *host, const char *port)
{
	if (is_loopback(addr))
		return;
	log_write(&server->log, LOG_LEVEL_WARNING,
		  "%s:%s is open to other machines, and anybody who reaches it "
		  "may read and write",
		  host, port);
}

/* Binds every address that a name stands for and this machine has. */
static int open_found(struct listeners *all, enum listener_kind kind,
		      const struct addrinfo *found, const char *port,
		      const struct options_listen *listen)
{
	const char *host = listen->host != NULL ? listen->host : "*";
	const struct addrinfo *info;
	size_t before = all->count;
	int err = 0, fd = -1;

	for (info = found; info != NULL; info = info->ai_next) {
		err = bind_inet(info, &fd);
		/* A machine without IPv6 still serves its other addresses. */
		if (err == -EAFNOSUPPORT || err == -EADDRNOTAVAIL)
			continue;
		if (err == 0)
			err = listeners_add(all, fd, kind, listen->tls);
		if (err != 0)
			return err;
		if (!is_guarded(all->server->options, kind, listen->tls))
			warn_if_public(all->server, info->ai_addr, host, port);
	}
	return all->count > before ? 0 : err;
}

static int open_inet(struct listeners *all, enum listener_kind kind,
		     const struct options_listen *listen, char *text,
		     size_t text_bytes)
{
	bool is_udp = kind == LISTENER_UDP;
	struct addrinfo hints = {.ai_socktype =
					 is_udp ? SOCK_DGRAM : SOCK_STREAM,
				 .ai_flags = AI_PASSIVE | AI_NUMERICSERV};
	struct addrinfo *found;
	const char *host = listen->host != NULL ? listen->host : "*";
	char port[8];
	int err;

	(void)snprintf(port, sizeof(port), "%u",
		       is_udp ? listen->udp_port : listen->port);
	err = getaddrinfo(listen->host, port, &hints, &found);
	if (err != 0) {
		(void)snprintf(text, text_bytes, "cannot listen on %s: %s",
			       host, gai_strerror(err));
		return -EADDRNOTAVAIL;
	}
	err = open_found(all, kind, found, port, listen);
	freeaddrinfo(found);
	if (err != 0)
		(void)snprintf(text, text_bytes, "cannot listen on %s%s:%s: %s",
			       is_udp ? "udp:" : "", host, port,
			       strerror(-err));
	return err;
}

/* True if somebody answers at a UNIX socket. */
static bool is_alive(const struct sockaddr_un *addr)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	bool alive;

	if (fd < 0)
		return true;
	alive = connect(fd, (const struct sockaddr *)addr, sizeof(*addr)) ==
			0 ||
		errno != ECONNREFUSED;
	(void)close(fd);
	return alive;
}

/* Removes a socket left by a process that is gone; never anything else. */
static int remove_stale(const struct sockaddr_un *addr)
{
	struct stat st;

	if (lstat(addr->sun_path, &st) != 0)
		return errno == ENOENT ? 0 : -errno;
	if (!S_ISSOCK(st.st_mode))
		return -EEXIST;
	if (is_alive(addr))
		return -EADDRINUSE;
	return unlink(addr->sun_path) == 0 ? 0 : -errno;
}

static int bind_unix(const char *path, uint32_t mask, int *ret_fd)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	mode_t old;
	int err, fd;

	if (strlen(path) >= sizeof(addr.sun_path))
		return -ENAMETOOLONG;
	memcpy(addr.sun_path, path, strlen(path));
	err = remove_stale(&addr);
	if (err != 0)
		return err;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	old = umask(0777 & ~mask);
	err = bind(fd, (struct sockaddr *)&addr, sizeof(addr)) == 0 ? 0
								    : -errno;
	(void)umask(old);
	if (err != 0) {
		(void)close(fd);
		return err;
	}
	*ret_fd = fd;
	return 0;
}

static int open_unix(struct listeners *all, char *text, size_t text_bytes)
{
	const char *path = all->server->options->unix_socket;
	int fd = -1, err;

	err = bind_unix(path, all->server->options->unix_mask, &fd);
	if (err == 0)
		err = listeners_add(all, fd, LISTENER_UNIX, OPTIONS_TLS_OFF);
	if (err == 0)
		err = lstat(path, &all->unix_stat) == 0 ? 0 : -errno;
	if (err != 0)
		(void)snprintf(text, text_bytes, "cannot listen on %s: %s",
			       path,
			       err == -EEXIST ? "something else has this name"
					      : strerror(-err));
	return err;
}

int listeners_open(struct server *server, struct listeners **ret, char *text,
		   size_t text_bytes)
{
	const struct options *options = server->options;
	struct listeners *all = calloc(1, sizeof(*all));
	int err = 0;

	if (all == NULL) {
		(void)snprintf(text, text_bytes, "no memory for the listeners");
		return -ENOMEM;
	}
	all->server = server;
	for (size_t i = 0; i < options->listen_count && err == 0; i++) {
		const struct options_listen *listen = &options->listen[i];

		if (options->port != 0)
			err = open_inet(all, LISTENER_TCP, listen, text,
					text_bytes);
		if (err == 0 && options->udp_port != 0)
			err = open_inet(all, LISTENER_UDP, listen, text,
					text_bytes);
	}
	if (err != 0) {
		listeners_free(all);
		return err;
	}
	*ret = all;
	return 0;
}

/* --- accepting ---------------------------------------------------------- */

static void listeners_pause(struct listeners *all)
{
	struct timeval wait = {.tv_usec = 10000};

	if (!atomic_exchange(&all->server->accepting, false))
		return;
	for (size_t i = 0; i < all->count; i++)
		if (all->list[i].event != NULL)
			(void)event_del(all->list[i].event);
	atomic_fetch_add(&all->server->listen_disabled, 1);
	all->paused_us = clock_monotonic_us();
	(void)event_add(all->resume_event, &wait);
}

static bool is_full(const struct server *server)
{
	return atomic_load(&server->curr_connections) >=
	       atomic_load(&server->conn_limit);
}

static void on_resume(evutil_socket_t fd, short what, void *arg)
{
	struct listeners *all = arg;
	struct timeval wait = {.tv_usec = 10000};

	(void)fd;
	(void)what;
	if (is_full(all->server)) {
		(void)event_add(all->resume_event, &wait);
		return;
	}
	for (size_t i = 0; i < all->count; i++)
		if (all->list[i].event != NULL)
			(void)event_add(all->list[i].event, NULL);
	atomic_fetch_add(&all->server->listen_disabled_us,
			 (uint64_t)(clock_monotonic_us() - all->paused_us));
	atomic_store(&all->server->accepting, true);
}

/* One too many. A client that expects TLS would not understand the line. */
static void refuse(struct listener *listener, int fd)
{
	static const char line[] = "ERROR Too many open connections\r\n";
	struct server *server = listener->all->server;

	/* First: who was refused may look at the counter at once. */
	atomic_fetch_add(&server->rejected_connections, 1);
	if (server->tls == NULL || listener->tls == OPTIONS_TLS_OFF)
		(void)!send(fd, line, sizeof(line) - 1,
			    MSG_NOSIGNAL | MSG_DONTWAIT);
	(void)close(fd);
}

static void hand_out(struct listener *listener, int fd)
{
	struct listeners *all = listener->all;
	struct server *server = all->server;
	unsigned index = all->next_worker++ % server->worker_count;
	struct arrival arrival = {
		.fd = fd,
		.listen_fd = listener->entry.fd,
		.tls = listener->tls,
	};

	atomic_fetch_add(&server->curr_connections, 1);
	if (worker_post(server->workers[index], &arrival))
		return;
	atomic_fetch_sub(&server->curr_connections, 1);
	(void)close(fd);
}

static void on_acceptable(evutil_socket_t listen_fd, short what, void *arg)
{
	struct listener *listener = arg;
	struct listeners *all = listener->all;
	int fd;

	(void)what;
	for (int i = 0; i < ACCEPTS_A_TURN; i++) {
		bool fast = all->server->options->conn_limit_fast;

		if (is_full(all->server) && !fast) {
			listeners_pause(all);
			return;
		}
		fd = accept4(listen_fd, NULL, NULL,
			     SOCK_NONBLOCK | SOCK_CLOEXEC);
		if (fd < 0) {
			/* Without descriptors or memory: do not spin. */
			if (errno == EMFILE || errno == ENFILE ||
			    errno == ENOBUFS || errno == ENOMEM)
				listeners_pause(all);
			return;
		}
		if (is_full(all->server))
			refuse(listener, fd);
		else
			hand_out(listener, fd);
	}
}

/* Gives a worker a descriptor of its own. */
static int hand_out_udp(struct listeners *all, int listen_fd)
{
	struct server *server = all->server;
	unsigned index = all->next_worker++ % server->worker_count;
	struct arrival arrival = {
		.fd = fcntl(listen_fd, F_DUPFD_CLOEXEC, 0),
		.listen_fd = listen_fd,
		.is_udp = true,
	};

	if (arrival.fd < 0)
		return -errno;
	if (worker_post(server->workers[index], &arrival))
		return 0;
	(void)close(arrival.fd);
	return -ENOMEM;
}

static int start_accepting(struct listener *listener, struct event_base *base)
{
	struct server *server = listener->all->server;
	int fd = listener->entry.fd;

	if (listen(fd, (int)server->options->backlog) != 0)
		return -errno;
	listener->event = event_new(base, fd, EV_READ | EV_PERSIST,
				    on_acceptable, listener);
	if (listener->event == NULL || event_add(listener->event, NULL) != 0)
		return -ENOMEM;
	return 0;
}

static int listener_start(struct listener *listener, struct event_base *base)
{
	struct listeners *all = listener->all;
	int err = listener->kind == LISTENER_UDP
			  ? hand_out_udp(all, listener->entry.fd)
			  : start_accepting(listener, base);

	if (err != 0)
		return err;
	registry_add_listener(&all->server->registry, &listener->entry);
	listener->registered = true;
	return 0;
}

int listeners_start(struct listeners *all, struct event_base *base, char *text,
		    size_t text_bytes)
{
	int err = 0;

	if (all->server->options->unix_socket != NULL)
		err = open_unix(all, text, text_bytes);
	if (err != 0)
		return err;
	all->resume_event = event_new(base, -1, 0, on_resume, all);
	if (all->resume_event == NULL) {
		(void)snprintf(text, text_bytes, "no memory to listen");
		err = -ENOMEM;
	}
	for (size_t i = 0; i < all->count && err == 0; i++) {
		err = listener_start(&all->list[i], base);
		if (err != 0)
			(void)snprintf(text, text_bytes,
				       "cannot listen on %s: %s",
				       all->list[i].entry.addr, strerror(-err));
	}
	atomic_store(&all->server->accepting, err == 0);
	return err;
}

/* --- telling where ------------------------------------------------------ */

void listeners_describe(const struct listeners *all, char *buf,
			size_t buf_bytes)
{
	size_t used = 0;

	buf[0] = '\0';
	for (size_t i = 0; i < all->count && used < buf_bytes; i++) {
		const char *addr = all->list[i].entry.addr;

		if (all->list[i].kind == LISTENER_TCP)
			addr = strchr(addr, ':') + 1;
		used += (size_t)snprintf(buf + used, buf_bytes - used, "%s%s",
					 i > 0 ? ", " : "", addr);
	}
}

static int write_ports(const struct listeners *all, FILE *file)
{
	for (size_t i = 0; i < all->count; i++) {
		const struct listener *listener = &all->list[i];
		const char *addr = listener->entry.addr;

		if (listener->kind != LISTENER_UNIX &&
		    fprintf(file, "%s %s: %s\n",
			    listener->kind == LISTENER_UDP ? "UDP" : "TCP",
			    addr[3] == '6' ? "INET6" : "INET",
			    strrchr(addr, ':') + 1) < 0)
			return -EIO;
	}
	return 0;
}

int listeners_write_ports(const struct listeners *all)
{
	const char *path = getenv("MEMCACHED_PORT_FILENAME");
	char temporary[4096];
	FILE *file;
	int err, n;

	if (path == NULL || all->server->options->unix_socket != NULL)
		return 0;
	n = snprintf(temporary, sizeof(temporary), "%s.lck", path);
	if (n >= (int)sizeof(temporary))
		return -ENAMETOOLONG;
	file = fopen(temporary, "we");
	if (file == NULL)
		return -errno;
	err = write_ports(all, file);
	if (fclose(file) != 0 && err == 0)
		err = -errno;
	if (err == 0 && rename(temporary, path) != 0)
		err = -errno;
	return err;
}

/* Removes the UNIX socket, unless the name is another's by now. */
static void remove_own(const struct listeners *all)
{
	const char *path = all->server->options->unix_socket;
	struct stat st;

	if (lstat(path, &st) == 0 && st.st_dev == all->unix_stat.st_dev &&
	    st.st_ino == all->unix_stat.st_ino)
		(void)unlink(path);
}

void listeners_free(struct listeners *all)
{
	if (all == NULL)
		return;
	for (size_t i = 0; i < all->count; i++) {
		struct listener *listener = &all->list[i];

		if (listener->registered)
			registry_remove_listener(&all->server->registry,
						 &listener->entry);
		if (listener->event != NULL)
			event_free(listener->event);
		(void)close(listener->entry.fd);
		if (listener->kind == LISTENER_UNIX)
			remove_own(all);
	}
	if (all->resume_event != NULL)
		event_free(all->resume_event);
	free(all->list);
	free(all);
}
