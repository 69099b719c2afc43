"""GETs of 50 connections, with and without thousands of silent ones.

Each of the silent ones has asked once before. What they cost in memory is the
growth of the resident set of the server; the kernel's part is not in it.
"""

import resource
import socket
import struct
import time

import servers as fleet
from rig import SIDES, alternate

LOAD = ("--connections", "50", "--ratio", "0:1")
SPARE = 200
CLOSE_SECONDS_MAX = 60


def raise_descriptor_limit(wanted):
    """Returns how many descriptors there may be; servers inherit it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE,
                           (max(wanted, soft), max(wanted, hard)))
    except (OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return resource.getrlimit(resource.RLIMIT_NOFILE)[0]


class Crowd:
    """A context: so many connections that are silent."""

    def __init__(self, server, count):
        self.server = server
        self.count = count
        self.links = []

    def __enter__(self):
        request, reply = self.server.question("key-" + "0" * 16)
        address = self.server.host, self.server.port
        for _ in range(self.count):
            link = socket.create_connection(address, timeout=10)
            self.links.append(link)
            # Closed without TIME_WAIT: there are few ports for so many.
            link.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                            struct.pack("ii", 1, 0))
            link.sendall(request)
            said = b""
            while not said.endswith(b"END\r\n"):
                got = link.recv(4096)
                if not got:
                    raise RuntimeError("a silent connection was closed")
                said += got
            if not said.startswith(reply):
                raise RuntimeError(f"not an answer: {said!r}")
        return self

    def __exit__(self, *_):
        for link in self.links:
            link.close()


def open_connections(server):
    """As the server counts them, without the one that asks."""
    words = server.ask(b"stats\r\n", b"END\r\n").decode().split()
    return int(words[words.index("curr_connections") + 1]) - 1


class Idle:
    def __init__(self, rig):
        self.rig = rig
        self.count = min(rig.settings.idle, raise_descriptor_limit(
            rig.settings.idle + SPARE) - SPARE)

    def measure(self, server, side, number):
        rig = self.rig
        options = [*rig.items(), *LOAD, *rig.timed(number)]
        before = server.resident_bytes()
        if side == "without":
            result = rig.loadgen(server, options)
            grown = 0
        else:
            alone = open_connections(server)
            with Crowd(server, self.count):
                result = rig.loadgen(server, options)
                grown = server.resident_bytes() - before
            self.wait_until_left(server, alone)
        rig.records.keep("pair", scenario="idle", server=server.name,
                         side=side, round=number, events=self.count,
                         bytes_each=grown / self.count, **result)

    def wait_until_left(self, server, alone):
        end = time.monotonic() + CLOSE_SECONDS_MAX
        while open_connections(server) > alone:
            if time.monotonic() > end:
                raise RuntimeError(f"{server.name}: clients stay")
            time.sleep(0.05)

    def run(self):
        rig = self.rig
        chosen = []
        for name in ("memcached", "ours-always"):
            server = fleet.make(name, rig.home(f"idle-{name}"), rig.settings)
            if server is None:
                continue
            server.connections = self.count + SPARE
            rig.say(f"load {name}, for silent connections")
            rig.start(server)
            rig.fill(server, rig.items())
            rig.loadgen(server, [*rig.items(), *LOAD, *rig.timed(0)])
            chosen.append(server)
        for number in range(rig.settings.rounds):
            rig.say(f"silent connections, round {number + 1}")
            for server in alternate(chosen, number):
                for side in alternate(SIDES, number):
                    self.measure(server, side, number)
        for server in chosen:
            rig.discard(server)
