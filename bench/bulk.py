"""Bulk load: all items once, in no order, by pipelined quiet commands.

Each run has a fresh server. The answer to the barrier behind a batch comes
when the batch is done, so what is measured is on disk.
"""

import os

import servers as fleet
from talk import Talk, checkpoint

# (server, protocol): what has no quiet form answers everything.
LOADS = (
    ("ours-always", "meta-quiet"),
    ("ours-always", "binary-quiet"),
    ("ours-always", "classic-quiet"),
    ("redis-always", "redis"),
)
ROUNDS_MAX = 3
BATCH = 128
CONNECTIONS = 16


class Bulk:
    def __init__(self, rig):
        self.rig = rig

    def load(self, name, protocol, number):
        rig = self.rig
        server = fleet.make(name, rig.home(f"bulk-{name}"), rig.settings)
        if server is None:
            return
        os.sync()
        rig.start(server)
        result = rig.loadgen(server, [
            *rig.items(), "--load", "shuffled", "--connections",
            str(CONNECTIONS), "--depth", str(BATCH), "--protocol", protocol])
        logs = server.disk_bytes()["log_bytes"]
        if name.startswith("ours-"):
            # A store that is not answered may fail in silence.
            with Talk(server) as talk:
                items = int(talk.stats()["curr_items"])
            if items != rig.settings.keys:
                raise RuntimeError(f"{protocol}: {items} items were stored")
            checkpoint(server)
        rig.records.keep("bulk", server=name, round=number, **result,
                         data_bytes=server.disk_bytes()["data_bytes"],
                         log_bytes=logs)
        rig.discard(server)

    def run(self):
        for number in range(min(self.rig.settings.rounds, ROUNDS_MAX)):
            self.rig.say(f"bulk load, round {number + 1}")
            first = number % len(LOADS)
            for name, protocol in LOADS[first:] + LOADS[:first]:
                self.load(name, protocol, number)
