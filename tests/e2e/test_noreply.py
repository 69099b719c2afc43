"""noreply: no answer, whatever becomes of the command."""
import re

import pytest

from harness.script import differs

BIG = b"x" * ((1 << 20) + 1)
LONG_KEY = b"k" * 251

# Each on a store where n = 5 and t = text.
QUIET = {
    "set": b"set k 0 0 1 noreply\r\n1\r\n",
    "add stored": b"add k 0 0 1 noreply\r\n1\r\n",
    "add not stored": b"add n 0 0 1 noreply\r\n1\r\n",
    "replace": b"replace n 0 0 1 noreply\r\n1\r\n",
    "replace not stored": b"replace none 0 0 1 noreply\r\n1\r\n",
    "append": b"append n 0 0 1 noreply\r\n1\r\n",
    "append not stored": b"append none 0 0 1 noreply\r\n1\r\n",
    "prepend not stored": b"prepend none 0 0 1 noreply\r\n1\r\n",
    "cas exists": b"cas n 0 0 1 0 noreply\r\n1\r\n",
    "cas not found": b"cas none 0 0 1 1 noreply\r\n1\r\n",
    "set bad chunk": b"set k 0 0 1 noreply\r\n1xx",
    "set too large": b"set k 0 0 %d noreply\r\n%s\r\n" % (len(BIG), BIG),
    "append too large": b"append t 0 0 %d noreply\r\n%s\r\n"
                        % (len(BIG) - 1, BIG[1:]),
    "delete": b"delete n noreply\r\n",
    "delete not found": b"delete none noreply\r\n",
    "delete 0": b"delete n 0 noreply\r\n",
    "delete with a time": b"delete n 10 noreply\r\n",
    "incr": b"incr n 1 noreply\r\n",
    "incr not found": b"incr none 1 noreply\r\n",
    "incr no number": b"incr t 1 noreply\r\n",
    "incr bad delta": b"incr n abc noreply\r\n",
    "decr": b"decr n 1 noreply\r\n",
    "decr not found": b"decr none 1 noreply\r\n",
    "touch": b"touch n 100 noreply\r\n",
    "touch not found": b"touch none 100 noreply\r\n",
    "touch bad time": b"touch n abc noreply\r\n",
    "flush_all": b"flush_all noreply\r\n",
    "flush_all 0": b"flush_all 0 noreply\r\n",
    "flush_all later": b"flush_all 1000 noreply\r\nflush_all noreply\r\n",
    "verbosity": b"verbosity 0 noreply\r\n",
    "cache_memlimit": b"cache_memlimit 64 noreply\r\n",
}

# Here memcached speaks although the line was understood as quiet.
QUIET_IN_OURS = {
    "set long key": b"set %s 0 0 1 noreply\r\n1\r\n" % LONG_KEY,
    "set bad flags": b"set k abc 0 1 noreply\r\n1\r\n",
    "set bad time": b"set k 0 abc 1 noreply\r\n1\r\n",
}


@pytest.mark.parametrize("name", QUIET)
def test_quiet(talk, name):
    talk.set(b"n", b"5")
    talk.set(b"t", b"text")
    talk.send(QUIET[name])
    talk.expect_silence()


@differs("1.6.18 runs the block as a command")
@pytest.mark.parametrize("name", QUIET_IN_OURS)
def test_quiet_although_malformed(talk, name):
    talk.send(QUIET_IN_OURS[name])
    talk.expect_silence()
    assert talk.get(b"k") is None


def test_quiet_commands_do_what_they_say(talk):
    talk.send(b"set k 3 0 1 noreply\r\n5\r\n"
              b"incr k 10 noreply\r\n"
              b"append k 0 0 1 noreply\r\n0\r\n"
              b"decr k 50 noreply\r\n"
              b"set gone 0 0 1 noreply\r\n1\r\n"
              b"delete gone noreply\r\n"
              b"touch k -1 noreply\r\n"
              b"add k 4 0 2 noreply\r\nok\r\n"
              b"get k gone\r\n")
    talk.expect(b"VALUE k 4 2\r\nok\r\nEND\r\n")


def test_quiet_counts_before_the_read_behind_it(talk):
    """A read sees every write sent before it on the same connection."""
    talk.set(b"n", b"0")
    for i in range(1, 200):
        talk.ask(b"incr n 1 noreply\r\nget n\r\n",
                 b"VALUE n 0 %d\r\n%d\r\nEND\r\n" % (len(str(i)), i))


@pytest.mark.parametrize("barrier", [b"version", b"mn"])
def test_what_came_before_is_done_when_a_barrier_is_answered(
        server, talk, barrier):
    """The way to learn that: others see all of it by then."""
    with server.connect() as other:
        for i in range(20):
            talk.send(b"".join(b"set k%d 0 0 1 noreply\r\n%d\r\n" % (n, i % 10)
                               for n in range(100)) + barrier + b"\r\n")
            assert re.fullmatch(rb"VERSION .*|MN", talk.line())
            assert other.get(b"k99") == b"%d" % (i % 10)


@differs("1.6.18 takes one word more at most")
def test_only_the_last_word_counts(talk):
    talk.send(b"set k 0 0 3 foo bar noreply\r\nabc\r\n")
    talk.expect_silence()
    assert talk.get(b"k") == b"abc"
    talk.ask(b"set k 0 0 3 noreply foo\r\nxyz\r\n", b"STORED\r\n")
