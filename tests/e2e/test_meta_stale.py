"""Marks of the meta commands: who may compute a value anew, what is stale.

Z somebody has won already, X it is stale, W this request has won; after the
flags, in this order (PROTOCOL.md, Meta commands).
"""
import threading

from harness.script import conversations, hold, ours_only
from harness.wait import may_be_left

ANSWERS = {
    "mg N makes an empty item": """
        > mg k N100 v f t
        <~ VA 0 f0 t({100 s}|-1) W
        <
        > mg k N100 v
        < VA 0 Z
        <
        > mg k
        < HD Z
        > get k
        < VALUE k 0 0
        <
        < END
        > add k 0 0 1
        > a
        < NOT_STORED
        > ms k 1
        > a
        < HD
        > mg k v
        < VA 1
        < a
    """,
    "N on a hit means nothing": """
        > set k 5 0 1
        > a
        < STORED
        > mg k N100 v t f
        < VA 1 t-1 f5
        < a
    """,
    "q does not hide a win": """
        > mg k N100 q
        < HD W
        > mg k N100 q k O1
        < HD kk O1 Z
        > mn
        < MN
    """,
    "R wins near the end": """
        > set k 0 1000 1
        > a
        < STORED
        > mg k R30
        < HD
        > mg k R2000 v
        < VA 1 W
        < a
        > mg k R2000
        < HD Z
        > mg k
        < HD Z
        > set k 0 1000 1
        > b
        < STORED
        > mg k R30
        < HD
    """,
    "R never wins without an expiry": """
        > set k 0 0 1
        > a
        < STORED
        > mg k R1000000
        < HD
    """,
    "life of a stale item": """
        > ms k 1 F7
        > a
        < HD
        > md k I
        < HD
        > mg k v f
        < VA 1 f7 X W
        < a
        > mg k v
        < VA 1 Z X
        < a
        > mg k
        < HD Z X
        > get k
        < VALUE k 7 1
        < a
        < END
        > ms k 1
        > b
        < HD
        > mg k v
        < VA 1
        < b
    """,
    "marks stand behind the flags": """
        > ms k 1
        > a
        < HD
        > md k I
        < HD
        > mg k s k O1 t
        < HD s1 kk O1 t-1 X W
        > mg k s k O1 t
        < HD s1 kk O1 t-1 Z X
    """,
    "md I makes the next one win again": """
        > ms k 1
        > a
        < HD
        > md k I
        < HD
        > mg k
        < HD X W
        > mg k
        < HD Z X
        > md k I
        < HD
        > mg k
        < HD X W
    """,
    "every full store clears the marks": """
        > ms a 1
        > 1
        < HD
        > md a I
        < HD
        > set a 0 0 1
        > 2
        < STORED
        > mg a
        < HD
        > md a I
        < HD
        > replace a 0 0 1
        > 3
        < STORED
        > mg a
        < HD
        > md a I
        < HD
        > ms a 1 MR
        > 4
        < HD
        > mg a
        < HD
    """,
    "touch keeps the marks": """
        > ms k 1
        > 5
        < HD
        > md k I
        < HD
        > touch k 100
        < TOUCHED
        > mg k T1000
        < HD X W
        > mg k
        < HD Z X
    """,
    "an add finds a stale item there": """
        > ms k 1
        > 5
        < HD
        > md k I
        < HD
        > add k 0 0 1
        > a
        < NOT_STORED
        > ms k 1 ME
        > a
        < NS
        > mg k
        < HD X W
    """,
}


@conversations({
    "T before R": """
        > ms k 1 T100
        > a
        < HD
        > mg k T1000 R500
        < HD
        > mg k R500 T1000
        < HD
        > mg k T100 R500
        < HD W
        > mg k T1000 R500
        < HD Z
    """,
    "R before T": """
        > ms k 1 T100
        > a
        < HD
        > mg k R500 T1000
        < HD W
    """,
    "t between what makes and what touches": """
        > mg a T0 t N0
        < HD t-1 W
        > mg b t N30 T0
        < HD t-1 W
        > mg b t
        < HD t-1 Z
        > mg c N0 t T30
        < HD t-1 W
        > mg d T30 N0 t
        < HD t-1 W
        > ma n T30 N0 t
        < HD t-1
        > mg n t
        < HD t-1
    """})
def test_times_count_in_their_order(talk, script, delivery):
    hold(talk, script, delivery)


@conversations(ANSWERS)
def test_answer(talk, script, delivery):
    hold(talk, script, delivery)


@ours_only
@conversations({
    "append and incr keep stale": """
        > ms k 1
        > 5
        < HD
        > md k I
        < HD
        > append k 0 0 1
        > 0
        < STORED
        > incr k 51
        < 101
        > ma k
        < HD
        > mg k v
        < VA 3 X W
        < 102
    """,
    "a chosen id for what N makes": """
        > mg k N100 E77 c
        < HD c77 W
        > mg k N100 E78 c
        < HD c77 Z
    """})
