"""User cases of client libraries, as bytes: U23 U25 U29 U33.

Real libraries are in tests/clients.
"""
import re

import pytest

from harness.script import conversations, differs, hold
from harness.server import REFERENCE

FMT_LINE = b"CLIENT_ERROR bad command line format"


# ---- U23: version is a health check ------------------------------------------------

def test_u23_version_is_three_numbers(talk):
    talk.send(b"version\r\n")
    numbers = re.fullmatch(rb"VERSION (\d+)\.(\d+)\.(\d+)", talk.line())
    assert all(int(number) < 255 for number in numbers.groups())


# ---- U25: Dalli from 3.2 on, in meta ----------------------------------------

@conversations({
    "set, get, miss": """
        > version
        <~ VERSION .*
        > ms k 5 c F0 T0 MS
        > value
        <~ HD c[0-9]+
        > mg k v f
        < VA 5 f0
        < value
        > mg none v f
        < EN
        > ms k 1 c F0 T0 ME
        > x
        < NS c0
        > ms none 1 c F0 T0 MR
        > x
        < NS c0
    """,
    "append, prepend": """
        > ms k 1 c F2 T0 MS
        > b
        <~ HD c[0-9]+
        > ms k 1 MA
        > c
        < HD
        > ms k 1 MP
        > a
        < HD
        > mg k v f
        < VA 3 f2
        < abc
        > ms none 1 MA
        > c
        < NS
    """,
    "cas": """
        > ms k 1 c F0 C0 T0 ME
        > 1
        <~ HD c[0-9]+
        > mg k v f c
        <~ VA 1 f0 c[0-9]+
        < 1
        > ms k 1 c F0 C1 T0 MS
        > 2
        < EX c0
        > ms none 1 c F0 C1 T0 MS
        > 2
        < NF c0
        > md k C1
        < EX
        > md k
        < HD
        > md k
        < NF
    """,
    "counters": """
        > ma n v D1 MI
        < NF
        > ma n v D1 J70 N0 MI
        < VA 2
        < 70
        > ma n v D31 J70 N0 MI
        < VA 3
        < 101
        > ma n v D1000 MD
        < VA 1
        < 0
    """,
    "touch, gat": """
        > ms k 1 c F0 T0 MS
        > 1
        <~ HD c[0-9]+
        > mg k T1000
        < HD
        > mg none T1000
        < EN
        > mg k v f T1000
        < VA 1 f0
        < 1
    """,
    "a key that needs base64": """
        > ms w6kgYg== 2 c b F0 T0 MS
        > 10
        <~ HD c[0-9]+
        > mg w6kgYg== v f b
        < VA 2 f0
        < 10
        > md w6kgYg== b
        < HD
    """,
    "quietly": """
        > ms a 1 c F0 T0 MS q
        > 1
        > ms b 1 c F0 T0 MS q
        > 2
        > md none q
        > ma b v D1 J0 N0 q MI
        > mn
        < NF
        < MN
        > mg a v f k q s
        > mg none v f k q s
        > mg b v f k q s
        > mn
        < VA 1 f0 ka s1
        < 1
        < VA 1 f0 kb s1
        < 3
        < MN
        > flush_all
        < OK
    """,
})
def test_u25_dalli_in_meta(talk, script, delivery):
    """The real one that Debian has speaks binary: tests/clients."""
    hold(talk, script, delivery)


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
