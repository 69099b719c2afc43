"""A full disk: growing writes are refused, the rest goes on, and writing is
taken up again by itself (U52)."""
import contextlib
import errno
import os
import random
import subprocess

import pytest

from harness.faults import LOGS, TRUTH, WRITE
from harness.life import Said, try_start
from harness.load import Load
from harness.wait import wait_until

REFUSED = b"SERVER_ERROR out of memory storing object"


# ---- below the reserve, as statvfs tells it -----------------------------

GROWING = [b"set k 0 0 1\r\n2\r\n", b"set new 0 0 1\r\n2\r\n",
           b"add new 0 0 1\r\n2\r\n", b"replace k 0 0 1\r\n2\r\n",
           b"append k 0 0 1\r\n2\r\n", b"prepend k 0 0 1\r\n2\r\n"]


def test_u52_below_the_reserve(new_server, faults):
    server = new_server("--reserve", "64m", "--log-file-size", "1m",
                        env=faults.env)
    with server.connect() as talk:
        talk.set(b"k", b"1")
        talk.set(b"gone", b"1")
        said = Said(server)
        faults.free_bytes = 63 << 20
        talk.send(GROWING[0])
        wait_until(lambda: talk.line() == REFUSED or talk.send(GROWING[0]),
                   "a refusal")
        before = talk.get(b"k")
        for command in GROWING * 5:
            talk.ask(command, REFUSED + b"\r\n")
        assert talk.get(b"k") == before and talk.get(b"new") is None
        talk.ask(b"touch k 1000\r\n", b"TOUCHED\r\n")
        talk.ask(b"gat 0 k\r\n", b"VALUE k 0 1\r\n%s\r\nEND\r\n" % before)
        talk.ask(b"delete gone\r\n", b"DELETED\r\n")
        assert talk.get(b"gone") is None
        faults.free_bytes = TRUTH
        talk.send(GROWING[1])
        wait_until(lambda: talk.line() == b"STORED" or talk.send(GROWING[1]),
                   "space again")
        assert talk.get(b"new") == b"2"
        assert 2 <= len(said.lines()) <= 6, said.lines()


def test_near_the_reserve_each_change_is_looked_at(new_server, faults):
    faults.free_bytes = 100 << 20
    server = new_server("--reserve", "64m", "--log-file-size", "1m",
                        env=faults.env)
    with server.connect() as talk:
        for _ in range(20):
            faults.free_bytes = 63 << 20
            talk.ask(b"set k 0 0 1\r\n1\r\n", REFUSED + b"\r\n")
            faults.free_bytes = 100 << 20
            talk.ask(b"set k 0 0 1\r\n1\r\n", b"STORED\r\n")


def test_reserve_0_asks_nobody(new_server, faults):
    server = new_server("--reserve", "0", env=faults.env)
    faults.free_bytes = 0
    with server.connect() as talk:
        talk.set(b"k", b"1")


# ---- no byte more for the log -------------------------------------------

def wait_for_full_disk(said):
    wait_until(lambda: "No space left" in said.text(), "the complaint")


def test_full_log_waits_and_goes_on(new_server, faults):
    server = new_server(env=faults.env)
    said = Said(server)
    with server.connect() as talk, server.connect() as reader:
        talk.set(b"old", b"1")
        rule = faults.fail(WRITE, LOGS, errno.ENOSPC, first=1, every=1)
        talk.send(b"set k 0 0 1\r\n1\r\n")
        wait_for_full_disk(said)
        assert reader.get(b"old") == b"1"
        rule.off()
        talk.expect(b"STORED\r\n")
        assert reader.get(b"k") == b"1"
    assert said.is_brief(), said.text()


@pytest.mark.parametrize("end", ["kill", "term"])
def test_full_log_loses_nothing_acknowledged(new_server, faults, end):
    server = new_server(env=faults.env)
    load = Load(server, random.randrange(10**6), largest=20_000)
    load.start()
    load.wait_for_acks(300)
    said = Said(server)
    faults.fail(WRITE, LOGS, errno.ENOSPC, first=1, every=1)
    wait_for_full_disk(said)
    if end == "kill":
        server.kill9()
    else:
        assert server.terminate() == 74, server.stderr()
    load.join()
    assert said.is_brief(), said.text()
    faults.clear()
    server.start()
    load.check()


# ---- a small disk -------------------------------------------------------

