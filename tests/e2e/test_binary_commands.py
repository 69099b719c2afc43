"""The binary dialect: what every opcode does (PROTOCOL.md, Binary)."""
import struct

import pytest

from harness.packet import ask, binary_stats, packet, read_answer
from harness.script import differs, ours_only
from harness.wait import expire_wait, may_be_left

GET, GETQ, GETK, GETKQ = 0x00, 0x09, 0x0c, 0x0d
SET, ADD, REPLACE, SETQ, ADDQ, REPLACEQ = 0x01, 0x02, 0x03, 0x11, 0x12, 0x13
DELETE, INCR, DECR, DELETEQ, INCRQ, DECRQ = 0x04, 0x05, 0x06, 0x14, 0x15, 0x16
APPEND, PREPEND, APPENDQ, PREPENDQ = 0x0e, 0x0f, 0x19, 0x1a
QUIT, FLUSH, QUITQ, FLUSHQ = 0x07, 0x08, 0x17, 0x18
NOOP, VERSION, STAT = 0x0a, 0x0b, 0x10
TOUCH, GAT, GATQ, GATK, GATKQ = 0x1c, 0x1d, 0x1e, 0x23, 0x24

OK, NOT_FOUND, EXISTS, TOO_LARGE, NOT_STORED, NOT_NUMBER, UNKNOWN = \
    0, 1, 2, 3, 5, 6, 0x81
TEXT = {
    NOT_FOUND: b"Not found", EXISTS: b"Data exists for key.",
    TOO_LARGE: b"Too large.", NOT_STORED: b"Not stored.",
    NOT_NUMBER: b"Non-numeric server-side value for incr or decr",
    UNKNOWN: b"Unknown command",
}
NEVER = 0xffffffff
MAX = (1 << 64) - 1
BIG = b"x" * ((1 << 20) + 1)


def stored(flags=0, exptime=0):
    return struct.pack("!II", flags, exptime)


def counted(delta, initial=0, exptime=0):
    return struct.pack("!QQI", delta, initial, exptime)


def seconds(exptime):
    return struct.pack("!I", exptime)


@pytest.fixture
def binary(server, talk):
    """A binary connection to the shared server, whose store is empty."""
    with server.connect() as connection:
        yield connection


def do(binary, opcode, *args, status=OK, **fields):
    """One request, whose answer must have this status, and its text."""
    answer = ask(binary, opcode, *args, **fields)
    assert answer.status == status, answer
    if status:
        assert (answer.key, answer.extras, answer.cas) == (b"", b"", 0)
        assert answer.value == TEXT[status]
    return answer


def expect_silence(binary):
    answer = ask(binary, NOOP)
    assert answer[1:5] == (OK, b"", b"", b"")


# ---- reading ----------------------------------------------

def test_get(binary, talk):
    talk.set(b"k", b"abc", flags=0xdeadbeef)
    cas = talk.cas_id(b"k")
    extras = b"\xde\xad\xbe\xef"
    for opcode, key in ((GET, b""), (GETQ, b""), (GETK, b"k"), (GETKQ, b"k")):
        answer = do(binary, opcode, b"k")
        assert answer[2:5] == (key, extras, b"abc")
        assert answer.cas == cas


def test_get_miss(binary):
    do(binary, GET, b"none", status=NOT_FOUND)
    answer = ask(binary, GETK, b"none")
    assert answer[1:5] == (NOT_FOUND, b"none", b"", b"")
    for opcode in GETQ, GETKQ:
        binary.send(packet(opcode, b"none"))
    expect_silence(binary)


def test_empty_value(binary):
    do(binary, SET, b"k", b"", stored())
    assert do(binary, GET, b"k").value == b""


def test_touch_and_gat(binary, talk):
    talk.set(b"k", b"abc", flags=7)
    cas = talk.cas_id(b"k")
    flags = b"\0\0\0\7"
    answer = do(binary, TOUCH, b"k", extras=seconds(1000))
    assert answer[2:5] == (b"", flags, b"")
    assert answer.cas == cas
    talk.send(b"mg k t\r\n")
    assert talk.line() in [b"HD t%d" % left for left in may_be_left(1000)]
    for opcode, key in ((GAT, b""), (GATQ, b""), (GATK, b"k"), (GATKQ, b"k")):
        answer = do(binary, opcode, b"k", extras=seconds(100))
        assert answer[2:5] == (key, flags, b"abc")
        assert answer.cas == cas
    talk.send(b"mg k t\r\n")
    assert talk.line() in [b"HD t%d" % left for left in may_be_left(100)]
    do(binary, GAT, b"k", extras=seconds(0))
    talk.ask(b"mg k t\r\n", b"HD t-1\r\n")


