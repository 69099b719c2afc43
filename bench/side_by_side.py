"""The rows: every load on every server, in interleaved rounds.

All servers are there at the same time, and all but the measured one stand
still (SIGSTOP): a checkpoint or a rewrite that one of them owes is done, and
paid, in its own time.
"""

import os
import shutil
import signal
import subprocess
import tempfile

import rows as loads
from talk import checkpoint

RAW_SYNC_BYTES = 512
SYNC_EVENTS = "syscalls:sys_enter_fdatasync,syscalls:sys_enter_fsync"
DURABLE = ("redis-always", "ours-always")


class SideBySide:
    def __init__(self, rig, rows, servers):
        self.rig = rig
        self.settings = rig.settings
        self.rows = rows
        self.servers = servers

    def load(self, server):
        """Starts a server and fills it; its memory is read in between."""
        rig = self.rig
        rig.say(f"load {server.name}")
        rig.start(server)
        result = rig.fill(server, rig.items())
        resident = server.resident_bytes()
        if server.name.startswith("ours-"):
            checkpoint(server)  # so that the data are where they belong
        rig.records.keep("load", server=server.name, resident_bytes=resident,
                         **server.disk_bytes(), **result)
        if any(row.big for row in self.rows):
            rig.fill(server, loads.item_options(self.settings, True), depth=4)
            if server.name.startswith("ours-"):
                checkpoint(server)  # the rows pay for their own ones
        server.pause()

    def options_of(self, row):
        return [*loads.item_options(self.settings, row.big), *row.load]

    def measure(self, row, server, number):
        # What the others left to be written must not be paid by this one.
        os.sync()
        server.resume()
        result = self.rig.loadgen(server, [
            *self.options_of(row),
            *self.rig.timed(number, row.share(self.settings.short))])
        server.pause()
        self.rig.records.keep("result", row=row.name, server=server.name,
                              round=number, **server.disk_bytes(), **result)

    def measure_disk(self):
        os.sync()
        self.rig.records.keep("disk", **self.rig.run_program(
            ["--raw-sync", self.rig.folder, "--requests", "1000",
             "--value-size", str(RAW_SYNC_BYTES)]))

    def run_round(self, number):
        self.rig.say(f"round {number + 1} of {self.settings.rounds}")
        self.measure_disk()
        for row in self.rows:
            chosen = row.servers(self.servers)
            first = number % max(len(chosen), 1)
            for server in chosen[first:] + chosen[:first]:
                self.measure(row, server, number)

    def count_syncs(self, row, server):
        """Counts the sync calls of one short run, with perf."""
        os.sync()
        server.resume()
        with tempfile.NamedTemporaryFile("r", dir=self.rig.folder) as counts:
            result = self.rig.loadgen(
                server, [*self.options_of(row), "--seconds", "0.5"],
                ["perf", "stat", "-x", ",", "-o", counts.name, "-e",
                 SYNC_EVENTS, "-p", str(server.pid), "--"])
            fields = [line.split(",")[0] for line in counts
                      if "sys_enter" in line]
        server.pause()
        self.rig.records.keep(
            "syncs", row=row.name, server=server.name, sets=result["sets"],
            syncs=sum(int(field) for field in fields if field.isdigit()))

    def count_all_syncs(self):
        if not can_count_syncs():
            self.rig.say("syncs are not counted: perf sees no system calls")
            return
        for row in self.rows:
            for server in row.servers(self.servers):
                if row.writes and server.name in DURABLE:
                    self.count_syncs(row, server)

    def restart(self, server):
        """Times a clean stop and start, and a start after a kill."""
        rig = self.rig
        rig.say(f"restart {server.name}")
        question = server.question("key-" + "0" * 16)
        server.resume()
        server.tidy()
        times = {"stop_s": server.stop()}
        times["clean_start_s"] = server.start(question)
        rig.loadgen(server, [*rig.items(), "--ratio", "1:0",
                             "--seconds", "1"])
        server.stop(signal.SIGKILL)
        times["kill_start_s"] = server.start(question)
        rig.records.keep("restart", server=server.name, **times)
        server.pause()

    def run(self):
        for server in self.servers:
            self.load(server)
        for number in range(self.settings.rounds):
            self.run_round(number)
        self.count_all_syncs()
        for server in self.servers:
            if server.name in DURABLE:
                self.restart(server)
        for server in self.servers:
            self.rig.discard(server)


def can_count_syncs():
    if shutil.which("perf") is None:
        return False
    return subprocess.run(["perf", "stat", "-e", SYNC_EVENTS, "true"],
                          capture_output=True, check=False).returncode == 0
