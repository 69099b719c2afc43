"""Peers that do not read, or that go on sending: bounded memory, no lost answer.

Memory is judged with room to spare: what is tested is that it does not grow
with what such a peer asks for.
"""
import contextlib
import os
import signal
import socket

import pytest

from harness.packet import ask
from harness.script import ours_only
from harness.server import run_to_end, user_options
from harness.wait import wait_until

pytestmark = ours_only  # memcached: other limits, another way of closing

MEGABYTE = 1 << 20


# A sanitizer keeps what was freed.
plain_build = pytest.mark.skipif(bool(os.environ.get("MEMCACHEDB_SAN")),
                                 reason="memory of a sanitizer build")


def send_until_refused(talk, data, most):
    """Sends without reading until the server takes no more; bytes sent."""
    talk.sock.setblocking(False)
    sent = 0
    quiet = 0
    while sent < most and quiet < 50:
        try:
            sent += talk.sock.send(data[sent % len(data):])
            quiet = 0
        except BlockingIOError:
            quiet += 1
            wait_until_writable(talk.sock)
    return sent


def wait_until_writable(sock):
    sock.settimeout(0.02)
    try:
        sock.send(b"")
    except socket.timeout:
        pass
    sock.setblocking(False)


@plain_build
def test_answers_that_are_not_read_hold_no_values(new_server):
    """300 sets of 1 MB whose STORED nobody takes."""
    server = new_server("-m", "64")
    with server.connect() as talk, server.connect() as other:
        talk.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2304)
        before = server.rss_bytes()
        one = (b"touch none 0\r\n" * 20000
               + b"set k 0 0 1048576\r\n" + b"v" * MEGABYTE + b"\r\n")
        send_until_refused(talk, one, 300 * MEGABYTE)
        assert other.get(b"none") is None
        assert server.rss_bytes() - before < 128 * MEGABYTE


@plain_build
def test_gat_of_big_values_is_bounded(new_server):
    server = new_server("-m", "64")
    with server.connect() as talk:
        talk.set(b"b", b"v" * MEGABYTE)
        before = server.rss_bytes()
        talk.send(b"gat 0" + b" b" * 900 + b"\r\n")
        head = b"VALUE b 0 1048576\r\n"
        assert talk.read(len(head)) == head  # it has begun to answer
        with server.connect() as other:
            assert other.get(b"none") is None
        assert server.rss_bytes() - before < 160 * MEGABYTE


def receiving(talk):
    return int(talk.stats("bdb")["receiving_bytes"])


@pytest.fixture
def filled(new_server):
    """A server that has room for 1 MB more of values on their way in, and
    those who send what is there."""
    server = new_server("-m", "64", "--max-item-size=32m")
    with contextlib.ExitStack() as stack:
        senders = [stack.enter_context(server.connect()) for _ in range(8)]
        for sender in senders[:7]:
            sender.send(b"set k 0 0 %d\r\nv" % (32 * MEGABYTE))
        left = 256 * MEGABYTE - 7 * (32 * MEGABYTE + 2)
        senders[7].send(b"ms k %d\r\nv" % (left - MEGABYTE - 2))
        with server.connect() as talk:
            wait_until(lambda: receiving(talk) == 255 * MEGABYTE,
                       "the values have begun to come")
        yield server, senders


def test_values_on_their_way_in_are_bounded(filled):
    """What is too much is refused and skipped; others go on."""
    refused = b"SERVER_ERROR out of memory storing object\r\n"
    server, senders = filled
    value = b"v" * (MEGABYTE - 2)
    with server.connect() as talk:
        talk.set(b"k", b"old")
        for line in b"set k 0 0 %d", b"append k 0 0 %d", b"ms k %d q":
            talk.ask(line % (len(value) + 1) + b"\r\nv" + value
                     + b"\r\nget k\r\n",
                     refused + b"VALUE k 0 3\r\nold\r\nEND\r\n")
        talk.ask(b"set k 0 0 %d noreply\r\nv%s\r\nmn\r\n"
                 % (len(value) + 1, value), b"MN\r\n")
        assert talk.get(b"k") == b"old"
        with server.connect() as binary:
            answer = ask(binary, 0x01, b"k", b"vvv" + value, bytes(8))
            assert (answer.status, answer.value) == (0x82, b"Out of memory")
            assert ask(binary, 0x00, b"k").value == b"old"
        assert talk.stats()["store_no_memory"] == "5"
        assert receiving(talk) == 255 * MEGABYTE
        talk.set(b"k", value)
        senders[0].ask(b"v" * (32 * MEGABYTE - 1) + b"\r\n", b"STORED\r\n")
        talk.set(b"k", value + b"v")