def test_touch_and_gat_miss(binary):
    do(binary, TOUCH, b"none", extras=seconds(0), status=NOT_FOUND)
    do(binary, GAT, b"none", extras=seconds(0), status=NOT_FOUND)
    answer = ask(binary, GATK, b"none", extras=seconds(0))
    assert answer[1:5] == (NOT_FOUND, b"none", b"", b"")
    for opcode in GATQ, GATKQ:
        binary.send(packet(opcode, b"none", extras=seconds(0)))
    expect_silence(binary)


# ---- storing ----------------------------------------------

def test_set_add_replace(binary, talk):
    answer = do(binary, SET, b"k", b"abc", stored(flags=5))
    assert answer[2:5] == (b"", b"", b"")
    assert answer.cas == talk.cas_id(b"k") > 0
    talk.ask(b"get k\r\n", b"VALUE k 5 3\r\nabc\r\nEND\r\n")
    do(binary, ADD, b"k", b"x", stored(), status=EXISTS)
    do(binary, REPLACE, b"none", b"x", stored(), status=NOT_FOUND)
    assert do(binary, ADD, b"new", b"n", stored()).cas == talk.cas_id(b"new")
    assert do(binary, REPLACE, b"k", b"r", stored(6)).cas == talk.cas_id(b"k")
    talk.ask(b"get k new none\r\n",
             b"VALUE k 6 1\r\nr\r\nVALUE new 0 1\r\nn\r\nEND\r\n")


def test_append_and_prepend_keep_flags_and_expiry(binary, talk):
    do(binary, APPEND, b"k", b"x", status=NOT_STORED)
    do(binary, PREPEND, b"k", b"x", status=NOT_STORED)
    do(binary, SET, b"k", b"b", stored(7, 100))
    assert do(binary, APPEND, b"k", b"c").cas == talk.cas_id(b"k")
    assert do(binary, PREPEND, b"k", b"a").cas == talk.cas_id(b"k")
    talk.send(b"mg k v f t\r\n")
    assert talk.line() in [b"VA 3 f7 t%d" % left for left in may_be_left(100)]
    talk.expect(b"abc\r\n")


def test_delete(binary, talk):
    talk.set(b"k", b"a")
    answer = do(binary, DELETE, b"k")
    assert answer[2:5] == (b"", b"", b"") and answer.cas == 0
    do(binary, DELETE, b"k", status=NOT_FOUND)


# What changes an item, if its id is right: (opcode, what goes with it).
CHANGES = {
    "set": (SET, {"value": b"1", "extras": stored()}),
    "replace": (REPLACE, {"value": b"1", "extras": stored()}),
    "add": (ADD, {"value": b"1", "extras": stored()}),
    "append": (APPEND, {"value": b"1"}),
    "prepend": (PREPEND, {"value": b"1"}),
    "incr": (INCR, {"extras": counted(1)}),
    "decr": (DECR, {"extras": counted(1)}),
    "delete": (DELETE, {}),
}


@pytest.mark.parametrize("name", CHANGES)
def test_compare(binary, talk, name):
    """An id that is not 0 must be the item's."""
    opcode, fields = CHANGES[name]
    talk.set(b"k", b"5")
    cas = talk.cas_id(b"k")
    do(binary, opcode, b"k", cas=cas + 1, status=EXISTS, **fields)
    assert talk.get(b"k") == b"5"
    answer = do(binary, opcode, b"k", cas=cas, **fields)
    if opcode == DELETE:
        assert answer.cas == 0 and talk.get(b"k") is None
    else:
        assert answer.cas == talk.cas_id(b"k") > cas
        do(binary, opcode, b"k", cas=cas, status=EXISTS, **fields)


@pytest.mark.parametrize("name", ["set", "replace", "add"])
def test_compare_on_missing(binary, name):
    opcode, fields = CHANGES[name]
    do(binary, opcode, b"none", cas=1, status=NOT_FOUND, **fields)
    do(binary, GET, b"none", status=NOT_FOUND)


# ---- counting ----------------------------------------------

def number(answer):
    assert (answer.key, answer.extras) == (b"", b"")
    return struct.unpack("!Q", answer.value)[0]


