"""version, verbosity, cache_memlimit, shutdown, quit, debugtime."""
import re
import time

import pytest

from harness.script import conversations, hold, ours_only
from harness.wait import expire_wait, wait_until

ANSWERS = {
    "version-ignores-words": """
        > version
        <~ VERSION [0-9]+[.][0-9]+[.][0-9]+
        > version please now
        <~ VERSION [0-9]+[.][0-9]+[.][0-9]+
    """,
    "verbosity": """
        > verbosity 1
        < OK
        > verbosity 5
        < OK
        > verbosity 0
        < OK
        > verbosity 0 noreply
    """,
    "verbosity-wants-a-number": """
        > verbosity
        < CLIENT_ERROR bad command line format
        > verbosity abc
        < CLIENT_ERROR bad command line format
        > verbosity 0 foo bar
        < OK
    """,
    "cache_memlimit": """
        > cache_memlimit
        < ERROR
        > cache_memlimit abc
        < ERROR
        > cache_memlimit 7
        < MEMLIMIT_TOO_SMALL cannot set maxbytes to less than 8m
        > cache_memlimit 1000000001
        < MEMLIMIT_ADJUST_FAILED input value is megabytes not bytes
    """,
    "shutdown-is-disabled": """
        > shutdown
        < SERVER_ERROR: shutdown not enabled
        > shutdown graceful
        < SERVER_ERROR: shutdown not enabled
    """,
}


@conversations(ANSWERS, differing={
    "verbosity-wants-a-number": "1.6.18 answers ERROR",
    "shutdown-is-disabled": "1.6.18 answers ERROR: ...",
})
def test_answer(talk, script, delivery):
    hold(talk, script, delivery)


def test_cache_memlimit_shows_in_stats(new_server):
    """A change is either made and shown, or refused and not shown."""
    with new_server("-m", 64).connect() as talk:
        assert talk.stats()["limit_maxbytes"] == str(64 << 20)
        for megabytes in 32, 48, 100:
            shown = talk.stats()["limit_maxbytes"]
            talk.send(b"cache_memlimit %d\r\n" % megabytes)
            answer = talk.line()
            if answer == b"OK":
                shown = str(megabytes << 20)
            else:
                assert answer == (b"MEMLIMIT_ADJUST_FAILED out of bounds or "
                                  b"unable to adjust")
            assert talk.stats()["limit_maxbytes"] == shown
            assert talk.stats("settings")["maxbytes"] == shown


@ours_only
@pytest.mark.parametrize("command, said", [
    (b"cache_memlimit 64", "cache resized to 64 MB from"),
    (b"pdelete k", "pdelete k from"), (b"db_compact", "db_compact from"),
    (b"flush_all", "flush_all 0 from")])
def test_a_client_cannot_fill_the_log(new_server, command, said):
    """A line a second, which says how many there would have been."""
    server = new_server()
    start = time.monotonic()
    with server.connect() as talk:
        answers = []
        for _ in range(60):
            talk.send(command + b"\r\n")
            answers.append(talk.line())
    seconds = time.monotonic() - start
    lines = [line for line in server.stderr().splitlines() if said in line]
    assert 1 <= len(lines) <= 1 + seconds
    held_back = sum(int(re.search(r"\((\d+) more", line).group(1))
                    for line in lines)
    assert held_back + len(lines) <= answers.count(b"OK")


@pytest.mark.parametrize("word", [b"shutdown", b"shutdown graceful"])
def test_shutdown(new_server, word):
    server = new_server("--enable-shutdown")
    with server.connect() as talk:
        talk.ask(b"shutdown later\r\n",
                 b"CLIENT_ERROR invalid shutdown mode\r\n")
        talk.send(word + b"\r\n")
        talk.expect_close()
    assert server.wait() == 0


@ours_only
def test_shutdown_sends_earlier_answers_first(new_server):
    server = new_server("--enable-shutdown")
    with server.connect() as talk:
        talk.send(b"set k 0 0 1\r\n1\r\nget k\r\nshutdown\r\n")
        talk.expect(b"STORED\r\nVALUE k 0 1\r\n1\r\nEND\r\n")
        talk.expect_close()
    assert server.wait() == 0


@pytest.fixture
def movable(new_server):
    with new_server("--enable-debug-commands").connect() as talk:
        yield talk


@ours_only  # memcached must have been built for it
def test_debugtime_wants_a_time_or_p_or_r(movable):
    for words in b"", b" x", b" -1", b" 1x", b" 4294967296", b" pr":
        movable.ask(b"debugtime%s\r\n" % words, b"ERROR\r\n")
    for words in b"p", b"p", b"r", b"r", b"0", b"5 more words":
        movable.ask(b"debugtime %s\r\n" % words, b"OK\r\n")


@ours_only
def test_debugtime_moves_all_that_expires(movable):
    movable.ask(b"debugtime p\r\n", b"OK\r\n")
    movable.set(b"a", b"1", exptime=100)
    movable.ask(b"ms b 1 T100\r\n1\r\n", b"HD\r\n")
    movable.set(b"c", b"1", exptime=1000)
    movable.ask(b"flush_all 500\r\n", b"OK\r\n")
    movable.ask(b"debugtime 99\r\n", b"OK\r\n")
    movable.ask(b"mg a t\r\nmg b t\r\n", b"HD t1\r\nHD t1\r\n")
    movable.ask(b"debugtime 1\r\n", b"OK\r\n")
    movable.ask(b"get a b c\r\n", b"VALUE c 0 1\r\n1\r\nEND\r\n")
    movable.ask(b"debugtime 400\r\n", b"OK\r\n")
    wait_until(lambda: movable.get(b"c") is None, "the flush falls due")


@ours_only
def test_a_stopped_clock_stands_and_goes_on(movable):
    """What is stored while it stands lives as long as it stands."""
    movable.ask(b"debugtime p\r\n", b"OK\r\n")
    movable.set(b"k", b"1", exptime=1)
    now = movable.stats()["time"]
    expire_wait(1)
    assert movable.get(b"k") == b"1"
    assert movable.stats()["time"] == now
    movable.ask(b"debugtime 5\r\n", b"OK\r\n")  # it is moved all the same
    assert movable.get(b"k") is None
    assert int(movable.stats()["time"]) == int(now) + 5
    movable.set(b"k", b"1", exptime=1)
    movable.ask(b"debugtime r\r\n", b"OK\r\n")
    wait_until(lambda: movable.get(b"k") is None, "it goes on")
    assert int(movable.stats()["time"]) > int(now) + 5


@ours_only
def test_a_moved_clock_is_told_in_dumps(movable):
    movable.ask(b"debugtime p\r\n", b"OK\r\n")
    movable.set(b"k", b"1")
    now = int(movable.stats()["time"])
    movable.send(b"lru_crawler metadump all\r\n")
    movable.expect(b"OK\r\n")
    seen = int(re.search(rb" la=(\d+) ", movable.line()).group(1))
    assert seen == now
    movable.ask(b"debugtime 1000\r\n", b"OK\r\n")
    movable.ask(b"mg k l\r\n", b"HD l1000\r\n")
