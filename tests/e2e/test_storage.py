"""set add replace append prepend cas: every answer (PROTOCOL.md, storage)."""
import pytest

from harness.script import conversations, differs, hold

ANSWERS = {
    "set-stores": """
        > set k 5 0 3
        > abc
        < STORED
        > get k
        < VALUE k 5 3
        < abc
        < END
    """,
    "set-replaces-value-and-flags": """
        > set k 5 0 3
        > abc
        < STORED
        > set k 6 0 2
        > xy
        < STORED
        > get k
        < VALUE k 6 2
        < xy
        < END
    """,
    "empty-value": """
        > set k 0 0 0
        >
        < STORED
        > get k
        < VALUE k 0 0
        <
        < END
        > append k 0 0 0
        >
        < STORED
        > get k
        < VALUE k 0 0
        <
        < END
    """,
    "add-on-missing": """
        > add k 1 0 1
        > a
        < STORED
    """,
    "add-on-live": """
        > set k 1 0 3
        > old
        < STORED
        > add k 2 0 3
        > new
        < NOT_STORED
        > get k
        < VALUE k 1 3
        < old
        < END
    """,
    "replace-on-missing": """
        > replace k 0 0 1
        > a
        < NOT_STORED
        > get k
        < END
    """,
    "replace-on-live": """
        > set k 1 0 3
        > old
        < STORED
        > replace k 2 0 2
        > nw
        < STORED
        > get k
        < VALUE k 2 2
        < nw
        < END
    """,
    "append-and-prepend-keep-the-flags": """
        > set k 7 0 1
        > b
        < STORED
        > append k 99 0 1
        > c
        < STORED
        > prepend k 98 0 1
        > a
        < STORED
        > get k
        < VALUE k 7 3
        < abc
        < END
    """,
    "append-and-prepend-on-missing": """
        > append k 0 0 1
        > c
        < NOT_STORED
        > prepend k 0 0 1
        > a
        < NOT_STORED
        > get k
        < END
    """,
    "cas-on-missing": """
        > cas k 0 0 1 1
        > a
        < NOT_FOUND
        > get k
        < END
    """,
    "cas-with-id-0-on-live": """
        > set k 0 0 1
        > a
        < STORED
        > cas k 0 0 1 0
        > b
        < EXISTS
    """,
    "cas-with-the-largest-id": """
        > set k 0 0 1
        > a
        < STORED
        > cas k 0 0 1 18446744073709551615
        > b
        < EXISTS
    """,
    "cas-with-a-bad-id-swallows-the-block": """
        > set k 0 0 1
        > a
        < STORED
        > cas k 0 0 9
        > flush_all
        < CLIENT_ERROR bad command line format
        > cas k 0 0 9 abc
        > flush_all
        < CLIENT_ERROR bad command line format
        > cas k 0 0 9 -1
        > flush_all
        < CLIENT_ERROR bad command line format
        > cas k 0 0 9 18446744073709551616
        > flush_all
        < CLIENT_ERROR bad command line format
        > get k
        < VALUE k 0 1
        < a
        < END
    """,
    "flags-are-32-bit-unsigned-decimals": """
        > set k 4294967295 0 1
        > a
        < STORED
        > get k
        < VALUE k 4294967295 1
        < a
        < END
        > set k 007 0 1
        > b
        < STORED
        > get k
        < VALUE k 7 1
        < b
        < END
    """,
    "bad-flags-swallow-the-block": """
        > set k -1 0 9
        > flush_all
        < CLIENT_ERROR bad command line format
        > set k abc 0 9
        > flush_all
        < CLIENT_ERROR bad command line format
        > set k 1x 0 9
        > flush_all
        < CLIENT_ERROR bad command line format
        > get k
        < END
    """,
    "flags-over-32-bit-are-refused": """
        > set k 4294967296 0 9
        > flush_all
        < CLIENT_ERROR bad command line format
        > get k
        < END
    """,
    "bad-exptime-swallows-the-block": """
        > set k 0 abc 9
        > flush_all
        < CLIENT_ERROR bad command line format
        > set k 0 99999999999999999999 9
        > flush_all
        < CLIENT_ERROR bad command line format
        > get k
        < END
    """,
    "extra-words-are-ignored": """
        > set k 2 0 1 extra
        > a
        < STORED
        > set k 1 0 1 more extra words
        > a
        < STORED
        > get k
        < VALUE k 1 1
        < a
        < END
    """,
    "value-may-hold-commands-and-line-ends": """
        > set k 0 0 15
        > get a
        > END
        > x y
        < STORED
        > get k
        < VALUE k 0 15
        < get a
        < END
        < x y
        < END
    """,
}


@conversations(ANSWERS, differing={
    "cas-with-a-bad-id-swallows-the-block": "1.6.18 does not swallow",
    "bad-flags-swallow-the-block": "1.6.18 does not swallow",
    "flags-over-32-bit-are-refused": "memcached truncates",
    "bad-exptime-swallows-the-block": "1.6.18 does not swallow",
    "extra-words-are-ignored": "1.6.18 takes one at most",
})
def test_answer(talk, script, delivery):
    hold(talk, script, delivery)


