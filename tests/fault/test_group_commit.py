"""One sync covers everybody who waits for one (U83).

These are counts. A change that is alone is synced by the writer itself: while
that sync is held, everybody else's changes come and wait in the queue. So it is
known which of them may share the next one.
"""
from contextlib import ExitStack, contextmanager

from harness.faults import LOGS, SYNC

OPTIONS = ["-C", "0", "-e", "0"]
# So many changes of others there are in one transaction.
BATCH = 128


@contextmanager
def held_writer(server, faults):
    """The writer waits for a sync. Gives a function that waits until so many
    changes have come meanwhile, then lets it go on.

    The server is to be a new one: no sync was wanted but by lone changes.
    """
    held = faults.hold(SYNC, LOGS)
    with server.connect() as first:
        first.send(b"set first 0 0 1\r\n1\r\n")
        held.wait("the sync of the first change")

        def go_on(changes):
            server.wait_for_queue(changes)
            held.off()
            first.expect(b"STORED\r\n")
        yield go_on


def test_u83_many_clients_share_a_sync(new_server, faults):
    server = new_server(*OPTIONS, env=faults.env)
    count = faults.count(SYNC, LOGS)
    with ExitStack() as stack:
        clients = [stack.enter_context(server.connect()) for _ in range(64)]
        with held_writer(server, faults) as go_on:
            for number, client in enumerate(clients):
                client.send(b"set k%d 0 0 1\r\n1\r\n" % number)
            go_on(len(clients))
            for client in clients:
                client.expect(b"STORED\r\n")
    assert count.seen == 2


def test_u83_one_client_has_one_sync_per_write(new_server, faults):
    server = new_server(*OPTIONS, env=faults.env)
    count = faults.count(SYNC, LOGS)
    with server.connect() as talk:
        for number in range(40):
            talk.set(b"k%d" % number, b"x" * 100)
    assert count.seen == 40


def test_pipelined_writes_share_syncs(new_server, faults):
    server = new_server(*OPTIONS, env=faults.env)
    count = faults.count(SYNC, LOGS)
    with server.connect() as talk, held_writer(server, faults) as go_on:
        talk.send(b"set k 0 0 1\r\n1\r\n" * 1000)
        go_on(1000)
        talk.expect(b"STORED\r\n" * 1000)
    assert 2 <= count.seen <= 1 + -(-1000 // BATCH)


def test_reads_and_refusals_need_no_sync(new_server, faults):
    server = new_server(*OPTIONS, env=faults.env)
    with server.connect() as talk:
        talk.set(b"k", b"1")
        count = faults.count(SYNC, LOGS)
        assert talk.get(b"k") == b"1"
        assert talk.get(b"none") is None
        talk.stats()
    assert count.seen == 0


def largest_batch(new_server, faults, value):
    """Of 100 touches of such a value that wait together."""
    server = new_server(*OPTIONS, env=faults.env)
    with server.connect() as talk:
        talk.set(b"k", value)
        with held_writer(server, faults) as go_on:
            talk.send(b"touch k 0\r\n" * 100)
            go_on(100)
            talk.expect(b"TOUCHED\r\n" * 100)
        return int(talk.stats("bdb")["batch_max"])


def test_big_values_make_small_batches(new_server, faults):
    """Readers wait for the pages of a batch, so it must not take long."""
    assert largest_batch(new_server, faults, b"v" * 200_000) <= 8
    assert largest_batch(new_server, faults, b"v") == 100
