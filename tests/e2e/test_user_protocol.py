"""User cases at the edges of the protocol: U1 U2 U3 U5 U7 U8 U10 U12 U13 U14.

A case is a trouble that real users had with a server of this kind.
"""
import random

import pytest

from harness.crowd import crowd, send_in_background
from harness.script import conversations, differs, hold, ours_only

FMT = b"CLIENT_ERROR bad command line format\r\n"
LONG_KEY = b"k" * 251


# ---- U1: an over-long key must not turn its value into commands ----------

@differs("1.6.18 runs the block")
@pytest.mark.parametrize("noreply", [b"", b" noreply"], ids=["loud", "quiet"])
@pytest.mark.parametrize("verb", [b"set", b"add", b"replace", b"append",
                                  b"prepend", b"cas"])
def test_u01_long_key(server, talk, verb, noreply):
    talk.set(b"canary", b"1")
    cas = b" 1" if verb == b"cas" else b""
    with server.connect() as other:
        other.send(b"%s %s 0 0 11%s%s\r\nflush_all\r\n\r\n"
                   % (verb, LONG_KEY, cas, noreply))
        if not noreply:
            other.expect(FMT)
        other.expect_silence()
    assert talk.get(b"canary") == b"1"


# ---- U2: lengths that are none --------------------------------------------

@ours_only
@pytest.mark.parametrize("length", [
    b"-1", b"2147483647", b"4294967295", b"99999999999999999999", b"12x", b"",
    b"-2147483648", b"18446744073709551615"], ids=bytes.decode)
def test_u02_bad_length(new_server, length):
    server = new_server()
    talk = server.connect()
    talk.set(b"canary", b"1")
    before = server.rss_bytes()
    with server.connect() as other:
        other.send(b"set k 0 0 %s\r\nflush_all\r\n" % length)
        other.expect(FMT)
        other.expect_close()
    assert talk.get(b"canary") == b"1"
    assert server.rss_bytes() < before + (16 << 20)


# ---- U3: length and data disagree -----------------------------------------

def test_u03_value_longer_than_announced(talk):
    talk.set(b"o", b"old")
    talk.ask(b"set o 0 0 3\r\nnewxx\r\n", b"CLIENT_ERROR bad data chunk\r\n")
    assert b"ERROR" in talk.line()  # the line end that was left over
    talk.expect_silence()
    assert talk.get(b"o") == b"old"


def test_u03_value_shorter_than_announced(talk):
    talk.ask(b"set p 0 0 6\r\nabc\r\nget p\r\n",
             b"CLIENT_ERROR bad data chunk\r\n")
    assert talk.line() == b"ERROR"  # " p" is no command
    talk.expect_silence()
    assert talk.get(b"p") is None


# ---- U5: numbers have no blanks behind them -------------------------------

@differs("memcached pads")
def test_u05_exact_digits(talk):
    talk.set(b"c", b"10", flags=7)
    talk.ask(b"decr c 1\r\n", b"9\r\n")
    talk.ask(b"get c\r\n", b"VALUE c 7 1\r\n9\r\nEND\r\n")
    talk.set(b"c", b"114514")
    talk.ask(b"decr c 100000\r\n", b"14514\r\n")
    talk.ask(b"get c\r\n", b"VALUE c 0 5\r\n14514\r\nEND\r\n")
    talk.ask(b"incr c 99985486\r\n", b"100000000\r\n")
    talk.ask(b"get c\r\n", b"VALUE c 0 9\r\n100000000\r\nEND\r\n")
    talk.ask(b"decr c 100000000\r\n", b"0\r\n")
    talk.ask(b"get c\r\n", b"VALUE c 0 1\r\n0\r\nEND\r\n")


# ---- U7: noreply is silent, also when refused ------------------------------

@differs("memcached deletes the value that the refused set aimed at")
def test_u07_noreply(talk):
    too_large = b"x" * ((1 << 20) + 1)
    talk.send(b"set n 0 0 1 noreply\r\n1\r\n"
              b"add n 0 0 1 noreply\r\n2\r\n"
              b"incr n 1 noreply\r\n"
              b"delete nope noreply\r\n"
              b"touch n 100 noreply\r\n"
              b"set n 0 0 %d noreply\r\n%s\r\n"
              b"get n\r\n" % (len(too_large), too_large))
    talk.expect(b"VALUE n 0 1\r\n2\r\nEND\r\n")
    talk.expect_silence()


# ---- U8: pipelines and packet borders --------------------------------------