def test_newer_than_reference(talk, script, delivery):
    hold(talk, script, delivery)


def test_a_lower_id_stores_as_stale(talk):
    """ms C I: value replaced, expiry kept, stale; the next reader wins."""
    talk.ask(b"ms k 1 T100\r\na\r\n", b"HD\r\n")
    old = talk.cas_id(b"k")
    talk.ask(b"ms k 1 T100\r\nb\r\n", b"HD\r\n")
    talk.ask(b"ms k 1 C%d T1000\r\nc\r\n" % old, b"EX\r\n")
    talk.ask(b"ms k 1 C%d I T1000\r\nd\r\n" % old, b"HD\r\n")
    talk.send(b"mg k v t\r\n")
    assert talk.line() in [b"VA 1 t%d X W" % left
                           for left in may_be_left(100)]
    talk.expect(b"d\r\n")
    talk.ask(b"mg k\r\n", b"HD Z X\r\n")


def test_a_higher_id_is_another_one(talk):
    talk.ask(b"ms k 1\r\na\r\n", b"HD\r\n")
    cas = talk.cas_id(b"k")
    talk.ask(b"ms k 1 C%d I\r\nb\r\n" % (cas + 1), b"EX\r\n")
    talk.ask(b"ms k 1 C%d I\r\nb\r\n" % cas, b"HD\r\n")
    talk.ask(b"mg k v\r\n", b"VA 1\r\nb\r\n")


def test_I_alone_means_nothing(talk):
    talk.ask(b"ms k 1 I\r\na\r\nms k 1 I\r\nb\r\n", b"HD\r\nHD\r\n")
    talk.ask(b"mg k v\r\n", b"VA 1\r\nb\r\n")


def test_the_winner_stores_with_its_id(talk):
    """The whole way of a client that serves stale values meanwhile."""
    talk.ask(b"ms k 3 T100\r\nold\r\n", b"HD\r\n")
    talk.ask(b"md k I T3000\r\n", b"HD\r\n")
    talk.send(b"mg k v c\r\n")
    word, size, cas, *marks = talk.line().split()
    assert (word, size, marks) == (b"VA", b"3", [b"X", b"W"])
    talk.expect(b"old\r\n")
    talk.ask(b"mg k v\r\n", b"VA 3 Z X\r\nold\r\n")
    talk.ask(b"ms k 3 C%s T100\r\nnew\r\n" % cas[1:], b"HD\r\n")
    talk.ask(b"mg k v\r\n", b"VA 3\r\nnew\r\n")


def test_one_of_many_wins(server, talk):
    others = [server.connect() for _ in range(20)]
    for line in b"mg k N100\r\n", b"mg k R2000\r\n":
        if line.startswith(b"mg k R"):
            talk.set(b"k", b"a", exptime=1000)
        for other in others:
            other.send(line)
        answers = [other.line() for other in others]
        assert sorted(answers) == [b"HD W"] + [b"HD Z"] * 19
    for other in others:
        other.close()


@ours_only
def test_restart_keeps_stale_but_no_winner(new_server):
    server = new_server()
    with server.connect() as talk:
        talk.ask(b"ms k 1\r\na\r\nmd k I\r\nmg k\r\nmg k\r\n",
                 b"HD\r\nHD\r\nHD X W\r\nHD Z X\r\n")
        talk.ask(b"mg n N1000\r\nmg n\r\n", b"HD W\r\nHD Z\r\n")
    for stop in server.restart, lambda: (server.kill9(), server.start()):
        stop()
        with server.connect() as talk:
            talk.ask(b"mg k v\r\nmg k\r\n", b"VA 1 X W\r\na\r\nHD Z X\r\n")
            talk.ask(b"mg n s\r\n", b"HD s0\r\n")


@ours_only  # the clock of the other cannot be moved fast enough
def test_one_answer_though_time_goes_on_meanwhile(new_server):
    server = new_server("--enable-debug-commands")
    done = threading.Event()

    def move_clock():
        with server.connect() as clock:
            while not done.is_set():
                clock.ask(b"debugtime 1\r\n" * 20, b"OK\r\n" * 20)

    mover = threading.Thread(target=move_clock)
    mover.start()
    try:
        with server.connect() as talk:
            for _ in range(300):
                talk.send(b"ms k 0 T1000\r\n\r\n" +
                          b"mg k R980\r\n" * 200 + b"mn\r\n")
                for _ in range(201):
                    assert talk.line() in (b"HD", b"HD W", b"HD Z", b"EN")
                talk.expect(b"MN\r\n")
    finally:
        done.set()
        mover.join()