def test_counting(binary, talk):
    talk.set(b"n", b"10", flags=7)
    assert number(do(binary, INCR, b"n", extras=counted(90))) == 100
    answer = do(binary, DECR, b"n", extras=counted(1))
    assert number(answer) == 99 and answer.cas == talk.cas_id(b"n")
    assert number(do(binary, DECR, b"n", extras=counted(MAX))) == 0
    assert number(do(binary, INCR, b"n", extras=counted(MAX))) == MAX
    assert talk.get(b"n") == b"%d" % MAX


def test_counting_wraps(binary, talk):
    talk.set(b"n", b"18446744073709551615")
    assert number(do(binary, INCR, b"n", extras=counted(3))) == 2


def test_counting_makes_a_missing_one(binary, talk):
    """With `initial`, not with the delta; unless the time is all ones."""
    do(binary, INCR, b"n", extras=counted(5, 7, NEVER), status=NOT_FOUND)
    do(binary, DECR, b"n", extras=counted(5, 7, NEVER), status=NOT_FOUND)
    assert number(do(binary, INCR, b"n", extras=counted(5, 7, 0))) == 7
    assert number(do(binary, INCR, b"n", extras=counted(5, 7, NEVER))) == 12
    assert number(do(binary, DECR, b"m", extras=counted(5, MAX, 100))) == MAX
    talk.ask(b"get n m\r\n", b"VALUE n 0 2\r\n12\r\nVALUE m 0 20\r\n%d\r\n"
             b"END\r\n" % MAX)
    talk.send(b"mg m t\r\n")
    assert talk.line() in [b"HD t%d" % left for left in may_be_left(100)]


def test_counting_what_is_no_number(binary, talk):
    for value in b"abc", b"", b"-1", b"18446744073709551616":
        talk.set(b"n", value)
        do(binary, INCR, b"n", extras=counted(1), status=NOT_NUMBER)
        do(binary, DECR, b"n", extras=counted(1), status=NOT_NUMBER)


# ---- quiet forms ----------------------------------------------

# Nothing is said of success; (opcode, fields, what it is then).
QUIET = {
    "set": (SETQ, {"value": b"1", "extras": stored()}, b"1"),
    "add": (ADDQ, {"value": b"1", "extras": stored()}, b"1"),
    "replace": (REPLACEQ, {"value": b"1", "extras": stored()}, b"1"),
    "append": (APPENDQ, {"value": b"1"}, b"51"),
    "prepend": (PREPENDQ, {"value": b"1"}, b"15"),
    "incr": (INCRQ, {"extras": counted(1)}, b"6"),
    "decr": (DECRQ, {"extras": counted(1)}, b"4"),
    "delete": (DELETEQ, {}, None),
}


@pytest.mark.parametrize("name", QUIET)
def test_quiet_success(binary, talk, name):
    opcode, fields, value = QUIET[name]
    if name != "add":
        talk.set(b"k", b"5")
    binary.send(packet(opcode, b"k", **fields))
    expect_silence(binary)
    assert talk.get(b"k") == value


QUIET_FAILURE = {
    "add": (ADDQ, b"k", {"extras": stored()}, EXISTS),
    "set": (SETQ, b"k", {"extras": stored(), "cas": MAX}, EXISTS),
    "replace": (REPLACEQ, b"none", {"extras": stored()}, NOT_FOUND),
    "append": (APPENDQ, b"none", {}, NOT_STORED),
    "prepend": (PREPENDQ, b"none", {}, NOT_STORED),
    "incr": (INCRQ, b"k", {"extras": counted(1)}, NOT_NUMBER),
    "decr": (DECRQ, b"none", {"extras": counted(1, 1, NEVER)}, NOT_FOUND),
    "delete": (DELETEQ, b"none", {}, NOT_FOUND),
    "delete another": (DELETEQ, b"k", {"cas": MAX}, EXISTS),
    "too large": (SETQ, b"none", {"extras": stored(), "value": BIG},
                  TOO_LARGE),
}


@pytest.mark.parametrize("name", QUIET_FAILURE)
def test_quiet_failure_is_told(binary, talk, name):
    """With the quiet opcode and its own opaque."""
    opcode, key, fields, status = QUIET_FAILURE[name]
    talk.set(b"k", b"abc")
    do(binary, opcode, key, status=status, **fields)
    expect_silence(binary)


