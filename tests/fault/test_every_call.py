"""The n-th call fails, n = 1, 2, ... until nothing fails any more.

Whatever call of the store's files it is, and whatever the error: the server
either goes on as if nothing had happened, or refuses what it cannot do, or
ends with a status of its own and one line that says why. Nothing acknowledged
is lost, nothing is half done, and without the fault all is well again.
"""
import errno
import random
import shutil

import pytest

from harness.faults import ANY_CALL, ANY_FILE, OPEN, READ, SIZE, SYNC, WRITE
from harness.life import Said, try_start
from harness.load import Gone, Writer, connect

# sysexits.h: damaged data, no resources, no access, input/output error
REFUSALS = (65, 71, 73, 74)
OPTIONS = ["-m", "1", "-I", "64k", "-C", "0", "-e", "0"]


def moments(total, most):
    """All of 1..total, or `most` of them, spread evenly."""
    if total <= most:
        return list(range(1, total + 1))
    return sorted({1 + i * total // most for i in range(most)})


def prepare(new_server, faults):
    """A server that was killed, with something to recover."""
    server = new_server(*OPTIONS, env=faults.env)
    writer = Writer(0, seed=1, steady=True, largest=20_000)
    with connect(server.addresses[0]) as talk:
        for _ in range(150):
            writer.step(talk)
    server.kill9()
    return server, writer


def check_by(talk, writer):
    writer.check({key: talk.get(key) for key in writer.keys}, 0)
    live = sum(value is not None for value in writer.acknowledged.values())
    assert int(talk.stats()["curr_items"]) == live


def check(server, writer):
    with server.connect() as talk:
        check_by(talk, writer)


def start_with_faults(new_server, faults, calls, error, most):
    server, writer = prepare(new_server, faults)
    copy = server.dir / "copy"
    shutil.copytree(server.home, copy)
    rule = faults.count(calls, ANY_FILE)
    server.start()
    total = rule.seen
    server.kill9()
    for moment in moments(total, most):
        shutil.rmtree(server.home)
        shutil.copytree(copy, server.home)
        faults.clear()
        faults.fail(calls, ANY_FILE, error, first=moment)
        said = Said(server)
        status = try_start(server)
        faults.clear()
        if status is None:
            check(server, writer)
            server.kill9()
        else:
            assert status in REFUSALS, f"call {moment}: status {status}"
            errors = [line for line in said.lines() if "error:" in line]
            assert len(errors) == 1, f"call {moment}: {said.text()}"
        assert try_start(server) is None, f"call {moment}: {server.stderr()}"
        check(server, writer)
        server.kill9()
    return total


# Berkeley DB tries again after EIO and EMFILE: not after these.
STARTS = {"any-ENXIO": (ANY_CALL, errno.ENXIO),
          "write-ENOSPC": (WRITE | SIZE, errno.ENOSPC),
          "open-EACCES": (OPEN, errno.EACCES)}


@pytest.mark.parametrize("name", STARTS)
def test_a_call_of_the_start_fails(new_server, faults, name):
    assert start_with_faults(new_server, faults, *STARTS[name], most=12) > 3


@pytest.mark.long
@pytest.mark.parametrize("name", STARTS)
def test_any_call_of_the_start_fails(new_server, faults, name):
    assert start_with_faults(new_server, faults, *STARTS[name], most=500) > 3


# ---- calls of a script of changes ---------------------------------------

def run_script(server, writer, changes):
    """True if the server answered to the end."""
    try:
        with connect(server.addresses[0]) as talk:
            for _ in range(changes):
                writer.step(talk)
    except Gone:
        return False
    return True


def goes_on(server, writer):
    """True if all is well; False if the server has ended, as it may when the
    call was nobody's who waited for an answer."""
    try:
        with connect(server.addresses[0]) as talk:
            check_by(talk, writer)
    except Gone:
        return False
    return True


def changes_with_faults(new_server, faults, calls, error, most):
    server, writer = prepare(new_server, faults)
    server.start()
    rule = faults.count(calls, ANY_FILE)
    assert run_script(server, writer, 40)
    total = rule.seen
    faults.clear()
    for moment in moments(total, most):
        faults.fail(calls, ANY_FILE, error, first=moment)
        said = Said(server)
        answered = run_script(server, writer, 40)
        faults.clear()
        if answered and goes_on(server, writer):
            server.kill9()
        else:
            assert server.wait() == 74, f"call {moment}: {server.stderr()}"
            assert sum("stopping" in line for line in said.lines()) == 1
        assert try_start(server) is None, f"call {moment}: {server.stderr()}"
        check(server, writer)
    return total


CHANGES = {"any-ENXIO": (ANY_CALL, errno.ENXIO),
           "read-ENXIO": (READ, errno.ENXIO),
           "write-ENOSPC": (WRITE | SIZE, errno.ENOSPC),
           "sync-ENOSPC": (SYNC, errno.ENOSPC)}


@pytest.mark.parametrize("name", CHANGES)
def test_a_call_of_a_change_fails(new_server, faults, name):
    changes_with_faults(new_server, faults, *CHANGES[name], most=10)


@pytest.mark.long
@pytest.mark.parametrize("name", CHANGES)
def test_any_call_of_a_change_fails(new_server, faults, name):
    changes_with_faults(new_server, faults, *CHANGES[name], most=500)
