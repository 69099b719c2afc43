"""The tools of libmemcached, among them its conformance test memccapable.

Tools of this family read `stats` and refuse a server whose version is not
three numbers (U23). Those that list keys are in test_key_lists.py.
"""
import re
import subprocess

import pytest

from conftest import LIMIT_S, QUICK
from harness.server import Server
from harness.wait import DEADLINE_S
from known import BINARY, TEXT, client

NAME = "libmemcached tools"


@pytest.fixture(scope="module")
def server():
    with Server(*QUICK) as made:
        yield made


@pytest.fixture(params=[pytest.param(dialect, marks=client(NAME, dialect))
                        for dialect in (TEXT, BINARY)])
def tool(request, empty):
    """Runs a tool against the server: (status, output)."""
    dialect = ["--binary"] if request.param == BINARY else []

    def run(name, *words):
        done = subprocess.run(
            [name, f"--servers=127.0.0.1:{empty.port}", *dialect,
             *map(str, words)], stdin=subprocess.DEVNULL, capture_output=True,
            text=True, timeout=LIMIT_S, check=False)
        return done.returncode, done.stdout + done.stderr
    return run


@pytest.mark.parametrize("option,dialect", [
    pytest.param("-a", "ascii", marks=client(NAME, TEXT)),
    pytest.param("-b", "binary", marks=client(NAME, BINARY))])
def test_memccapable(new_server, option, dialect):
    """Every test it has. It flushes the server."""
    server = new_server()
    done = subprocess.run(
        ["memccapable", "-h", "127.0.0.1", "-p", str(server.port), option,
         "-v", "-t", str(DEADLINE_S)], stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, timeout=LIMIT_S, check=False)
    passed = re.findall(rf"^{dialect} .*\[pass\]$", done.stdout, re.M)
    assert len(passed) == 27 and done.returncode == 0, done.stdout


def test_cp_cat_rm(tool, talk, tmp_path):
    (tmp_path / "one").write_bytes(b"first")
    (tmp_path / "two").write_bytes(b"second\r\nEND\r\n")
    assert tool("memccp", "--set", tmp_path / "one", tmp_path / "two") == (0, "")
    assert talk.get(b"one") == b"first"
    assert talk.get(b"two") == b"second\r\nEND\r\n"
    status, output = tool("memccat", "one")
    assert status == 0 and output.strip() == "first"
    status, _ = tool("memccp", "--add", tmp_path / "one")
    assert status != 0
    assert tool("memcrm", "one")[0] == 0
    assert talk.get(b"one") is None
    assert tool("memccat", "one")[0] != 0


def test_exist_leaves_nothing_behind(tool, talk):
    """It adds with 31 days, an absolute time in the past."""
    talk.set(b"here", b"1")
    assert tool("memcexist", "here")[0] == 0
    assert tool("memcexist", "none")[0] != 0
    assert talk.get(b"here") == b"1"
    assert talk.get(b"none") is None


def test_touch(tool, talk):
    talk.set(b"here", b"1")
    assert tool("memctouch", "--expire=1000", "here")[0] == 0
    assert tool("memctouch", "--expire=1000", "none")[0] != 0
    assert talk.get(b"here") == b"1"


def test_stat(tool, empty):
    status, output = tool("memcstat")
    assert status == 0
    assert re.search(rf"pid: {empty.pid}\b", output)
    assert re.search(r"version: \d+\.\d+\.\d+", output)


@client(NAME, TEXT)
def test_ping(empty):
    """It has no binary form."""
    subprocess.run(["memcping", f"--servers=127.0.0.1:{empty.port}"],
                   timeout=LIMIT_S, check=True)


def test_flush(tool, talk):
    talk.set(b"k", b"1")
    assert tool("memcflush")[0] == 0
    assert talk.get(b"k") is None


@pytest.mark.parametrize("kind", ["get", "set", "mget"])
def test_load(tool, kind):
    status, output = tool("memcslap", f"--test={kind}", "--concurrency=4",
                          "--execute-number=200", "--initial-load=200")
    assert status == 0, output
    assert "error" not in output.lower(), output
