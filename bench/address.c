/*
 * address.c - see address.h.
 */
#include "bench/address.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#define CONNECT_SECONDS 5

static int find_unix(const char *path, struct address *ret)
{
	struct sockaddr_un local = {.sun_family = AF_UNIX};
	size_t bytes = strlen(path);

	if (bytes >= sizeof(local.sun_path))
		return -EINVAL;
	memcpy(local.sun_path, path, bytes);
	memcpy(&ret->storage, &local, sizeof(local));
	ret->bytes = sizeof(local);
	return 0;
}

int address_find(const struct options *options, struct address *ret)
{
	struct sockaddr_in v4 = {.sin_family = AF_INET};
	struct sockaddr_in6 v6 = {.sin6_family = AF_INET6};
	bool loopback;

	if (options->unix_path != NULL)
		return find_unix(options->unix_path, ret);
	if (inet_pton(AF_INET, options->host, &v4.sin_addr) == 1) {
		v4.sin_port = htons((uint16_t)options->port);
		memcpy(&ret->storage, &v4, sizeof(v4));
		ret->bytes = sizeof(v4);
		loopback = ntohl(v4.sin_addr.s_addr) >> 24 == 127;
	} else if (inet_pton(AF_INET6, options->host, &v6.sin6_addr) == 1) {
		v6.sin6_port = htons((uint16_t)options->port);
		memcpy(&ret->storage, &v6, sizeof(v6));
		ret->bytes = sizeof(v6);
		loopback = IN6_IS_ADDR_LOOPBACK(&v6.sin6_addr);
	} else {
		return -EINVAL;
	}
	return loopback || options->allow_remote ? 0 : -EPERM;
}

int address_connect(const struct address *address)
{
	struct timeval limit = {.tv_sec = CONNECT_SECONDS};
	int family = address->storage.ss_family;
	int on = 1;
	int fd;
	int error;

	fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	if (setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit)) < 0)
		goto out_close;
	if (connect(fd, (const struct sockaddr *)&address->storage,
		    address->bytes) < 0)
		goto out_close;
	if (family != AF_UNIX &&
	    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)) < 0)
		goto out_close;
	if (fcntl(fd, F_SETFL, O_NONBLOCK) < 0)
		goto out_close;
	return fd;

out_close:
	error = errno;
	close(fd);
	return -error;
}
