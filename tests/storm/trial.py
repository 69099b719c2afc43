"""One storm on one server: hold it, judge it, and make its recording short."""
import os
import random
import signal
import time

from differential.shrink import shrink
from harness.packet import binary_stats
from harness.wait import wait_until
from storm.attacks import Attacks
from storm.engine import Engine, Recording
from storm.scenes import Stage
from storm.witness import Ascii, Binary, Witness

WIDTH = 40
LOOK_S = 0.2  # between two looks at the server
RELOAD_LOOKS = 5  # between two reloads of files
RSS_SLACK = 6  # a sanitizer keeps what was freed
LOG_LINES = 60
TORN = 50  # counts that `stats reset` took for one half of a pair only
FAILURES = (AssertionError, OSError, EOFError, ValueError)


class Overseer:
    """Looks at the server, and quietens it, while the storm is on."""

    def __init__(self, stage, witnesses, until):
        self.stage = stage
        self.witnesses = witnesses
        self.until = until
        self.next = 0
        self.looks = 0
        self.rss_peak = 0
        slack = RSS_SLACK if os.environ.get("MEMCACHEDB_SAN") else 1
        self.rss_max = stage.scene.rss_max * slack

    def go_on(self):
        """False when the storm is over; complains of what is wrong."""
        now = time.monotonic()
        if now < self.next:
            return True
        self.next = now + LOOK_S
        self.looks += 1
        self._look()
        if self.looks % RELOAD_LOOKS == 0:
            self.stage.server.signal(signal.SIGHUP)
        return now < self.until

    def _look(self):
        server = self.stage.server
        status = server.process.poll()
        assert status is None, f"ended with status {status}"
        rss = server.rss_bytes()
        self.rss_peak = max(self.rss_peak, rss)
        assert rss <= self.rss_max, f"takes {rss} bytes of memory"
        for witness in self.witnesses:
            assert not witness.failure, witness.failure


class Trial:
    """A storm of the scripts of a seed, or of those that are given."""

    def __init__(self, scene, seed, scripts=None, count=None, seconds=None):
        self.scene = scene
        self.seed = seed
        self.scripts = scripts
        self.count = count
        self.seconds = seconds
        self.begun = Recording()
        self.asked = 0  # what the witnesses have
        self.rss_peak = 0

    def _source(self):
        if self.scripts is not None:
            return iter(self.scripts)
        source = iter(Attacks(random.Random(f"storm {self.seed}"), self.scene))
        return source if self.count is None else \
            (next(source) for _ in range(self.count))

    def hold(self):
        """What went wrong, as text; None if nothing did."""
        try:
            stage = Stage(self.scene)
        except FAILURES as failure:
            return f"does not start: {failure}"
        try:
            self._storm(stage)
        except FAILURES as failure:
            log = log_of(stage.server)
            try:
                stage.close()
            except FAILURES:
                pass
            return f"{failure!r}\n{log}"
        try:
            stage.close()
        except FAILURES as failure:
            return f"at its end: {failure!r}"
        return None

    def _storm(self, stage):
        witnesses = [
            Witness(stage.client(speaks), speaks.__name__, self.seed,
                    self.scene.value_max, self.scene.may_lose)
            for speaks in self.scene.witnesses]
        until = time.monotonic() + (self.seconds or 3600)
        overseer = Overseer(stage, witnesses, until)
        engine = Engine(stage.places(), random.Random(f"turns {self.seed}"),
                        WIDTH)
        self.begun = engine.begun
        try:
            engine.run(self._source(), overseer.go_on)
        finally:
            engine.hang_up()
            self.rss_peak = overseer.rss_peak
            for witness in witnesses:
                witness.end()
        self.asked = sum(witness.done for witness in witnesses)
        for witness in witnesses:
            assert not witness.failure, witness.failure
        judge(stage, witnesses)


def log_of(server):
    """Its end, without what anybody may have had traced."""
    return "\n".join(
        [line for line in server.stderr().splitlines()
         if " trace: " not in line and " debug: " not in line][-LOG_LINES:])


# ---- when the wind has gone ------------------------------------------------

