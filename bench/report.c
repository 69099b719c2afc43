/*
 * report.c - see report.h. The names are read by bench/compare.
 */
#include "bench/report.h"

#include <inttypes.h>

#include "bench/dialect.h"

/* A JSON string, quotes included. */
static void put_string(FILE *out, const char *text)
{
	fputc('"', out);
	for (; *text != '\0'; text++) {
		unsigned char byte = (unsigned char)*text;

		if (byte < ' ' || byte == '"' || byte == '\\')
			fprintf(out, "\\u%04x", byte);
		else
			fputc(byte, out);
	}
	fputc('"', out);
}

static void put_latency(FILE *out, const char *name,
			const struct histogram *histogram)
{
	static const struct {
		const char *name;
		double quantile;
	} points[] = {
		{"p50", 0.5},	 {"p90", 0.9}, {"p99", 0.99},
		{"p999", 0.999}, {"max", 1},
	};

	fprintf(out, ",\"%s\":{", name);
	for (size_t i = 0; i < sizeof(points) / sizeof(points[0]); i++)
		fprintf(out, "%s\"%s\":%.1f", i > 0 ? "," : "", points[i].name,
			(double)histogram_quantile(histogram,
						   points[i].quantile) /
				1e3);
	fputc('}', out);
}

static void put_options(FILE *out, const struct options *options)
{
	fprintf(out, "\"protocol\":\"%s\"", options->dialect->name);
	fprintf(out,
		",\"connections\":%" PRIu32 ",\"threads\":%" PRIu32
		",\"depth\":%" PRIu32,
		options->connections, options->threads, options->depth);
	if (options->load != LOAD_NONE)
		fputs(",\"ratio\":\"load\"", out);
	else
		fprintf(out, ",\"ratio\":\"%" PRIu32 ":%" PRIu32 "\"",
			options->sets, options->gets);
	fprintf(out,
		",\"keys\":%" PRIu32 ",\"value_bytes\":%" PRIu32
		",\"keys_per_get\":%" PRIu32 ",\"zipf\":%.3f,\"verified\":%s",
		options->keys, options->value_bytes, options->keys_per_get,
		options->zipf ? options->zipf_exponent : 0.0,
		options->verify ? "true" : "false");
}

static void put_cpu(FILE *out, const char *who, uint64_t cpu_us,
		    const struct outcome *outcome, uint64_t ops)
{
	fprintf(out, ",\"%s_cpu_us_per_op\":%.3f", who,
		ops > 0 ? (double)cpu_us / (double)ops : 0.0);
	fprintf(out, ",\"%s_cpu_cores\":%.3f", who,
		outcome->elapsed_ns > 0
			? (double)cpu_us * 1e3 / (double)outcome->elapsed_ns
			: 0.0);
}

void report_run(FILE *out, const struct options *options,
		const struct outcome *outcome)
{
	const struct tally *tally = &outcome->tally;
	struct histogram all = tally->set_ns;
	uint64_t ops;

	histogram_merge(&all, &tally->get_ns);
	ops = all.total;
	fputc('{', out);
	put_options(out, options);
	fprintf(out, ",\"elapsed_s\":%.3f", (double)outcome->elapsed_ns / 1e9);
	fprintf(out, ",\"ops\":%" PRIu64 ",\"ops_per_s\":%.0f", ops,
		outcome->elapsed_ns > 0
			? (double)ops * 1e9 / (double)outcome->elapsed_ns
			: 0.0);
	fprintf(out, ",\"sets\":%" PRIu64 ",\"gets\":%" PRIu64,
		tally->set_ns.total, tally->get_ns.total);
	fprintf(out, ",\"hits\":%" PRIu64 ",\"misses\":%" PRIu64, tally->hits,
		tally->misses);
	fprintf(out,
		",\"errors\":%" PRIu64 ",\"bytes_sent\":%" PRIu64
		",\"bytes_received\":%" PRIu64,
		tally->errors, tally->bytes_sent, tally->bytes_received);
	put_latency(out, "latency_us", &all);
	if (tally->set_ns.total > 0)
		put_latency(out, "set_latency_us", &tally->set_ns);
	if (tally->get_ns.total > 0)
		put_latency(out, "get_latency_us", &tally->get_ns);
	if (options->hot_keys > 0) {
		fprintf(out, ",\"hot_gets\":%" PRIu64, tally->hot_ns.total);
		put_latency(out, "hot_latency_us", &tally->hot_ns);
	}
	put_cpu(out, "client", outcome->client_cpu_us, outcome, ops);
	if (options->server_pid > 0)
		put_cpu(out, "server", outcome->server_cpu_us, outcome, ops);
	fputs("}\n", out);
}

void report_rawsync(FILE *out, const struct options *options,
		    const struct rawsync *rawsync)
{
	fputs("{\"raw_sync\":", out);
	put_string(out, options->raw_sync_dir);
	fprintf(out, ",\"bytes\":%" PRIu32 ",\"rounds\":%" PRIu64,
		options->value_bytes, rawsync->append_ns.total);
	put_latency(out, "append_us", &rawsync->append_ns);
	put_latency(out, "overwrite_us", &rawsync->overwrite_ns);
	fputs("}\n", out);
}
