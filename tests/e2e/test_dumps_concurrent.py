"""Dumps while others write, of stores of either kind, for peers that are slow.

While others write nothing is locked: what is there from the start to the end
of a dump is in it exactly once, whatever happens to the other keys.
"""
import base64
import os
import re
import socket
import threading
import urllib.parse

import pytest

from harness.crowd import send_in_background
from harness.packet import ask
from harness.script import conversations, hold, ours_only
from harness.wait import wait_until

pytestmark = ours_only  # memcached answers OK only since 1.6.45

LINE = re.compile(
    rb"key=(?P<key>\S+) exp=(?P<exp>-1|\d+) la=(?P<la>\d+) cas=(?P<cas>\d+) "
    rb"fetch=(?P<fetch>yes|no) cls=1 size=(?P<size>\d+) flags=(?P<flags>\d+) ")

plain_build = pytest.mark.skipif(bool(os.environ.get("MEMCACHEDB_SAN")),
                                 reason="memory of a sanitizer build")


def read_until(talk, end):
    """All bytes up to the end of an answer."""
    parts = [talk.buffer]
    talk.buffer = b""
    tail = parts[0]
    while not tail.endswith(end):
        more = talk.sock.recv(1 << 20)
        assert more, "closed"
        parts.append(more)
        tail = (tail + more)[-len(end):]
    return b"".join(parts)


def finish_metadump(talk):
    """The lines of a metadump that was asked for, as dicts by raw key."""
    text = read_until(talk, b"END\r\n")
    assert text.startswith(b"OK\r\n")
    found = {}
    for line in text[len(b"OK\r\n"):-len(b"END\r\n")].splitlines(True):
        match = LINE.fullmatch(line.removesuffix(b"\n"))
        assert match, line
        fields = match.groupdict()
        key = urllib.parse.unquote_to_bytes(fields.pop("key"))
        assert key not in found, f"{key} twice"
        found[key] = fields
    return found


def metadump(talk, classes=b"all"):
    talk.send(b"lru_crawler metadump %s\r\n" % classes)
    return finish_metadump(talk)


def mgdump(talk):
    """The lines of an mgdump, as they are."""
    talk.send(b"lru_crawler mgdump all\r\n")
    text = read_until(talk, b"EN\r\n")
    assert text.startswith(b"OK\r\n")
    return text[len(b"OK\r\n"):-len(b"EN\r\n")].split(b"\r\n")[:-1]


def fill(talk, names, value=b"1"):
    """Stores the same value under each name."""
    finish = send_in_background(talk, [
        b"".join(b"set %s 0 0 %d noreply\r\n%s\r\n" % (name, len(value), value)
                 for name in names[at:at + 5000])
        for at in range(0, len(names), 5000)])
    finish()
    talk.expect_silence()


# ---- what is answered -------------------------------------------------------

@conversations({
    "a word too many or too few": """
        > lru_crawler metadump 1 2
        < ERROR
        > lru_crawler mgdump all all
        < ERROR
        > lru_crawler crawl
        < ERROR
        > lru_crawler crawl 1 2
        < ERROR
        > lru_crawler sleep
        < ERROR
        > lru_crawler sleep 100 x
        < ERROR
        > lru_crawler sleep x
        < CLIENT_ERROR bad command line format
        > lru_crawler tocrawl x
        < CLIENT_ERROR bad command line format
        > lru_crawler enable noreply
        < ERROR
    """,
    "lists of classes": """
        > set k 0 0 1
        > 1
        < STORED
        > lru_crawler metadump 2
        < OK
        < END
        > lru_crawler metadump 3,,5,
        < OK
        < END
        > lru_crawler mgdump 63
        < OK
        < EN
        > lru_crawler mgdump 2,1
        < OK
        < mg k
        < EN
        > lru_crawler metadump 1,x
        < BADCLASS invalid class id
        > lru_crawler mgdump 1,64
        < BADCLASS invalid class id
    """,
})
def test_answer(talk, script, delivery):
    hold(talk, script, delivery)


def test_not_refused_behind_writes_without_answer(talk):
    for i in range(20):
        talk.send(b"set k%d 0 0 1 noreply\r\n1\r\n"
                  b"delete k%d noreply\r\n"
                  b"lru_crawler metadump all\r\n" % (i, i - 1))
        assert list(finish_metadump(talk)) == [b"k%d" % i]


def test_refused_behind_a_write(talk):
    for word in b"metadump", b"mgdump":
        talk.ask(b"set k 0 0 1\r\n1\r\nlru_crawler %s all\r\n" % word,
                 b"STORED\r\n"
                 b"ERROR cannot pipeline other commands before %s\r\n" % word)
    talk.expect_silence()