def test_multiget(binary, talk):
    """Quiet gets and a noop: hits in order, then the noop's answer."""
    for i in range(0, 100, 2):
        talk.set(b"k%d" % i, b"v%d" % i)
    binary.send(b"".join(packet(GETKQ, b"k%d" % i, opaque=i)
                         for i in range(100)) + packet(NOOP, opaque=1000))
    for i in range(0, 100, 2):
        answer = read_answer(binary)
        assert (answer.key, answer.value, answer.opaque) == \
            (b"k%d" % i, b"v%d" % i, i)
    assert read_answer(binary)[:2] == (NOOP, OK)


# ---- the others ----------------------------------------------

def test_noop_and_version(binary):
    expect_silence(binary)
    version = ask(binary, VERSION)
    assert version.status == OK
    assert all(word.isdigit() for word in version.value.split(b"."))
    assert len(version.value.split(b".")) == 3


def test_version_is_that_of_text(binary, talk):
    talk.send(b"version\r\n")
    assert talk.line() == b"VERSION " + ask(binary, VERSION).value


@pytest.mark.parametrize("extras", [b"", seconds(0)], ids=["none", "now"])
def test_flush(binary, talk, extras):
    talk.set(b"k", b"a")
    answer = do(binary, FLUSH, extras=extras)
    assert answer[2:5] == (b"", b"", b"")
    assert talk.get(b"k") is None
    talk.set(b"k", b"b")
    binary.send(packet(FLUSHQ, extras=extras))
    expect_silence(binary)
    assert talk.get(b"k") is None


def test_flush_disabled(new_server):
    server = new_server("-F")
    with server.connect() as talk, server.connect() as binary:
        talk.set(b"k", b"a")
        answer = ask(binary, FLUSH)
        assert (answer.status, answer.value) == (0x20, b"Auth failure.")
        assert talk.get(b"k") == b"a"


@pytest.mark.parametrize("opcode", [QUIT, QUITQ])
def test_quit(binary, opcode):
    binary.send(packet(SETQ, b"k", b"a", stored()) + packet(GET, b"k")
                + packet(opcode, opaque=5) + packet(NOOP))
    assert read_answer(binary).value == b"a"
    if opcode == QUIT:
        answer = read_answer(binary)
        assert answer == (QUIT, OK, b"", b"", b"", 5, 0)
    binary.expect_close()


def test_stats(binary, talk):
    general = binary_stats(binary)
    assert list(general) == list(talk.stats())
    assert int(general["pid"]) > 0 and int(general["uptime"]) >= 0
    assert binary_stats(binary, b"settings").keys() == \
        talk.stats("settings").keys()
    talk.set(b"k", b"a")
    assert binary_stats(binary, b"items").keys() == talk.stats("items").keys()
    assert binary_stats(binary, b"slabs").keys() == talk.stats("slabs").keys()
    do(binary, STAT, b"bogus", status=NOT_FOUND)


def test_stats_reset(binary, talk):
    talk.set(b"k", b"a")
    assert binary_stats(binary, b"reset") == {}
    assert talk.stats()["cmd_set"] == "0"


@ours_only
def test_stats_detail_and_sizes(binary):
    for words in b"detail on", b"detail off":
        assert binary_stats(binary, words) == {}
    assert binary_stats(binary, b"sizes") == {"sizes_status": "disabled"}


def test_unknown_opcodes(binary):
    """An empty body: told, and the connection lives."""
    for opcode in (0x1b, 0x1f, 0x20, *range(0x25, 0x100)):
        do(binary, opcode, status=UNKNOWN)
    expect_silence(binary)


def test_login_is_unknown_without_users(binary):
    do(binary, 0x20, status=UNKNOWN)
    do(binary, 0x21, b"PLAIN", b"\0ann\0good", status=UNKNOWN)
    do(binary, 0x22, b"PLAIN", b"x", status=UNKNOWN)
    expect_silence(binary)


@differs("1.6.18 loses step")
@pytest.mark.parametrize("opcode", [0x1b, 0x25, 0x30, 0x80, 0xff])
def test_unknown_opcode_skips_its_body(binary, opcode):
    do(binary, opcode, b"key", b"v" * 3000, b"extras", status=UNKNOWN)
    expect_silence(binary)


# ---- values, keys, times ----------------------------------------------

def test_too_large_is_swallowed(binary, talk):
    for opcode, fields in ((SET, {"extras": stored()}), (APPEND, {})):
        do(binary, opcode, b"none", BIG, status=TOO_LARGE, **fields)
        expect_silence(binary)
    assert talk.get(b"none") is None


