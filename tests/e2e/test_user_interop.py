"""User cases of client libraries, as bytes: U22 U23 U29 U33.

Real libraries are in tests/clients.
"""
import re

import pytest

from harness.script import differs
from harness.server import REFERENCE

FMT_LINE = b"CLIENT_ERROR bad command line format"


# ---- U22: gomemcache ------------------------------------------------------------

def test_u22_gomemcache_replayed(talk):
    """What bradfitz/gomemcache sends, byte by byte (replayed, since building
    Go programs would need a toolchain just for this). It reads by gets only,
    and takes flags as 32 bits."""
    talk.ask(b"set foo 4294967295 0 6\r\nfooval\r\n", b"STORED\r\n")
    talk.ask(b"add foo 1 0 3\r\nbar\r\n", b"NOT_STORED\r\n")
    talk.ask(b"add bar 123 0 6\r\nbarval\r\n", b"STORED\r\n")
    talk.ask(b"replace baz 0 0 1\r\n1\r\n", b"NOT_STORED\r\n")
    talk.send(b"gets foo\r\n")
    foo = re.fullmatch(rb"VALUE foo 4294967295 6 (\d+)", talk.line())
    talk.expect(b"fooval\r\nEND\r\n")
    talk.ask(b"gets missing\r\n", b"END\r\n")
    # GetMulti sorts nothing and repeats nothing.
    keys = [b"many%d" % i for i in range(100)]
    for key in keys:
        talk.ask(b"set %s 0 0 %d\r\n%s\r\n" % (key, len(key), key),
                 b"STORED\r\n")
    talk.send(b"gets %s none\r\n" % b" ".join(keys))
    for key in keys:
        assert re.fullmatch(rb"VALUE %s 0 %d \d+" % (key, len(key)),
                            talk.line())
        talk.expect(key + b"\r\n")
    talk.expect(b"END\r\n")
    # CompareAndSwap: once, then a conflict, then no item.
    swap = b"cas foo 4294967295 0 6 %s\r\nswappd\r\n" % foo.group(1)
    talk.ask(swap, b"STORED\r\n")
    talk.ask(swap, b"EXISTS\r\n")
    talk.ask(b"cas nope 0 0 1 1\r\n1\r\n", b"NOT_FOUND\r\n")
    talk.ask(b"set num 0 0 2\r\n42\r\n", b"STORED\r\n")
    talk.ask(b"incr num 8\r\n", b"50\r\n")
    talk.ask(b"decr num 49\r\n", b"1\r\n")
    talk.ask(b"incr foo 1\r\n", b"CLIENT_ERROR cannot increment or decrement"
             b" non-numeric value\r\n")
    talk.ask(b"incr none 1\r\n", b"NOT_FOUND\r\n")
    talk.ask(b"touch foo 100\r\n", b"TOUCHED\r\n")
    talk.ask(b"touch none 100\r\n", b"NOT_FOUND\r\n")
    talk.ask(b"delete foo\r\n", b"DELETED\r\n")
    talk.ask(b"delete foo\r\n", b"NOT_FOUND\r\n")
    talk.send(b"version\r\n")  # Ping
    assert talk.line().startswith(b"VERSION ")
    talk.ask(b"flush_all\r\n", b"OK\r\n")  # DeleteAll, FlushAll
    talk.ask(b"gets bar\r\n", b"END\r\n")


# ---- U23: version is a health check ------------------------------------------------

def test_u23_version_is_three_numbers(talk):
    talk.send(b"version\r\n")
    numbers = re.fullmatch(rb"VERSION (\d+)\.(\d+)\.(\d+)", talk.line())
    assert all(int(number) < 255 for number in numbers.groups())


# ---- U29: a refused request leaves the connection usable ------------------------------

@differs("memcached deletes what the refused set aimed at")
def test_u29_every_third_is_too_large(new_server):
    """1000 pipelined sets, one answer each, in order."""
    server = new_server("-I", "1024")
    request, answers = [], []
    for i in range(1000):
        size = 1025 if i % 3 == 0 else 1000
        request.append(b"set k%d 0 0 %d\r\n%s\r\n"
                       % (i % 10, size, b"x" * size))
        answers.append(b"SERVER_ERROR object too large for cache\r\n"
                       if i % 3 == 0 else b"STORED\r\n")
    with server.connect() as talk:
        talk.ask(b"".join(request), b"".join(answers))
        talk.expect_silence()
        assert all(talk.get(b"k%d" % i) == b"x" * 1000 for i in range(10))
        assert int(talk.stats()["store_too_large"]) == 334


# ---- U33: 250-byte keys in every path --------------------------------------------------

@pytest.mark.parametrize("size", [1, 249, 250])
def test_u33_legal_key(new_server, size):
    server = new_server()
    key = b"k" * size
    with server.connect() as talk:
        for verb in b"set", b"replace", b"append", b"prepend":
            talk.ask(b"%s %s 0 0 1\r\n1\r\n" % (verb, key), b"STORED\r\n")
        talk.ask(b"add %s 0 0 1\r\n1\r\n" % key, b"NOT_STORED\r\n")
        talk.ask(b"incr %s 1\r\n" % key, b"112\r\n")
        talk.ask(b"touch %s 100\r\n" % key, b"TOUCHED\r\n")
        talk.ask(b"get none %s %s\r\n" % (key, key),
                 b"VALUE %s 0 3\r\n112\r\n" % key * 2 + b"END\r\n")
        talk.ask(b"cas %s 0 0 1 %d\r\n7\r\n" % (key, talk.cas_id(key)),
                 b"STORED\r\n")
    if not REFERENCE:
        server.kill9()
        server.start()
        with server.connect() as talk:
            assert talk.get(key) == b"7"
    with server.connect() as talk:
        talk.set(key, b"7")
        talk.ask(b"delete %s\r\n" % key, b"DELETED\r\n")
        assert talk.get(key) is None


@pytest.mark.parametrize("size", [251, 255, 256, 1000, 65535])
def test_u33_illegal_key(server, talk, size):
    """A clean error; a line that is too long as well may end in a close."""
    key = b"k" * size
    for line in (b"get %s", b"gets a %s", b"gat 0 %s", b"delete %s",
                 b"incr %s 1", b"touch %s 0"):
        with server.connect() as other:
            other.send(line % key + b"\r\n")
            if other._fill() or size < 2000:
                assert other.line() == FMT_LINE
                other.expect_silence()
    talk.expect_silence()
