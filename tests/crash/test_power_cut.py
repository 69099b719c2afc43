"""Power cuts: what no fdatasync has covered is taken back (U35, promise 8).

The preload library remembers every change of the store's files since the last
sync of that file. After the server is killed in the middle of its work they
are undone: all of them, or a random part with log writes that end in their
middle. Syncs are slow here, so that readers meet changes that are not durable
yet. The last cut comes while a sync of the log is held: there is something to
lose.
"""
import random

import pytest

from harness.faults import ANY_FILE, LOGS, SYNC, Faults, cut_power
from harness.load import Load

# A cache that is too small, and checkpoints, so that pages of the databases
# are written and synced while the load runs.
OPTIONS = ["-m", "1", "-I", "64k", "--checkpoint-size", "1m",
           "--log-file-size", "1m", "-C", "1"]


def cut_rounds(new_server, tmp_path, parts, *options):
    """One power cut for each of parts: None takes back all, a number some."""
    seed = random.randrange(10**6)
    rng = random.Random(seed)
    faults = Faults(tmp_path, undo=True)
    server = new_server(*options)
    load = Load(server, seed, largest=20_000)
    server.terminate()
    server.env = faults.env
    faults.delay(SYNC, ANY_FILE, ms=5)
    server.start()
    for number, part in enumerate(parts, 1):
        load.start()
        load.wait_for_acks(rng.randrange(200, 1500))
        held = faults.hold(SYNC, LOGS) if number == len(parts) else None
        if held:
            held.wait("a sync of the log")
        server.kill9()
        load.join()
        unsynced = cut_power(faults, server, part)
        assert unsynced > 0 or not held
        if held:
            held.off()
        server.start()
        load.check()


def test_power_cut_loses_all_unsynced_writes(new_server, tmp_path):
    cut_rounds(new_server, tmp_path, [None, None], *OPTIONS)


def test_power_cut_keeps_a_part_of_the_writes(new_server, tmp_path):
    cut_rounds(new_server, tmp_path, [random.randrange(10**6)] * 2, *OPTIONS)


@pytest.mark.long
def test_power_cut_often(new_server, tmp_path):
    parts = [random.choice((None, random.randrange(10**6)))
             for _ in range(20)]
    cut_rounds(new_server, tmp_path, parts, *OPTIONS)
