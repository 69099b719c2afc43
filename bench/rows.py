"""What is measured: one row is one load, the same for every server.

The rows are measured in the order of this table, one after the other and
without a rest: a server that has just been written to has to read well, too.
"""

from dataclasses import dataclass

# One server of each kind, for loads that the sync mode does not change.
MAIN_SERVERS = ("memcached", "redis-always", "ours-always")


@dataclass(frozen=True)
class Row:
    name: str
    title: str
    load: tuple  # options of the load generator
    big: bool = False  # uses the large values
    dialect: str = ""  # of memcached's; "": each server's own
    long_only: bool = False  # not in the short form, unless asked for

    @property
    def writes(self):
        return not self.load[self.load.index("--ratio") + 1].startswith("0:")

    @property
    def connections(self):
        return int(self.load[self.load.index("--connections") + 1])

    def share(self, short):
        """Of the length of a measurement. What a write costs at the next
        checkpoint has to be in it; a read costs nothing later."""
        return 0.5 if short and not self.writes else 1.0

    def servers(self, servers):
        """Those of the servers that this row is measured on: reads, and
        other dialects, in one sync mode only."""
        if self.writes and not self.dialect:
            return servers
        return [server for server in servers if server.name in MAIN_SERVERS
                and (server.protocol == "classic" or not self.dialect)]


ROWS = (
    Row("set50", "SET, 50 connections",
        ("--connections", "50", "--ratio", "1:0")),
    Row("set200", "SET, 200 connections",
        ("--connections", "200", "--ratio", "1:0")),
    Row("get50", "GET, 50 connections",
        ("--connections", "50", "--ratio", "0:1")),
    Row("mix50", "95 % GET, 5 % SET, 50 connections",
        ("--connections", "50", "--ratio", "5:95")),
    Row("multiget", "GET of 100 keys, 16 connections",
        ("--connections", "16", "--ratio", "0:1", "--multiget", "100")),
    Row("get-d32", "GET, 32 in flight on each of 16 connections",
        ("--connections", "16", "--depth", "32", "--ratio", "0:1")),
    Row("set-d32", "SET, 32 in flight on each of 16 connections",
        ("--connections", "16", "--depth", "32", "--ratio", "1:0")),
    Row("get1", "GET, 1 connection",
        ("--connections", "1", "--ratio", "0:1")),
    Row("set1", "SET, 1 connection",
        ("--connections", "1", "--ratio", "1:0")),
    Row("set4k", "SET of 4 KiB, 50 connections",
        ("--connections", "50", "--ratio", "1:0"), big=True),
    Row("get4k", "GET of 4 KiB, 50 connections",
        ("--connections", "50", "--ratio", "0:1"), big=True),
    *(Row(f"{short}-{what}", f"{title}, {dialect}",
          (*load, "--protocol", dialect), dialect=dialect,
          long_only=True)
      for short, dialect in (("meta", "meta"), ("bin", "binary"))
      for what, title, load in (
          ("get50", "GET, 50 connections",
           ("--connections", "50", "--ratio", "0:1")),
          ("set50", "SET, 50 connections",
           ("--connections", "50", "--ratio", "1:0")))),
    *(Row(f"{short}-{what}-d32",
          f"{what.upper()}, batches of 32 on 16 connections, {dialect}",
          ("--connections", "16", "--depth", "32", "--ratio", ratio,
           "--protocol", dialect), dialect=dialect, long_only=True)
      for short, dialect in (("metaq", "meta-quiet"), ("binq", "binary-quiet"))
      for what, ratio in (("get", "0:1"), ("set", "1:0"))),
)


def choose(names, short):
    """The rows of these names; without names those of the form."""
    if names:
        known = {row.name for row in ROWS}
        for name in names:
            if name not in known:
                raise ValueError(f"no such row: {name}")
    return [row for row in ROWS if row.name in names or
            not names and not (short and row.long_only)]


def item_options(settings, big):
    """Key space and value size, for loading and for measuring."""
    if big:
        return ["--key-prefix", "big-", "--keys", str(settings.big_keys),
                "--value-size", "4096"]
    return ["--keys", str(settings.keys), "--value-size", "100"]
