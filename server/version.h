/*
 * version.h - the one place that holds the version number.
 *
 * The `version` command sends it as it stands, and clients split it at the
 * dots: it is always three plain numbers.
 */
#ifndef SERVER_VERSION_H
#define SERVER_VERSION_H

#define MEMCACHEDB_VERSION "1.0.0"

#endif
