"""incr and decr: unsigned 64-bit decimals, exact digits, no padding."""
import pytest

from harness.script import conversations, differs, hold

NOT_A_NUMBER = (b"CLIENT_ERROR cannot increment or decrement "
                b"non-numeric value\r\n")
BAD_DELTA = b"CLIENT_ERROR invalid numeric delta argument\r\n"
MAX = 2 ** 64 - 1

ANSWERS = {
    "missing-key": """
        > incr n 1
        < NOT_FOUND
        > decr n 1
        < NOT_FOUND
        > get n
        < END
    """,
    "incr-and-decr-keep-the-flags": """
        > set n 12 0 2
        > 41
        < STORED
        > incr n 1
        < 42
        > decr n 2
        < 40
        > get n
        < VALUE n 12 2
        < 40
        < END
    """,
    "incr-wraps": f"""
        > set n 0 0 20
        > {MAX}
        < STORED
        > incr n 1
        < 0
        > incr n {MAX}
        < {MAX}
        > incr n 10
        < 9
    """,
    "decr-stops-at-0": """
        > set n 0 0 1
        > 5
        < STORED
        > decr n 6
        < 0
        > decr n 1
        < 0
    """,
    "value-grows": """
        > set n 0 0 2
        > 99
        < STORED
        > incr n 1
        < 100
        > get n
        < VALUE n 0 3
        < 100
        < END
    """,
    "value-shrinks-to-its-digits": """
        > set n 0 0 3
        > 100
        < STORED
        > decr n 1
        < 99
        > get n
        < VALUE n 0 2
        < 99
        < END
    """,
    "leading-zeros-are-accepted": """
        > set n 0 0 3
        > 007
        < STORED
        > incr n 1
        < 8
        > get n
        < VALUE n 0 1
        < 8
        < END
    """,
    "missing-words": """
        > incr
        < CLIENT_ERROR bad command line format
        > incr n
        < CLIENT_ERROR bad command line format
        > decr
        < CLIENT_ERROR bad command line format
        > decr n
        < CLIENT_ERROR bad command line format
    """,
}


@conversations(ANSWERS, differing={
    "value-shrinks-to-its-digits": "memcached pads with blanks",
    "leading-zeros-are-accepted": "memcached pads with blanks",
    "missing-words": "1.6.18 answers ERROR to missing words",
})
def test_answer(talk, script, delivery):
    hold(talk, script, delivery)


def test_trailing_blanks_are_still_a_number(talk):
    talk.set(b"n", b"9  ")
    talk.ask(b"incr n 1\r\n", b"10\r\n")


@pytest.mark.parametrize("value", [
    b"", b"abc", b"-1", b"1ab", b"1.5", b"0x10", b"18446744073709551616",
    b"x" * 100_000, pytest.param(b"+1", marks=differs("takes a sign"))],
    ids=lambda v: v[:22].decode())
@pytest.mark.parametrize("verb", [b"incr", b"decr"])
def test_value_is_not_a_number(talk, verb, value):
    talk.set(b"n", value)
    talk.ask(b"%s n 1\r\n" % verb, NOT_A_NUMBER)
    talk.expect_silence()
    assert talk.get(b"n") == value


@pytest.mark.parametrize("delta", [
    b"-1", b"abc", b"1x", b"1.5", b"18446744073709551616"],
    ids=lambda d: d.decode())
@pytest.mark.parametrize("verb", [b"incr", b"decr"])
def test_delta_is_not_a_number(talk, verb, delta):
    talk.set(b"n", b"5")
    talk.ask(b"%s n %s\r\n" % (verb, delta), BAD_DELTA)
    assert talk.get(b"n") == b"5"


@differs("strtoull takes a sign")
def test_delta_with_a_plus_sign(talk):
    talk.set(b"n", b"5")
    talk.ask(b"incr n +1\r\n", BAD_DELTA)