def test_value_of_all_bytes(talk):
    value = bytes(range(256)) * 3
    talk.set(b"k", value, flags=1)
    assert talk.get(b"k") == value


# Every change gives a new id; touch and gat change none.
CHANGES = {
    "set": (b"set n 0 0 1\r\n1\r\n", b"STORED\r\n"),
    "replace": (b"replace n 0 0 1\r\n1\r\n", b"STORED\r\n"),
    "append": (b"append n 0 0 1\r\n1\r\n", b"STORED\r\n"),
    "prepend": (b"prepend n 0 0 1\r\n1\r\n", b"STORED\r\n"),
    "incr": (b"incr n 1\r\n", b"6\r\n"),
    "incr by 0": (b"incr n 0\r\n", b"5\r\n"),
    "decr": (b"decr n 1\r\n", b"4\r\n"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_change_gives_a_new_cas_id(talk, name):
    talk.set(b"n", b"5")
    before = talk.cas_id(b"n")
    talk.ask(*CHANGES[name])
    assert talk.cas_id(b"n") > before


def test_touch_and_gat_keep_the_cas_id(talk):
    talk.set(b"k", b"5")
    before = talk.cas_id(b"k")
    talk.ask(b"touch k 100\r\n", b"TOUCHED\r\n")
    talk.ask(b"gat 100 k\r\n", b"VALUE k 0 1\r\n5\r\nEND\r\n")
    talk.ask(b"gats 100 k\r\n",
             b"VALUE k 0 1 %d\r\n5\r\nEND\r\n" % before)
    assert talk.cas_id(b"k") == before


def test_refused_write_keeps_the_cas_id(talk):
    talk.set(b"k", b"5")
    before = talk.cas_id(b"k")
    talk.ask(b"add k 0 0 1\r\n1\r\n", b"NOT_STORED\r\n")
    talk.ask(b"cas k 0 0 1 0\r\n1\r\n", b"EXISTS\r\n")
    talk.ask(b"set k 0 0 1\r\n1xx", b"CLIENT_ERROR bad data chunk\r\n")
    assert talk.cas_id(b"k") == before


def test_cas_succeeds_once_with_the_same_id(talk):
    talk.set(b"k", b"old", flags=3)
    cas = talk.cas_id(b"k")
    talk.ask(b"cas k 4 0 3 %d\r\nnew\r\n" % cas, b"STORED\r\n")
    talk.ask(b"cas k 5 0 3 %d\r\nbad\r\n" % cas, b"EXISTS\r\n")
    talk.ask(b"get k\r\n", b"VALUE k 4 3\r\nnew\r\nEND\r\n")


def test_cas_ids_grow_over_all_keys(talk):
    ids = []
    for key in b"a", b"b", b"a", b"c":
        talk.set(key, b"1")
        ids.append(talk.cas_id(key))
    assert ids == sorted(set(ids)) and ids[0] > 0


# A value over the limit: refused, announced bytes swallowed, old value kept.
@pytest.mark.parametrize("command", [
    pytest.param(b"set k 0 0 %d", marks=differs("memcached deletes the old")),
    b"add new 0 0 %d", b"replace k 0 0 %d", b"cas k 0 0 %d 1",
    b"append k 0 0 %d", b"prepend k 0 0 %d"])
def test_too_large(talk, command):
    size = 2 << 20
    talk.set(b"k", b"old")
    talk.ask(command % size + b"\r\n" + b"x" * size + b"\r\n",
             b"SERVER_ERROR object too large for cache\r\n")
    talk.expect_silence()
    assert talk.get(b"k") == b"old"
    assert talk.get(b"new") is None


@differs("memcached answers NOT_STORED")
@pytest.mark.parametrize("verb", [b"append", b"prepend"])
def test_result_too_large(talk, verb):
    half = b"x" * 700_000
    talk.set(b"k", half, flags=4)
    talk.ask(b"%s k 0 0 %d\r\n%s\r\n" % (verb, len(half), half),
             b"SERVER_ERROR object too large for cache\r\n")
    assert talk.get(b"k") == half


# The block is exactly as long as announced plus CRLF, then it is checked.
CHUNKS = {
    "too-long": b"set k 0 0 3\r\nabcde\r\n",
    "too-short": b"set k 0 0 5\r\nabc\r\nxx",
    "lone-LF": b"set k 0 0 3\r\nabc\nx",
    "LF-CR": b"set k 0 0 3\r\nabc\n\r",
    "empty-with-text": b"set k 0 0 0\r\nxx",
}


@pytest.mark.parametrize("name", CHUNKS)
def test_bad_chunk_stores_nothing(talk, name):
    """What is left of a block that was too long is the next command."""
    talk.set(b"k", b"old")
    talk.ask(CHUNKS[name], b"CLIENT_ERROR bad data chunk\r\n")
    if name == "too-long":
        assert b"ERROR" in talk.line()
    talk.expect_silence()
    assert talk.get(b"k") == b"old"
