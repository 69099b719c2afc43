"""lru_crawler: listings of all keys, and the words that mean little here; U31.

The reference has neither the OK line nor mgdump.
"""
import base64
import re
import time
from urllib.parse import unquote_to_bytes

import pytest

from harness.script import conversations, hold, ours_only
from harness.wait import expire_wait, wait_until

pytestmark = ours_only

LINE = re.compile(
    rb"key=(?P<key>[A-Za-z0-9._~%-]+) exp=(?P<exp>-1|\d+) la=(?P<la>\d+) "
    rb"cas=(?P<cas>\d+) fetch=(?P<fetch>yes|no) cls=1 size=(?P<size>\d+) "
    rb"flags=(?P<flags>\d+) ")


def read_dump(talk, end):
    """The lines between OK and the end; of metadump they end in LF alone."""
    talk.expect(b"OK\r\n")
    while not talk.buffer.endswith(b"\n" + end) and talk.buffer != end:
        assert talk._fill(), talk.buffer[-200:]
    text, talk.buffer = talk.buffer.removesuffix(end), b""
    return text


def metadump(talk, which=b"all"):
    """{key: what is said of it}"""
    talk.send(b"lru_crawler metadump " + which + b"\r\n")
    text = read_dump(talk, b"END\r\n")
    assert b"\r" not in text
    found = {}
    for line in text.split(b"\n")[:-1]:
        match = LINE.fullmatch(line)
        assert match, line
        key = unquote_to_bytes(match["key"])
        assert key not in found, f"{key} twice"
        found[key] = match
    return found


def mgdump(talk, which=b"all"):
    talk.send(b"lru_crawler mgdump " + which + b"\r\n")
    text = read_dump(talk, b"EN\r\n")
    found = []
    for line in text.split(b"\r\n")[:-1]:
        verb, key, *binary = line.split(b" ")
        assert verb == b"mg" and binary in ([], [b"b"])
        found.append(base64.b64decode(key) if binary else key)
    return found


def test_empty_store(talk):
    assert metadump(talk) == {}
    assert mgdump(talk) == []
    talk.expect_silence()


def test_metadump(talk):
    start = int(time.time())
    talk.set(b"a", b"abc", flags=7)
    talk.set(b"b", b"abc", exptime=1000)
    talk.set(b"c", b"abc")
    talk.get(b"c")
    cas = talk.cas_id(b"a")
    found = metadump(talk)
    assert sorted(found) == [b"a", b"b", b"c"]
    end = int(time.time()) + 1
    assert found[b"a"]["exp"] == b"-1"
    assert start <= int(found[b"b"]["exp"]) - 1000 <= end
    for match in found.values():
        # by the clock of a thread, which may be late
        assert start - 60 <= int(match["la"]) <= end
        assert int(match["size"]) >= 3
    assert int(found[b"a"]["cas"]) == cas
    assert found[b"a"]["flags"] == b"7"
    assert [found[key]["fetch"] for key in (b"b", b"c")] == [b"no", b"yes"]


@pytest.mark.parametrize("which", [b"all", b"hash", b"1", b"1,2,3"])
def test_which(talk, which):
    talk.set(b"a", b"abc")
    assert list(metadump(talk, which)) == mgdump(talk, which) == [b"a"]


KEYS = [b"plain", b"per%cent", b"col:on", b"tab\tbed", b"\x01\x7f", b"a+b&c=d",
        "käse".encode(), b"\xff\xfe", b"k" * 250, b"A-Za.z_0~9"]


def test_keys_are_escaped(talk):
    """All but letters, digits and - . _ ~ as %XX."""
    for key in KEYS:
        talk.set(key, b"a")
    assert sorted(metadump(talk)) == sorted(KEYS)
    assert sorted(mgdump(talk)) == sorted(KEYS)


def test_binary_keys(talk):
    keys = [b"a b", b"\0\r\n", b"plain"]
    for key in keys:
        talk.ask(b"ms %s 1 b\r\na\r\n" % base64.b64encode(key), b"HD\r\n")
    assert sorted(mgdump(talk)) == sorted(keys)
    assert len(metadump(talk)) == 3


def test_mgdump_lines_can_be_sent_back(talk):
    """Each line is a command that finds its item."""
    talk.set(b"text", b"1")
    talk.ask(b"ms AAEC 1 b\r\n2\r\n", b"HD\r\n")
    talk.send(b"lru_crawler mgdump all\r\n")
    lines = read_dump(talk, b"EN\r\n")
    talk.ask(lines, b"HD\r\n" * 2)


def test_dead_items_are_not_listed(talk):
    talk.set(b"short", b"a", exptime=1)
    talk.set(b"long", b"a")
    talk.set(b"dead", b"a", exptime=-1)
    expire_wait(1)
    assert list(metadump(talk)) == mgdump(talk) == [b"long"]
    talk.ask(b"flush_all\r\n", b"OK\r\n")
    talk.set(b"new", b"a")
    assert list(metadump(talk)) == mgdump(talk) == [b"new"]


def fill(talk, count):
    for at in range(0, count, 1000):
        size = min(1000, count - at)
        talk.send(b"".join(
            b"set %d%%\xc3\xa4 0 0 1 noreply\r\na\r\n" % i
            for i in range(at, at + size)) + b"mn\r\n")
        talk.expect(b"MN\r\n")


@pytest.mark.parametrize("count", [
    5000, pytest.param(70_090, marks=pytest.mark.long)])
