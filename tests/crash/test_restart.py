"""What a crash must not change: expiry times, flushes, cas ids, the bound of
the log; and crashes while a store is made, or is recovered (U37, U81)."""
import contextlib
import random
import shutil
import time

import pytest

from harness.faults import ANY_CALL, ANY_FILE, DATA, SYNC
from harness.life import Said, try_start
from harness.wait import expire_wait, wait_until, within


def crash(server):
    server.kill9()
    server.start()


# ---- expiry -------------------------------------------------------------

def store_and_touch(talk):
    talk.set(b"made-longer", b"1", exptime=2)
    talk.ask(b"touch made-longer 1000\r\n", b"TOUCHED\r\n")


def test_expiry_goes_on_over_a_crash(new_server):
    server = new_server()
    with server.connect() as talk:
        talk.set(b"short", b"1", exptime=2)
        talk.set(b"long", b"1", exptime=1000)
        talk.set(b"for-ever", b"1")
        within(2, lambda: store_and_touch(talk))
        talk.set(b"made-shorter", b"1", exptime=1000)
        talk.ask(b"gat 2 made-shorter\r\n",
                 b"VALUE made-shorter 0 1\r\n1\r\nEND\r\n")
    server.kill9()
    expire_wait(2)  # it counts while the server is down
    server.start()
    with server.connect() as talk:
        talk.ask(b"get short long for-ever made-longer made-shorter\r\n",
                 b"VALUE long 0 1\r\n1\r\nVALUE for-ever 0 1\r\n1\r\n"
                 b"VALUE made-longer 0 1\r\n1\r\nEND\r\n")


def test_expiry_is_not_early_after_a_crash(new_server):
    server = new_server()
    stored = time.time()
    with server.connect() as talk:
        talk.set(b"k", b"1", exptime=4)
    crash(server)
    with server.connect() as talk:
        def gone():
            found = talk.get(b"k")
            assert found or time.time() >= stored + 4, "expired too early"
            return not found
        wait_until(gone, "the expiry")


# ---- flush_all ----------------------------------------------------------

def test_flush_is_durable_when_it_is_answered(new_server):
    server = new_server()
    with server.connect() as talk:
        for i in range(100):
            talk.set(b"k%d" % i, b"1")
        talk.ask(b"flush_all\r\n", b"OK\r\n")
    crash(server)
    with server.connect() as talk:
        assert not any(talk.get(b"k%d" % i) for i in range(100))
        assert talk.stats()["curr_items"] == "0"
        talk.set(b"k0", b"2")
    crash(server)
    with server.connect() as talk:
        assert talk.get(b"k0") == b"2" and talk.get(b"k1") is None


def test_delayed_flush_survives_a_crash(new_server):
    server = new_server()
    with server.connect() as talk:
        talk.set(b"old", b"1")
        asked = time.time()
        talk.ask(b"flush_all 4\r\n", b"OK\r\n")
    crash(server)
    with server.connect() as talk:
        def gone():
            found = talk.get(b"old")
            assert found or time.time() >= asked + 4, "flushed too early"
            return not found
        wait_until(gone, "the delayed flush")
        talk.set(b"new", b"2")
    crash(server)
    with server.connect() as talk:
        assert talk.get(b"old") is None and talk.get(b"new") == b"2"


def test_delayed_flush_falls_due_while_the_server_is_down(new_server):
    server = new_server()
    with server.connect() as talk:
        talk.set(b"old", b"1")
        talk.ask(b"flush_all 1\r\n", b"OK\r\n")
    server.kill9()
    expire_wait(1)
    server.start()
    with server.connect() as talk:
        assert talk.get(b"old") is None
        talk.set(b"new", b"2")
        assert talk.get(b"new") == b"2"
    crash(server)
    with server.connect() as talk:
        assert talk.get(b"old") is None and talk.get(b"new") == b"2"


# ---- cas ids ------------------------------------------------------------

def test_cas_ids_never_repeat(new_server):
    server = new_server()
    last = 0
    for end in server.kill9, server.terminate, server.kill9:
        with server.connect() as talk:
            for key in b"a", b"b", b"a":
                talk.set(key, b"1")
                assert talk.cas_id(key) > last
                last = talk.cas_id(key)
            talk.ask(b"delete a\r\n", b"DELETED\r\n")
        end()
        server.start()
    with server.connect() as talk:
        talk.ask(b"add a 0 0 1\r\n1\r\n", b"STORED\r\n")
        assert talk.cas_id(b"a") > last


# ---- crashes while a store is made --------------------------------------

def kill_while_creating(server, faults, moments):
    """Returns how many of the moments came before the store was ready."""
    server.terminate()
    died = 0
    for moment in moments:
        shutil.rmtree(server.home)
        faults.kill(ANY_CALL, ANY_FILE, first=moment)
        status = try_start(server)
        faults.clear()
        if status is None:
            server.kill9()
            continue
        assert status == -9
        died += 1
        assert try_start(server) is None, f"{moment}: {server.stderr()}"
        with server.connect() as talk:
            assert talk.stats()["curr_items"] == "0"
            talk.set(b"k", b"1")
        crash(server)
        with server.connect() as talk:
            assert talk.get(b"k") == b"1"
        server.kill9()
    return died


