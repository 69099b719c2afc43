"""flush_all: everything stored before it is hidden, nothing stored after it.

Exact within one second, delayed forms, and the switch that forbids it. That it
survives a restart is in test_restart.py.
"""
import time

import pytest

from harness.script import conversations, hold, ours_only
from harness.server import REFERENCE
from harness.wait import expire_wait, wait_until, within

ANSWERS = {
    "forms": """
        > flush_all
        < OK
        > flush_all 0
        < OK
        > flush_all -1
        < OK
        > flush_all noreply
        > flush_all 0 noreply
        > flush_all 1000
        < OK
        > flush_all
        < OK
    """,
    "bad-time": """
        > set k 0 0 1
        > a
        < STORED
        > flush_all abc
        < CLIENT_ERROR invalid exptime argument
        > flush_all 99999999999999999999
        < CLIENT_ERROR invalid exptime argument
        > get k
        < VALUE k 0 1
        < a
        < END
    """,
    "hides-for-every-command": """
        > set k 7 0 1
        > 1
        < STORED
        > flush_all
        < OK
        > get k
        < END
        > gets k
        < END
        > gat 0 k
        < END
        > incr k 1
        < NOT_FOUND
        > touch k 0
        < NOT_FOUND
        > delete k
        < NOT_FOUND
        > append k 0 0 1
        > 2
        < NOT_STORED
        > replace k 0 0 1
        > 2
        < NOT_STORED
        > cas k 0 0 1 1
        > 2
        < NOT_FOUND
        > add k 8 0 1
        > 2
        < STORED
        > append k 0 0 1
        > 3
        < STORED
        > get k
        < VALUE k 8 2
        < 23
        < END
    """,
    "negative-time-is-now": """
        > set k 0 0 1
        > 1
        < STORED
        > flush_all -10
        < OK
        > get k
        < END
    """,
    "later-items-stay": """
        > set a 0 0 1
        > 1
        > flush_all
        > set b 0 0 1
        > 2
        > get a b
        < STORED
        < OK
        < STORED
        < VALUE b 0 1
        < 2
        < END
    """,
}


@conversations(ANSWERS)
def test_answer(talk, script, delivery):
    hold(talk, script, delivery)


def test_exact_in_one_pipeline(talk):
    """Sets and flushes alternate within the same second."""
    turn = b"set k%d 0 0 1\r\n1\r\nflush_all\r\n"
    check = b"get k%d\r\n"
    talk.ask(b"".join((turn + check) % (i, i) for i in range(100)),
             b"STORED\r\nOK\r\nEND\r\n" * 100)


def store_and_see(talk, key):
    talk.set(key, b"1")
    assert talk.get(key) == b"1"


@pytest.mark.parametrize("form", ["relative", "absolute"])
def test_delayed(talk, form):
    """Hides what was stored before the moment, when the moment comes."""
    def flush_and_see():
        store_and_see(talk, b"before")
        when = 3 if form == "relative" else int(time.time()) + 4
        talk.ask(b"flush_all %d\r\n" % when, b"OK\r\n")
        store_and_see(talk, b"between")
        assert talk.get(b"before") == b"1"
    within(3, flush_and_see)
    wait_until(lambda: talk.get(b"before") is None, "the moment comes")
    assert talk.get(b"between") is None
    if REFERENCE:  # its flush takes the rest of the second with it
        expire_wait(0)
    store_and_see(talk, b"after")
    talk.ask(b"add before 0 0 1\r\n2\r\n", b"STORED\r\n")


@pytest.mark.parametrize("later", [b"flush_all 1000\r\n", b"flush_all\r\n"])
def test_later_flush_replaces_a_pending_one(talk, later):
    talk.ask(b"flush_all 1\r\n", b"OK\r\n")
    talk.ask(later, b"OK\r\n")
    store_and_see(talk, b"k")
    expire_wait(1)
    assert talk.get(b"k") == b"1"


def test_disabled(new_server):
    server = new_server("--disable-flush-all")
    with server.connect() as talk:
        talk.set(b"k", b"1")
        before = int(talk.stats()["cmd_flush"])
        for command in b"flush_all", b"flush_all 0", b"flush_all 10":
            talk.ask(command + b"\r\n", b"CLIENT_ERROR flush_all not allowed\r\n")
        talk.send(b"flush_all noreply\r\n")
        talk.expect_silence()
        assert talk.get(b"k") == b"1"
        assert talk.stats("settings")["flush_enabled"] == "no"
        assert int(talk.stats()["cmd_flush"]) == before + 4


@ours_only
def test_counts_are_exact_at_once(talk):
    for i in range(50):
        talk.set(b"k%d" % i, b"1")
    assert talk.stats()["curr_items"] == "50"
    talk.ask(b"flush_all\r\n", b"OK\r\n")
    stats = talk.stats()
    assert (stats["curr_items"], stats["bytes"]) == ("0", "0")
    talk.set(b"k1", b"1")
    talk.ask(b"delete k2\r\n", b"NOT_FOUND\r\n")
    assert talk.stats()["curr_items"] == "1"
