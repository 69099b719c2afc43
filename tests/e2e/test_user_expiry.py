"""User cases about expiry: U15 U17 U21."""
import time

import pytest

from harness.script import differs, ours_only
from harness.wait import expire_wait, wait_until


# ---- U15: expired is absent, for every command -------------------------------

EXPIRED = {
    b"get e\r\n": b"END\r\n",
    b"gets e\r\n": b"END\r\n",
    b"gat 100 e\r\n": b"END\r\n",
    b"gats 100 e\r\n": b"END\r\n",
    b"replace e 0 0 1\r\n1\r\n": b"NOT_STORED\r\n",
    b"append e 0 0 1\r\n1\r\n": b"NOT_STORED\r\n",
    b"prepend e 0 0 1\r\n1\r\n": b"NOT_STORED\r\n",
    b"incr e 1\r\n": b"NOT_FOUND\r\n",
    b"decr e 1\r\n": b"NOT_FOUND\r\n",
    b"touch e 100\r\n": b"NOT_FOUND\r\n",
    b"delete e\r\n": b"NOT_FOUND\r\n",
    b"cas e 0 0 1 1\r\n1\r\n": b"NOT_FOUND\r\n",
    b"add e 0 0 1\r\n1\r\n": b"STORED\r\n",
    b"set e 0 0 1\r\n1\r\n": b"STORED\r\n",
}


def test_u15_expired_is_absent(talk):
    """An item for each command, so that none meets another's traces."""
    for i in range(len(EXPIRED)):
        talk.set(b"e%d" % i, b"5", exptime=1)
    expire_wait(1)
    for i, (command, answer) in enumerate(EXPIRED.items()):
        talk.ask(command.replace(b" e", b" e%d" % i, 1).replace(
            b"100 e", b"100 e%d" % i), answer)


@ours_only
def test_u15_expired_is_in_no_listing(talk):
    talk.set(b"gone", b"1", exptime=1)
    talk.set(b"here", b"1")
    expire_wait(1)
    talk.send(b"stats cachedump 1 0\r\n")
    assert talk.line() == b"ITEM here [1 b; 0 s]"
    talk.expect(b"END\r\n")


# ---- U17: the 30-day border ---------------------------------------------------

MONTH = 2592000
LIVE = [MONTH, int(time.time()) + 100_000, 2147483648, 4102444800, 99999999999]
DEAD = [MONTH + 1, int(time.time()) - 3600, -1]


@differs("memcached 1.6.18 wraps after January 2038")
def test_u17_thirty_days(talk):
    for exptime in LIVE + DEAD:
        talk.set(b"k%d" % exptime, b"1", exptime=exptime)
    hits = [exptime for exptime in LIVE + DEAD
            if talk.get(b"k%d" % exptime) == b"1"]
    assert hits == LIVE


@ours_only
def test_u17_dead_on_arrival_is_counted(talk):
    """Taken for data loss by many: so it can be seen."""
    def counted():
        return int(talk.stats("bdb")["stored_already_expired"])
    before = counted()
    for exptime in LIVE + DEAD:
        talk.set(b"k", b"1", exptime=exptime)
    assert counted() == before + len(DEAD)


# ---- U21: expired and flushed data give their space back -----------------------

def settled_size(server):
    """Of the data file, with every page written; the server restarts."""
    server.restart()
    return (server.home / "data.db").stat().st_size


def store_round(talk, number, items, size, ttl):
    for i in range(items):
        value = (b"%d/%d " % (number, i)).ljust(size, b"x")
        talk.send(b"set r%d-%d 0 %d %d noreply\r\n%s\r\n"
                  % (number, i, ttl, size, value))
    talk.expect_silence()


@ours_only
@pytest.mark.parametrize("rounds,items,size", [
    (3, 1500, 2000), pytest.param(5, 100_000, 2000, marks=pytest.mark.long)])
def test_u21_space_of_expired_items_is_used_again(
        new_server, rounds, items, size):
    """Nobody reads them; the file does not grow.

    The clock stands until all of a round are there, or the file of a fast
    one would be larger.
    """
    server = new_server("--enable-debug-commands")
    sizes = []
    for number in range(rounds):
        with server.connect() as talk:
            talk.ask(b"debugtime p\r\n", b"OK\r\n")
            store_round(talk, number, items, size, 1)
            assert talk.stats()["curr_items"] == str(items)
            talk.ask(b"debugtime 2\r\n", b"OK\r\n")
            wait_until(lambda: talk.stats()["curr_items"] == "0",
                       "expired items are swept")
        sizes.append(settled_size(server))
    assert sizes[-1] <= 1.3 * sizes[0]


@ours_only
def test_u21_space_of_flushed_items_is_used_again(new_server):
    server = new_server("--flush-grace", 0)
    sizes = []
    for number in range(3):
        with server.connect() as talk:
            store_round(talk, number, 1500, 2000, 0)
            talk.ask(b"flush_all\r\n", b"OK\r\n")
            wait_until(lambda: talk.stats("bdb")["swept_flushed"] == "1500",
                       "flushed items are swept")
        sizes.append(settled_size(server))
    assert sizes[-1] <= 1.3 * sizes[0]