def test_values_that_never_come_are_counted_out(filled):
    server, senders = filled
    for sender in senders:
        sender.close()
    with server.connect() as talk:
        wait_until(lambda: receiving(talk) == 0, "nothing is on its way in")
        talk.set(b"k", b"v" * (32 * MEGABYTE))


def test_small_values_are_always_received(filled):
    server, _ = filled
    with server.connect() as last, server.connect() as talk:
        last.send(b"set last 0 0 %d\r\nv" % (MEGABYTE - 2))
        wait_until(lambda: receiving(talk) == 256 * MEGABYTE, "no room")
        talk.set(b"k", b"v" * 16000)
        talk.ask(b"ms k 16382\r\n%s\r\n" % (b"v" * 16382), b"HD\r\n")
        talk.ask(b"ms k 16383\r\n%s\r\n" % (b"v" * 16383),
                 b"SERVER_ERROR out of memory storing object\r\n")


def test_a_big_cache_lets_more_values_come(new_server):
    server = new_server("-m", "512", "--max-item-size=64m")
    with contextlib.ExitStack() as stack:
        talk = stack.enter_context(server.connect())
        for _ in range(7):
            sender = stack.enter_context(server.connect())
            sender.send(b"set k 0 0 %d\r\nv" % (64 * MEGABYTE))
        wait_until(lambda: receiving(talk) == 7 * (64 * MEGABYTE + 2),
                   "the values have begun to come")


def test_answers_are_not_lost_when_it_closes(server):
    """Closing a socket with unread input would reset the connection."""
    for last in b"set k 0 0 -1\r\n", b"quit\r\n":
        with server.connect() as talk:
            # All leaves us at once, whoever is late.
            talk.sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, MEGABYTE)
            talk.set(b"b", b"v" * 300000)
            talk.send(b"get b\r\n" * 6 + last + b"junk\r\n" * 20000)
            for _ in range(6):
                talk.expect(b"VALUE b 0 300000\r\n" + b"v" * 300000
                            + b"\r\nEND\r\n")
            if last != b"quit\r\n":
                talk.expect(b"CLIENT_ERROR bad command line format\r\n")
            talk.expect_close()


def test_stats_count_what_the_same_client_did_before(new_server):
    with new_server().connect() as talk:
        talk.send(b"set a 0 0 1 noreply\r\n1\r\nincr a 1 noreply\r\n"
                  b"delete none noreply\r\ntouch a 0 noreply\r\n")
        stats = talk.stats()
    assert [stats[name] for name in (
        "total_items", "incr_hits", "delete_misses", "touch_hits")] == ["1"] * 4


def test_second_start_leaves_the_first_ones_files(new_server, tmp_path):
    pidfile = tmp_path / "pid"
    server = new_server("-P", pidfile, unix=True)
    status, _, err = run_to_end(*user_options(), "-P", pidfile, "-s",
                                server.socket_path, "-H", server.home)
    assert status == 73 and len(err.splitlines()) == 1
    assert int(pidfile.read_text()) == server.pid
    with server.connect() as talk:
        talk.set(b"k", b"still here")


def test_socket_of_another_server_is_left_alone(new_server, tmp_path):
    server = new_server(unix=True)
    status, _, err = run_to_end(*user_options(), "-H", tmp_path / "other",
                                "-s", server.socket_path)
    assert status == 71
    assert "in use" in err
    with server.connect() as talk:
        talk.set(b"k", b"still here")


def test_signals_while_it_ends_do_no_harm(new_server):
    """A client that does not read makes the end take a moment."""
    server = new_server()
    with server.connect() as talk:
        talk.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2304)
        talk.set(b"b", b"v" * 300000)
        talk.send(b"get b\r\n" * 100)
        head = b"VALUE b 0 300000\r\n"
        assert talk.read(len(head)) == head
        server.signal(signal.SIGTERM)
        wait_until(lambda: "stopping" in server.stderr(), "the first signal")
        for number in signal.SIGHUP, signal.SIGUSR1, signal.SIGTERM:
            server.signal(number)
        assert server.wait() == 0