def test_kill_while_the_store_is_made(new_server, faults):
    server = new_server(env=faults.env)
    assert kill_while_creating(server, faults, range(1, 120, 8)) > 5


@pytest.mark.long
def test_kill_anywhere_while_the_store_is_made(new_server, faults):
    server = new_server(env=faults.env)
    died = kill_while_creating(server, faults, range(1, 400))
    assert 20 < died < 399


# ---- crashes while it is recovered (U37) --------------------------------

NO_CHECKPOINTS = ["-C", "0", "--checkpoint-size", "512g", "-m", "4",
                  "-e", "0", "--log-file-size", "4m"]
ITEM_BYTES = 500


def fill(server, items):
    """Overwrites some keys many times; the end is acknowledged."""
    with server.connect() as talk:
        for start in range(0, items, 1000):
            talk.send(b"".join(
                b"set k%d %d 0 %d noreply\r\n%s\r\n"
                % (i % 7000, i, ITEM_BYTES,
                   (b"%d." % i * ITEM_BYTES)[:ITEM_BYTES])
                for i in range(start, min(start + 1000, items))))
        talk.set(b"last", b"1")


def contents(server):
    """Everything, with flags and cas ids."""
    keys = [b"k%d" % i for i in range(7000)] + [b"last"]
    with server.connect() as talk:
        talk.send(b"gets %s\r\n" % b" ".join(keys))
        found = b""
        while not found.endswith(b"\r\nEND\r\n"):
            assert talk._fill()
            found, talk.buffer = found + talk.buffer, b""
        return found, talk.stats()["curr_items"], talk.stats()["bytes"]


def interrupt_recovery(new_server, faults, items, times):
    rng = random.Random(random.randrange(10**6))
    server = new_server(*NO_CHECKPOINTS, env=faults.env)
    fill(server, items)
    server.kill9()
    copy = server.dir / "copy" / "data"
    shutil.copytree(server.home, copy)

    home, server.home = server.home, copy
    calls = faults.count(ANY_CALL, ANY_FILE)
    said = Said(server)
    server.start()
    assert "recovery" in said.text()  # its progress
    total = calls.seen
    wanted = contents(server)
    server.kill9()
    faults.clear()

    server.home = home
    died = 0
    for _ in range(times):
        faults.kill(ANY_CALL, ANY_FILE, first=rng.randrange(1, total * 9 // 10))
        status = try_start(server)
        faults.clear()
        assert status in (-9, None), server.stderr()
        if status is None:  # there was less left to do
            server.kill9()
        died += status == -9
    assert died > times // 2
    server.start()
    assert contents(server) == wanted


def test_u37_recovery_is_interrupted(new_server, faults):
    interrupt_recovery(new_server, faults, items=30_000, times=8)


@pytest.mark.long
def test_u37_recovery_of_a_long_log_is_interrupted(new_server, faults):
    interrupt_recovery(new_server, faults, items=300_000, times=20)


# ---- the log is bounded, and so is recovery (U81) -----------------------

def log_bytes(server):
    total = 0
    for path in server.home.glob("log.*"):
        with contextlib.suppress(FileNotFoundError):  # removed just now
            total += path.stat().st_size
    return total


def write_much_then_crash(server, items, bound):
    fill(server, items)
    wait_until(lambda: log_bytes(server) <= bound, "removal of old log files")
    fill(server, items // 10)
    before = contents(server)
    server.kill9()
    assert log_bytes(server) <= bound * 2
    server.start()
    assert contents(server) == before


def test_u81_restart_after_heavy_writing(new_server):
    server = new_server("--checkpoint-size", "2m", "--log-file-size", "1m")
    write_much_then_crash(server, items=30_000, bound=8 << 20)


def test_log_written_during_a_checkpoint_goes_too(new_server, faults):
    """Even if nothing is written after the checkpoint that comes next."""
    server = new_server("--checkpoint-size", "2m", "--log-file-size", "1m",
                        env=faults.env)
    slow = faults.delay(SYNC, DATA, ms=300)
    fill(server, 5000)
    wait_until(lambda: slow.seen, "a checkpoint")
    fill(server, 10_000)
    wait_until(lambda: log_bytes(server) <= 4 << 20, "removal of the log")


@pytest.mark.long
def test_u81_restart_after_heavy_writing_with_defaults(new_server):
    write_much_then_crash(new_server(), items=600_000, bound=256 << 20)


def test_nothing_changes_when_nothing_happens(new_server):
    """Starts and crashes alone neither lose nor add anything."""
    server = new_server()
    fill(server, 2000)
    before = contents(server)
    for _ in range(3):
        crash(server)
        assert contents(server) == before
