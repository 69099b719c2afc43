"""Many writers on neighbouring keys while somebody lists them (U42).

Conflicts inside the engine are the server's business: no command fails that
would not fail alone, and the numbers are exact in the end.
"""
import random
import threading

import pytest

from harness.wait import wait_until

CLIENTS, KEYS, NUMBERS, TEXTS = 64, 200, 20, 20


class Client:
    """Counts what it did to keys that all share."""

    def __init__(self, number, rounds):
        self.rng = random.Random(number)
        self.rounds, self.failure = rounds, None
        self.counted = [0] * NUMBERS
        self.appended = [0] * TEXTS
        self.refused = 0

    def change(self):
        """(bytes to send, allowed answers, what to count)"""
        which = self.rng.randrange(4)
        if which == 0:
            at, n = self.rng.randrange(NUMBERS), self.rng.randrange(10)
            return (b"incr key-%03d %d\r\n" % (at, n), (),
                    (self.counted, at, n))
        if which == 1:
            at = self.rng.randrange(TEXTS)
            return (b"append key-%03d 0 0 1\r\nx\r\n" % (NUMBERS + at),
                    (b"STORED",), (self.appended, at, 1))
        at = self.rng.randrange(NUMBERS + TEXTS, KEYS)
        if which == 2:
            return (b"set key-%03d 0 0 50\r\n%s\r\n" % (at, b"y" * 50),
                    (b"STORED",), None)
        return b"delete key-%03d\r\n" % at, (b"DELETED", b"NOT_FOUND"), None

    def run(self, server):
        try:
            with server.connect() as talk:
                for _ in range(self.rounds):
                    changes = [self.change() for _ in range(10)]
                    talk.send(b"".join(change[0] for change in changes))
                    for _, allowed, count in changes:
                        line = talk.line()
                        assert line in allowed or \
                            (not allowed and line.isdigit()), line
                        if count:
                            count[0][count[1]] += count[2]
        except Exception as failure:
            self.failure = failure


class Lister:
    """Walks over all keys, again and again, until it is told to stop."""

    def __init__(self):
        self.stop, self.walks, self.failure = threading.Event(), 0, None

    def run(self, server):
        try:
            with server.connect() as talk:
                while not self.stop.is_set():
                    talk.send(b"stats cachedump 1 0\r\n")
                    while (line := talk.line()) != b"END":
                        assert line.startswith(b"ITEM "), line
                    self.walks += 1
        except Exception as failure:
            self.failure = failure


def contend(server, rounds):
    with server.connect() as talk:
        for i in range(NUMBERS):
            talk.set(b"key-%03d" % i, b"0")
        for i in range(TEXTS):
            talk.set(b"key-%03d" % (NUMBERS + i), b"")
    clients = [Client(number, rounds) for number in range(CLIENTS)]
    lister = Lister()
    threads = [threading.Thread(target=who.run, args=(server,))
               for who in (*clients, lister)]
    threads[-1].start()
    wait_until(lambda: lister.walks or lister.failure, "a walk")
    for thread in threads[:-1]:
        thread.start()
    for thread in threads[:-1]:
        thread.join()
    lister.stop.set()
    threads[-1].join()
    failures = [who.failure for who in (*clients, lister) if who.failure]
    assert not failures, failures[:5]
    with server.connect() as talk:
        for i in range(NUMBERS):
            assert int(talk.get(b"key-%03d" % i)) == \
                sum(client.counted[i] for client in clients)
        for i in range(TEXTS):
            assert len(talk.get(b"key-%03d" % (NUMBERS + i))) == \
                sum(client.appended[i] for client in clients)
        live = sum(talk.get(b"key-%03d" % i) is not None for i in range(KEYS))
        assert int(talk.stats()["curr_items"]) == live


def test_u42_many_writers_on_one_page(new_server):
    contend(new_server("-A", "4096"), rounds=10)


@pytest.mark.long
def test_u42_many_writers_on_one_page_for_long(new_server):
    contend(new_server("-A", "4096"), rounds=1000)
