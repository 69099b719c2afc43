"""Binary packets in pieces, in crowds, and of impossible shapes: U28, U84."""
import os
import socket
import time

import pytest

from harness.packet import HEAD, ask, packet, read_answer
from harness.script import ours_only

GET, GETQ, GETKQ, SET, SETQ, DELETE, INCR, FLUSH, NOOP, VERSION, APPEND, \
    STAT, TOUCH, GAT, QUIT = 0x00, 0x09, 0x0d, 0x01, 0x11, 0x04, 0x05, 0x08, \
    0x0a, 0x0b, 0x0e, 0x10, 0x1c, 0x1d, 0x07
INVALID, UNKNOWN = 4, 0x81
E4, E8, E20 = (b"\0" * size for size in (4, 8, 20))
LONG_KEY = b"k" * 251


def raw(opcode, key_size=0, extras_size=0, body_size=0, rest=b"", magic=0x80,
        kind=0):
    """A head that says what it likes, and what follows it."""
    return HEAD.pack(magic, opcode, key_size, extras_size, kind, 0, body_size,
                     0x01020304, 0) + rest


# ---- which dialect ----------------------------------------------

def test_first_byte_chooses_for_life(server, talk):
    with server.connect() as binary:
        binary.send(packet(NOOP) + b"version\r\n" + b"x" * 24)
        assert read_answer(binary).opcode == NOOP
        binary.expect_close()
    with server.connect() as text:
        text.ask(b"mn\r\n", b"MN\r\n")
        text.send(packet(GET, b"k") + b"\r\n")
        assert b"ERROR" in text.line()
        text.expect_silence()


@ours_only
def test_dialect_by_option(new_server):
    with new_server("--protocol=binary").connect() as binary:
        binary.send(b"version\r\n" + b"x" * 24)
        binary.expect_close()
    with new_server("--protocol=ascii").connect() as text:
        text.send(packet(GET, b"k") + b"\r\n")
        assert b"ERROR" in text.line()
        text.expect_silence()
        assert text.stats("settings")["binding_protocol"] == "ascii"


# ---- pieces and pipelines ----------------------------------------------

def test_byte_by_byte(server, talk):
    with server.connect() as binary:
        binary.bytewise = True
        binary.send(packet(SET, b"k", b"value", E8) + packet(GET, b"k"))
        assert read_answer(binary).status == 0
        assert read_answer(binary).value == b"value"


@pytest.mark.parametrize("size", [1, 23, 24, 25, 700, 65536])
def test_pipeline_in_pieces(server, talk, size):
    """Many packets, cut anywhere; the answers are whole and in order."""
    count = 300 if size > 1 else 5
    commands = b""
    for i in range(count):
        commands += packet(SETQ, b"k%d" % i, b"v" * i, E8, opaque=i)
        commands += packet(GET, b"k%d" % i, opaque=i)
    commands += packet(NOOP, opaque=9999)
    with server.connect() as binary:
        for at in range(0, len(commands), size):
            binary.send(commands[at:at + size])
        for i in range(count):
            answer = read_answer(binary)
            assert (answer.opaque, answer.value) == (i, b"v" * i)
        assert read_answer(binary).opaque == 9999


@ours_only  # memcached lets such a client wait
def test_u28_miss_answers_at_once(server, talk):
    """A quiet miss, then a noop in a packet of its own: no wait in between.

    Of a client that sends a small packet only when all before it are
    acknowledged. Those that wait for that take 40 ms, all but the first."""
    with server.connect() as binary:
        binary.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 0)
        took = []
        for i in range(500):
            start = time.monotonic()
            binary.send(packet(GETKQ, b"none", opaque=i))
            binary.send(packet(NOOP, opaque=i))
            assert read_answer(binary)[:2] == (NOOP, 0)
            took.append(time.monotonic() - start)
        assert min(took[100:]) < 0.04


# ---- shapes that no opcode has ----------------------------------------------

BAD_SHAPES = {
    "get without key": packet(GET),
    "get with extras": packet(GET, b"k", extras=E4),
    "get with value": packet(GET, b"k", b"v"),
    "getq without key": packet(GETQ),
    "set without extras": packet(SET, b"k", b"v"),
    "set with short extras": packet(SET, b"k", b"v", E4),
    "set with long extras": packet(SET, b"k", b"v", E20),
    "set without key": packet(SET, b"", b"v", E8),
    "setq without extras": packet(SETQ, b"k", b"v"),
    "delete without key": packet(DELETE),
    "delete with extras": packet(DELETE, b"k", extras=E4),
    "delete with value": packet(DELETE, b"k", b"v"),
    "incr without extras": packet(INCR, b"k"),
    "incr with short extras": packet(INCR, b"k", extras=E8),
    "incr with value": packet(INCR, b"k", b"v", E20),
    "append with extras": packet(APPEND, b"k", b"v", E8),
    "append without key": packet(APPEND, b"", b"v"),
    "touch without extras": packet(TOUCH, b"k"),
    "gat without key": packet(GAT, extras=E4),
    "noop with key": packet(NOOP, b"k"),
    "noop with value": packet(NOOP, b"", b"v"),
    "version with key": packet(VERSION, b"k"),
    "quit with key": packet(QUIT, b"k"),
    "flush with key": packet(FLUSH, b"k"),
    "flush with long extras": packet(FLUSH, extras=E8),
    "stat with extras": packet(STAT, b"k", extras=E4),
    "get of a long key": packet(GET, LONG_KEY),
    "set of a long key": packet(SET, LONG_KEY, b"v", E8),
}


