"""Data of ten times the cache, against the same data all in the cache.

The data are made once and copied, so both sides begin with the same pages,
and lie in the page cache of the kernel. Popularity follows Zipf's law with
exponent 1.05: of four million keys the hottest tenth gets 90 % of the
requests. The hottest hundredth are the hot keys, with latencies of their own.
"""

import os
import shutil

import servers as fleet
from rig import SIDES, alternate

ZIPF = "zipf:1.05"
LOAD = ("--connections", "32", "--ratio", "1:9", "--distribution", ZIPF)
TIMES_KEYS = 4  # of --keys
CACHE_MB = 64  # for a million --keys
CACHE_MB_MIN = 8
ALL_CACHED_TIMES = 40  # the small cache
READ_ALL = ("--connections", "16", "--ratio", "0:1", "--multiget", "100")


class Cold:
    def __init__(self, rig):
        self.rig = rig
        self.keys = TIMES_KEYS * rig.settings.keys
        self.items = ["--keys", str(self.keys), "--value-size", "100"]
        self.cache = max(CACHE_MB_MIN, CACHE_MB * rig.settings.keys // 10**6)

    def make(self, side, cache):
        return fleet.make("ours-always", self.rig.home(f"cold-{side}"),
                          self.rig.settings, cache=cache)

    def prepare(self):
        """{side: server}; empty if there is no program."""
        rig = self.rig
        whole = self.make("without", ALL_CACHED_TIMES * self.cache)
        part = self.make("with", self.cache)
        if whole is None or part is None:
            return {}
        rig.say(f"load {self.keys} items, ten times the cache")
        rig.start(whole)
        rig.fill(whole, self.items)
        whole.stop()
        shutil.copytree(whole.home, part.home)
        os.sync()
        for server in (whole, part):
            rig.start(server)
            # A few items of almost every page.
            rig.loadgen(server, [*self.items, *READ_ALL,
                                 "--requests", str(self.keys // 400 + 16)])
        return {"without": whole, "with": part}

    def measure(self, server, number):
        os.sync()
        return self.rig.loadgen(server, [
            *self.items, *LOAD, "--hot", str(self.keys // 100),
            *self.rig.timed(number)])

    def run(self):
        rig = self.rig
        servers = self.prepare()
        if not servers:
            return
        for server in servers.values():
            self.measure(server, rig.settings.rounds)  # the hot keys come in
        for number in range(rig.settings.rounds):
            rig.say(f"ten times the cache, round {number + 1}")
            for side in alternate(SIDES, number):
                server = servers[side]
                result = self.measure(server, number)
                rig.records.keep(
                    "pair", scenario="cold", server=server.name, side=side,
                    round=number, cache_mb=server.cache,
                    **server.disk_bytes(), **result)
        for server in servers.values():
            rig.discard(server)