def stats_of(client):
    if isinstance(client, Binary):
        return {**binary_stats(client.talk), **binary_stats(client.talk,
                                                            b"bdb")}
    return {**client.talk.stats(), **client.talk.stats("bdb")}


def dump(client):
    """({key: what is told of it} of items that do not expire, count of all)

    Its lines end with LF alone, but for the last one.
    """
    client.talk.send(b"lru_crawler metadump all\r\n")
    client.talk.expect(b"OK\r\n")
    *lines, end = client.talk.line().split(b"\n")
    assert end == b"END", end
    found = {}
    for line in lines:
        words = dict(word.split(b"=", 1) for word in line.split())
        if words[b"exp"] == b"-1":
            found[words[b"key"]] = words[b"cas"], words[b"size"]
    return found, len(lines)


def is_read_empty(udp):
    """No datagram waits: they are read in their order, or dropped."""
    udp.sock.settimeout(1)
    number = udp.send(b"version\r\n")
    try:
        while udp.receive()[0] != number:
            pass  # the answer to one that was given up
    except AssertionError:
        return False
    return True


def is_calm(client):
    """Only we are here, and nothing is done in the background.

    A datagram that was read may wait for a checkpoint, and go on behind it.
    """
    seen = set()
    for _ in range(3):
        stats = stats_of(client)
        if stats["curr_connections"] != "1" or any(
                stats[name] != "0" for name in (
                    "pdelete_running", "pdelete_queued", "compact_running")):
            return False
        seen.add(stats["ops"])
        if isinstance(client, Ascii):
            client.talk.ask(b"db_checkpoint\r\n", b"OK\r\n")
    return len(seen) == 1


def agrees(client):
    """(items,) when those that are counted are those that are shown."""
    before = int(stats_of(client)["curr_items"])
    items, count = dump(client)
    return (items,) if before == count else None


def check_sums(stats):
    for total, parts in {"cmd_get": ("get_hits", "get_misses"),
                         "cmd_touch": ("touch_hits", "touch_misses")}.items():
        counted = sum(int(stats[part]) for part in parts)
        assert abs(int(stats[total]) - counted) <= TORN, f"{total}: {stats}"
    for name in "storage_errors", "malloc_fails":
        assert stats[name] == "0", f"{name}: {stats[name]}"


def compare(before, after, may_lose):
    """The items are those from before the restart, to their cas ids."""
    differ = before.items() ^ after.items()
    if may_lose:  # a flush may have been put off until now
        differ -= before.items()
    assert not differ, f"items differ: {sorted(differ)}"


def judge(stage, witnesses):
    """The server is as if nothing had happened, and so is its data."""
    client = stage.client_afterwards()
    if stage.server.udp_addresses:
        with stage.server.udp() as udp:
            wait_until(lambda: is_read_empty(udp), "datagrams read")
    with client.talk:
        wait_until(lambda: is_calm(client), "all connections gone")
        check_sums(stats_of(client))
        items = None
        if isinstance(client, Ascii):
            items, = wait_until(lambda: agrees(client), "a dump of all items")
    stage.restart_plainly()
    with stage.server.connect() as talk:
        client = Ascii(talk)
        after, = wait_until(lambda: agrees(client), "a dump after the restart")
        if items is not None:
            compare(items, after, stage.scene.may_lose)
        for witness in witnesses:
            witness.check(client)


# ---- when it has failed ----------------------------------------------------

def reduce(scene, seed, scripts, patience_s, tell):
    """As few scripts as still make it fail, and those with few steps."""
    end = time.monotonic() + patience_s

    def fails(some):
        tell(f"  trying {len(some)} scripts, "
             f"{sum(len(script.steps) for script in some)} steps")
        return Trial(scene, seed, scripts=some).hold() is not None

    def left_s():
        return end - time.monotonic()

    scripts = shrink(scripts, fails, left_s())
    for at, script in enumerate(scripts):
        def with_steps(steps):
            return [*scripts[:at], script._replace(steps=steps),
                    *scripts[at + 1:]]
        scripts = with_steps(shrink(
            script.steps, lambda steps: fails(with_steps(steps)), left_s()))
    return scripts
