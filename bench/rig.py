"""What every part of a comparison needs: the settings, a directory, records,
and runs of the load generator."""

import json
import os
import subprocess
import sys

RUN_SECONDS_MAX = 600
SIDES = ("without", "with")  # of a pair


class Rig:
    def __init__(self, settings, folder, records):
        self.settings = settings
        self.folder = folder
        self.records = records
        self.running = []  # servers, to be ended whatever happens

    def home(self, name):
        return os.path.join(self.folder, name)

    def say(self, text):
        print(text, file=sys.stderr, flush=True)

    def start(self, server):
        """Starts a server that close() will end."""
        self.running.append(server)
        server.start()

    def discard(self, server):
        """Ends a server and removes what it has stored."""
        server.kill()
        server.remove()

    def close(self):
        """Ends what a part has started, and removes what is left of it."""
        for server in self.running:
            self.discard(server)
        self.running.clear()

    def run_program(self, arguments, wrapper=()):
        """One run of the load generator; returns what it reports."""
        command = [*wrapper, self.settings.loadgen, *arguments]
        run = subprocess.run(command, text=True, capture_output=True,
                             timeout=RUN_SECONDS_MAX, check=False)
        if run.returncode != 0:
            self.say(run.stderr.strip())
        if not run.stdout.startswith("{"):
            raise RuntimeError(f"no result: {' '.join(command)}")
        return json.loads(run.stdout)

    def loadgen(self, server, options, wrapper=()):
        """A run against a server. Later options win."""
        return self.run_program(
            ["--host", server.host, "--port", str(server.port), "--protocol",
             server.protocol, "--server-pid", str(server.pid), *options],
            wrapper)

    def items(self):
        """Options: the items of most loads."""
        return ["--keys", str(self.settings.keys), "--value-size", "100"]

    def fill(self, server, items, depth=32):
        """Stores each item once, in no order."""
        result = self.loadgen(server, [*items, "--load", "shuffled",
                                       "--connections", "16",
                                       "--depth", str(depth)])
        if result["errors"]:
            raise RuntimeError(f"{server.name}: not all items were stored")
        return result

    def timed(self, number, share=1.0):
        """Options of a measurement: its length, its warm-up, its seed."""
        seconds = self.settings.seconds * share
        return ["--seconds", str(seconds), "--warmup", str(seconds / 4),
                "--seed", str(number + 1), "--verify"]


def alternate(sides, number):
    """Them, the other way round in every second round."""
    return sides if number % 2 == 0 else sides[::-1]
