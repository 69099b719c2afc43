/*
 * options.h - what the command line asked for.
 *
 * The idea: ONE table (options_table.c) describes every option: its letter,
 * its names, its type and range, its default, its help and its names in
 * `stats settings`. Parsing, help text, man page and settings walk it.
 *
 * struct options is plain data: filled once by options_parse(), then const.
 * Nothing here keeps state. All of it belongs to the main thread, except
 * options_each_setting(), which only reads and may be called by any thread.
 */
#ifndef SERVER_OPTIONS_H
#define SERVER_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "storage/storage.h"

/* How clients are spoken to at one address; see also tls_verify_mode. */
enum options_tls {
	OPTIONS_TLS_DEFAULT, /* TLS if it is enabled */
	OPTIONS_TLS_OFF,     /* notls: */
	OPTIONS_TLS_BASIC,   /* btls: no certificates of clients */
	OPTIONS_TLS_MUTUAL   /* mtls: only clients with a certificate */
};

/* One address to listen on, by TCP, by UDP or by both. */
struct options_listen {
	enum options_tls tls;
	char *host;    /* name or number, without brackets; NULL: every one */
	uint16_t port; /* 0: any free one */
	uint16_t udp_port; /* the same for UDP */
	bool own_port;	   /* they came with -l, not from -p and -U */
};

enum options_protocol { OPTIONS_AUTO, OPTIONS_ASCII, OPTIONS_BINARY };
enum options_tls_version {
	OPTIONS_TLS_1_0,
	OPTIONS_TLS_1_1,
	OPTIONS_TLS_1_2,
	OPTIONS_TLS_1_3
};
enum options_access { OPTIONS_BTREE, OPTIONS_HASH };

struct options {
	/* Where it listens. All final: -p, -l and -s are worked in already. */
	struct options_listen *listen; /* none if TCP and UDP are off */
	size_t listen_count;
	int32_t port;	      /* as given: -1 any free one, 0 no TCP */
	int32_t udp_port;     /* the same for UDP */
	char *unix_socket;    /* absolute path, or NULL */
	uint32_t unix_mask;   /* mode bits of the socket: 0700 */
	uint32_t backlog;     /* for listen() */
	uint32_t conn_limit;  /* client connections */
	bool conn_limit_fast; /* over the limit: refuse; else stop accepting */
	uint32_t idle_timeout_seconds; /* 0: never */
	uint32_t requests_per_turn;    /* of one connection, then the next */
	enum options_protocol protocol;

	/* The process. Paths are absolute. */
	char *user;	/* NULL: stay who we are */
	char *pidfile;	/* NULL: none */
	char *log_file; /* NULL: stderr */
	bool daemonize;
	bool core_dumps;
	bool lock_memory;
	uint32_t threads;   /* workers */
	uint32_t verbosity; /* number of -v */

	/* What clients may do. */
	uint64_t value_max_bytes;
	bool flush_enabled;    /* flush_all */
	bool dump_enabled;     /* stats cachedump and detail, key dumps */
	bool shutdown_enabled; /* shutdown */
	uint32_t scan_max;     /* items that one rget or pget shows */
	bool watch_enabled;    /* watch */
	bool debug_enabled;    /* debugtime */
	bool crawler_enabled;  /* lru_crawler crawl */
	bool cas_enabled;      /* false: gets shows 0 */
	bool detail_enabled;   /* stats detail is on from the start */
	char prefix_delimiter; /* between prefix and rest of a key */

	/* Who may be a client. At most one of sasl and auth_file. */
	bool sasl;	       /* log in by SASL, binary clients only */
	char *auth_file;       /* users of text clients; NULL: no login */
	char *read_only_users; /* names, separated by commas; NULL: none */

	/* TLS. If it is enabled: with a certificate, a key and an address. */
	bool tls_enabled;
	char *tls_chain_file; /* certificate and those that lead to it */
	char *tls_key_file;
	char *tls_ca_file;	  /* who may sign clients' certificates */
	uint32_t tls_key_format;  /* OpenSSL's: 1 PEM, 2 DER */
	uint32_t tls_verify_mode; /* clients' certificates: 0 not asked for,
				     1 asked for, 2 and 3 required */
	char *tls_ciphers;	  /* of TLS 1.2 and older; NULL: OpenSSL's */
	enum options_tls_version tls_min_version;
	uint64_t tls_gather_bytes;
	bool tls_session_cache;
	bool tls_kernel; /* let the kernel encrypt, if it can */

	/* The data. See struct store_config; paths are absolute. */
	char *data_dir;
	char *data_file; /* name inside data_dir */
	char *log_dir;	 /* NULL: data_dir */
	enum options_access access;
	uint64_t page_bytes;
	uint64_t cache_bytes;
	uint64_t item_cache_bytes; /* 0: none */
	bool shared_regions;
	enum store_sync sync;
	uint32_t sync_interval_ms; /* STORE_SYNC_INTERVAL */
	uint64_t log_buffer_bytes; /* fits u32 */
	uint64_t log_file_bytes;   /* fits u32 */
	bool keep_logs;
	uint32_t checkpoint_seconds; /* 0: only by volume and at the end */
	uint64_t checkpoint_bytes;
	uint32_t trickle_percent;
	uint64_t reserve_bytes; /* 0: off */
	uint32_t flush_grace_seconds;
};

enum options_result {
	OPTIONS_RUN,	/* start the server */
	OPTIONS_DONE,	/* -h, -V, ...: it is on `out`; end with status 0 */
	OPTIONS_REFUSED /* one line is on `err`; end with status 64 */
};

/*
 * Reads the command line (argv[0] is skipped; argv may be reordered).
 * Relative paths are made absolute with the working directory of now.
 * Warnings go to `err`, a line each, and do not stop it. Root must give -u.
 * Owner: on OPTIONS_RUN *ret is the caller's: options_free(). Otherwise *ret
 * is untouched. Thread: main (getopt keeps state). Blocks: never.
 */
enum options_result options_parse(int argc, char **argv, FILE *out, FILE *err,
				  struct options *ret);

/* Frees what the struct points to, and zeroes it. A zeroed one is fine. */
void options_free(struct options *options);

/* Sees one setting. Both are terminated, not empty, and end with the call. */
typedef void (*options_setting_fn)(void *arg, const char *name,
				   const char *value);

/*
 * Shows every line of `stats settings`: all names of memcached, then ours.
 * For what changed since the start (verbosity, cache_bytes, conn_limit,
 * detail_enabled, crawler_enabled) pass a plain copy of the struct with these
 * fields changed.
 * Thread: any. Blocks: never.
 */
void options_each_setting(const struct options *options, options_setting_fn fn,
			  void *arg);

#endif
