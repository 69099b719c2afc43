"""The tables that are printed: one for each load, and one for each part."""

from summary import (Rows, latency, latency_floor_us, longest_stall_us,
                     measure, pair_ratio, rate, server_cpu, sets_per_sync)

MEGABYTE = 1e6
# From here on the generator has as little time left as the server.
GENERATOR_BOUND_CORES = 0.9


def print_table(head, lines, out):
    """A table in Markdown, columns aligned; the first one to the left."""
    rows = [head] + lines
    widths = [max(len(row[i]) for row in rows) for i in range(len(head))]

    def text(row):
        cells = [row[0].ljust(widths[0])]
        cells += [cell.rjust(width)
                  for cell, width in zip(row[1:], widths[1:])]
        return "| " + " | ".join(cells) + " |"

    print(text(head), file=out)
    rule = ["-" * widths[0]] + ["-" * (w - 1) + ":" for w in widths[1:]]
    print("| " + " | ".join(rule) + " |", file=out)
    for row in lines:
        print(text(row), file=out)


def show(measured, form="{:.2f}", times=1.0):
    """The median of a Measure, or a dash."""
    return "-" if measured is None else form.format(measured.value * times)


def show_range(measured, form="{:.2f}"):
    """The median, and from where to where the rounds went."""
    if measured is None:
        return "-"
    return (form + " ({0}-{0})".format(form)).format(
        measured.value, measured.low, measured.high)


def print_about(about, out):
    print(f"{about['date']}, Linux {about['kernel']}, {about['cores']} cores,"
          f" data on {about['filesystem']} ({about['device']}, mounted at "
          f"{about['mount']})\n{about['rounds']} rounds of "
          f"{about['seconds']} s, {about['keys']:,} keys, "
          f"{about['threads']} threads, {about['cache_mb']} MB for each "
          f"server, load average before: {about['load_average']:.2f}",
          file=out)
    for name, version in about["versions"].items():
        print(f"{name}: {version}", file=out)
    for note in about["notes"]:
        print(note, file=out)


# --- the rows --------------------------------------------------------------

LOAD_HEAD = ["server", "ops/s", "spread", "x memcached", "x redis-always",
             "CPU us/op", "x memcached", "x redis-always", "p50 us",
             "p99 us", "server cores", "client cores", "client us/op"]


def trouble(cells, row, server):
    """What makes a line worth less, in brackets."""
    found = [f"{count} {what}" for what in ("errors", "misses")
             if (count := cells.total(row, server, what))]
    cores = cells.measure(row, server, lambda r: r["client_cpu_cores"])
    if cores.value >= GENERATOR_BOUND_CORES:
        found.append("generator-bound")
    return f" ({', '.join(found)})" if found else ""


def load_line(cells, row, server):
    def field(name):
        return cells.measure(row, server, lambda record: record[name])

    def against(other, get):
        return show(cells.ratio(row, server, other, get))

    speed = cells.measure(row, server, rate)
    return [server + trouble(cells, row, server),
            f"{speed.value:,.0f}", f"{speed.spread * 100:.0f} %",
            against("memcached", rate), against("redis-always", rate),
            show(cells.measure(row, server, server_cpu)),
            against("memcached", server_cpu),
            against("redis-always", server_cpu),
            show(cells.measure(row, server, latency("p50")), "{:,.0f}"),
            show(cells.measure(row, server, latency("p99")), "{:,.0f}"),
            show(field("server_cpu_cores")), show(field("client_cpu_cores")),
            show(field("client_cpu_us_per_op"))]


def print_rows(rows, records, out):
    """One table for each row that was measured."""
    cells = Rows(records)
    for row in rows:
        lines = [load_line(cells, row.name, server)
                 for server in cells.servers(row.name)]
        if lines:
            print(f"\n{row.title}\n", file=out)
            print_table(LOAD_HEAD, lines, out)


def print_latency_floor(records, out):
    """How far a durable set of one connection is from what must be paid."""
    disks = records.of("disk")
    if not disks:
        return
    append = measure(disk["append_us"]["p50"] for disk in disks)
    over = measure(disk["overwrite_us"]["p50"] for disk in disks)
    print(f"\nRaw pwrite + fdatasync of {disks[0]['bytes']} bytes, p50: "
          f"{show_range(append, '{:.0f}')} us appending, "
          f"{show_range(over, '{:.0f}')} us overwriting.", file=out)
    floor = latency_floor_us(records)
    lowest = latency_floor_us(records, "overwrite")
    for server in ("redis-always", "ours-always"):
        p50 = Rows(records).measure("set1", server, latency("p50"))
        if floor and lowest and p50:
            print(f"SET of one connection, {server}: {p50.value:.0f} us = "
                  f"{p50.value / floor:.2f} x appending, "
                  f"{p50.value / lowest:.2f} x overwriting, each with the "
                  f"round trip of a GET of memcached.", file=out)


def print_syncs(records, out):
    syncs = records.of("syncs")
    if not syncs:
        return
    print("\nSyncs per set (a run of its own)\n", file=out)
    print_table(["row", "server", "sets", "syncs", "sets per sync"],
                [[s["row"], s["server"], f"{s['sets']:,}", f"{s['syncs']:,}",
                  f"{sets_per_sync(s):.1f}" if s["syncs"] else "-"]
                 for s in syncs], out)