def test_u31_every_key_once(talk, count):
    fill(talk, count)
    wanted = {b"%d%%\xc3\xa4" % i for i in range(count)}
    assert set(metadump(talk)) == wanted
    found = mgdump(talk)
    assert len(found) == count and set(found) == wanted
    talk.send(b"stats cachedump 1 0\r\n")
    listed = 0
    while (line := talk.line()) != b"END":
        assert re.fullmatch(rb"ITEM \d+%\xc3\xa4 \[1 b; 0 s\]", line)
        listed += 1
    assert 0 < listed <= count


def test_next_command_waits_for_the_end(talk):
    fill(talk, 2000)
    talk.send(b"lru_crawler metadump all\r\nget 5%\xc3\xa4\r\n")
    talk.expect(b"OK\r\n")
    assert talk.line().endswith(b"\nEND")  # no CR before that
    talk.expect(b"VALUE 5%\xc3\xa4 0 1\r\na\r\nEND\r\n")
    talk.expect_silence()


def test_others_go_on_while_a_dump_is_not_read(server, talk):
    """No lock is held: writes and reads get through, whoever is slow."""
    fill(talk, 20_000)
    with server.connect() as slow:
        slow.send(b"lru_crawler metadump all\r\n")
        slow.expect(b"OK\r\n")
        for i in range(20):
            talk.set(b"new%d" % i, b"a")
            assert talk.get(b"new%d" % i) == b"a"
            talk.ask(b"delete %d%%\xc3\xa4\r\n" % i, b"DELETED\r\n")
        text = b""
        while b"\nEND\r\n" not in text:
            assert slow._fill()
            text, slow.buffer = text[-10:] + slow.buffer, b""


def test_client_that_leaves_in_the_middle(new_server):
    server = new_server()
    talk = server.connect()
    fill(talk, 20_000)
    before = int(talk.stats()["curr_connections"])
    for _ in range(3):
        with server.connect() as other:
            other.send(b"lru_crawler metadump all\r\n")
            other.expect(b"OK\r\nkey=")
    wait_until(lambda: int(talk.stats()["curr_connections"]) == before,
               "the dumps' connections are gone")


@conversations({
    "refused behind other commands": """
        > get k
        > lru_crawler metadump all
        < END
        < ERROR cannot pipeline other commands before metadump
        > get k
        > lru_crawler mgdump all
        < END
        < ERROR cannot pipeline other commands before mgdump
    """})
def test_pipelined(talk, script, delivery):
    if delivery == "bytewise":
        pytest.skip("nothing is pipelined then")
    hold(talk, script, delivery)


@conversations({
    "no such class": """
        > lru_crawler metadump 99
        < BADCLASS invalid class id
        > lru_crawler mgdump 99
        < BADCLASS invalid class id
        > lru_crawler metadump x
        < BADCLASS invalid class id
    """,
    "words": """
        > lru_crawler
        < ERROR
        > lru_crawler bogus
        < ERROR
        > lru_crawler metadump
        < ERROR
        > lru_crawler disable
        < OK
        > lru_crawler disable
        < OK
        > lru_crawler enable
        < OK
        > lru_crawler enable
        < ERROR failed to start lru crawler thread
        > lru_crawler sleep 1000000
        < OK
        > lru_crawler sleep 1000001
        < CLIENT_ERROR sleep must be one second or less
        > lru_crawler tocrawl 5
        < OK
        > lru_crawler crawl all
        < OK
        > lru_crawler crawl 99
        < BADCLASS invalid class id
        > lru_crawler disable
        < OK
        > lru_crawler crawl all
        < CLIENT_ERROR lru crawler disabled
        > lru_crawler enable
        < OK
    """,
    "slabs": """
        > slabs automove 0
        < OK
        > slabs automove 1
        < OK
        > slabs automove 2
        < OK
        > slabs automove 3
        < ERROR
        > slabs automove x
        < CLIENT_ERROR bad command line format
        > slabs automove window 3
        < OK
        > slabs automove window 1800
        < OK
        > slabs automove window 2
        < CLIENT_ERROR automove window too low or too high
        > slabs automove window 1801
        < CLIENT_ERROR automove window too low or too high
        > slabs automove window
        < CLIENT_ERROR bad command line format
        > slabs reassign 1 2
        < NOSPARE source class has no spare pages
        > slabs reassign 1 1
        < SAME src and dst class are identical
        > slabs reassign 99 1
        < BADCLASS invalid src or dst class id
        > slabs reassign x 1
        < CLIENT_ERROR bad command line format
        > slabs reassign 1
        < ERROR
        > slabs bogus
        < ERROR
    """,
    "lru": """
        > lru tune 10 20 0.1 0.2
        < OK
        > lru mode flat
        < OK
        > lru temp_ttl 5
        < OK
        > lru bogus
        < ERROR
    """})
def test_answer(talk, script, delivery):
    hold(talk, script, delivery)


def test_disabled(new_server):
    with new_server("--disable-dumping").connect() as talk:
        talk.set(b"k", b"a")
        talk.ask(b"lru_crawler metadump all\r\n",
                 b"ERROR metadump not allowed\r\n")
        talk.ask(b"lru_crawler mgdump all\r\n",
                 b"ERROR key dump not allowed\r\n")
        talk.ask(b"rget a z 0 0 10\r\n", b"ERROR key dump not allowed\r\n")
        talk.ask(b"pget k 10\r\n", b"ERROR key dump not allowed\r\n")
        talk.expect_silence()
