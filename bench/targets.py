"""The numbers to reach, and whether a run has reached them.

TARGETS is the table: for each load what must be reached at least, and what is
aimed at. A criterion is what is measured (a Measure), its bound, and how it is
said; nothing here knows how the records were made.
"""

from dataclasses import dataclass
from typing import Callable, Optional

from summary import (Measure, Rows, latency, latency_floor_us,
                     longest_stall_us, measure, pair_ratio, rate, ratio,
                     server_cpu)
from table import print_table, show, show_range

OURS = "ours-always"
MEGABYTE = 1e6


@dataclass(frozen=True)
class Criterion:
    bound: float
    unit: str
    measure: Callable  # records -> Measure, None: not measured
    at_most: bool = False  # else: at least
    cpu: Optional[Callable] = None  # the same ratio of CPU time
    form: str = "{:.2f}"

    def demand(self):
        sign = "<=" if self.at_most else ">="
        return f"{sign} {self.bound:g} {self.unit}"

    def found(self, records):
        """What was measured, with the ratio of CPU times beside it."""
        text = show_range(self.measure(records), self.form)
        cpu = self.cpu(records) if self.cpu else None
        return f"{text}, CPU {show(cpu)}" if cpu else text

    def reached(self, records):
        """None if it was not measured."""
        found = self.measure(records)
        if found is None:
            return None
        return (found.value <= self.bound if self.at_most
                else found.value >= self.bound)


@dataclass(frozen=True)
class Target:
    title: str
    at_least: Criterion
    aim: Optional[Criterion] = None


# --- what can be measured --------------------------------------------------

def times(bound, row, other, other_row=None):
    """Throughput, as a multiple of another server's."""
    def of(get):
        return lambda records: Rows(records).ratio(row, OURS, other, get,
                                                   other_row)
    return Criterion(bound, f"x {other}", of(rate), cpu=of(server_cpu))


def cpu_times(bound, row, other):
    """CPU time of an operation, as a multiple of another server's."""
    return Criterion(
        bound, f"x {other}, CPU/op",
        lambda records: Rows(records).ratio(row, OURS, other, server_cpu),
        at_most=True)


def p50_times(bound, row, other):
    return Criterion(
        bound, f"x {other}, p50",
        lambda records: Rows(records).ratio(row, OURS, other,
                                            latency("p50")), at_most=True)


def floor_times(bound):
    """Latency of one connection, as a multiple of what must be paid."""
    def of_floor(records):
        floor = latency_floor_us(records)
        p50 = Rows(records).measure("set1", OURS, latency("p50"))
        if not floor or not p50:
            return None
        return Measure(p50.value / floor, p50.low / floor, p50.high / floor)
    return Criterion(bound, "x (sync + round trip), p50", of_floor,
                     at_most=True)


def p99_times(bound, scenario):
    return Criterion(
        bound, "x without, p99",
        lambda records: pair_ratio(records, scenario, OURS, latency("p99")),
        at_most=True)


def hot_times(bound):
    return Criterion(
        bound, "x all in the cache, p50 of hot keys",
        lambda records: pair_ratio(records, "cold", OURS,
                                   latency("p50", "hot_latency_us")),
        at_most=True)


def stall(bound, scenario):
    """The longest time until an answer, in seconds."""
    def of_all(records):
        longest = longest_stall_us(records, scenario, OURS)
        return measure([longest / 1e6] if longest is not None else [])
    return Criterion(bound, "s, longest stall", of_all, at_most=True)


def idle_bytes(bound):
    """Only the first crowd makes the server grow: the largest counts."""
    def of_all(records):
        grown = [pair["bytes_each"] for pair in records.of(
            "pair", scenario="idle", server=OURS, side="with")]
        return measure([max(grown)] if grown else [])
    return Criterion(bound, "resident bytes each", of_all, at_most=True,
                     form="{:,.0f}")


def bulk_rate(bound, protocol):
    def of(get):
        return lambda records: measure(map(get, records.of(
            "bulk", server=OURS, protocol=protocol)))
    return Criterion(bound, "sets/s", of(rate), form="{:,.0f}")


def bulk_times(bound, protocol):
    def of(get):
        return lambda records: ratio(
            records.of("bulk", server=OURS, protocol=protocol),
            records.of("bulk", server="redis-always"), get)
    return Criterion(bound, "x redis-always", of(rate), cpu=of(server_cpu))


