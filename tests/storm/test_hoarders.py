"""Many peers that each take a little too much: memory of them all is bounded.

One worker, since its budget is what is tested. Memory is judged with room to
spare; without a budget, each of these takes twice what is allowed. Others are
served meanwhile, also with big values.
"""
import contextlib
import os
import socket

import pytest

from harness.script import ours_only
from harness.udp import FRAME

pytestmark = [
    ours_only,  # memcached has other limits
    # a sanitizer keeps what was freed
    pytest.mark.skipif(bool(os.environ.get("MEMCACHEDB_SAN")),
                       reason="memory of a sanitizer build")]

MEGABYTE = 1 << 20
MOST = 300 * MEGABYTE
LOOKS = 20
BIG = b"v" * MEGABYTE


@pytest.fixture
def server(new_server):
    made = new_server("-t", "1", "-m", "4", "-U", "-1")
    with made.connect() as talk:
        talk.set(b"big", BIG)
    return made


@contextlib.contextmanager
def hoarders(server, count):
    """Connections that do not read."""
    with contextlib.ExitStack() as stack:
        talks = [stack.enter_context(server.connect()) for _ in range(count)]
        for talk in talks:
            talk.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2304)
        yield talks


def settle(server):
    """A witness is served; memory has stopped growing. Returns its size."""
    looks = []
    while len(looks) <= LOOKS or looks[-1] > min(looks[-LOOKS:]):
        with server.connect() as talk:
            assert talk.get(b"big") == BIG
        looks.append(server.rss_bytes())
    return looks[-1]


@pytest.mark.parametrize("request_", [
    b"get" + b" big" * 8 + b"\r\n", b"get big\r\n" * 8,
    b"mg big v\r\n" * 8, b"rget big big 0 0 1\r\n" * 8,
    b"gat 0" + b" big" * 20 + b"\r\n", b"mg big v T0\r\n" * 20,
], ids=["get-list", "gets", "mg", "rget", "gat", "lease"])
def test_answers_that_are_not_read(server, request_):
    before = server.rss_bytes()
    with hoarders(server, 100) as talks:
        for talk in talks:
            talk.send(request_)
        assert settle(server) - before < MOST


def test_datagrams_that_ask_for_much(server):
    before = server.rss_bytes()
    with server.udp() as udp:
        for number in range(500):
            udp.send_raw(FRAME.pack(number, 0, 1, 0)
                         + b"gat 0" + b" big" * 3 + b"\r\n")
        assert settle(server) - before < MOST


def test_lines_that_do_not_end(server):
    before = server.rss_bytes()
    line = b"get " + b"k" * 200 + (b" " + b"k" * 200) * (7 * MEGABYTE // 201)
    with hoarders(server, 60) as talks:
        for talk in talks:
            with contextlib.suppress(OSError):  # it may be closed for that
                talk.send(line)
        assert settle(server) - before < MOST


def test_statistics_give_way(server):
    """One of them is as much work as many commands, and as a turn."""
    with server.connect() as talk:
        before = int(talk.stats()["conn_yields"])
        talk.send(b"stats conns\r\n" * 15 + b"mn\r\n")
        while talk.line() != b"MN":
            pass
        assert int(talk.stats()["conn_yields"]) - before >= 15