@differs("memcached deletes it")
def test_too_large_keeps_the_old(binary, talk):
    talk.set(b"k", b"old")
    for opcode, fields in ((SET, {"extras": stored()}), (APPEND, {}),
                           (REPLACE, {"extras": stored()})):
        do(binary, opcode, b"k", BIG, status=TOO_LARGE, **fields)
        assert talk.get(b"k") == b"old"


@differs("1.6.18: not stored")
def test_result_too_large(binary, talk):
    half = b"x" * 700_000
    talk.set(b"k", half)
    do(binary, APPEND, b"k", half, status=TOO_LARGE)
    assert talk.get(b"k") == half


def test_large_value(binary):
    value = bytes(range(256)) * 4000
    do(binary, SET, b"k", value, stored())
    assert do(binary, GET, b"k").value == value


@pytest.mark.parametrize("key", [
    b" ", b"a b\r\nc", b"\0", b"k" * 250, bytes(range(250))],
    ids=["blank", "line end", "NUL", "longest", "all bytes"])
def test_keys_are_any_bytes(binary, key):
    do(binary, SET, key, b"a", stored())
    assert do(binary, GETK, key).key == key
    do(binary, APPEND, key, b"b")
    assert do(binary, GET, key).value == b"ab"
    do(binary, DELETE, key)
    do(binary, GET, key, status=NOT_FOUND)


def test_text_and_binary_see_the_same(binary, talk):
    talk.set(b"k", b"text", flags=3)
    assert do(binary, GET, b"k")[3:5] == (b"\0\0\0\3", b"text")
    do(binary, SET, b"k", b"binary", stored(4))
    talk.ask(b"get k\r\n", b"VALUE k 4 6\r\nbinary\r\nEND\r\n")
    talk.ask(b"ms AAEC 1 b\r\na\r\n", b"HD\r\n")
    assert do(binary, GET, b"\0\1\2").value == b"a"


def test_times(binary, talk):
    """30 days and below are seconds from now; there are no negative ones."""
    do(binary, SET, b"k", b"a", stored(exptime=2592001))
    do(binary, GET, b"k", status=NOT_FOUND)
    do(binary, SET, b"k", b"a", stored(exptime=2592000))
    do(binary, GET, b"k")
    do(binary, SET, b"far", b"a", stored(exptime=0xffffffff))
    do(binary, GET, b"far")
    do(binary, SET, b"short", b"a", stored(exptime=1))
    expire_wait(1)
    do(binary, GET, b"short", status=NOT_FOUND)
    do(binary, REPLACE, b"short", b"a", stored(), status=NOT_FOUND)
    do(binary, ADD, b"short", b"a", stored())


def test_opaque_is_echoed(binary):
    for opaque in 0, 1, 0x12345678, 0xffffffff:
        assert ask(binary, NOOP, opaque=opaque).opaque == opaque
        answer = ask(binary, GET, b"none", opaque=opaque)
        assert answer.opaque == opaque


def test_counters(binary, talk):
    before = talk.stats()
    do(binary, SET, b"n", b"5", stored())
    do(binary, SET, b"n", b"5", stored(), cas=MAX, status=EXISTS)
    do(binary, GET, b"n")
    do(binary, GET, b"none", status=NOT_FOUND)
    do(binary, INCR, b"n", extras=counted(1))
    do(binary, TOUCH, b"n", extras=seconds(0))
    do(binary, DELETE, b"n")
    after = talk.stats()
    changed = {name: int(after[name]) - int(before[name]) for name in (
        "cmd_set", "cas_badval", "get_hits", "get_misses", "incr_hits",
        "touch_hits", "cmd_touch", "delete_hits", "total_items")}
    assert changed == {
        "cmd_set": 2, "cas_badval": 1, "get_hits": 1, "get_misses": 1,
        "incr_hits": 1, "touch_hits": 1, "cmd_touch": 1, "delete_hits": 1,
        "total_items": 1}


def test_disabled_cas_shows_0(new_server):
    with new_server("--disable-cas").connect() as talk:
        for opcode, extras, value in [
                (SET, stored(), b"1"), (APPEND, b"", b"1"),
                (INCR, counted(1), b""), (TOUCH, seconds(0), b""),
                (GET, b"", b""), (GAT, seconds(0), b"")]:
            answer = ask(talk, opcode, b"k", value, extras)
            assert (answer.status, answer.cas) == (OK, 0), opcode
