"""What is measured: one row is one load, the same for every server."""

from dataclasses import dataclass

# One server of each kind, for loads that the sync mode does not change.
MAIN_SERVERS = ("memcached", "redis-always", "ours-always")


@dataclass(frozen=True)
class Row:
    name: str
    title: str
    load: tuple  # options of the load generator
    modes: str = "short"  # when to compare every sync mode, too
    big: bool = False  # uses the large values
    dialect: str = ""  # of memcached's; "": each server's own
    long_only: bool = False  # not in the short form, unless asked for

    def servers(self, servers, short):
        """Those of the servers that this row is measured on."""
        if self.dialect:
            servers = [server for server in servers
                       if server.protocol == "classic"]
        every = self.modes == "short" or (self.modes == "full" and not short)
        return [server for server in servers
                if every or server.name in MAIN_SERVERS]


ROWS = (
    Row("set50", "SET, 50 connections",
        ("--connections", "50", "--ratio", "1:0")),
    Row("set200", "SET, 200 connections",
        ("--connections", "200", "--ratio", "1:0"), "full"),
    Row("get50", "GET, 50 connections",
        ("--connections", "50", "--ratio", "0:1"), "never"),
    Row("mix50", "95 % GET, 5 % SET, 50 connections",
        ("--connections", "50", "--ratio", "5:95"), "full"),
    Row("multiget", "GET of 100 keys, 16 connections",
        ("--connections", "16", "--ratio", "0:1", "--multiget", "100"),
        "never"),
    Row("get-d32", "GET, 32 in flight on each of 16 connections",
        ("--connections", "16", "--depth", "32", "--ratio", "0:1"), "never"),
    Row("set-d32", "SET, 32 in flight on each of 16 connections",
        ("--connections", "16", "--depth", "32", "--ratio", "1:0"), "full"),
    Row("get1", "GET, 1 connection",
        ("--connections", "1", "--ratio", "0:1"), "never"),
    Row("set1", "SET, 1 connection",
        ("--connections", "1", "--ratio", "1:0"), "full"),
    Row("set4k", "SET of 4 KiB, 50 connections",
        ("--connections", "50", "--ratio", "1:0"), "full", big=True),
    Row("get4k", "GET of 4 KiB, 50 connections",
        ("--connections", "50", "--ratio", "0:1"), "never", big=True),
    *(Row(f"{short}-{what}", f"{title}, {dialect}",
          (*load, "--protocol", dialect), "never", dialect=dialect,
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
           "--protocol", dialect), "never", dialect=dialect, long_only=True)
      for short, dialect in (("metaq", "meta-quiet"), ("binq", "binary-quiet"))
      for what, ratio in (("get", "0:1"), ("set", "1:0"))),
)

# Rows whose syncs per set are counted, in a run of their own.
SYNC_ROWS = ("set1", "set50", "set200", "set-d32")


def item_options(settings, big):
    """Key space and value size, for loading and for measuring."""
    if big:
        return ["--key-prefix", "big-", "--keys", str(settings.big_keys),
                "--value-size", "4096"]
    return ["--keys", str(settings.keys), "--value-size", "100"]