@pytest.mark.parametrize("name", BAD_SHAPES)
def test_bad_shape_is_answered_and_closed(server, talk, name):
    talk.set(b"canary", b"1")
    with server.connect() as binary:
        binary.send(packet(NOOP) + BAD_SHAPES[name])
        assert read_answer(binary)[:2] == (NOOP, 0)
        answer = read_answer(binary)
        assert (answer.status, answer.value) == (INVALID, b"Invalid arguments")
        binary.expect_close()
    assert talk.get(b"canary") == b"1"


@ours_only  # 1.6.18 closes without an answer, or waits
@pytest.mark.parametrize("key,body,status", [
    (1, 3, UNKNOWN), (1, 0, UNKNOWN), (1, 0x40000001, INVALID),
    (1, 0x7fffffff, INVALID), (1, 0x80000000, INVALID),
    (1, 0xffffffff, INVALID), (251, 300, INVALID), (65535, 65543, INVALID)])
def test_impossible_head(server, key, body, status):
    """It alone is refused, whatever may follow."""
    with server.connect() as binary:
        binary.send(raw(SET, key, 8, body))
        answer = read_answer(binary)
        assert (answer.status, answer.opaque) == (status, 0x01020304)
        binary.expect_close()


@pytest.mark.parametrize("magic", [0x00, 0x0a, 0x7f, 0x81, 0xff])
def test_wrong_magic_closes(server, magic):
    with server.connect() as binary:
        binary.send(packet(NOOP) + raw(NOOP, magic=magic) + packet(NOOP))
        assert read_answer(binary)[:2] == (NOOP, 0)
        binary.expect_close()


def test_type_and_vbucket_are_ignored(server, talk):
    with server.connect() as binary:
        binary.send(HEAD.pack(0x80, NOOP, 0, 0, 0x7f, 0xffff, 0, 5, 0))
        answer = read_answer(binary)
        assert (answer.opcode, answer.status, answer.opaque) == (NOOP, 0, 5)


def test_half_a_packet_and_gone(server, talk):
    whole = packet(SET, b"k", b"value", E8)
    for size in 1, 23, 24, 30, 33, len(whole) - 1:
        with server.connect() as binary:
            binary.send(packet(NOOP) + whole[:size])
            assert read_answer(binary).opcode == NOOP
    assert talk.get(b"k") is None
    with server.connect() as binary:
        binary.send(whole)
        binary.finish_sending()
        assert read_answer(binary).status == 0
        binary.expect_close()


@ours_only
def test_u84_every_opcode_with_odd_lengths(new_server):
    """Nothing dies, nobody else notices, and no head makes memory grow."""
    server = new_server()
    talk = server.connect()
    talk.set(b"canary", b"1")
    before = server.rss_bytes()
    lengths = [(0, 0, 0), (0, 255, 255), (0, 255, 3), (250, 0, 250),
               (251, 0, 251), (65535, 255, 0), (65535, 0, 65535),
               (1, 8, 0x7fffffff), (0, 0, 0xffffffff), (65535, 255, 1 << 31),
               (1, 4, 5), (1, 20, 21), (3, 7, 12)]
    for opcode in range(256):
        if opcode in (0x08, 0x18):  # would empty the store
            continue
        for key, extras, body in lengths:
            with server.connect() as binary:
                binary.send(raw(opcode, key, extras, body, b"x" * 300))
                binary.finish_sending()
                while binary._fill():
                    pass
                assert len(binary.buffer) < 4096 or opcode == STAT
    if not os.environ.get("MEMCACHEDB_SAN"):  # that keeps what was freed
        assert server.rss_bytes() < before + (32 << 20)
    assert talk.get(b"canary") == b"1"


@ours_only
def test_u84_a_large_head_takes_no_memory(new_server):
    """Memory comes as the bytes do, not as they are announced."""
    server = new_server()
    talk = server.connect()
    before = server.rss_bytes()
    others = []
    for _ in range(50):
        others.append(server.connect())
        others[-1].send(raw(SET, 1, 8, 9 + (1 << 20), E8 + b"k" + b"x" * 100))
    talk.expect_silence()
    assert server.rss_bytes() < before + (64 << 20)
    for other in others:
        other.close()


def test_answers_that_nobody_reads(server, talk):
    """Stats without end, never read: others are served (issue_101)."""
    others = [server.connect() for _ in range(10)]
    for other in others:
        other.sock.setblocking(False)
        try:
            for _ in range(200):
                other.sock.send(packet(STAT) * 50)
        except BlockingIOError:
            pass
    for _ in range(20):
        talk.set(b"k", b"a")
        assert talk.get(b"k") == b"a"
    with server.connect() as binary:
        assert ask(binary, NOOP).status == 0
    for other in others:
        other.close()
