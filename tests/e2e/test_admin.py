"""version, verbosity, cache_memlimit, shutdown, quit."""
import pytest

from harness.script import conversations, hold, ours_only

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
