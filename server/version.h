/*
 * version.h - the one place that holds the version number.
 *
 * The `version` command sends it as it stands, and clients split it at the
 * dots: it is always three plain numbers. It is above 1.6, so that clients
 * expect of us what memcached does since then.
 */
#ifndef SERVER_VERSION_H
#define SERVER_VERSION_H

#define MEMCACHEDB_VERSION "2.0.0"

#endif