def mixed_commands(count):
    """The same commands every time; values hold what looks like protocol."""
    dice = random.Random(8)
    kinds = ("set", "set", "append", "number", "incr", "incr", "get", "get",
             "delete", "touch", "nonsense")
    for _ in range(count):
        kind = dice.choice(kinds)
        key = b"k%d" % dice.randrange(50)
        number = b"n%d" % dice.randrange(9)
        if kind in ("set", "append"):
            value = b"\r\nEND\r\nset a 0 0 1\r\n" * 1000
            value = value[:dice.choice((0, 1, 20, 200, 2000, 20_000))]
            yield kind, b"%s %s %d 0 %d\r\n%s\r\n" % (
                kind.encode(), key, dice.randrange(9), len(value), value)
        elif kind == "number":
            yield kind, b"set %s 0 0 2\r\n90\r\n" % number
        elif kind == "incr":
            yield kind, b"incr %s 7\r\n" % number
        elif kind == "get":
            yield kind, b"get %s %s none %s\r\n" % (key, number, key)
        else:
            words = b" 1000" if kind == "touch" else b""
            yield kind, b"%s %s%s\r\n" % (kind.encode(), key, words)


def read_answer(talk, kind):
    """One whole answer, as bytes."""
    whole = talk.line() + b"\r\n"
    line = whole
    while kind == "get" and line != b"END\r\n":
        size = int(line.split()[3])
        line = talk.read(size + 2)
        whole += line
        line = talk.line() + b"\r\n"
        whole += line
    return whole


def pieces_of(stream, delivery):
    dice = random.Random(9)
    at = 0
    while at < len(stream):
        size = {"whole": len(stream), "random": dice.randrange(1, 1500),
                "bytes": 1 if at < 3000 else 4096}[delivery]
        yield stream[at:at + size]
        at += size


@pytest.fixture(params=[
    1000, pytest.param(10_000, marks=pytest.mark.long)])
def one_by_one(request, talk):
    """The commands, and their answers when they are sent one by one."""
    commands, answers = [], []
    for kind, command in mixed_commands(request.param):
        talk.send(command)
        commands.append(command)
        answers.append(read_answer(talk, kind))
    talk.ask(b"flush_all\r\n", b"OK\r\n")
    return b"".join(commands), b"".join(answers)


@pytest.mark.parametrize("delivery", ["whole", "random", "bytes"])
def test_u08_pipelines(talk, one_by_one, delivery):
    commands, answers = one_by_one
    finish = send_in_background(talk, pieces_of(commands, delivery))
    got = talk.read(len(answers))
    finish()
    if got != answers:
        at = next(i for i, pair in enumerate(zip(got, answers))
                  if pair[0] != pair[1])
        raise AssertionError(f"differs at {at}: expected "
                             f"{answers[at - 50:at + 50]!r}, got "
                             f"{got[at - 50:at + 50]!r}")
    talk.expect_silence()


# ---- U10: tolerance of lines ------------------------------------------------

def test_u10_blanks_and_line_ends(talk):
    talk.ask(b"set a 2 0 1 \r\n1\r\n", b"STORED\r\n")
    talk.ask(b"set lf 0 0 2\nab\r\n", b"STORED\r\n")
    for line in b"get a \r\n", b"get  a\r\n", b"get a\n", b"get a  \n":
        talk.ask(line, b"VALUE a 2 1\r\n1\r\nEND\r\n")
    talk.ask(b"get lf\r\n", b"VALUE lf 0 2\r\nab\r\nEND\r\n")
    talk.ask(b"GET a\r\n", b"ERROR\r\n")
    for line in b"\r\n", b"\n", b"  \r\n":
        talk.send(line)
        assert talk.line().split()[0] in (b"ERROR", b"CLIENT_ERROR")
    talk.expect_silence()


@pytest.mark.parametrize("count", [1, 2, 100, 2046, 2048, 3000, 20_000])
def test_u10_nothing_but_blanks(server, count):
    """An error or the end of the connection, never the end of the server."""
    with server.connect() as talk:
        talk.send(b" " * count + b"\r\n")
        if talk._fill():
            assert b"ERROR" in talk.line()
            talk.expect_silence()
    with server.connect() as talk:
        talk.expect_silence()


# ---- U12: meta commands, long and short --------------------------------------

