"""Medians of the rounds, and the tables that are printed."""

from statistics import median


def medians(results):
    """One summary for each (row, server) from all its rounds."""
    cells = {}
    for result in results:
        key = result["row"], result["server"]
        cells.setdefault(key, []).append(result)
    return {key: summarize(rounds) for key, rounds in cells.items()}


def summarize(rounds):
    def middle(get):
        return median(get(result) for result in rounds)

    rates = [result["ops_per_s"] for result in rounds]
    return {
        "rounds": len(rounds),
        "ops_per_s": median(rates),
        "spread": (max(rates) - min(rates)) / (median(rates) or 1),
        "cpu_us": middle(lambda r: r["server_cpu_us_per_op"]),
        "client_cores": middle(lambda r: r["client_cpu_cores"]),
        "server_cores": middle(lambda r: r["server_cpu_cores"]),
        "p50": middle(lambda r: r["latency_us"]["p50"]),
        "p99": middle(lambda r: r["latency_us"]["p99"]),
        "errors": sum(result["errors"] for result in rounds),
        "misses": sum(result["misses"] for result in rounds),
    }


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


def ratio(mine, other, field):
    if other is None or not other[field]:
        return "-"
    return f"{mine[field] / other[field]:.2f}"


def load_line(server, cell, memcached, redis):
    trouble = "".join(
        f" {cell[what]} {what}" for what in ("errors", "misses") if cell[what])
    return [server + (f" ({trouble.strip()})" if trouble else ""),
            f"{cell['ops_per_s']:,.0f}",
            f"{cell['spread'] * 100:.0f} %",
            ratio(cell, memcached, "ops_per_s"),
            ratio(cell, redis, "ops_per_s"),
            f"{cell['cpu_us']:.2f}",
            ratio(cell, memcached, "cpu_us"),
            ratio(cell, redis, "cpu_us"),
            f"{cell['p50']:,.0f}", f"{cell['p99']:,.0f}",
            f"{cell['server_cores']:.2f}", f"{cell['client_cores']:.2f}"]


LOAD_HEAD = ["server", "ops/s", "spread", "x memcached", "x redis-always",
             "CPU us/op", "x memcached", "x redis-always", "p50 us",
             "p99 us", "server cores", "client cores"]


def print_loads(rows, cells, out):
    """One table for each row that was measured."""
    for row in rows:
        memcached = cells.get((row.name, "memcached"))
        redis = cells.get((row.name, "redis-always"))
        lines = [load_line(server, cell, memcached, redis)
                 for (name, server), cell in cells.items()
                 if name == row.name]
        if lines:
            print(f"\n{row.title}\n", file=out)
            print_table(LOAD_HEAD, lines, out)


def print_latency_floor(cells, disk, out):
    """How far a durable set of one connection is from what must be paid."""
    floor = disk["append_p50"]
    trip = cells.get(("get1", "memcached"))
    print(f"\nRaw pwrite + fdatasync of {disk['bytes']} bytes, p50: "
          f"{disk['append_p50']:.0f} us appending, "
          f"{disk['overwrite_p50']:.0f} us overwriting.", file=out)
    if trip is None:
        return
    floor += trip["p50"]
    for server in ("redis-always", "ours-always"):
        cell = cells.get(("set1", server))
        if cell is not None:
            print(f"SET of one connection, {server}: {cell['p50']:.0f} us = "
                  f"{cell['p50'] / floor:.2f} x (appending + round trip of "
                  f"{trip['p50']:.0f} us).", file=out)


def print_syncs(syncs, out):
    if not syncs:
        return
    print("\nSyncs per set (a run of its own)\n", file=out)
    print_table(["row", "server", "sets", "syncs", "sets per sync"],
                [[s["row"], s["server"], f"{s['sets']:,}", f"{s['syncs']:,}",
                  f"{s['sets'] / s['syncs']:.1f}" if s["syncs"] else "-"]
                 for s in syncs], out)


def print_lives(lives, out):
    """Loading, memory, disk, and starting again."""
    def seconds(life, name):
        return f"{life[name]:.2f}" if name in life else "-"

    print("\nLoading, size and start\n", file=out)
    print_table(
        ["server", "load/s", "resident MB", "disk MB", "stop s",
         "clean start s", "start after kill s"],
        [[name, f"{life['load_per_s']:,.0f}",
          f"{life['resident_bytes'] / 1e6:.0f}",
          f"{life['disk_bytes'] / 1e6:.0f}", seconds(life, "stop_s"),
          seconds(life, "clean_start_s"), seconds(life, "kill_start_s")]
         for name, life in lives.items()], out)
