"""ma: counting by the meta commands (PROTOCOL.md, Meta commands)."""
from harness.script import conversations, differs, hold, ours_only

NOT_A_NUMBER = "CLIENT_ERROR cannot increment or decrement non-numeric value"

ANSWERS = {
    "by one": """
        > set n 0 0 2
        > 10
        < STORED
        > ma n
        < HD
        > ma n v
        < VA 2
        < 12
    """,
    "by more": """
        > set n 0 0 2
        > 10
        < STORED
        > ma n D90 v
        < VA 3
        < 100
        > ma n D18446744073709551615 v
        < VA 2
        < 99
    """,
    "modes": """
        > set n 0 0 2
        > 50
        < STORED
        > ma n MI v
        < VA 2
        < 51
        > ma n M+ v
        < VA 2
        < 52
        > ma n MD v
        < VA 2
        < 51
        > ma n M- D11 v
        < VA 2
        < 40
    """,
    "stops at 0": """
        > set n 0 0 1
        > 5
        < STORED
        > ma n MD D6 v
        < VA 1
        < 0
    """,
    "wraps": """
        > set n 0 0 20
        > 18446744073709551615
        < STORED
        > ma n v
        < VA 1
        < 0
    """,
    "miss": """
        > ma none
        < NF
        > ma none v k O1
        < NF knone O1
        > ma none MD q
        < NF
        > mg none
        < EN
    """,
    "makes a missing one, without the delta": """
        > ma n N0 J5 D100 v
        < VA 1
        < 5
        > ma n N0 J5 D100 v
        < VA 3
        < 105
        > ma m N0 v
        < VA 1
        < 0
        > ma d N0 J9 MD v
        < VA 1
        < 9
        > get n m d
        < VALUE n 0 3
        < 105
        < VALUE m 0 1
        < 0
        < VALUE d 0 1
        < 9
        < END
    """,
    "time of what is made": """
        > ma n t N100
        < HD t-1
        > ma n t
        <~ HD t{100 s}
        > ma m N100 J7 T1000
        < HD
        > mg m t
        <~ HD t{1000 s}
    """,
    "T sets the time": """
        > ma n N0
        < HD
        > ma n T100 t
        <~ HD t{100 s}
        > mg n t
        <~ HD t{100 s}
        > ma n t T0
        <~ HD t{100 s}
    """,
    "flags of the answer in order": """
        > set n 0 0 1
        > 5
        < STORED
        > ma n t k O1 v
        < VA 1 t-1 kn O1
        < 6
        > ma n O1 k t
        < HD O1 kn t-1
    """,
    "q hides what was expected": """
        > set n 0 0 1
        > 5
        < STORED
        > ma n q
        > ma n q v
        > set t 0 0 1
        > x
        < STORED
        > ma t q
        < CLIENT_ERROR cannot increment or decrement non-numeric value
        > ma n q C77777
        < EX
        > mn
        < MN
        > get n
        < VALUE n 0 1
        < 7
        < END
    """,
    "no number": f"""
        > set t 0 0 3
        > abc
        < STORED
        > ma t
        < {NOT_A_NUMBER}
        > set t 0 0 0
        >
        < STORED
        > ma t
        < {NOT_A_NUMBER}
        > set t 0 0 20
        > 18446744073709551616
        < STORED
        > ma t MD
        < {NOT_A_NUMBER}
    """,
    "bad mode": """
        > set n 0 0 1
        > 5
        < STORED
        > ma n MX
        < CLIENT_ERROR invalid mode for ma M token
        > ma n Mi
        < CLIENT_ERROR invalid mode for ma M token
        > ma n Md
        < CLIENT_ERROR invalid mode for ma M token
        > get n
        < VALUE n 0 1
        < 5
        < END
    """,
    "keeps flags and expiry": """
        > ms n 1 F7 T100
        > 9
        < HD
        > ma n
        < HD
        > mg n v f t
        <~ VA 2 f7 t{100 s}
        < 10
    """,
    "one error for all bad flags": """
        > ma n D
        < CLIENT_ERROR invalid or duplicate flag
        > ma n D-1
        < CLIENT_ERROR invalid or duplicate flag
        > ma n Nx
        < CLIENT_ERROR invalid or duplicate flag
        > ma n J-1
        < CLIENT_ERROR invalid or duplicate flag
        > ma n v v
        < CLIENT_ERROR invalid or duplicate flag
        > ma n a
        < CLIENT_ERROR invalid or duplicate flag
        > ma n 1
        < CLIENT_ERROR invalid or duplicate flag
        > ma n !
        < CLIENT_ERROR invalid or duplicate flag
        > ma n$ b
        < CLIENT_ERROR invalid or duplicate flag
    """,
}


@conversations(ANSWERS)
def test_answer(talk, script, delivery):
    hold(talk, script, delivery)


@conversations({
    "exact digits": """
        > set n 0 0 2
        > 10
        < STORED
        > ma n MD
        < HD
        > mg n v s
        < VA 1 s1
        < 9
    """}, differing={"exact digits": "memcached pads"})
def test_no_padding(talk, script, delivery):
    hold(talk, script, delivery)


@ours_only
@conversations({
    "id of the client's choice": """
        > ma n N0 E50 c
        < HD c50
        > ma n E60 c
        < HD c60
        > ma n C60 E70 c
        < HD c70
        > ma n C60
        < EX
    """,
    "text behind the mode": """
        > set n 0 0 1
        > 5
        < STORED
        > ma n MDxy v
        < VA 1
        < 4
    """})
def test_newer_than_reference(talk, script, delivery):
    hold(talk, script, delivery)


@differs("1.6.18 words it otherwise")
def test_too_many_flags(talk):
    line = b" ".join([b"ma", b"n"] + [b"P%d" % i for i in range(20)])
    talk.ask(line + b"\r\n", b"CLIENT_ERROR options flags are too long\r\n")


def test_ids(talk):
    """Every change gives a new id; another id changes nothing."""
    talk.set(b"n", b"5")
    before = talk.cas_id(b"n")
    talk.ask(b"ma n C%d\r\n" % (before + 1), b"EX\r\n")
    talk.send(b"ma n C%d c\r\n" % before)
    shown = int(talk.line().removeprefix(b"HD c"))
    assert shown == talk.cas_id(b"n") > before
    assert talk.get(b"n") == b"6"


def test_counters(talk):
    before = talk.stats()
    talk.set(b"n", b"5")
    talk.ask(b"ma n\r\nma n MD\r\nma x\r\nma x MD\r\n",
             b"HD\r\nHD\r\nNF\r\nNF\r\n")
    after = talk.stats()
    for name in "incr_hits", "decr_hits", "incr_misses", "decr_misses":
        assert int(after[name]) == int(before[name]) + 1
