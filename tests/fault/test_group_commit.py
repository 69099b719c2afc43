"""One sync covers everybody who waits for one (U83).

These are counts: with a sync that takes its time, whoever comes meanwhile
shares the next one.
"""
import threading

from harness.faults import LOGS, SYNC
from harness.wait import wait_until


def set_many(server, clients, sets):
    """Each client sets and waits, so many times, at the same time."""
    failures = []

    def run(number):
        try:
            with server.connect() as talk:
                barrier.wait()
                for i in range(sets):
                    talk.set(b"k%d-%d" % (number, i), b"x" * 100)
        except Exception as failure:
            failures.append(failure)

    barrier = threading.Barrier(clients)
    threads = [threading.Thread(target=run, args=(number,))
               for number in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures, failures


def syncs_per_write(server, faults, clients, sets):
    faults.delay(SYNC, LOGS, ms=10)
    count = faults.count(SYNC, LOGS)
    set_many(server, clients, sets)
    return count.seen / (clients * sets)


def test_u83_many_clients_share_syncs(new_server, faults):
    server = new_server("-C", "0", "-e", "0", env=faults.env)
    assert 0 < syncs_per_write(server, faults, clients=64, sets=12) < 0.1


def test_u83_one_client_has_one_sync_per_write(new_server, faults):
    server = new_server("-C", "0", "-e", "0", env=faults.env)
    assert syncs_per_write(server, faults, clients=1, sets=40) == 1


def test_pipelined_writes_share_syncs(new_server, faults):
    server = new_server("-C", "0", "-e", "0", env=faults.env)
    faults.delay(SYNC, LOGS, ms=10)
    count = faults.count(SYNC, LOGS)
    with server.connect() as talk:
        talk.ask(b"set k 0 0 1\r\n1\r\n" * 1000, b"STORED\r\n" * 1000)
    assert 0 < count.seen < 100


def test_reads_and_refusals_need_no_sync(new_server, faults):
    server = new_server("-C", "0", "-e", "0", env=faults.env)
    with server.connect() as talk:
        talk.set(b"k", b"1")
        count = faults.count(SYNC, LOGS)
        assert talk.get(b"k") == b"1"
        assert talk.get(b"none") is None
        talk.stats()
    assert count.seen == 0


def largest_batch(server, faults, key):
    """Of 100 touches that come while the writer waits for a sync."""
    slow = faults.delay(SYNC, LOGS, ms=1000, every=0)
    with server.connect() as first, server.connect() as then:
        first.send(b"set other 0 0 1\r\n1\r\n")
        wait_until(lambda: slow.hits, "a sync that takes its time")
        then.ask(b"touch %s 0\r\n" % key * 100, b"TOUCHED\r\n" * 100)
        first.expect(b"STORED\r\n")
        return int(then.stats("bdb")["batch_max"])


def test_big_values_make_small_batches(new_server, faults):
    """Readers wait for the pages of a batch, so it must not take long."""
    server = new_server("-C", "0", "-e", "0", env=faults.env)
    with server.connect() as talk:
        talk.set(b"big", b"v" * 200_000)
        talk.set(b"small", b"v")
    assert largest_batch(server, faults, b"big") <= 8
    assert largest_batch(server, faults, b"small") >= 20
