"""Jobs of the database that cannot be done are not answered OK."""
import errno

import pytest

from harness.faults import BEGIN, DATA, LOGS, REMOVE, SYNC, WRITE
from harness.wait import wait_until

FAILURE = b"SERVER_ERROR storage failure\r\n"


def start(new_server, faults, *options):
    server = new_server("-C", "0", "-e", "0", "--log-file-size=1m", *options,
                        env=faults.env)
    with server.connect() as talk:
        for i in range(40):
            talk.set(b"k%d" % i, b"v" * 50000)
    return server


@pytest.mark.parametrize("error", [errno.EIO, errno.ENOSPC])
def test_checkpoint_that_cannot_write(new_server, faults, error):
    """The data are safe in the log; the next one may succeed."""
    server = start(new_server, faults)
    rule = faults.fail(WRITE, DATA, error, every=1)
    with server.connect() as talk:
        talk.ask(b"db_checkpoint\r\n", FAILURE)
        assert rule.hits > 0
        faults.clear()
        talk.ask(b"db_checkpoint\r\n", b"OK\r\n")
        assert talk.get(b"k39") == b"v" * 50000


@pytest.mark.parametrize("fails", [False, True])
def test_checkpoint_is_written_bit_by_bit(new_server, faults, fails):
    """The sync at its end finds few pages, so the log's need not wait; if
    that cannot be had, it has more to do."""
    server = start(new_server, faults)
    rule = faults.fail(BEGIN, DATA, errno.ENOSYS, every=1) if fails \
        else faults.count(BEGIN, DATA)
    syncs = faults.count(SYNC, DATA)
    with server.connect() as talk:
        talk.ask(b"db_checkpoint\r\n", b"OK\r\n")
    # 40 values of 50,000 bytes are 500 pages; 32 are one portion.
    assert rule.seen >= 500 // 32
    assert syncs.seen == 1


def test_archive_that_cannot_remove(new_server, faults):
    server = start(new_server, faults, "--keep-logs")
    rule = faults.fail(REMOVE, LOGS, errno.EROFS, every=1)
    with server.connect() as talk:
        talk.ask(b"db_checkpoint\r\n", b"OK\r\n")
        talk.ask(b"db_archive\r\n", FAILURE)
        assert rule.hits > 0
        faults.clear()
        talk.ask(b"db_archive\r\n", b"OK\r\n")


def test_checkpoint_that_cannot_sync_ends_the_server(new_server, faults):
    """As any sync that fails: what it leaves behind is not known."""
    server = start(new_server, faults)
    faults.fail(SYNC, DATA, errno.EIO, every=1)
    with server.connect() as talk:
        talk.send(b"db_checkpoint\r\n")
        # It may still be told, or the end may come first.
        assert talk.line_or_close() in (FAILURE.rstrip(), None)
    assert server.wait() == 74
    faults.clear()
    server.start()
    with server.connect() as talk:
        assert talk.stats()["curr_items"] == "40"


def test_compact_on_a_full_disk(new_server, faults):
    server = start(new_server, faults)
    with server.connect() as talk:
        faults.free_bytes = 63 << 20  # a little below the reserve
        wait_until(lambda: refused(talk), "the store knows")
        talk.ask(b"db_compact\r\n", b"OK\r\n")
        wait_until(lambda: talk.stats("bdb")["compact_failed"] == "1",
                   "it has failed")
        talk.ask(b"pdelete k\r\n", b"OK\r\n")  # gives space
        wait_until(lambda: talk.stats("bdb")["pdelete_done"] == "1",
                   "it is done")
        assert talk.stats()["curr_items"] == "0"


def refused(talk):
    talk.send(b"set k40 0 0 1\r\n1\r\n")
    return talk.line() == b"SERVER_ERROR out of memory storing object"