def print_lives(records, out):
    """Loading, memory, disk, and starting again."""
    loads = records.of("load")
    if not loads:
        return

    def seconds(server, name):
        found = records.of("restart", server=server)
        return f"{found[0][name]:.2f}" if found else "-"

    def megabytes(count):
        return f"{count / MEGABYTE:.0f}"

    def most_log(server):
        return max([r["log_bytes"] for r in records.of(
            "result", server=server)], default=0)

    print("\nLoading in random order, size and start\n", file=out)
    print_table(
        ["server", "load/s", "resident MB", "data MB", "log MB",
         "most log MB", "stop s", "clean start s", "start after kill s"],
        [[load["server"], f"{load['ops_per_s']:,.0f}",
          megabytes(load["resident_bytes"]), megabytes(load["data_bytes"]),
          megabytes(load["log_bytes"]), megabytes(most_log(load["server"])),
          seconds(load["server"], "stop_s"),
          seconds(load["server"], "clean_start_s"),
          seconds(load["server"], "kill_start_s")]
         for load in loads], out)


# --- the other parts -------------------------------------------------------

def print_bulk(records, out):
    found = records.of("bulk")
    if not found:
        return
    print(f"\nBulk load of {found[0]['keys']:,} items, batches of "
          f"{found[0]['depth']} on {found[0]['connections']} connections\n",
          file=out)
    groups = {}
    for record in found:
        groups.setdefault((record["server"], record["protocol"]),
                          []).append(record)
    print_table(
        ["server", "protocol", "sets/s", "slowest", "fastest", "CPU us/set",
         "data MB", "log MB"],
        [[server, protocol, show(speed := measure(map(rate, rounds)),
                                 "{:,.0f}"),
          f"{speed.low:,.0f}", f"{speed.high:,.0f}",
          show(measure(map(server_cpu, rounds))),
          f"{rounds[-1]['data_bytes'] / MEGABYTE:.0f}",
          f"{rounds[-1]['log_bytes'] / MEGABYTE:.0f}"]
         for (server, protocol), rounds in groups.items()], out)


# scenario -> title, unit of what is counted while it goes on
PAIRS = {
    "checkpoint": ("SET, during checkpoints", "checkpoints"),
    "sweep": ("SET, during a sweep", "items swept"),
    "metadump": ("SET, during dumps of all keys", "dumps"),
    "idle": ("GET, among silent connections", "connections"),
    "cold": ("90 % GET, 10 % SET, Zipf, a tenth in the cache", ""),
}


def stall_ms(records, scenario, server, side):
    longest = longest_stall_us(records, scenario, server, side)
    return "-" if longest is None else f"{longest / 1e3:.0f}"


def pair_line(records, scenario, server):
    def side(name, get, form="{:,.0f}"):
        return show(measure(
            value for record in records.of("pair", scenario=scenario,
                                           server=server, side=name)
            if (value := get(record)) is not None), form)

    title, unit = PAIRS[scenario]
    events = side("with", lambda record: record.get("events"))
    return [f"{title} ({events} {unit})" if unit else title, server,
            side("without", rate), side("with", rate),
            side("without", latency("p99")), side("with", latency("p99")),
            *(show_range(pair_ratio(records, scenario, server,
                                    latency(point)))
              for point in ("p50", "p99", "p999")),
            *(stall_ms(records, scenario, server, name)
              for name in ("without", "with"))]


def print_pairs(records, out):
    """What another thing that goes on does to a load."""
    found = {(pair["scenario"], pair["server"]): None
             for pair in records.of("pair")}
    if not found:
        return
    print("\nThe same load without (-) and with (+) something else\n",
          file=out)
    print_table(
        ["load", "server", "ops/s -", "ops/s +", "p99 us -", "p99 us +",
         "p50 + / -", "p99 + / -", "p99.9 + / -", "longest ms -",
         "longest ms +"],
        [pair_line(records, scenario, server) for scenario, server in found],
        out)
    print_silent(records, out)
    print_hot(records, out)


def print_silent(records, out):
    """Only the first crowd makes a server grow: the largest counts."""
    grown = {}
    for pair in records.of("pair", scenario="idle", side="with"):
        grown[pair["server"]] = max(pair["bytes_each"],
                                    grown.get(pair["server"], 0))
    for server, count in grown.items():
        print(f"\n{server}: {count:,.0f} resident bytes for each silent "
              "connection.", file=out)


def print_hot(records, out):
    def said(side):
        pairs = records.of("pair", scenario="cold", side=side)
        hot = measure(pair["hot_latency_us"]["p50"] for pair in pairs)
        return (f"{show(hot, '{:.0f}')} us with {pairs[0]['cache_mb']:,} MB "
                "of cache") if pairs else "-"

    pairs = records.of("pair", scenario="cold")
    if not pairs:
        return
    data = pairs[-1]["data_bytes"] / MEGABYTE
    share = measure(pair["hot_gets"] / pair["gets"] for pair in pairs)
    print(f"\n{data:,.0f} MB of data; the hot keys ({share.value * 100:.0f} %"
          f" of the gets), p50: {said('without')}, {said('with')}.", file=out)


def print_all(rows, records, out):
    print_about(records.about(), out)
    print_rows(rows, records, out)
    print_latency_floor(records, out)
    print_syncs(records, out)
    print_lives(records, out)
    print_bulk(records, out)
    print_pairs(records, out)
