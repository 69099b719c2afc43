"""Malformed lines: one clear error each, the stream stays in step.

A value block must never run as commands: whatever is wrong with the line, the
block is swallowed when its length is known, and the connection is closed when
the length cannot be trusted (see also test_u01, test_u02).
"""
import pytest

from harness.script import conversations, differs, hold, ours_only

FMT = b"CLIENT_ERROR bad command line format\r\n"
LONG_KEY = "k" * 251
SWALLOWS = ("set", "add", "replace", "append", "prepend", "cas")

ANSWERS = {
    "unknown-command": """
        > nonsense
        < ERROR
        > nonsense with words
        < ERROR
    """,
    "unknown-command-with-noreply": """
        > nonsense noreply
        < ERROR
    """,
    "upper-case-is-unknown": """
        > GET k
        < ERROR
        > Set k 0 0 1
        < ERROR
        > version1
        < ERROR
    """,
    "lines-under-two-characters": """
        >
        < CLIENT_ERROR bad command line format
        > a
        < CLIENT_ERROR bad command line format
    """,
    "leading-blank-is-unknown": """
        >  get k
        < ERROR
    """,
    "tab-does-not-separate": """
        > get\tk
        < ERROR
        > set t\tk 0 0 1
        > a
        < STORED
        > get t\tk
        < VALUE t\tk 0 1
        < a
        < END
    """,
    "key-of-250-bytes": f"""
        > set {LONG_KEY[1:]} 1 0 1
        > a
        < STORED
        > gets none {LONG_KEY[1:]}
        <~ VALUE {LONG_KEY[1:]} 1 1 [0-9]+
        < a
        < END
        > append {LONG_KEY[1:]} 0 0 1
        > b
        < STORED
        > touch {LONG_KEY[1:]} 0
        < TOUCHED
        > gat 0 {LONG_KEY[1:]}
        < VALUE {LONG_KEY[1:]} 1 2
        < ab
        < END
        > incr {LONG_KEY[1:]} 1
        < CLIENT_ERROR cannot increment or decrement non-numeric value
        > delete {LONG_KEY[1:]}
        < DELETED
    """,
    "key-of-251-bytes": f"""
        > get {LONG_KEY}
        < CLIENT_ERROR bad command line format
        > gat 0 {LONG_KEY}
        < CLIENT_ERROR bad command line format
        > gats 0 a {LONG_KEY}
        < CLIENT_ERROR bad command line format
        > incr {LONG_KEY} 1
        < CLIENT_ERROR bad command line format
        > decr {LONG_KEY} 1
        < CLIENT_ERROR bad command line format
        > touch {LONG_KEY} 0
        < CLIENT_ERROR bad command line format
        > delete {LONG_KEY}
        < CLIENT_ERROR bad command line format
    """,
    "one-bad-key-refuses-the-whole-get": f"""
        > set a 0 0 1
        > A
        < STORED
        > get a {LONG_KEY} a
        < CLIENT_ERROR bad command line format
        > gets a a {LONG_KEY}
        < CLIENT_ERROR bad command line format
        > get a
        < VALUE a 0 1
        < A
        < END
    """,
    "keys-of-control-and-8-bit-bytes": """
        > set \x01\x7f\x80\xff\xc3\xa4 0 0 1
        > a
        < STORED
        > get \x01\x7f\x80\xff\xc3\xa4
        < VALUE \x01\x7f\x80\xff\xc3\xa4 0 1
        < a
        < END
        > delete \x01\x7f\x80\xff\xc3\xa4
        < DELETED
    """,
}


@conversations(ANSWERS, differing={
    "lines-under-two-characters": "1.6.18 answers ERROR",
    "leading-blank-is-unknown": "1.6.18 accepts it",
})
def test_answer(talk, script, delivery):
    hold(talk, script, delivery)


@differs("1.6.18 does not swallow")
@pytest.mark.parametrize("verb", SWALLOWS)
def test_long_key_swallows_the_block(talk, verb):
    cas = " 1" if verb == "cas" else ""
    talk.run(f"""
        > set canary 0 0 1
        > 1
        < STORED
        > {verb} {LONG_KEY} 0 0 9{cas}
        > flush_all
        < CLIENT_ERROR bad command line format
        > get canary
        < VALUE canary 0 1
        < 1
        < END
    """)


# A length that cannot be trusted: answer, then close.
UNTRUSTED = ["-1", "abc", "+3", "3x", "2147483646", "2147483647", "2147483648",
             "4294967295", "4294967296", "99999999999999999999", "0x3"]


@ours_only
@pytest.mark.parametrize("length", UNTRUSTED)
@pytest.mark.parametrize("verb", ["set", "append", "cas"])
def test_untrusted_length_closes(talk, verb, length):
    cas = " 1" if verb == "cas" else ""
    talk.run(f"""
        > {verb} k 0 0 {length}{cas}
        > flush_all
        < CLIENT_ERROR bad command line format
        <.
    """)


@differs("1.6.18 answers ERROR")
@pytest.mark.parametrize("line", ["set", "set k", "set k 0", "cas", "cas k 0",
                                  "append k", "add k 0"])
def test_missing_words(talk, line):
    talk.run(f"""
        > {line}
        < CLIENT_ERROR bad command line format
    """)


@ours_only
@pytest.mark.parametrize("verb", SWALLOWS)
def test_empty_key_closes(talk, verb):
    """`set <key> 0 0 9` with an empty key has one word less, and a block."""
    talk.run(f"""
        > {verb}  0 0 9
        > flush_all
        < CLIENT_ERROR bad command line format
        <.
    """)


def test_length_over_the_limit_is_swallowed_however_large(talk):
    """The answer leaves only after the announced bytes have arrived."""
    size = 20 << 20
    talk.send(b"set k 0 0 %d\r\n" % size)
    for _ in range(20):
        talk.send(b"flush_all\r\n" * ((1 << 20) // 11)
                  + b"x" * ((1 << 20) % 11))
    talk.ask(b"\r\n", b"SERVER_ERROR object too large for cache\r\n")
    talk.expect_silence()


def test_peer_that_closes_inside_a_block(server, talk):
    with server.connect() as other:
        other.send(b"set k 0 0 1000\r\nhalf")
        other.finish_sending()
        other.expect_close()
    assert talk.get(b"k") is None


def test_peer_that_closes_inside_a_line(server, talk):
    with server.connect() as other:
        other.send(b"set a 0 0 1\r\n1\r\nget a")
        other.finish_sending()
        other.expect(b"STORED\r\n")
        other.expect_close()
    assert talk.get(b"a") == b"1"