@pytest.fixture
def disk(tmp_path):
    """A file system of 64 MB; only root can have one."""
    place = tmp_path / "disk"
    place.mkdir()
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64m", "tmpfs", str(place)],
        capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"needs to mount a small disk: {done.stderr.strip()}")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


def server_on(disk, new_server, *options):
    server = new_server("--log-file-size", "2m", "--checkpoint-size", "2m",
                        "-C", "1", *options)
    server.terminate()
    server.home = disk / "data"
    server.start()
    return server


VALUE = random.Random(2).randbytes(50_000)


def set_until_refused(talk, first):
    """Returns the numbers of the keys that were stored."""
    for number in range(first, 10_000):
        talk.send(b"set k%d 0 0 %d\r\n%s\r\n" % (number, len(VALUE), VALUE))
        line = talk.line()
        if line != b"STORED":
            assert line == REFUSED
            return range(first, number)
    raise AssertionError("a disk without end")


def fill_disk(disk):
    """Somebody else takes what is left."""
    with open(disk / "other", "ab") as file, \
            contextlib.suppress(OSError):
        while True:
            os.write(file.fileno(), bytes(1 << 16))


def all_there(talk, numbers):
    return all(talk.get(b"k%d" % number) == VALUE for number in numbers)


def test_u52_small_disk_is_filled(disk, new_server):
    server = server_on(disk, new_server, "--reserve", "16m", "-m", "4")
    with server.connect() as talk:
        stored = set_until_refused(talk, 0)
        assert len(stored) > 300 and all_there(talk, stored)
        for number in stored[::2]:
            talk.ask(b"delete k%d\r\n" % number, b"DELETED\r\n")

        def accepted():
            talk.send(b"set again 0 0 %d\r\n%s\r\n" % (len(VALUE), VALUE))
            return talk.line() == b"STORED"
        wait_until(accepted, "the space of what was deleted")
        assert all_there(talk, stored[1::2])
    server.kill9()
    server.start()
    with server.connect() as talk:
        assert all_there(talk, stored[1::2]) and talk.get(b"again") == VALUE


@pytest.mark.parametrize("reserve", ["8m", "0"])
def test_u52_somebody_else_fills_the_disk(disk, new_server, reserve):
    server = server_on(disk, new_server, "--reserve", reserve)
    with server.connect() as talk:
        for number in range(100):
            talk.set(b"k%d" % number, VALUE)
        fill_disk(disk)
        talk.send(b"set k%d 0 0 %d\r\n%s\r\n" % (100, len(VALUE), VALUE) * 50)
        with server.connect() as reader:
            assert reader.get(b"k7") == VALUE
        server.kill9()
    said = Said(server)
    assert try_start(server) in (None, 71), server.stderr()
    if server.process.poll() is None:
        with server.connect() as talk:
            assert all_there(talk, range(100))
        server.kill9()
    else:
        errors = [line for line in said.lines() if "error:" in line]
        assert len(errors) == 1 and "full" in errors[0], errors
    (disk / "other").unlink()
    server.start()
    with server.connect() as talk:
        assert all_there(talk, range(100))
        talk.set(b"again", VALUE)


def test_u52_real_enospc_waits_and_goes_on(disk, new_server):
    server = server_on(disk, new_server, "--reserve", "0")
    said = Said(server)
    with server.connect() as talk, server.connect() as reader:
        for number in range(100):
            talk.set(b"k%d" % number, VALUE)
        talk.set(b"quiet", b"1")
        fill_disk(disk)
        numbers = range(80, 120)  # more than what the ballast is for
        talk.send(b"".join(b"set k%d 1 0 %d\r\n%s\r\n"
                           % (number, len(VALUE), VALUE)
                           for number in numbers))
        wait_for_full_disk(said)
        assert reader.get(b"quiet") == b"1"
        (disk / "other").unlink()
        for number in numbers:
            stored = talk.line()
            assert stored in (b"STORED", REFUSED)
            reader.send(b"get k%d\r\n" % number)
            line = reader.line()
            assert line.startswith(b"VALUE") == \
                (stored == b"STORED" or number < 100)
            if line != b"END":
                assert line.split()[2] == b"%d" % (stored == b"STORED")
                assert reader.read(len(VALUE)) == VALUE
                reader.expect(b"\r\nEND\r\n")
        talk.set(b"again", VALUE)
    server.kill9()
    server.start()
    with server.connect() as talk:
        assert talk.get(b"again") == VALUE and all_there(talk, range(100))
