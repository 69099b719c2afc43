"""Crashes and power cuts while the database is compacted and walked.

Compactions move items between pages and give pages back; checkpoints and
archives write pages and remove logs. None of it may cost an acknowledged
change, or bring one back.
"""
import random
import threading

import pytest

from harness.faults import ANY_FILE, SYNC, Faults, cut_power
from harness.load import Gone, Load, connect
from harness.wait import DEADLINE_S, wait_until

OPTIONS = ["-m", "1", "-I", "64k", "--log-file-size", "1m",
           "--checkpoint-size", "1m", "-C", "0"]
ANSWERS = (b"OK", b"BUSY this is under way already",
           b"SERVER_ERROR not possible in a hash")
JOBS = b"db_compact\r\n", b"db_checkpoint\r\n", b"db_archive\r\n"


class Jobs:
    """A client that asks for one job after the other until it is cut off."""

    def __init__(self, server):
        self.address = server.addresses[0]
        self.asked = 0
        self.failures = []
        self.thread = threading.Thread(target=self._run)
        self.thread.start()

    def _run(self):
        try:
            with connect(self.address) as talk:
                while True:
                    talk.send(random.choice(JOBS))
                    answer = talk.line()
                    assert answer in ANSWERS, answer
                    self.asked += 1
                    talk.send(b"lru_crawler mgdump all\r\n")
                    while talk.line() != b"EN":
                        pass
        except (Gone, EOFError):
            pass
        except Exception as failure:
            self.failures.append(failure)

    def has_asked(self):
        assert self.thread.is_alive(), self.failures
        return self.asked

    def join(self):
        self.thread.join(DEADLINE_S)
        assert not self.thread.is_alive()
        assert not self.failures, self.failures[0]


def crash_rounds(server, seed, rounds, after_kill):
    rng = random.Random(seed)
    load = Load(server, seed, largest=20_000)
    for _ in range(rounds):
        jobs = Jobs(server)
        load.start()
        load.wait_for_acks(rng.randrange(300, 1200))
        wait_until(jobs.has_asked, "a job")
        server.kill9()
        load.join()
        jobs.join()
        after_kill()
        server.start()
        load.check()


@pytest.mark.parametrize("method", [
    "btree", pytest.param("hash", marks=pytest.mark.long)])
def test_kill(new_server, method):
    server = new_server("-B", method, *OPTIONS)
    crash_rounds(server, random.randrange(10**6), 2, lambda: None)


@pytest.mark.parametrize("method", [
    "btree", pytest.param("hash", marks=pytest.mark.long)])
def test_power_cut(new_server, tmp_path, method):
    faults = Faults(tmp_path, undo=True)
    server = new_server("-B", method, *OPTIONS, env=faults.env)
    faults.delay(SYNC, ANY_FILE, ms=3)
    parts = iter([None, random.randrange(10**6)])
    crash_rounds(server, random.randrange(10**6), 2,
                 lambda: cut_power(faults, server, next(parts)))
