/*
 * op.h - the words of the store: what can be asked, and what is answered.
 *
 * Part of the public face: storage.h includes it, nobody else outside does.
 */
#ifndef STORAGE_OP_H
#define STORAGE_OP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define STORE_KEY_MAX 250
/* Bytes that a record has in front of its value: as a rule, and at most. */
#define STORE_RECORD_HEAD     9
#define STORE_RECORD_HEAD_MAX 32

enum store_status {
	STORE_OK = 0,
	/* answers */
	STORE_NOT_FOUND,
	STORE_EXISTS,	  /* the cas id differs */
	STORE_NOT_STORED, /* add on a live key, append on none, ... */
	STORE_NOT_NUMBER,
	STORE_TOO_LARGE, /* append: the result passes value_max_bytes */
	STORE_GROW,	 /* store_get: the buffer is too small */
	/* failures: nothing was changed, nothing is known */
	STORE_NO_SPACE, /* of the disk */
	STORE_NO_MEMORY,
	STORE_FAILED
};

enum store_op_kind {
	STORE_SET,
	STORE_ADD,
	STORE_REPLACE,
	STORE_APPEND,
	STORE_PREPEND,
	STORE_INCR,
	STORE_DECR,
	STORE_TOUCH,
	STORE_GET_AND_TOUCH, /* as touch; the value comes in `found` */
	/*
	 * A get that may change the item: touches if `touch`, makes an empty
	 * one if there is none and `create`, and gives the right to compute
	 * the value anew to one asker (`found.win`): the maker, the first on a
	 * stale item, the first on one that expires in less than
	 * recache_seconds. The item comes in `found`, with its expiry from
	 * before the touch.
	 */
	STORE_LEASE,
	STORE_DELETE,
	/*
	 * Keeps the item, with a new id: `mark_stale` marks it stale (the next
	 * lease wins), `drop_value` makes it empty, with flags 0, no expiry, no
	 * marks and, unless it is marked too or `assign` says so, its old id.
	 * `touch`: sets expiry.
	 */
	STORE_INVALIDATE,
	STORE_FLUSH, /* no key; expiry: when, 0 for now */
	/* the store's own */
	/*
	 * Deletes what has expired, by the clock and also at `expiry`, or was
	 * flushed, by the reclaim cut-off and also by that in `cas`.
	 */
	STORE_RECLAIM,
	STORE_DELETE_OLDER /* delete if stored before the stamp in `cas` */
};

struct store_client;

/* One item as read. */
struct store_item {
	char *value; /* inside the memory that was read into */
	size_t value_bytes;
	uint32_t flags;
	int64_t expiry; /* absolute seconds, 0 never */
	uint64_t cas;
	uint64_t shown_from;   /* may be sent once this is durable; 0: now */
	uint64_t hash;	       /* of its key; also if it was not found */
	bool expired, flushed; /* NOT_FOUND: there was one, but no more */
	bool cached;	       /* it was read from the cache of records */
	bool key_base64;       /* its key was given as base64 */
	bool stale;	       /* invalidated, not yet stored anew */
	bool won;	       /* somebody has the right to compute it anew */
	bool win;	       /* STORE_LEASE: now it is this asker */
};

/*
 * One change. Made by store_op_new(), filled by the caller, then the store's
 * from store_submit() until store_reap(), then the caller's again.
 */
struct store_op {
	struct store_op *next; /* list to submit; the store's meanwhile */
	enum store_op_kind kind;
	bool compare; /* act only if the item's id is `cas` */
	size_t key_bytes;
	char *key;	      /* inside the op */
	uint64_t hash;	      /* of the key, by store_op_new() */
	uint32_t value_bytes; /* may be lowered before the submit */
	char *value;	      /* inside the op */
	uint32_t flags;	      /* touch, out: the item's */
	int64_t expiry;	      /* absolute seconds; 0 never; in the past: dead */
	uint64_t cas;	      /* in: to compare with; out: the item's new id */
	uint64_t assign;      /* the id it is to get; 0: the next one. The ids
				 that follow are higher, if this is below 2^62 */
	uint64_t delta;	      /* incr, decr */
	/*
	 * What else an op may be told; each is heeded by the kinds named.
	 * Set and replace with `compare`: an id lower than the item's is
	 * accepted, too; the item keeps its expiry and who has the right to
	 * compute it anew, and is marked stale.
	 */
	bool accept_older;
	bool key_base64; /* kept with an item that is stored or made */
	/*
	 * Makes what is missing. Lease: an empty item; append and prepend: one
	 * of the value and flags; incr and decr: of `initial`, without the
	 * delta. Then `compare` does not count, and nobody is NOT_FOUND.
	 */
	bool create;
	int64_t create_expiry;
	uint64_t initial;
	bool touch; /* incr, decr, lease, invalidate: sets expiry, too */
	bool mark_stale, drop_value; /* invalidate */
	int64_t recache_seconds;     /* lease; 0: never */
	bool recache_touched; /* by the expiry that `touch` sets, not the old */
	void *user;	      /* user_bytes of the caller, inside the op */
	/* the answer */
	enum store_status status;
	uint64_t number; /* incr, decr; append, prepend: bytes there are now */
	bool was_live;	 /* the item was there before; see `found` */
	bool made;	 /* there was none, and `create` made one */
	/*
	 * What it found, without `hash`: of all kinds value_bytes, or else
	 * expired or flushed. STORE_GET_AND_TOUCH, STORE_LEASE: all of it; the
	 * value is freed with the op and has head_room bytes, as given in the
	 * op, free in front of it, and two behind it. STORE_INCR, STORE_DECR:
	 * the item without its value, with its expiry from before the touch.
	 */
	struct store_item found;
	size_t head_room;
	/* the store's own */
	uint64_t ticket;
	struct store_client *client;
	struct store_op *client_next;
	uint64_t new_cas;   /* becomes `cas` when the change is committed */
	void *found_memory; /* what found.value lies in */
};

#endif
