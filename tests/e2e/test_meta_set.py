"""ms: storing by the meta commands (PROTOCOL.md, Meta commands)."""
import pytest

from harness.script import conversations, differs, hold, ours_only

BIG = 1 << 20

ANSWERS = {
    "stores": """
        > ms k 3
        > abc
        < HD
        > get k
        < VALUE k 0 3
        < abc
        < END
    """,
    "flags and expiry": """
        > ms k 3 F5 T100
        > abc
        < HD
        > mg k v f t
        <~ VA 3 f5 t{100 s}
        < abc
        > ms k 2
        > ab
        < HD
        > mg k v f t
        < VA 2 f0 t-1
        < ab
    """,
    "empty value": """
        > ms k 0
        >
        < HD
        > mg k v
        < VA 0
        <
    """,
    "key and opaque in order": """
        > ms k 1 O77 k
        > a
        < HD O77 kk
        > ms k 1 k O77 ME
        > a
        < NS kk O77
    """,
    "modes": """
        > ms k 1 MR
        > a
        < NS
        > ms k 1 MA
        > a
        < NS
        > ms k 1 MP
        > a
        < NS
        > ms k 1 ME
        > b
        < HD
        > ms k 1 ME
        > x
        < NS
        > ms k 1 MA
        > c
        < HD
        > ms k 1 MP
        > a
        < HD
        > mg k v
        < VA 3
        < abc
        > ms k 1 MR
        > r
        < HD
        > ms k 1 MS
        > s
        < HD
        > mg k v
        < VA 1
        < s
    """,
    "append and prepend keep flags and expiry": """
        > ms k 1 F7 T100
        > b
        < HD
        > ms k 1 MA F1 T0
        > c
        < HD
        > ms k 1 MP F2 T1000
        > a
        < HD
        > mg k v f t
        <~ VA 3 f7 t{100 s}
        < abc
    """,
    "mode is upper case": """
        > ms k 9 Ms
        > flush_all
        < CLIENT_ERROR invalid mode for ms M token
        > ms k 9 MX
        > flush_all
        < CLIENT_ERROR invalid mode for ms M token
        > mg k
        < EN
    """,
    "q hides HD only": """
        > ms k 1 q
        > a
        > ms k 1 ME q k O1
        > b
        < NS kk O1
        > ms k 1 C77777 q
        > b
        < EX
        > ms none 1 C1 q
        > b
        < NF
        > ms k 1 q k O1
        > c
        > mn
        < MN
        > mg k v
        < VA 1
        < c
    """,
    "a bad chunk is never quiet": """
        > ms k 3 q
        > abcde
        < CLIENT_ERROR bad data chunk
        <~ (CLIENT_ERROR|ERROR).*
        > mg k
        < EN
    """,
    "c0 on what is refused": """
        > ms k 1
        > a
        < HD
        > ms k 1 ME c
        > b
        < NS c0
        > ms none 1 C1 c
        > b
        < NF c0
        > ms k 1 C77777 c
        > b
        < EX c0
    """,
    "compare on missing, add, append": """
        > ms none 1 C1
        > a
        < NF
        > ms k 1
        > a
        < HD
        > ms k 1 C77777 ME
        > b
        < NS
        > ms k 1 C77777 MA
        > b
        < EX
        > mg k v
        < VA 1
        < a
    """,
    "flags that mean nothing here": """
        > ms k 1 v t f D1 J1
        > a
        < HD
        > mg k v
        < VA 1
        < a
    """,
    "negative time is dead at once": """
        > ms k 1
        > a
        < HD
        > ms k 1 T-1
        > b
        < HD
        > mg k
        < EN
    """,
}


@conversations(ANSWERS)
def test_answer(talk, script, delivery):
    hold(talk, script, delivery)


@conversations({
    "length of what is there": """
        > ms k 3 s
        > abc
        < HD s3
        > ms k 2 MA s
        > de
        < HD s5
        > ms k 4 ME s
        > xxxx
        < NS s4
    """,
    "append makes a missing item": """
        > ms k 1 MA N100 F7
        > b
        < HD
        > mg k v f t
        <~ VA 1 f7 t{100 s}
        < b
        > ms k 1 MA N1000
        > c
        < HD
        > mg k v t
        <~ VA 2 t{100 s}
        < bc
        > ms p 1 MP N0
        > a
        < HD
        > mg p v t
        < VA 1 t-1
        < a
    """,
    "ids of the client's choice": """
        > ms k 1 E1000 c
        > a
        < HD c1000
        > mg k c
        < HD c1000
        > ms k 1 C1000 E2000 c
        > b
        < HD c2000
        > ms k 1 C1000 E3000 c
        > b
        < EX c0
        > ms k 1 MA E18446744073709551615 c
        > c
        < HD c18446744073709551615
        > gets k
        < VALUE k 0 2 18446744073709551615
        < bc
        < END
    """})
@ours_only
def test_newer_than_reference(talk, script, delivery):
    hold(talk, script, delivery)


@ours_only
def test_E0_takes_the_next_id(talk):
    talk.set(b"a", b"1")
    before = talk.cas_id(b"a")
    talk.ask(b"ms k 1 E0\r\na\r\n", b"HD\r\n")
    assert talk.cas_id(b"k") > before


@ours_only
def test_a_given_id_does_not_come_again(talk):
    """Not even of a key that was deleted: its next ids are higher."""
    talk.set(b"a", b"1")
    ahead = talk.cas_id(b"a") + 2
    talk.ask(b"ms k 1 E%d\r\na\r\nmd k\r\n" % ahead, b"HD\r\nHD\r\n")
    for _ in range(4):
        talk.set(b"k", b"b")
        assert talk.cas_id(b"k") > ahead
        ahead = talk.cas_id(b"k")


