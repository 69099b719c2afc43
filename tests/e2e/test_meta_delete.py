"""md: deleting, or marking as stale (PROTOCOL.md, Meta commands)."""
from harness.script import conversations, hold, ours_only

ANSWERS = {
    "deletes": """
        > set k 0 0 1
        > a
        < STORED
        > md k
        < HD
        > mg k
        < EN
        > md k
        < NF
    """,
    "key and opaque in order": """
        > set k 0 0 1
        > a
        < STORED
        > md k O1 k
        < HD O1 kk
        > md k k O1
        < NF kk O1
        > md Zm9v b k
        < NF kZm9v b
    """,
    "q hides HD only": """
        > set k 0 0 1
        > a
        < STORED
        > md k q O1
        > md k q O1
        < NF O1
        > set k 0 0 1
        > a
        < STORED
        > md k C77777 q
        < EX
        > mn
        < MN
    """,
    "another id changes nothing": """
        > set k 7 0 1
        > a
        < STORED
        > md k C77777
        < EX
        > md k C77777 I
        < EX
        > mg k v f
        < VA 1 f7
        < a
        > md none C1
        < NF
    """,
    "T alone deletes": """
        > set k 0 0 1
        > a
        < STORED
        > md k T100
        < HD
        > mg k
        < EN
    """,
    "I keeps the value": """
        > ms k 1 F7
        > a
        < HD
        > md k I
        < HD
        > mg k v f t
        < VA 1 f7 t-1 X W
        < a
    """,
    "I with a time": """
        > ms k 1 T1000
        > a
        < HD
        > md k I T100
        < HD
        > mg k t
        <~ HD t{100 s} X W
        > ms k 1 T100
        > a
        < HD
        > md k I
        < HD
        > mg k t
        <~ HD t{100 s} X W
    """,
    "q with I": """
        > ms k 1
        > a
        < HD
        > md k I q
        > md none I q
        < NF
        > mg k
        < HD X W
    """,
}


@conversations(ANSWERS)
def test_answer(talk, script, delivery):
    hold(talk, script, delivery)


@ours_only
@conversations({
    "x empties": """
        > ms k 3 F7 T100 E50
        > abc
        < HD
        > md k x
        < HD
        > mg k v f t c
        < VA 0 f0 t-1 c50
        <
        > md none x
        < NF
    """,
    "x with time and id": """
        > ms k 3 F7
        > abc
        < HD
        > md k x T100 E77
        < HD
        > mg k v f t c
        <~ VA 0 f0 t{100 s} c77
        <
    """,
    "I and x": """
        > ms k 3 F7
        > abc
        < HD
        > md k I x
        < HD
        > mg k v f
        < VA 0 f0 X W
        <
    """,
    "I with an id": """
        > ms k 1
        > a
        < HD
        > md k I E99
        < HD
        > mg k c
        < HD c99 X W
    """})
def test_newer_than_reference(talk, script, delivery):
    hold(talk, script, delivery)


def test_compares(talk):
    talk.set(b"k", b"a")
    cas = talk.cas_id(b"k")
    talk.ask(b"md k C%d\r\n" % (cas + 1), b"EX\r\n")
    talk.ask(b"md k C%d\r\n" % cas, b"HD\r\n")
    talk.ask(b"md k C%d\r\n" % cas, b"NF\r\n")


def test_I_gives_a_new_id(talk):
    talk.set(b"k", b"a")
    before = talk.cas_id(b"k")
    talk.ask(b"md k I\r\n", b"HD\r\n")
    assert talk.cas_id(b"k") > before


def test_counters(talk):
    before = talk.stats()
    talk.set(b"k", b"a")
    talk.ask(b"md k\r\nmd k\r\n", b"HD\r\nNF\r\n")
    after = talk.stats()
    for name in "delete_hits", "delete_misses":
        assert int(after[name]) == int(before[name]) + 1
