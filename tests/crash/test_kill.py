"""kill -9 under load: nothing acknowledged or shown is lost or torn (U35)."""
import random
import time

import pytest

from harness.life import Said
from harness.load import Load


def kill_rounds(server, rounds, **how):
    """Load, kill -9 at a random moment, restart, compare; on the same data."""
    seed = random.randrange(10**6)
    rng = random.Random(seed)
    load = Load(server, seed, **how)
    for _ in range(rounds):
        load.start()
        load.wait_for_acks(rng.randrange(300, 2500))
        time.sleep(rng.random() / 20)  # anywhere in a turn
        server.kill9()
        load.join()
        server.start()
        load.check()


def test_u35_kill_in_a_busy_pipeline(new_server):
    kill_rounds(new_server(), rounds=3)


@pytest.mark.long
def test_u35_kill_in_a_busy_pipeline_often(new_server):
    kill_rounds(new_server(), rounds=30)


def test_kill_with_checkpoints_and_a_small_cache(new_server):
    """The databases are written, and log files removed, all the time."""
    kill_rounds(new_server("-m", "1", "-I", "256k", "-C", "1", "--log-file-size",
                           "1m", "--checkpoint-size", "1m"), rounds=2)


def test_sync_write_survives_the_death_of_the_process(new_server):
    kill_rounds(new_server("--sync=write"), rounds=1)


def test_term_under_load_keeps_what_was_acknowledged(new_server):
    server = new_server()
    load = Load(server, seed=random.randrange(10**6))
    load.start()
    load.wait_for_acks(500)
    said = Said(server)
    status = server.terminate()
    # The disk has a few seconds for what is in flight.
    assert status == 0 or \
        (status == 74 and "cannot be finished" in said.text()), said.text()
    load.join()
    server.start()
    load.check()
