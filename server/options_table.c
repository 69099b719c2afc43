/*
 * options_table.c - the one description of every option.
 *
 * To add an option: a field in struct options, a row here. Everything else
 * (parsing, range, -h, manual, stats settings) follows from the row.
 *
 * Letters are MemcacheDB's; what memcached has under a letter that is taken
 * is reached by its long name. Two rows may set one field: only the first
 * has the default and the name in settings.
 */
#include "server/options_table.h"

#include <assert.h>
#include <string.h>

#define KIB ((uint64_t)1024)
#define MIB (1024 * KIB)
#define GIB (1024 * MIB)
#define TIB (1024 * GIB)

#define FIELD(member) .offset = offsetof(struct options, member)

/* Short forms of the rows that set nothing. */
#define LATER(what) .type = OPTION_LATER, .help = (what)
#define UNUSED	    .type = OPTION_NO_EFFECT
#define TUNES(word)                                      \
	{                                                \
		UNUSED, .o_name = (word), .arg = "value" \
	}
#define TURNS(word)                      \
	{                                \
		UNUSED, .o_name = (word) \
	}

/* clang-format off */
const struct option_row option_rows[] = {
	/* --- network --------------------------------------------------- */
	{ OPTION_PORT, OPTION_NETWORK, 'p', .name = "port", .arg = "num",
	  .preset = "21201", FIELD(port), .setting = "tcpport",
	  .help = "TCP port; 0 turns TCP off, -1 takes any free port" },
	{ OPTION_LISTEN, OPTION_NETWORK, 'l', .name = "listen", .arg = "addr",
	  .preset = NULL, .setting = "inter",
	  .help = "address to listen on: host, host:port, [v6]:port or * for "
		  "all; several with commas or by repeating it; with -Z each "
		  "may begin with notls:, btls: or mtls: (default 127.0.0.1)" },
	{ OPTION_PATH, OPTION_NETWORK, 's', .name = "unix-socket",
	  .arg = "file", FIELD(unix_socket), .setting = "domain_socket",
	  .help = "UNIX socket to listen on; turns TCP off" },
	{ OPTION_MODE, OPTION_NETWORK, 'a', .name = "unix-mask",
	  .arg = "mask", .preset = "700", FIELD(unix_mask),
	  .setting = "umask",
	  .help = "access mode of the UNIX socket, in octal" },
	{ OPTION_PORT, OPTION_NETWORK, 'U', .name = "udp-port", .arg = "num",
	  .preset = "0", FIELD(udp_port), .setting = "udpport",
	  .help = "UDP port, and the TCP port if -p is not given; 0: no UDP; "
		  "-1: any free port" },
	{ OPTION_NUMBER, OPTION_NETWORK, 'c', .name = "conn-limit",
	  .arg = "num", .preset = "1024", FIELD(conn_limit),
	  .min = 1, .max = 1000000, .setting = "maxconns",
	  .help = "client connections at the same time" },
	{ OPTION_SWITCH, OPTION_NETWORK, .name = NULL,
	  .o_name = "maxconns_fast", .implied = "yes", .preset = "yes",
	  FIELD(conn_limit_fast), .setting = "maxconns_fast",
	  .help = "above the limit: answer an error and close (the default)" },
	{ OPTION_SWITCH, OPTION_NETWORK, .name = NULL,
	  .o_name = "no_maxconns_fast", .implied = "no",
	  FIELD(conn_limit_fast),
	  .help = "above the limit: let new clients wait until one leaves" },
	{ OPTION_NUMBER, OPTION_NETWORK, .name = "listen-backlog",
	  .arg = "num", .preset = "1024", FIELD(backlog),
	  .min = 1, .max = 1000000, .setting = "tcp_backlog",
	  .help = "connections that wait to be accepted" },
	{ OPTION_NUMBER, OPTION_NETWORK, .name = "idle-timeout",
	  .o_name = "idle_timeout", .arg = "sec", .preset = "0",
	  FIELD(idle_timeout_seconds), .max = 31536000,
	  .setting = "idle_timeout",
	  .help = "close clients that are silent this long; 0: never" },
	{ OPTION_NUMBER, OPTION_NETWORK, .name = "max-reqs-per-event",
	  .arg = "num", .preset = "20", FIELD(requests_per_turn),
	  .min = 1, .max = 1000000, .setting = "reqs_per_event",
	  .help = "requests of one client before it is the next one's turn" },
	{ OPTION_CHOICE, OPTION_NETWORK, .name = "protocol", .arg = "name",
	  .preset = "auto", FIELD(protocol), .choices = "auto|ascii|binary",
	  .choices_shown = "auto-negotiate|ascii|binary",
	  .setting = "binding_protocol",
	  .help = "dialect that clients speak" },

	/* --- process --------------------------------------------------- */
	{ OPTION_SWITCH, OPTION_PROCESS, 'd', .name = "daemon",
	  .implied = "yes", .preset = "no", FIELD(daemonize),
	  .setting = "daemon",
	  .help = "go to the background once ready" },
	{ OPTION_PATH, OPTION_PROCESS, 'P', .name = "pidfile", .arg = "file",
	  FIELD(pidfile), .setting = "pidfile",
	  .help = "write the process id there" },
	{ OPTION_PATH, OPTION_PROCESS, .name = "log-file", .arg = "file",
	  FIELD(log_file), .setting = "log_file",
	  .help = "log there once ready, not to the standard error output; "
		  "SIGHUP opens it again" },
	{ OPTION_TEXT, OPTION_PROCESS, 'u', .name = "user", .arg = "name",
	  FIELD(user), .setting = "user",
	  .help = "user to become; must be given when started by root" },
	{ OPTION_NUMBER, OPTION_PROCESS, 't', .name = "threads",
	  .arg = "num", .preset = "4", FIELD(threads), .min = 1, .max = 64,
	  .setting = "num_threads", .setting_too = "num_threads_per_udp",
	  .help = "threads that serve clients" },
	{ OPTION_SWITCH, OPTION_PROCESS, 'r', .name = "enable-coredumps",
	  .implied = "yes", .preset = "no", FIELD(core_dumps),
	  .setting = "core_dumps",
	  .help = "raise the core file limit" },
	{ OPTION_SWITCH, OPTION_PROCESS, 'k', .name = "lock-memory",
	  .implied = "yes", .preset = "no", FIELD(lock_memory),
	  .setting = "lock_memory",
	  .help = "keep all memory from being paged out" },
	{ OPTION_COUNT, OPTION_PROCESS, 'v', .name = "verbose",
	  .preset = "0", FIELD(verbosity), .setting = "verbosity",
	  .help = "log connections; -vv also commands" },
	{ OPTION_EXTENDED, OPTION_PROCESS, 'o', .name = "extended",
	  .arg = "list",
	  .help = "memcached's extended options, separated by commas, such "
		  "as idle_timeout=60" },
	{ OPTION_HELP, OPTION_PROCESS, 'h', .name = "help",
	  .help = "print this text and exit" },
	{ OPTION_LICENSE, OPTION_PROCESS, 'i', .name = "license",
	  .help = "print the licenses and exit" },
	{ OPTION_VERSION, OPTION_PROCESS, 'V', .name = "version",
	  .help = "print the version and exit" },
	{ OPTION_MDOC, OPTION_HIDDEN, .name = "help-mdoc" },

	/* --- what clients may do --------------------------------------- */
	{ OPTION_SIZE, OPTION_CLIENTS, 'b', 'I', .name = "max-item-size",
	  .arg = "size", .preset = "1m", FIELD(value_max_bytes),
	  .min = KIB, .max = GIB, .unit = 1, .setting = "item_size_max",
	  .help = "largest value, in bytes; at most half of -m" },
	{ OPTION_PATH, OPTION_CLIENTS, 'Y', .name = "auth-file",
	  .arg = "file", FIELD(auth_file), .setting = "auth_enabled_ascii",
	  .unset = "no",
	  .help = "only users in this file may be clients, lines of "
		  "user:password or user:hash; for text clients; SIGHUP reads "
		  "it again" },
	{ OPTION_SWITCH, OPTION_CLIENTS, 'S', .name = "enable-sasl",
	  .implied = "yes", .preset = "no", FIELD(sasl),
	  .setting = "auth_enabled_sasl",
	  .help = "only users that log in by SASL may be clients; for binary "
		  "clients" },
	{ OPTION_NAMES, OPTION_CLIENTS, .name = "read-only-user",
	  .arg = "name", FIELD(read_only_users), .setting = "read_only_users",
	  .help = "this user may read, but change nothing; several with "
		  "commas or by repeating it" },
	{ OPTION_SWITCH, OPTION_CLIENTS, 'F', .name = "disable-flush-all",
	  .implied = "no", .preset = "yes", FIELD(flush_enabled),
	  .setting = "flush_enabled",
	  .help = "refuse flush_all" },
	{ OPTION_SWITCH, OPTION_CLIENTS, .name = "disable-dumping",
	  .implied = "no", .preset = "yes", FIELD(dump_enabled),
	  .setting = "dump_enabled",
	  .help = "refuse commands that list keys: lru_crawler metadump and "
		  "mgdump, stats cachedump and stats detail, rget, pget" },
	{ OPTION_NUMBER, OPTION_CLIENTS, .name = "max-scan-items",
	  .arg = "num", .preset = "1000", FIELD(scan_max), .min = 1,
	  .max = 1000000, .setting = "max_scan_items",
	  .help = "items that one rget or pget shows, at most" },
	{ OPTION_SWITCH, OPTION_CLIENTS, 'W', .name = "disable-watch",
	  .implied = "no", .preset = "yes", FIELD(watch_enabled),
	  .setting = "watch_enabled",
	  .help = "refuse the watch command" },
	{ OPTION_SWITCH, OPTION_CLIENTS, .name = "enable-shutdown",
	  .implied = "yes", .preset = "no", FIELD(shutdown_enabled),
	  .setting = "shutdown_command",
	  .help = "allow the shutdown command" },
	{ OPTION_SWITCH, OPTION_HIDDEN, .name = "enable-debug-commands",
	  .implied = "yes", .preset = "no", FIELD(debug_enabled) },
	{ OPTION_SWITCH, OPTION_CLIENTS, .name = "disable-cas",
	  .implied = "no", .preset = "yes", FIELD(cas_enabled),
	  .setting = "cas_enabled",
	  .help = "show 0 as the cas id of every item" },
	{ OPTION_CHAR, OPTION_CLIENTS, .name = "prefix-delimiter",
	  .arg = "char", .preset = ":", FIELD(prefix_delimiter),
	  .setting = "stat_key_prefix",
	  .help = "ends the prefix of a key in stats detail, which is on "
		  "from the start if this is given" },
	{ OPTION_SWITCH, OPTION_HIDDEN, .name = NULL, .preset = "no",
	  FIELD(detail_enabled), .setting = "detail_enabled" },

	/* --- TLS ------------------------------------------------------- */
	{ OPTION_SWITCH, OPTION_TLS, 'Z', .name = "enable-ssl",
	  .implied = "yes", .preset = "no", FIELD(tls_enabled),
	  .setting = "ssl_enabled",
	  .help = "TLS on all TCP addresses but those of -l notls:...; needs "
		  "a certificate and a key, which refresh_certs and SIGHUP "
		  "read again" },
	{ OPTION_PATH, OPTION_TLS, .o_name = "ssl_chain_cert", .arg = "file",
	  FIELD(tls_chain_file), .setting = "ssl_chain_cert",
	  .help = "the certificate and those that lead to it, as PEM" },
	{ OPTION_PATH, OPTION_TLS, .o_name = "ssl_key", .arg = "file",
	  FIELD(tls_key_file), .setting = "ssl_key",
	  .help = "its private key, without a password" },
	{ OPTION_NUMBER, OPTION_TLS, .o_name = "ssl_keyformat", .arg = "num",
	  .preset = "1", FIELD(tls_key_format), .min = 1, .max = 2,
	  .setting = "ssl_keyformat",
	  .help = "format of the key: 1 PEM, 2 DER" },
	{ OPTION_PATH, OPTION_TLS, .o_name = "ssl_ca_cert", .arg = "file",
	  FIELD(tls_ca_file), .setting = "ssl_ca_cert",
	  .help = "certificates of those who may sign clients' ones, as PEM" },
	{ OPTION_NUMBER, OPTION_TLS, .o_name = "ssl_verify_mode",
	  .arg = "num", .preset = "0", FIELD(tls_verify_mode), .max = 3,
	  .setting = "ssl_verify_mode",
	  .help = "clients' certificates: 0 not asked for, 1 checked if "
		  "there is one, 2 or 3 required; -l btls:... is 0, "
		  "-l mtls:... is 2" },
	{ OPTION_CHOICE, OPTION_TLS, .o_name = "ssl_min_version",
	  .arg = "num", .preset = "2", FIELD(tls_min_version),
	  .choices = "0|1|2|3",
	  .choices_shown = "tlsv1.0|tlsv1.1|tlsv1.2|tlsv1.3",
	  .setting = "ssl_min_version",
	  .help = "oldest version to accept: 0 is 1.0, 1 is 1.1, 2 is 1.2, "
		  "3 is 1.3" },
	{ OPTION_TEXT, OPTION_TLS, .o_name = "ssl_ciphers", .arg = "list",
	  FIELD(tls_ciphers), .setting = "ssl_ciphers",
	  .help = "ciphers of TLS 1.2 and older, as in openssl-ciphers(1)" },
	{ OPTION_SIZE, OPTION_TLS, .o_name = "ssl_wbuf_size", .arg = "size",
	  .preset = "16", FIELD(tls_gather_bytes), .min = KIB,
	  .max = 64 * MIB, .unit = KIB, .setting = "ssl_wbuf_size",
	  .help = "largest record to send, in kilobytes; TLS itself allows "
		  "16 at most" },
	{ OPTION_SWITCH, OPTION_TLS, .o_name = "ssl_session_cache",
	  .implied = "yes", .preset = "no", FIELD(tls_session_cache),
	  .setting = "ssl_session_cache",
	  .help = "keep sessions here for clients that come back, not in "
		  "tickets that they keep" },
	{ OPTION_SWITCH, OPTION_TLS, .o_name = "ssl_kernel_tls",
	  .implied = "yes", .preset = "no", FIELD(tls_kernel),
	  .setting = "ssl_kernel_tls",
	  .help = "let the kernel encrypt, if it can" },

	/* --- data ------------------------------------------------------ */
	{ OPTION_PATH, OPTION_DATA, 'H', .name = "data-dir", .arg = "dir",
	  .preset = "./data", FIELD(data_dir), .setting = "data_dir",
	  .help = "where the data are; made if missing" },
	{ OPTION_NAME, OPTION_DATA, 'f', .name = "data-file",
	  .arg = "name", .preset = "data.db", FIELD(data_file),
	  .setting = "data_file",
	  .help = "file with the items, inside the data directory" },
	{ OPTION_PATH, OPTION_DATA, 'G', .name = "log-dir", .arg = "dir",
	  FIELD(log_dir), .setting = "log_dir",
	  .help = "where the write-ahead log is (default: with the data)" },
	{ OPTION_SIZE, OPTION_DATA, 'm', .name = "memory-limit",
	  .arg = "size", .preset = "64", FIELD(cache_bytes),
	  .min = MIB, .max = 16 * TIB, .unit = MIB, .setting = "maxbytes",
	  .help = "cache, in megabytes; what does not fit stays on disk" },
	{ OPTION_SIZE, OPTION_DATA, .name = "item-cache", .arg = "size",
	  .preset = "32m", FIELD(item_cache_bytes), .max = 16 * TIB,
	  .unit = 1, .setting = "item_cache",
	  .help = "memory for items read or changed lately, beside -m; their "
		  "gets need not look into the data; 0: none" },
	{ OPTION_SYNC, OPTION_DATA, .name = "sync", .arg = "mode",
	  .preset = "always", .setting = "sync",
	  .help = "when a write is answered: always: it is on disk; write: the "
		  "system has it; interval:ms: at once, on disk within that "
		  "time" },
	{ OPTION_SYNC, OPTION_DATA, 'N', .name = "nosync",
	  .implied = "interval:1000",
	  .help = "the same as --sync=interval:1000" },
	{ OPTION_SIZE, OPTION_DATA, .name = "reserve", .arg = "size",
	  .preset = "128m", FIELD(reserve_bytes), .max = TIB,
	  .unit = 1, .setting = "reserve",
	  .help = "free disk space below which new data are refused; 0: off" },
	{ OPTION_NUMBER, OPTION_DATA, .name = "flush-grace", .arg = "sec",
	  .preset = "600", FIELD(flush_grace_seconds), .max = 31536000,
	  .setting = "flush_grace",
	  .help = "wait after flush_all before its space is used again" },
	{ OPTION_CHOICE, OPTION_DATA, 'B', .name = "access-method",
	  .arg = "name", .preset = "btree", FIELD(access),
	  .choices = "btree|hash", .setting = "access_method",
	  .help = "structure of a new data file; a hash cannot list its keys "
		  "in order" },
	{ OPTION_SIZE, OPTION_DATA, 'A', .name = "page-size", .arg = "size",
	  .preset = "4k", FIELD(page_bytes), .min = 512, .max = 64 * KIB,
	  .unit = 1, .setting = "page_size",
	  .help = "page of a new data file, in bytes; a power of 2; above 4k "
		  "a kill or a power cut can damage one" },
	{ OPTION_SIZE, OPTION_DATA, 'L', .name = "log-buffer",
	  .arg = "size", .preset = "256", FIELD(log_buffer_bytes),
	  .min = 32 * KIB, .max = 64 * MIB, .unit = KIB,
	  .setting = "log_buffer",
	  .help = "memory for log records, in kilobytes" },
	{ OPTION_SIZE, OPTION_DATA, .name = "log-file-size", .arg = "size",
	  .preset = "64m", FIELD(log_file_bytes), .min = MIB, .max = GIB,
	  .unit = 1, .setting = "log_file_size",
	  .help = "size at which the next log file is begun" },
	{ OPTION_SWITCH, OPTION_DATA, .name = "keep-logs",
	  .implied = "yes", .preset = "no", FIELD(keep_logs),
	  .setting = "keep_logs",
	  .help = "never remove log files" },
	{ OPTION_NUMBER, OPTION_DATA, 'C', .name = "checkpoint-interval",
	  .arg = "sec", .preset = "60", FIELD(checkpoint_seconds),
	  .max = 86400, .setting = "checkpoint_interval",
	  .help = "time between checkpoints; 0: only by size" },
	{ OPTION_SIZE, OPTION_DATA, .name = "checkpoint-size",
	  .arg = "size", .preset = "256m", FIELD(checkpoint_bytes),
	  .min = MIB, .max = TIB, .unit = 1, .setting = "checkpoint_size",
	  .help = "log written between checkpoints; bounds the time that "
		  "recovery takes" },
	{ OPTION_NUMBER, OPTION_DATA, 'e', .name = "trickle-percent",
	  .arg = "num", .preset = "90", FIELD(trickle_percent), .max = 100,
	  .setting = "trickle_percent",
	  .help = "share of a full cache that is kept clean" },
	{ OPTION_SWITCH, OPTION_DATA, .name = "shared-regions",
	  .implied = "yes", .preset = "no", FIELD(shared_regions),
	  .setting = "shared_regions",
	  .help = "keep the regions in files, so that db5.3_stat can look; a "
		  "full disk may then kill the server" },

	/* --- MemcacheDB's, without effect ------------------------------ */
	{ UNUSED, OPTION_OLD, 'T', .name = "trickle-interval", .arg = "sec",
	  .help = "pages are written ahead all the time" },
	{ UNUSED, OPTION_OLD, 'D', .name = "deadlock-interval", .arg = "ms",
	  .help = "deadlocks are found at once; memcached's -D is "
		  "--prefix-delimiter" },
	{ UNUSED, OPTION_OLD, 'E', .name = "auto-remove-logs",
	  .help = "log files are removed when no longer needed" },
	{ UNUSED, OPTION_OLD, 'X', .name = "private-regions",
	  .help = "regions are in memory unless --shared-regions; memcached's "
		  "-X is --disable-dumping" },

	/* --- not in this version --------------------------------------- */
	{ LATER("replication (memcached's -R is --max-reqs-per-event)"),
	  .letter = 'R', .arg = "addr" },
	{ LATER("replication"), .letter = 'O', .arg = "addr" },
	{ LATER("replication (memcached's -n is --slab-min-size)"),
	  .letter = 'n', .arg = "num" },
	{ LATER("replication (memcached's -M is --disable-evictions)"),
	  .letter = 'M' },

	/* --- memcached's, for what it says about lru_crawler ----------- */
	{ OPTION_SWITCH, OPTION_HIDDEN, .name = NULL, .o_name = "lru_crawler",
	  .implied = "yes", .preset = "yes", FIELD(crawler_enabled),
	  .setting = "lru_crawler" },
	{ OPTION_SWITCH, OPTION_HIDDEN, .name = NULL,
	  .o_name = "no_lru_crawler", .implied = "no",
	  FIELD(crawler_enabled) },
	{ OPTION_SWITCH, OPTION_HIDDEN, .name = NULL, .o_name = "no_modern",
	  .implied = "no", FIELD(crawler_enabled) },

	/* --- memcached's, always so here ------------------------------- */
	{ OPTION_SILENT, .name = "disable-evictions" },
	{ OPTION_SILENT, .o_name = "relaxed_privileges" },
	{ OPTION_SILENT, .o_name = "no_drop_privileges" },

	/* --- memcached's, about memory that is organised otherwise ----- */
	{ UNUSED, .name = "slab-growth-factor", .arg = "value" },
	{ UNUSED, .name = "slab-min-size", .arg = "value" },
	{ UNUSED, .name = "enable-largepages" },
	{ UNUSED, .name = "memory-file", .arg = "value" },
	{ UNUSED, .name = "napi-ids", .o_name = "napi_ids", .arg = "value" },
	TUNES("hashpower"), TURNS("no_hashexpand"), TUNES("hash_algorithm"),
	TUNES("tail_repair_time"), TURNS("track_sizes"),
	TUNES("lru_crawler_sleep"), TUNES("lru_crawler_tocrawl"),
	TURNS("lru_maintainer"), TURNS("no_lru_maintainer"),
	TUNES("hot_lru_pct"), TUNES("warm_lru_pct"),
	TUNES("hot_max_factor"), TUNES("warm_max_factor"),
	TUNES("temporary_ttl"),
	TURNS("slab_reassign"), TURNS("no_slab_reassign"),
	TUNES("slab_automove"), TURNS("no_slab_automove"),
	TUNES("slab_automove_ratio"), TUNES("slab_automove_window"),
	TUNES("slab_automove_freeratio"), TUNES("slab_sizes"),
	TUNES("slab_chunk_max"), TURNS("no_chunked_items"),
	TURNS("inline_ascii_resp"), TURNS("no_inline_ascii_resp"),
	TUNES("read_buf_mem_limit"), TUNES("resp_obj_mem_limit"),
	TUNES("watcher_logbuf_size"), TUNES("worker_logbuf_size"),
	TURNS("modern"), TURNS("drop_privileges"),
};
/* clang-format on */

