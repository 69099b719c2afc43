"""Expiry: relative, absolute, negative; what changes it and what does not.

Granularity is one second: never early, at most one second late. The wall clock
is the only thing these tests wait for. See also test_u15 and test_u17, and
test_restart.py for expiry while the server is down.
"""
import time

import pytest

from harness.script import ours_only
from harness.wait import expire_wait, wait_until, within

MONTH = 2592000
LIVES = {
    "never": 0,
    "one month": MONTH,
    "absolute": int(time.time()) + 100_000,
}
AFTER_2038 = {
    "2038": 2 ** 31,
    "2100": 4102444800,
    "far": 99999999999,
    "largest": 2 ** 63 - 1,
}
DEAD = {
    "negative": -1,
    "1970": MONTH + 1,
    "just past": int(time.time()) - 10,
}


def store(talk, command):
    talk.ask(command + b"\r\n1\r\n", b"STORED\r\n")


@pytest.mark.parametrize("exptime", [
    *(pytest.param(t, id=name) for name, t in LIVES.items()),
    *(pytest.param(t, id=name, marks=ours_only)
      for name, t in AFTER_2038.items())])
def test_lives(talk, exptime):
    talk.set(b"k", b"1", exptime=exptime)
    assert talk.get(b"k") == b"1"
    talk.ask(b"touch k %d\r\n" % exptime, b"TOUCHED\r\n")
    talk.ask(b"gat %d k\r\n" % exptime, b"VALUE k 0 1\r\n1\r\nEND\r\n")
    assert talk.get(b"k") == b"1"


@pytest.mark.parametrize("exptime", [
    *(pytest.param(t, id=name) for name, t in DEAD.items()),
    pytest.param(-2 ** 63, id="smallest", marks=ours_only)])
def test_dead_on_arrival(talk, exptime):
    """Answered as stored, and the older value is gone too."""
    for command in b"set k", b"replace k", b"add new":
        talk.set(b"k", b"old")
        store(talk, b"%s 0 %d 1" % (command, exptime))
        assert talk.get(b"new") is None
        assert (talk.get(b"k") is None) == (command != b"add new")
    talk.set(b"k", b"old")
    store(talk, b"cas k 0 %d 1 %d" % (exptime, talk.cas_id(b"k")))
    assert talk.get(b"k") is None
    talk.set(b"k", b"old")
    talk.ask(b"touch k %d\r\n" % exptime, b"TOUCHED\r\n")
    assert talk.get(b"k") is None
    talk.set(b"k", b"old")
    talk.ask(b"gat %d k\r\n" % exptime, b"VALUE k 0 3\r\nold\r\nEND\r\n")
    assert talk.get(b"k") is None
    talk.ask(b"touch k 0\r\n", b"NOT_FOUND\r\n")


@ours_only  # memcached's clock may tick a moment early
def test_never_early(talk):
    start = time.time()
    talk.set(b"k", b"1", exptime=2)
    while talk.get(b"k"):
        pass
    assert time.time() - start >= 2


def test_what_changes_the_expiry(talk):
    """Items with TTL 2, then something happens to them, then time passes."""
    kept_dead = {
        b"set": b"",
        b"append": b"append append 0 0 1\r\n1\r\n",
        b"prepend": b"prepend prepend 0 1000 1\r\n1\r\n",
        b"incr": b"incr incr 1\r\n",
        b"decr": b"decr decr 1\r\n",
        b"get": b"get get\r\n",
        b"add": b"add add 0 0 1\r\n2\r\n",
    }
    made_alive = {
        b"touched": b"touch touched 0\r\n",
        b"gatted": b"gat 1000 gatted\r\n",
        b"gatsed": b"gats %d gatsed\r\n" % (time.time() + 1000),
        b"reset": b"set reset 0 0 1\r\n1\r\n",
        b"replaced": b"replace replaced 0 1000 1\r\n1\r\n",
    }

    def change(key, command):
        end = time.monotonic() + 2
        talk.set(key, b"5", exptime=2)
        talk.send(command)
        talk.send(b"version\r\n")
        while not talk.line().startswith(b"VERSION"):
            pass
        assert time.monotonic() < end, "it was alive"
    for each in {**kept_dead, **made_alive}.items():
        within(2, lambda: change(*each))
    for key in b"made_mortal", b"made_mortal_by_gat":
        talk.set(key, b"1")
    talk.ask(b"touch made_mortal 1\r\n", b"TOUCHED\r\n")
    talk.ask(b"gat 1 made_mortal_by_gat\r\n",
             b"VALUE made_mortal_by_gat 0 1\r\n1\r\nEND\r\n")
    expire_wait(2)
    alive = [key for key in [*kept_dead, *made_alive, b"made_mortal",
                             b"made_mortal_by_gat"] if talk.get(key)]
    assert alive == list(made_alive)


@ours_only  # memcached must have been built for it
def test_a_moved_clock(new_server):
    """debugtime: an item is gone when the clock was moved by its TTL."""
    talk = new_server("--enable-debug-commands").connect()
    for ttl in 2, 500:
        talk.set(b"k", b"1", exptime=ttl)
        talk.ask(b"debugtime %d\r\n" % ttl, b"OK\r\n")
        assert talk.get(b"k") is None
    talk.set(b"k", b"1", exptime=500)
    talk.ask(b"debugtime 490\r\n", b"OK\r\n")
    assert talk.get(b"k") == b"1"
    talk.ask(b"debugtime 10\r\n", b"OK\r\n")
    assert talk.get(b"k") is None


@ours_only
def test_a_clock_that_nobody_may_move(talk):
    talk.ask(b"debugtime 1\r\n", b"ERROR\r\n")


def test_absolute_time_comes(talk):
    def store_and_see():
        talk.set(b"k", b"1", exptime=int(time.time()) + 4)
        assert talk.get(b"k") == b"1"
    within(3, store_and_see)
    wait_until(lambda: talk.get(b"k") is None, "the moment comes")


def test_expired_item_leaves_no_trace_in_its_successor(talk):
    talk.ask(b"set k 77 1 3\r\nold\r\n", b"STORED\r\n")
    expire_wait(1)
    talk.ask(b"append k 0 0 1\r\n1\r\n", b"NOT_STORED\r\n")
    talk.ask(b"add k 5 0 1\r\n1\r\n", b"STORED\r\n")
    talk.ask(b"append k 0 0 1\r\n2\r\n", b"STORED\r\n")
    talk.ask(b"get k\r\n", b"VALUE k 5 2\r\n12\r\nEND\r\n")
