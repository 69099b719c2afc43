"""SETs of 50 connections while something else goes on, and without it.

What goes on lasts at least as long as the measurement: checkpoints or dumps
one after the other, or a sweep that has more to remove than it can. There are
no checkpoints but those that are asked for, and each side starts behind one.
"""

import os
import sys
import threading
import time

import servers as fleet
from rig import SIDES, alternate
from talk import Talk, checkpoint

LOAD = ("--connections", "50", "--ratio", "1:0")
NO_CHECKPOINTS = ("-C", "0", "--checkpoint-size=512g")
# More than a sweep removes in a second, and than a client stores.
SWEPT_PER_SECOND = 40000
STORED_PER_SECOND = 30000
SWEEP_SECONDS_MAX = 120


class Repeated:
    """A context: another thread does one thing again and again."""

    def __init__(self, server, action):
        self.server = server
        self.action = action
        self.events = 0
        self.error = None
        self.over = threading.Event()
        self.thread = threading.Thread(target=self.repeat)

    def repeat(self):
        try:
            with Talk(self.server) as talk:
                while not self.over.is_set():
                    self.action(talk)
                    self.events += 1
        except (OSError, RuntimeError) as error:
            self.error = error

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.thread.join()
        if self.error is not None:
            raise RuntimeError(f"while measuring: {self.error}")


class Sweep:
    """A context: many items have just expired and are being removed."""

    def __init__(self, server, items):
        self.server = server
        self.items = items
        self.before = self.engine()
        self.events = 0

    def engine(self):
        with Talk(self.server) as talk:
            return talk.stats("bdb")

    def counted(self, name):
        return int(self.engine()[name]) - int(self.before[name])

    def swept(self):
        return self.counted("swept_expired")

    def wait_until(self, count):
        end = time.monotonic() + SWEEP_SECONDS_MAX
        while self.swept() < count:
            if time.monotonic() > end:
                raise RuntimeError(f"swept only {self.swept()} items")
            time.sleep(0.05)

    def __enter__(self):
        expiry = int(time.time()) + 3 + self.items // STORED_PER_SECOND
        with Talk(self.server) as talk:
            for first in range(0, self.items, 1000):
                talk.send(b"".join(
                    b"set dead-%015d 0 %d 100 noreply\r\n%0100d\r\n"
                    % (number, expiry, number)
                    for number in range(first,
                                        min(first + 1000, self.items))))
            talk.expect("mn", b"MN\r\n")
        # Those that came too late need no sweep.
        self.items -= self.counted("stored_already_expired")
        self.wait_until(1)
        return self

    def __exit__(self, kind, *_):
        self.events = self.swept()
        if self.events >= self.items:
            print("the sweep ended before the measurement", file=sys.stderr)
        if kind is None:
            self.wait_until(self.items)


def disturbances(settings):
    """{scenario: what makes the context of a server}"""
    seconds = settings.seconds * 1.25 + 1
    return {
        "checkpoint": lambda server: Repeated(server, Talk.checkpoint),
        "sweep": lambda server: Sweep(server, int(SWEPT_PER_SECOND * seconds)),
        "metadump": lambda server: Repeated(server, Talk.dump),
    }


class Disturbed:
    def __init__(self, rig):
        self.rig = rig

    def measure(self, server, scenario, side, number, disturb):
        rig = self.rig
        options = [*rig.items(), *LOAD, *rig.timed(number)]
        events = 0
        checkpoint(server)
        os.sync()
        if side == "without":
            result = rig.loadgen(server, options)
        else:
            with disturb(server) as disturbance:
                result = rig.loadgen(server, options)
            events = disturbance.events
        rig.records.keep("pair", scenario=scenario, server=server.name,
                         side=side, round=number, events=events, **result)

    def run(self):
        rig = self.rig
        server = fleet.make("ours-always", rig.home("disturbed"),
                            rig.settings, more=NO_CHECKPOINTS)
        if server is None:
            return
        rig.say("load, to be disturbed")
        rig.start(server)
        rig.fill(server, rig.items())
        for number in range(rig.settings.rounds):
            rig.say(f"disturbed, round {number + 1}")
            for scenario, disturb in disturbances(rig.settings).items():
                for side in alternate(SIDES, number):
                    self.measure(server, scenario, side, number, disturb)
        rig.discard(server)
