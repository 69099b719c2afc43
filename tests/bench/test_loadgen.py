"""The load generator against a server: it stores what it says, and believes
no value that it has not stored."""
import json
import os
import socket
import subprocess

import pytest

from harness.server import ROOT
from harness.wait import DEADLINE_S

BUILD = os.environ.get("MEMCACHEDB_BUILD", str(ROOT / "build/gcc"))
KEYS = 500


def loadgen(server, *options):
    """(status, what it reports, what it says of errors)"""
    host, port = server.addresses[0]
    done = subprocess.run(
        [f"{BUILD}/bench/loadgen", "--host", host, "--port", str(port),
         "--keys", str(KEYS), "--connections", "4",
         "--timeout", str(DEADLINE_S), *options],
        capture_output=True, text=True, check=False, timeout=4 * DEADLINE_S)
    return done.returncode, json.loads(done.stdout), done.stderr


@pytest.fixture
def filled(server, talk):
    status, report, _ = loadgen(server, "--load", "shuffled")
    assert (status, report["sets"]) == (0, KEYS)
    return server


@pytest.mark.parametrize("protocol", [
    "classic", "classic-quiet", "meta", "meta-quiet", "binary",
    "binary-quiet"])
def test_loads_each_key_once(server, talk, protocol):
    status, report, said = loadgen(server, "--load", "shuffled", "--depth",
                                   "16", "--protocol", protocol)
    assert (status, report["errors"], report["sets"]) == (0, 0, KEYS), said
    status, report, said = loadgen(
        server, "--ratio", "1:9", "--requests", "3000", "--depth", "16",
        "--verify", "--protocol", protocol)
    assert (status, report["errors"], report["misses"]) == (0, 0, 0), said
    assert report["sets"] + report["gets"] == report["ops"] == 3000


@pytest.mark.parametrize("value", [
    b"x" * 100, b"%016x%016x" % (1, 8) + b"x" * 68, b"%032x" % 7])
def test_finds_a_value_that_was_never_stored(filled, talk, value):
    talk.ask(b"set key-%016d 0 0 %d\r\n%b\r\n" % (7, len(value), value),
             b"STORED\r\n")
    status, report, said = loadgen(filled, "--ratio", "0:1", "--requests",
                                   "20000", "--verify")
    assert status == 1
    assert 0 < report["errors"] < 200
    assert "a value that was never stored" in said


def test_misses_are_reported_and_are_no_errors(filled, talk):
    talk.ask(b"delete key-%016d\r\n" % 7, b"DELETED\r\n")
    status, report, _ = loadgen(filled, "--ratio", "0:1", "--requests",
                                "20000", "--verify")
    assert (status, report["errors"]) == (0, 0)
    assert report["hits"] + report["misses"] == 20000
    assert 0 < report["misses"] < 200


def test_hot_keys_are_reported_apart(filled):
    status, report, _ = loadgen(
        filled, "--ratio", "1:9", "--requests", "5000", "--distribution",
        "zipf:1.05", "--hot", "5")
    assert status == 0
    assert 0 < report["hot_gets"] < report["gets"]
    assert report["hot_latency_us"]["max"] <= report["get_latency_us"]["max"]


@pytest.mark.parametrize("listens,said", [
    (False, "cannot connect"), (True, "4 errors, the first: no answer")])
def test_a_server_that_does_not_answer(listens, said):
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        if listens:
            silent.listen(8)
        done = subprocess.run(
            [f"{BUILD}/bench/loadgen", "--connections", "4", "--timeout",
             "0.2", "--port", str(silent.getsockname()[1])],
            capture_output=True, text=True, check=False, timeout=DEADLINE_S)
    assert done.returncode == 1
    assert said in done.stderr