def data_megabytes(bound):
    return Criterion(
        bound, "MB of data for a million",
        lambda records: measure(load["data_bytes"] / load["keys"]
                                for load in records.of("load", server=OURS)),
        at_most=True, form="{:.0f}")


def log_megabytes(bound):
    """The most there ever was of it, behind any row: of a checkpoint that is
    due, one that is written meanwhile, and of what comes until it is done."""
    def of_all(records):
        logs = [record["log_bytes"] / MEGABYTE
                for kind in ("load", "result")
                for record in records.of(kind, server=OURS)]
        return measure([max(logs)] if logs else [])
    return Criterion(bound, "MB of logs, ever", of_all, at_most=True,
                     form="{:.0f}")


# --- the table -------------------------------------------------------------

TARGETS = (
    Target("SET, 50 connections",
           times(1.25, "set50", "redis-always"),
           times(0.95, "set50", "memcached")),
    Target("SET, 200 connections",
           times(1.25, "set200", "redis-always"),
           times(1.0, "set200", "memcached")),
    Target("GET, 50 connections",
           times(1.0, "get50", "memcached"),
           cpu_times(1.0, "get50", "memcached")),
    Target("95 % GET, 5 % SET, 50 connections",
           times(1.2, "mix50", "redis-always"),
           times(1.0, "mix50", "memcached")),
    Target("GET of 100 keys",
           times(0.7, "multiget", "memcached"),
           times(1.0, "multiget", "memcached")),
    *(Target(f"GET, 32 in flight, {dialect}",
             times(0.7, row, "memcached"),
             times(1.0, row, "redis-always", "get-d32"))
      for dialect, row in (("classic", "get-d32"),
                           ("meta quiet", "metaq-get-d32"),
                           ("binary quiet", "binq-get-d32"))),
    Target("SET, 32 in flight",
           times(0.8, "set-d32", "redis-always"),
           times(1.0, "set-d32", "redis-always")),
    Target("SET, one connection",
           floor_times(1.3), p50_times(1.0, "set1", "redis-always")),
    Target("SET of 4 KiB, 50 connections",
           times(1.0, "set4k", "redis-always")),
    Target("GET of 4 KiB, 50 connections",
           times(0.8, "get4k", "memcached")),
    *(Target(f"SET during {title}",
             p99_times(2.0, scenario), p99_times(1.5, scenario))
      for title, scenario in (("checkpoints", "checkpoint"),
                              ("a sweep", "sweep"),
                              ("dumps of all keys", "metadump"))),
    Target("data of 10 x the cache, hot keys", hot_times(3.0)),
    Target("data of 10 x the cache, all keys", stall(1.0, "cold")),
    Target("silent connections, memory", idle_bytes(4096)),
    Target("GET among silent connections", p99_times(1.2, "idle")),
    *(Target(f"bulk load, {title}", bulk_rate(250000, protocol),
             bulk_times(1.0, protocol))
      for title, protocol in (("meta quiet", "meta-quiet"),
                              ("binary quiet", "binary-quiet"),
                              ("classic noreply", "classic-quiet"))),
    Target("disk, behind inserts in random order", data_megabytes(220)),
    Target("disk, logs during all rows", log_megabytes(768)),
)

VERDICTS = {True: "reached", False: "MISSED", None: "-"}


def cells(criterion, records):
    """Demand, what was found, verdict; empty without a criterion."""
    if criterion is None:
        return ["", "", ""]
    return [criterion.demand(), criterion.found(records),
            VERDICTS[criterion.reached(records)]]


def print_targets(records, out):
    """A line for each target of which anything was measured."""
    measured = [target for target in TARGETS
                if target.at_least.reached(records) is not None]
    if not measured:
        return
    print("\nNumbers to reach: medians (and from where to where the rounds "
          "went); CPU is the ratio of server CPU time per operation\n",
          file=out)
    print_table(["load", "at least", "measured", "", "aim", "measured", ""],
                [[target.title, *cells(target.at_least, records),
                  *cells(target.aim, records)] for target in measured], out)
    verdicts = [target.at_least.reached(records) for target in measured]
    print(f"\n{verdicts.count(True)} of {len(verdicts)} reached at least; "
          f"{len(TARGETS) - len(verdicts)} not measured in this run.",
          file=out)