const size_t option_row_count = sizeof(option_rows) / sizeof(option_rows[0]);

static_assert(sizeof(option_rows) / sizeof(option_rows[0]) <= OPTION_ROWS_MAX,
	      "raise OPTION_ROWS_MAX");

const char *option_group_title(enum option_group group)
{
	static const char *const titles[OPTION_GROUPS] = {
		[OPTION_HIDDEN] = "Hidden",
		[OPTION_NETWORK] = "Network",
		[OPTION_PROCESS] = "Process",
		[OPTION_CLIENTS] = "Commands",
		[OPTION_TLS] = "TLS",
		[OPTION_DATA] = "Data",
		[OPTION_OLD] = "Accepted for old start scripts, without effect",
	};

	return titles[group];
}

const struct option_row *option_by_letter(int letter)
{
	for (size_t i = 0; i < option_row_count; i++) {
		const struct option_row *row = &option_rows[i];

		if (letter != '\0' &&
		    (row->letter == letter || row->letter_too == letter))
			return row;
	}
	return NULL;
}

const struct option_row *option_by_o_name(const char *name, size_t len)
{
	for (size_t i = 0; i < option_row_count; i++) {
		const char *o_name = option_rows[i].o_name;

		if (o_name != NULL && strlen(o_name) == len &&
		    memcmp(o_name, name, len) == 0)
			return &option_rows[i];
	}
	return NULL;
}