def test_binary_has_no_cachedump(server):
    with server.connect() as talk:
        assert ask(talk, 0x10, b"cachedump 1 0").status == 1
        assert ask(talk, 0x10, b"cachedump").status == 1


# ---- what a line says -------------------------------------------------------

def test_fetched_is_told_until_it_is_stored_anew(talk):
    def fetched():
        return metadump(talk)[b"k"]["fetch"]
    talk.set(b"k", b"1")
    assert fetched() == b"no"
    talk.ask(b"mg k v\r\n", b"VA 1\r\n1\r\n")
    assert fetched() == b"yes"
    talk.set(b"k", b"2")
    assert fetched() == b"no"
    talk.ask(b"gat 0 k\r\n", b"VALUE k 0 1\r\n2\r\nEND\r\n")
    assert fetched() == b"yes"
    talk.ask(b"ms k 1\r\n3\r\n", b"HD\r\n")
    assert fetched() == b"no"


ODD_KEYS = [
    bytes(range(1, 251)), bytes([0]), b"\r\nEND\r\n", b" ", b"a b", b"%41",
    b"key=x exp=1", b"\xff" * 250, b"~.-_", "\u00e9t\u00e9".encode(), b"1"]


def test_keys_of_odd_bytes(talk, server):
    with server.connect() as binary:
        for key in ODD_KEYS:
            assert ask(binary, 1, key, b"v", bytes(8)).status == 0
    talk.ask(b"ms %s 1 b\r\n1\r\n" % base64.b64encode(b"in base64"),
             b"HD\r\n")
    assert set(metadump(talk)) == set(ODD_KEYS) | {b"in base64"}
    shown = set()
    for line in mgdump(talk):
        word, key, *flag = line.split(b" ")
        assert word == b"mg" and flag in ([], [b"b"])
        shown.add(base64.b64decode(key) if flag else key)
    assert shown == set(ODD_KEYS) | {b"in base64"}


def test_cachedump_hides_keys_that_break_lines(talk, server):
    with server.connect() as binary:
        for key in ODD_KEYS:
            assert ask(binary, 1, key, b"v", bytes(8)).status == 0
    talk.ask(b"ms %s 1 b\r\n1\r\n" % base64.b64encode(b"inbase64"), b"HD\r\n")
    talk.send(b"stats cachedump 1 0\r\n")
    shown = set()
    while (line := talk.line()) != b"END":
        shown.add(re.fullmatch(rb"ITEM (\S+) \[1 b; 0 s\]", line).group(1))
    assert shown == {key for key in ODD_KEYS if min(key) > 32}


def test_cachedump_ends_at_two_megabytes(new_server):
    with new_server().connect() as talk:
        fill(talk, [b"%0245d" % i for i in range(9000)])
        talk.send(b"stats cachedump 1 0\r\n")
        text = read_until(talk, b"END\r\n")
        lines = text.split(b"\r\n")[:-2]
        assert len(set(lines)) == len(lines)
        assert 2 << 20 <= len(text) < (2 << 20) + 300
        talk.expect_silence()


# ---- all of them, once ------------------------------------------------------

def test_every_item_of_a_hash_has_one_line(new_server):
    names = [b"key%d" % i for i in range(5000)]
    with new_server("-B", "hash", "--sync=write").connect() as talk:
        fill(talk, names)
        found = metadump(talk)
        assert len(found) == len(names) and set(found) == set(names)
        lines = mgdump(talk)
        assert len(lines) == len(names)
        assert set(lines) == {b"mg " + name for name in names}


def test_big_items_have_one_line(new_server):
    """They lie outside their pages, and are not read."""
    with new_server("--sync=write").connect() as talk:
        names = [b"big%03d" % i for i in range(300)]
        fill(talk, names, b"v" * 30000)
        fill(talk, [b"small%03d" % i for i in range(300)])
        found = metadump(talk)
        assert len(found) == 600
        assert {found[name]["size"] for name in names} == {
            b"%d" % (30000 + 6 + 9)}


class Changing:
    """Others that store and delete keys of their own until it ends."""

    def __init__(self, server, names):
        self.server, self.names = server, names
        self.stopping = False
        self.failures = []
        self.threads = [threading.Thread(target=self._run, args=(part,))
                        for part in (names[::2], names[1::2])]

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.stopping = True
        for thread in self.threads:
            thread.join()
        assert not self.failures, self.failures[0]

    def _run(self, names):
        try:
            with self.server.connect() as talk:
                while not self.stopping:
                    for at in range(0, len(names), 50):
                        part = names[at:at + 50]
                        talk.ask(b"".join(b"set %s 0 0 3\r\nabc\r\n" % name
                                          for name in part),
                                 b"STORED\r\n" * len(part))
                        talk.ask(b"".join(b"delete %s\r\n" % name
                                          for name in part[::2]),
                                 b"DELETED\r\n" * len(part[::2]))
        except Exception as failure:
            self.failures.append(failure)


