"""What README.md and docs/PERFORMANCE.md say of a run, as Markdown."""

import re
import textwrap

from summary import (Rows, latency, measure, rate, server_cpu, sets_per_sync)
from table import (print_bulk, print_latency_floor, print_lives, print_pairs,
                   print_syncs)
from targets import print_targets

COLUMNS = (
    ("memcached", "memcached {}"),
    ("redis-always", "Redis {} appendfsync always"),
    ("ours-always", "memcachedb {} `always`"),
)


def short_number(number):
    """Three digits at most, thousands as k."""
    if number >= 100000:
        return f"{number / 1000:.0f}k"
    if number >= 1000:
        return f"{number / 1000:.3g}k"
    return f"{number:.0f}"


def version_number(text):
    """The first number with a dot in what a program says of itself."""
    found = re.search(r"\d+(\.\d+)+", text)
    return found[0] if found else text


def row_cell(row, server, cells, records):
    """Speed or latency, the CPU time of an operation, sets a sync."""
    speed = cells.measure(row.name, server, rate)
    if speed is None:
        return ""
    if row.connections == 1:
        p50 = cells.measure(row.name, server, latency("p50"))
        text = f"{p50.value:.0f} us"
    else:
        text = f"{short_number(speed.value)}/s"
    cpu = cells.measure(row.name, server, server_cpu)
    beside = [f"{cpu.value:.1f} us" if cpu.value < 100
              else f"{cpu.value:.0f} us"]
    syncs = [value for record in records.of("syncs", row=row.name,
                                            server=server)
             if (value := sets_per_sync(record))]
    if syncs:
        beside.append(f"{measure(syncs).value:.0f} sets a sync")
    if server == "ours-always":
        text = f"**{text}**"
    return f"{text} ({'; '.join(beside)})"


def start_cells(records):
    """Clean and hard starts, for each column."""
    cells = []
    for server, _ in COLUMNS:
        found = records.of("restart", server=server)
        text = (f"{found[0]['clean_start_s']:.1f} s, "
                f"{found[0]['kill_start_s']:.1f} s") if found else ""
        cells.append(f"**{text}**" if text and server == "ours-always"
                     else text)
    return cells


def spreads(rows, cells, writes):
    """From where to where the spreads of our rows go, in percent."""
    found = [cells.measure(row.name, "ours-always", rate).spread * 100
             for row in rows if row.writes == writes
             and cells.rounds(row.name, "ours-always")]
    return f"{min(found):.0f} to {max(found):.0f} %" if found else "-"


def print_preface(rows, records, cells, out):
    about = records.about()
    raw = measure(disk["append_us"]["p50"] for disk in records.of("disk"))
    disk = f" ({raw.value:.0f} us for a write and fdatasync)" if raw else ""
    print(textwrap.fill(
        f"Side by side on one machine with {about['cores']} cores shared by "
        f"server and load generator, {about['filesystem']}{disk}, "
        f"{about['keys']:,} items of 100 bytes, {about['threads']} threads, "
        f"{about['cache_mb']} MB of memory for each server; medians of "
        f"{about['rounds']} interleaved rounds of {about['seconds']:g} s, "
        f"{about['date'][:10]}. Rounds of writes differed by "
        f"{spreads(rows, cells, True)}, of reads by "
        f"{spreads(rows, cells, False)}. CPU time of the server for an "
        f"operation in brackets; for one connection the median latency.",
        width=79) + "\n", file=out)


def print_speed(rows, records, out):
    """The table of the README: one line for each row."""
    cells = Rows(records)
    versions = records.about()["versions"]
    titles = [" ".join(title.format(
        version_number(versions.get(server, ""))).split())
        for server, title in COLUMNS]
    print_preface(rows, records, cells, out)
    print(f"| load | {' | '.join(titles)} |\n"
          f"|---{'|---' * len(titles)}|", file=out)
    for row in rows:
        if cells.servers(row.name):
            found = [row_cell(row, server, cells, records)
                     for server, _ in COLUMNS]
            print(f"| {row.title} | {' | '.join(found)} |", file=out)
    if records.of("restart"):
        print(f"| start with the items: clean, after kill -9 | "
              f"{' | '.join(start_cells(records))} |", file=out)


def print_document(rows, records, out):
    """All tables that the documents hold."""
    print_speed(rows, records, out)
    print_targets(records, out)
    print_latency_floor(records, out)
    print_syncs(records, out)
    print_lives(records, out)
    print_bulk(records, out)
    print_pairs(records, out)
