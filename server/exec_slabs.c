/*
 * exec_slabs.c - slabs, lru, lru_crawler: commands about memory that is
 * organised otherwise here.
 *
 * They are answered as memcached would: checked, and done where there is
 * something to do. Nothing is ever evicted, expired items are swept all the
 * time, and there is one slab class.
 */
#include "server/exec.h"
#include "server/shared.h"
#include "server/slab_class.h"

#define AUTOMOVE_MAX	     2
#define WINDOW_MIN	     3
#define WINDOW_MAX	     1800
#define CRAWLER_SLEEP_MAX_US 1000000
#define TUNE_ARGS	     5

static enum conn_next ok_if(struct conn *conn, const struct proto_request *req,
			    bool good)
{
	return exec_answer(conn, &req->form,
			   good ? PROTO_DONE : PROTO_ERR_UNKNOWN);
}

/* --- slabs -------------------------------------------------------------- */

static enum proto_code reassign(const struct proto_request *req)
{
	int64_t from, to;

	if (req->arg_count != 3)
		return PROTO_ERR_UNKNOWN;
	if (!proto_parse_i64(req->args[1], &from) ||
	    !proto_parse_i64(req->args[2], &to))
		return PROTO_ERR_FORMAT;
	if (from == to)
		return PROTO_ERR_SAME_CLASS;
	if (from > SLAB_CLASS_MAX || to < 0 || to > SLAB_CLASS_MAX)
		return PROTO_ERR_CLASS;
	return PROTO_ERR_NO_SPARE_PAGE;
}

static enum proto_code automove_window(const struct proto_request *req)
{
	uint32_t window;

	if (req->arg_count < 3 || !proto_parse_u32(req->args[2], &window))
		return PROTO_ERR_FORMAT;
	return window >= WINDOW_MIN && window <= WINDOW_MAX
		       ? PROTO_DONE
		       : PROTO_ERR_AUTOMOVE_WINDOW;
}

static enum proto_code automove(const struct proto_request *req)
{
	uint32_t level;

	if (req->arg_count < 2)
		return PROTO_ERR_UNKNOWN;
	if (proto_slice_is(req->args[1], "window"))
		return automove_window(req);
	if (proto_slice_is(req->args[1], "ratio") ||
	    proto_slice_is(req->args[1], "freeratio"))
		return req->arg_count > 2 ? PROTO_DONE : PROTO_ERR_UNKNOWN;
	if (!proto_parse_u32(req->args[1], &level))
		return PROTO_ERR_FORMAT;
	return level <= AUTOMOVE_MAX ? PROTO_DONE : PROTO_ERR_UNKNOWN;
}

enum conn_next exec_slabs(struct conn *conn, const struct proto_request *req)
{
	enum proto_code code = PROTO_ERR_UNKNOWN;

	if (req->arg_count == 0)
		return ok_if(conn, req, false);
	if (proto_slice_is(req->args[0], "reassign"))
		code = reassign(req);
	else if (proto_slice_is(req->args[0], "automove"))
		code = automove(req);
	return exec_answer(conn, &req->form, code);
}

/* --- lru ---------------------------------------------------------------- */

enum conn_next exec_lru(struct conn *conn, const struct proto_request *req)
{
	const struct proto_slice *args = req->args;
	int64_t ttl;

	if (req->arg_count < 2)
		return ok_if(conn, req, false);
	if (proto_slice_is(args[0], "tune"))
		return ok_if(conn, req, req->arg_count >= TUNE_ARGS);
	if (proto_slice_is(args[0], "mode"))
		return ok_if(conn, req,
			     proto_slice_is(args[1], "flat") ||
				     proto_slice_is(args[1], "segmented"));
	return ok_if(conn, req,
		     proto_slice_is(args[0], "temp_ttl") &&
			     proto_parse_i64(args[1], &ttl));
}

/* --- lru_crawler -------------------------------------------------------- */

/* Both are only remembered: the sweep never stops. */
static enum conn_next enable(struct conn *conn, const struct proto_request *req)
{
	bool was_enabled =
		atomic_exchange(&conn->worker->server->crawler_enabled, true);

	return exec_answer(conn, &req->form,
			   was_enabled ? PROTO_ERR_CRAWLER_ENABLED
				       : PROTO_DONE);
}

static enum conn_next disable(struct conn *conn,
			      const struct proto_request *req)
{
	atomic_store(&conn->worker->server->crawler_enabled, false);
	return exec_answer(conn, &req->form, PROTO_DONE);
}

static enum conn_next set_sleep(struct conn *conn,
				const struct proto_request *req)
{
	uint32_t us;

	if (!proto_parse_u32(req->args[1], &us))
		return exec_answer(conn, &req->form, PROTO_ERR_FORMAT);
	return exec_answer(conn, &req->form,
			   us > CRAWLER_SLEEP_MAX_US ? PROTO_ERR_CRAWLER_SLEEP
						     : PROTO_DONE);
}

static enum conn_next set_count(struct conn *conn,
				const struct proto_request *req)
{
	uint32_t count;

	return exec_answer(conn, &req->form,
			   proto_parse_u32(req->args[1], &count)
				   ? PROTO_DONE
				   : PROTO_ERR_FORMAT);
}

/* Expired items are looked for all the time: there is nothing to start. */
static enum conn_next crawl(struct conn *conn, const struct proto_request *req)
{
	bool ours;

	if (!atomic_load(&conn->worker->server->crawler_enabled))
		return exec_answer(conn, &req->form,
				   PROTO_ERR_CRAWLER_DISABLED);
	return exec_answer(conn, &req->form,
			   slab_classes(req->args[1], &ours) ? PROTO_DONE
							     : PROTO_ERR_CLASS);
}

enum conn_next exec_crawler(struct conn *conn, const struct proto_request *req)
{
	static const struct {
		const char *name;
		size_t args; /* with the name */
		enum conn_next (*start)(struct conn *,
					const struct proto_request *);
	} table[] = {
		{"metadump", 2, exec_metadump},
		{"mgdump", 2, exec_mgdump},
		{"crawl", 2, crawl},
		{"sleep", 2, set_sleep},
		{"tocrawl", 2, set_count},
		{"enable", 1, enable},
		{"disable", 1, disable},
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (req->arg_count == table[i].args &&
		    proto_slice_is(req->args[0], table[i].name))
			return table[i].start(conn, req);
	return ok_if(conn, req, false);
}
