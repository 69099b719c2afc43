"""A disk that fails while the server runs (U39).

After a failed sync nobody knows what is on the disk: nothing is acknowledged
any more, one line says why, the process ends with status 74 (EX_IOERR), and
the next start recovers everything that was acknowledged.
"""
import errno
import random
import signal

import pytest

from harness.faults import DATA, LOGS, SYNC, WRITE
from harness.life import Said
from harness.load import Gone, Load, connect
from harness.wait import wait_until

IO_ERROR = 74
# No checkpoint by time: the only syncs are those of the writes.
OPTIONS = ["-C", "0", "-e", "0"]


def ends_with_io_error(server, said, reasons=(1,)):
    assert server.wait() == IO_ERROR, server.stderr()
    lines = said.lines()
    assert said.is_brief(), lines
    assert sum("error: stopping" in line for line in lines) in reasons, lines


@pytest.mark.parametrize("nth", [1, 2, 9])
def test_u39_failed_sync_is_never_acknowledged(new_server, faults, nth):
    server = new_server(*OPTIONS, env=faults.env)
    said = Said(server)
    with connect(server.addresses[0]) as talk, server.connect() as idle:
        idle.expect_silence()
        rule = faults.fail(SYNC, LOGS, errno.EIO, first=nth)
        for i in range(1, nth):
            talk.set(b"k%d" % i, b"%d" % i)
        talk.send(b"set k%d 0 0 1\r\n1\r\nset later 0 0 1\r\n1\r\n" % nth)
        with pytest.raises(Gone):
            while True:  # an error may come, then the end
                assert talk.line().startswith(b"SERVER_ERROR")
        ends_with_io_error(server, said)
        idle.expect_close()
    assert rule.hits == 1
    faults.clear()
    server.start()
    with server.connect() as talk:
        for i in range(1, nth):
            assert talk.get(b"k%d" % i) == b"%d" % i
        talk.set(b"again", b"1")


@pytest.mark.parametrize("calls,files,error", [
    (SYNC, LOGS, errno.EIO),
    (SYNC, LOGS, errno.ENOSPC),
    (SYNC, LOGS, errno.EDQUOT),
    (WRITE, LOGS, errno.EIO),
    (SYNC, DATA, errno.EIO),
], ids=["log-sync-EIO", "log-sync-ENOSPC", "log-sync-EDQUOT", "log-write-EIO",
        "data-sync-EIO"])
def test_u39_failure_under_load(new_server, faults, calls, files, error):
    seed = random.randrange(10**6)
    options = ["-C", "1"] if files == DATA else OPTIONS
    server = new_server(*options, env=faults.env)
    load = Load(server, seed, largest=20_000)
    load.start()
    load.wait_for_acks(300)
    said = Said(server)
    # Berkeley DB tries a write again; a sync that failed is final.
    faults.fail(calls, files, error, first=3, every=int(calls == WRITE))
    ends_with_io_error(server, said)
    load.join()
    faults.clear()
    server.start()
    load.check()


def test_u39_sync_fails_while_the_server_stops(new_server, faults):
    server = new_server(*OPTIONS, env=faults.env)
    said = Said(server)
    with connect(server.addresses[0]) as talk:
        talk.set(b"k", b"1")
        held = faults.hold(SYNC, LOGS)
        faults.fail(SYNC, LOGS, errno.EIO)
        talk.send(b"set k 0 0 1\r\n2\r\n")
        held.wait("the sync")
        server.signal(signal.SIGTERM)
        wait_until(lambda: "stopping" in said.text(), "the stop")
        held.off()
        with pytest.raises(Gone):
            talk.line()
    # A stop does not wait for ever, and says so.
    ends_with_io_error(server, said, reasons=(1, 2))
    faults.clear()
    server.start()
    with server.connect() as talk:
        assert talk.get(b"k") in (b"1", b"2")


def test_interrupted_calls_are_no_failure(new_server, faults):
    server = new_server(*OPTIONS, env=faults.env)
    load = Load(server, random.randrange(10**6), largest=20_000)
    faults.fail(SYNC, LOGS, errno.EINTR, first=2, every=3)
    faults.shorten(WRITE, LOGS, first=2, every=3)
    load.start()
    load.wait_for_acks(1000)
    server.kill9()
    load.join()
    faults.clear()
    server.start()
    load.check()