@conversations({
    "all forms": """
        > set a 3 0 1
        > A
        < STORED
        > mg a
        < HD
        > mg none
        < EN
        > mg none v q
        > mn
        < MN
        > ms m 2 T0 F5
        > hi
        < HD
        > mg m v f t k O77
        < VA 2 f5 t-1 km O77
        < hi
        > mg m k O77 c
        <~ HD km O77 c[0-9]+
        > ma cnt N0 J5 v
        < VA 1
        < 5
        > ma cnt MD D2 v t
        < VA 1 t-1
        < 3
        > md m q
        > mn
        < MN
        > md m q
        > mn
        < NF
        < MN
        > mg Zm9vIGJhcg== b v k
        < EN kZm9vIGJhcg== b
        > ms Zm9vIGJhcg== 1 b k
        > x
        < HD kZm9vIGJhcg== b
        > mg Zm9vIGJhcg== b v k
        < VA 1 kZm9vIGJhcg== b
        < x
    """})
def test_u12_meta_commands(talk, script, delivery):
    hold(talk, script, delivery)


# ---- U13: delete in its old form ---------------------------------------------

USAGE = "CLIENT_ERROR bad command line format.  Usage: delete <key> [noreply]"


@conversations({
    "old-forms": f"""
        > set q 0 0 1
        > 1
        < STORED
        > delete q 0
        < DELETED
        > delete q 0
        < NOT_FOUND
        > set q 0 0 1
        > 1
        < STORED
        > delete q 10
        < {USAGE}
        > get q
        < VALUE q 0 1
        < 1
        < END
        > delete q 10 noreply
        > get q
        < VALUE q 0 1
        < 1
        < END
        > delete q 0 noreply
        > get q
        < END
        > set q 0 0 1
        > 1
        < STORED
        > delete q noreply
        > get q
        < END
    """})
def test_u13_old_delete(talk, script, delivery):
    hold(talk, script, delivery)


# ---- U14: commands on one key are atomic ---------------------------------------

SIZES = pytest.mark.parametrize("clients,turns", [
    (16, 60), pytest.param(50, 2000, marks=pytest.mark.long)])


@SIZES
def test_u14_incr(server, talk, clients, turns):
    talk.set(b"c", b"0")

    def act(mine, _):
        for _ in range(turns):
            mine.send(b"incr c 1\r\n")
            assert mine.line().isdigit()
    crowd(server, clients, act)
    assert talk.get(b"c") == b"%d" % (clients * turns)


@SIZES
def test_u14_add_has_one_winner(server, talk, clients, turns):
    locks = min(turns, 500)

    def act(mine, _):
        won = []
        for i in range(locks):
            mine.send(b"add lock%d 0 0 1\r\n1\r\n" % i)
            answer = mine.line()
            assert answer in (b"STORED", b"NOT_STORED")
            if answer == b"STORED":
                won.append(i)
        return won
    winners = sum(crowd(server, clients, act), [])
    assert sorted(winners) == list(range(locks))


@pytest.mark.parametrize("clients,turns", [
    (16, 60), pytest.param(20, 1000, marks=pytest.mark.long)])
def test_u14_append(server, talk, clients, turns):
    talk.set(b"log", b"")

    def act(mine, number):
        for _ in range(turns):
            mine.ask(b"append log 0 0 1\r\n%c\r\n" % (65 + number % 26),
                     b"STORED\r\n")
    crowd(server, clients, act)
    log = talk.get(b"log")
    assert len(log) == clients * turns
    assert log.count(b"A") == turns * len(range(0, clients, 26))


@SIZES
def test_u14_cas_loses_no_update(server, talk, clients, turns):
    """Everybody reads, adds one, and writes if nobody was in between."""
    talk.set(b"n", b"0")
    turns = min(turns, 20)

    def act(mine, _):
        done = 0
        while done < turns:
            mine.send(b"gets n\r\n")
            size, cas = mine.line().split()[3:]
            value = int(mine.read(int(size))) + 1
            mine.expect(b"\r\nEND\r\n")
            text = b"%d" % value
            mine.send(b"cas n 0 0 %d %s\r\n%s\r\n" % (len(text), cas, text))
            answer = mine.line()
            assert answer in (b"STORED", b"EXISTS")
            done += answer == b"STORED"
    crowd(server, clients, act)
    assert talk.get(b"n") == b"%d" % (clients * turns)


@SIZES
def test_u14_deleted_is_deleted(server, talk, clients, turns):
    """incr never brings a deleted counter back."""
    def act(mine, number):
        for _ in range(turns):
            if number > 0:
                mine.send(b"incr c 1\r\n")
                line = mine.line()
                assert line == b"NOT_FOUND" or line.isdigit()
                continue
            mine.ask(b"set c 0 0 1\r\n0\r\n", b"STORED\r\n")
            mine.ask(b"delete c\r\nget c\r\n", b"DELETED\r\nEND\r\n")
    crowd(server, clients, act)
    assert talk.get(b"c") is None
