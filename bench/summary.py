"""Medians of the rounds, and ratios of one server to another.

A ratio is taken within each round, where both sides ran one after the other,
and the median of these is what counts: it moves less than the machine does.
"""

from dataclasses import dataclass
from statistics import median


@dataclass(frozen=True)
class Measure:
    """A median, and the lowest and the highest of what it is made from."""
    value: float
    low: float
    high: float

    @property
    def spread(self):
        return (self.high - self.low) / self.value if self.value else 0.0


def measure(values):
    """The Measure of these; None if there are none."""
    values = list(values)
    if not values:
        return None
    return Measure(median(values), min(values), max(values))


def by_round(records, get):
    """{round: value}, records without a value left out."""
    values = {record["round"]: get(record) for record in records}
    return {number: value for number, value in values.items()
            if value is not None}


def ratio(mine, others, get):
    """The Measure of get(mine) / get(other) of each round; None without."""
    above, below = by_round(mine, get), by_round(others, get)
    return measure(above[number] / below[number] for number in above
                   if below.get(number))


def rate(record):
    return record["ops_per_s"]


def server_cpu(record):
    return record.get("server_cpu_us_per_op")


def latency(point, of="latency_us"):
    """What takes this percentile out of a record."""
    def get(record):
        return record.get(of, {}).get(point)
    return get


class Rows:
    """The loads that were measured on every server."""

    def __init__(self, records):
        self.cells = {}
        for record in records.of("result"):
            key = record["row"], record["server"]
            self.cells.setdefault(key, []).append(record)

    def servers(self, row):
        return [server for name, server in self.cells if name == row]

    def rounds(self, row, server):
        return self.cells.get((row, server), [])

    def measure(self, row, server, get):
        return measure(by_round(self.rounds(row, server), get).values())

    def ratio(self, row, server, other, get, other_row=None):
        return ratio(self.rounds(row, server),
                     self.rounds(other_row or row, other), get)

    def total(self, row, server, field):
        return sum(record[field] for record in self.rounds(row, server))


def pair_ratio(records, scenario, server, get):
    """With the disturbance against without it, the Measure of all rounds."""
    return ratio(records.of("pair", scenario=scenario, server=server,
                            side="with"),
                 records.of("pair", scenario=scenario, server=server,
                            side="without"), get)


def longest_stall_us(records, scenario, server, side="with"):
    """The slowest of all answers of all rounds; None without any."""
    return max((record["latency_us"]["max"] for record in
                records.of("pair", scenario=scenario, server=server,
                           side=side)), default=None)


def sets_per_sync(record):
    return record["sets"] / record["syncs"] if record["syncs"] else None


def latency_floor_us(records, how="append"):
    """What a durable set of one connection must pay: a write that appends (or
    "overwrite"s), its sync, and a round trip, as a get of memcached has. None
    if unknown."""
    disk = measure(disk[f"{how}_us"]["p50"] for disk in records.of("disk"))
    trip = Rows(records).measure("get1", "memcached", latency("p50"))
    return disk.value + trip.value if disk and trip else None