@pytest.mark.parametrize("method", ["btree", "hash"])
def test_items_that_stay_are_in_every_dump(new_server, method):
    """Even though others come and go between them."""
    server = new_server("-B", method, "--sync=write")
    stay = {b"key%05d-stays" % i for i in range(0, 4000)}
    with server.connect() as talk:
        fill(talk, sorted(stay))
        with Changing(server, [b"key%05d-goes" % i for i in range(1000)]):
            for _ in range(5):
                talk.send(b"lru_crawler metadump all\r\n")
                if method == "btree":
                    found = set(finish_metadump(talk))
                else:  # may show an item twice when others come and go
                    found = set(re.findall(rb"^key=(\S+)",
                                           read_until(talk, b"END\r\n"), re.M))
                assert stay <= found
                assert all(key.endswith(b"-goes") for key in found - stay)


# ---- peers that do not behave -----------------------------------------------

@plain_build
def test_a_slow_reader_costs_bounded_memory(new_server):
    server = new_server("--sync=write")
    names = [b"#" * 244 + b"%06d" % i for i in range(12000)]
    with server.connect() as talk, server.connect() as slow:
        slow.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
        fill(talk, names)  # a dump of 10 MB: more than sockets hold
        talk.send(b"lru_crawler metadump all\r\n")
        read_until(talk, b"END\r\n")
        before = server.rss_bytes()
        slow.send(b"lru_crawler metadump all\r\n")
        assert slow.read(4) == b"OK\r\n"
        for _ in range(100):
            talk.set(b"other", b"1")
            assert talk.get(b"other") == b"1"
        assert server.rss_bytes() - before < 8 << 20
        talk.ask(b"delete other\r\n", b"DELETED\r\n")
        slow.buffer = b"OK\r\n" + slow.buffer
        shown = re.findall(rb"^key=(\S+)", read_until(slow, b"END\r\n"), re.M)
        assert len(shown) - (b"other" in shown) == len(names)
        assert len(set(shown)) == len(shown)


@pytest.mark.parametrize("command", [
    b"lru_crawler metadump all\r\n", b"lru_crawler mgdump all\r\n",
    b"stats cachedump 1 0\r\n"])
def test_readers_that_leave_midway(new_server, command):
    server = new_server("--sync=write")
    with server.connect() as talk:
        fill(talk, [b"%0200d" % i for i in range(2000)])
        for i in range(8):
            with server.connect() as other:
                other.send(command)
                other.read(1 + 5000 * i)
        wait_until(lambda: talk.stats()["curr_connections"] == "1",
                   "their connections are closed")
        assert len(metadump(talk)) == 2000


def test_many_at_once(new_server):
    server = new_server("--sync=write", "-t", 2)
    names = [b"key%d" % i for i in range(3000)]
    talks = [server.connect() for _ in range(8)]
    fill(talks[0], names)
    for talk in talks:
        talk.send(b"lru_crawler metadump all\r\n")
    for talk in talks:
        assert set(finish_metadump(talk)) == set(names)
        talk.close()


def test_the_server_ends_in_the_middle_of_a_dump(new_server):
    server = new_server("--sync=write")
    with server.connect() as talk, server.connect() as slow:
        slow.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2304)
        fill(talk, [b"#" * 240 + b"%06d" % i for i in range(6000)])
        slow.send(b"lru_crawler metadump all\r\n")
        assert slow.read(4) == b"OK\r\n"
        assert server.terminate() == 0


def test_by_udp(new_server):
    server = new_server("-U", "-1")
    with server.connect() as talk, server.udp() as udp:
        names = {b"key%d" % i for i in range(500)}
        fill(talk, sorted(names))
        udp.send(b"lru_crawler mgdump all\r\n")
        lines = udp.receive()[1].split(b"\r\n")
        assert lines[0] == b"OK" and lines[-2:] == [b"EN", b""]
        assert sorted(lines[1:-2]) == sorted(b"mg " + name for name in names)


def test_too_much_for_udp(new_server):
    """A datagram may not ask for more than is held for a connection."""
    server = new_server("-U", "-1", "--sync=write")
    with server.connect() as talk, server.udp() as udp:
        fill(talk, [b"#" * 244 + b"%06d" % i for i in range(7000)])
        udp.send(b"lru_crawler metadump all\r\n")
        udp.expect_silence()
        assert talk.get(b"none") is None