def test_new_id_is_shown(talk):
    talk.send(b"ms k 1 c\r\na\r\n")
    shown = int(talk.line().removeprefix(b"HD c"))
    assert talk.cas_id(b"k") == shown
    talk.send(b"ms k 1 MA c\r\na\r\n")
    assert int(talk.line().removeprefix(b"HD c")) > shown


def test_compare_and_swap(talk):
    talk.set(b"k", b"old", flags=3)
    cas = talk.cas_id(b"k")
    talk.ask(b"ms k 3 C%d F4\r\nnew\r\n" % cas, b"HD\r\n")
    talk.ask(b"ms k 3 C%d\r\nbad\r\n" % cas, b"EX\r\n")
    talk.ask(b"mg k v f\r\n", b"VA 3 f4\r\nnew\r\n")
    cas = talk.cas_id(b"k")
    talk.ask(b"ms k 1 C%d MA\r\n!\r\n" % cas, b"HD\r\n")
    talk.ask(b"ms k 1 C%d MP\r\n!\r\n" % cas, b"EX\r\n")
    talk.ask(b"mg k v f\r\n", b"VA 4 f4\r\nnew!\r\n")


# A readable length: the block, a command here, is swallowed; one answer.
SWALLOWED = {
    "flag": (b"ms k 11 a", b"CLIENT_ERROR invalid flag"),
    "twice": (b"ms k 11 c c", b"CLIENT_ERROR duplicate flag"),
    "flags": (b"ms k 11 Fx", b"CLIENT_ERROR bad command line format"),
    "negative flags": (b"ms k 11 F-1",
                       b"CLIENT_ERROR bad command line format"),
    "time": (b"ms k 11 Tx",
             b"CLIENT_ERROR bad token in command line format"),
    "id": (b"ms k 11 Cx", b"CLIENT_ERROR bad token in command line format"),
    "key": (b"ms k$ 11 b", b"CLIENT_ERROR error decoding key"),
    "mode": (b"ms k 11 MZ", b"CLIENT_ERROR invalid mode for ms M token"),
    "opaque": (b"ms k 11 O" + b"o" * 32,
               b"CLIENT_ERROR opaque token too long"),
}


@pytest.mark.parametrize("name", SWALLOWED)
def test_refused_line_swallows_its_block(talk, name):
    line, error = SWALLOWED[name]
    talk.set(b"k", b"old")
    talk.ask(line + b"\r\nflush_all\r\n\r\n", error + b"\r\n")
    talk.expect_silence()
    assert talk.get(b"k") == b"old"


@pytest.mark.parametrize("line", [
    pytest.param(b"ms k 11 !", marks=differs("1.6.18: invalid flag")),
    pytest.param(b"ms %s 11" % (b"k" * 251),
                 marks=differs("1.6.18 does not swallow"))],
    ids=["punctuation", "long key"])
def test_bad_line_swallows_its_block(talk, line):
    talk.set(b"canary", b"1")
    talk.ask(line + b"\r\nflush_all\r\n\r\n",
             b"CLIENT_ERROR bad command line format\r\n")
    talk.expect_silence()
    assert talk.get(b"canary") == b"1"


@ours_only
@pytest.mark.parametrize("length", [b"-1", b"x9", b"+3", b"2147483646",
                                    b"4294967296", b"9" * 20])
def test_untrusted_length_closes(server, talk, length):
    talk.set(b"canary", b"1")
    with server.connect() as other:
        other.send(b"ms k %s\r\nflush_all\r\n" % length)
        other.expect(b"CLIENT_ERROR bad command line format\r\n")
        other.expect_close()
    assert talk.get(b"canary") == b"1"


@differs("1.6.18 answers ERROR")
def test_missing_words(talk):
    for line in b"ms\r\n", b"ms k\r\n":
        talk.ask(line, b"CLIENT_ERROR bad command line format\r\n")


@differs("memcached deletes the old value")
@pytest.mark.parametrize("flags", [b"", b" ME", b" MR", b" MA", b" q",
                                   b" C77777"])
def test_too_large(talk, flags):
    talk.set(b"k", b"old")
    talk.ask(b"ms k %d%s\r\n%s\r\n" % (BIG + 1, flags, b"x" * (BIG + 1)),
             b"SERVER_ERROR object too large for cache\r\n")
    talk.expect_silence()
    assert talk.get(b"k") == b"old"


@differs("1.6.18 answers NS")
@pytest.mark.parametrize("mode", [b"MA", b"MP"])
def test_result_too_large(talk, mode):
    half = b"x" * 700_000
    talk.set(b"k", half)
    talk.ask(b"ms k %d %s\r\n%s\r\n" % (len(half), mode, half),
             b"SERVER_ERROR object too large for cache\r\n")
    assert talk.get(b"k") == half


def test_counters(talk):
    """Every attempt that got as far as its block counts as a set."""
    before = talk.stats()
    talk.ask(b"ms k 1\r\na\r\n", b"HD\r\n")
    talk.ask(b"ms k 1 ME\r\na\r\n", b"NS\r\n")
    talk.ask(b"ms k 1 C77777\r\na\r\n", b"EX\r\n")
    talk.ask(b"ms none 1 C1\r\na\r\n", b"NF\r\n")
    after = talk.stats()
    changed = {name: int(after[name]) - int(before[name])
               for name in ("cmd_set", "total_items", "cas_badval",
                            "cas_misses")}
    assert changed == {"cmd_set": 4, "total_items": 1, "cas_badval": 1,
                       "cas_misses": 1}
