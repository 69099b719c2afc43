"""mg, me, mn: reading by the meta commands (PROTOCOL.md, Meta commands)."""
import base64

import pytest

from harness.script import conversations, hold, ours_only
from harness.wait import expire_wait

BINARY_KEY = b"k\0\r\n key \xff"
LONG = b"k" * 250

ANSWERS = {
    "hit and miss": """
        > set k 5 0 3
        > abc
        < STORED
        > mg k
        < HD
        > mg k v
        < VA 3
        < abc
        > mg none
        < EN
        > mg none v
        < EN
    """,
    "empty value": """
        > set k 0 0 0
        >
        < STORED
        > mg k v s
        < VA 0 s0
        <
    """,
    "flags in the order of the request": """
        > set k 7 0 3
        > abc
        < STORED
        > mg k s f t v
        < VA 3 s3 f7 t-1
        < abc
        > mg k t f s
        < HD t-1 f7 s3
        > mg k k O1 s f
        < HD kk O1 s3 f7
        > mg k f O1 k s
        < HD f7 O1 kk s3
    """,
    "client flags of 32 bits": """
        > set k 4294967295 0 1
        > a
        < STORED
        > mg k f
        < HD f4294967295
    """,
    "opaque and key on a miss": """
        > mg none k O123 v
        < EN knone O123
        > mg none O123 k
        < EN O123 knone
    """,
    "q hides a miss only": """
        > set k 0 0 1
        > a
        < STORED
        > mg none q
        > mg none v k O1 q
        > mg k q v
        < VA 1
        < a
        > mg k q
        < HD
        > mn
        < MN
    """,
    "surplus text behind a flag": """
        > set k 0 0 1
        > a
        < STORED
        > mg k vxyz sxyz
        < VA 1 s1
        < a
    """,
    "flags that mean nothing here": """
        > set k 5 0 1
        > a
        < STORED
        > mg k v F1 D1 J1 I MS
        < VA 1
        < a
        > mg k P1 Labc s
        < HD s1
    """,
    "time left": """
        > set k 0 0 1
        > a
        < STORED
        > mg k t
        < HD t-1
        > touch k 100
        < TOUCHED
        > mg k t
        <~ HD t{100 s}
    """,
    "T touches": """
        > set k 0 0 1
        > a
        < STORED
        > mg k T100
        < HD
        > mg k t
        <~ HD t{100 s}
        > mg none T100
        < EN
        > mg none
        < EN
    """,
    "T takes effect in its place": """
        > set k 0 0 1
        > a
        < STORED
        > mg k t T100
        < HD t-1
        > mg k T1000 t
        <~ HD t{1000 s}
    """,
    "negative T kills after the answer": """
        > set k 0 0 1
        > a
        < STORED
        > mg k v T-1
        < VA 1
        < a
        > mg k
        < EN
        > add k 0 0 1
        > b
        < STORED
    """,
    "fetched before": """
        > set k 0 0 1
        > a
        < STORED
        > mg k h
        < HD h0
        > mg k h
        < HD h1
    """,
    "a get counts as a fetch": """
        > set k 0 0 1
        > a
        < STORED
        > get k
        < VALUE k 0 1
        < a
        < END
        > mg k h
        < HD h1
    """,
    "u does not count as a fetch": """
        > set k 0 0 1
        > a
        < STORED
        > mg k u v
        < VA 1
        < a
        > mg k h
        < HD h0
    """,
    "a new value was not fetched": """
        > set k 0 0 1
        > a
        < STORED
        > mg k v
        < VA 1
        < a
        > set k 0 0 1
        > b
        < STORED
        > mg k h
        < HD h0
    """,
    "idle seconds": """
        > set k 0 0 1
        > a
        < STORED
        > mg k l
        <~ HD l[0-9]{1,2}
    """,
    "base64 keys are the same keys": """
        > set foo 0 0 1
        > a
        < STORED
        > mg Zm9v b v
        < VA 1
        < a
        > ms YmFy 1 b
        > b
        < HD
        > get bar
        < VALUE bar 0 1
        < b
        < END
    """,
    "b and k": """
        > ms Zm9v 2 b
        > ab
        < HD
        > mg Zm9v b k v
        < VA 2 kZm9v b
        < ab
        > mg foo k
        < HD kZm9v b
        > mg bm9uZQ== b k
        < EN kbm9uZQ== b
        > mg Zm9v b
        < HD
        > set foo 0 0 1
        > a
        < STORED
        > mg foo k
        < HD kfoo
    """,
    "mn": """
        > mn
        < MN
        > mn with words
        < MN
        > set k 0 0 1
        > a
        > mn
        > get none
        < STORED
        < MN
        < END
    """,
    "me": """
        > me none
        < EN
        > set k 0 0 3
        > abc
        < STORED
        > me k
        <~ ME k exp=-1 la=[0-9]{1,2} cas=[0-9]+ fetch=no cls=[0-9]+ size=[0-9]+
        > get k
        < VALUE k 0 3
        < abc
        < END
        > me k
        <~ ME k exp=-1 la=[0-9]{1,2} cas=[0-9]+ fetch=yes cls=[0-9]+ size=[0-9]+
    """,
    "me of an item that expires": """
        > set k 0 100 3
        > abc
        < STORED
        > me k
        <~ ME k exp={100 s} la=[0-9]{1,2} cas=[0-9]+ fetch=no cls=.*
    """,
    "me of base64 keys": """
        > ms Zm9v 1 b
        > a
        < HD
        > me Zm9v b
        <~ ME Zm9v exp=-1 la=[0-9]{1,2} cas=[0-9]+ fetch=no cls=[0-9]+ size=[0-9]+
        > me foo
        <~ ME Zm9v exp=-1 la=[0-9]{1,2} cas=[0-9]+ fetch=no cls=[0-9]+ size=[0-9]+
        > me bm9uZQ== b
        < EN
    """,
}


@conversations(ANSWERS, differing={
    "me of an item that expires": "1.6.18 has the sign wrong",
})
def test_answer(talk, script, delivery):
    hold(talk, script, delivery)


def test_cas_id_is_that_of_gets(talk):
    talk.set(b"k", b"a")
    cas = talk.cas_id(b"k")
    talk.ask(b"mg k c\r\n", b"HD c%d\r\n" % cas)
    talk.ask(b"mg k T100 c\r\n", b"HD c%d\r\n" % cas)
    assert talk.cas_id(b"k") == cas


@ours_only
def test_C_leaves_out_what_the_client_has(talk):
    """mg C: with the item's id the value is not sent."""
    talk.set(b"k", b"abc", flags=5)
    cas = talk.cas_id(b"k")
    talk.ask(b"mg k v f C%d\r\n" % cas, b"HD f5\r\n")
    talk.ask(b"mg k v f C%d\r\n" % (cas + 1), b"VA 3 f5\r\nabc\r\n")
    talk.ask(b"mg none v C%d\r\n" % cas, b"EN\r\n")


@pytest.mark.parametrize("key", [BINARY_KEY, b"\xff\0", b"a" * 186, b" "])
def test_binary_keys(talk, key):
    """Keys that a line could not hold; as long as base64 allows."""
    word = base64.b64encode(key)
    assert len(word) <= 250
    talk.ask(b"ms %s 2 b F7\r\nab\r\n" % word, b"HD\r\n")
    talk.ask(b"mg %s b v f k O1\r\n" % word,
             b"VA 2 f7 k%s b O1\r\nab\r\n" % word)
    talk.ask(b"ma %s b k\r\n" % word, b"CLIENT_ERROR cannot increment or "
             b"decrement non-numeric value\r\n")
    talk.ask(b"md %s b k\r\n" % word, b"HD k%s b\r\n" % word)
    talk.ask(b"mg %s b k\r\n" % word, b"EN k%s b\r\n" % word)


def test_longest_key(talk):
    talk.set(LONG, b"a")
    talk.ask(b"mg %s k s\r\n" % LONG, b"HD k%s s1\r\n" % LONG)


def test_text_keys_come_back_as_they_are(talk):
    """Any byte that a key may have, but those that end a word or a line."""
    key = bytes(byte for byte in range(1, 256) if byte not in b"\r\n ")[:250]
    talk.ask(b"ms %s 1 k\r\na\r\n" % key, b"HD k%s\r\n" % key)
    talk.ask(b"mg %s k v\r\n" % key, b"VA 1 k%s\r\na\r\n" % key)


def test_large_value(talk):
    value = bytes(range(256)) * 2048
    talk.set(b"k", value)
    talk.ask(b"mg k v s\r\n", b"VA %d s%d\r\n%s\r\n"
             % (len(value), len(value), value))


def test_expired_is_a_miss(talk):
    talk.ask(b"ms k 1 T1\r\na\r\n", b"HD\r\n")
    expire_wait(1)
    for line in b"mg k v\r\n", b"mg k T100\r\n", b"me k\r\n":
        talk.ask(line, b"EN\r\n")
    for line in b"md k\r\n", b"ma k\r\n", b"ms k 1 MA\r\nb\r\n":
        talk.send(line)
        assert talk.line() in (b"NF", b"NS")
    talk.ask(b"ms k 1 ME\r\nb\r\n", b"HD\r\n")


def test_counters(talk):
    """A read counts as a get, with T as a touch, me by itself."""
    talk.set(b"k", b"a")
    names = ("cmd_get", "get_hits", "get_misses", "cmd_touch", "touch_hits",
             "touch_misses", "cmd_meta")

    def counted(line):
        before = talk.stats()
        talk.send(line)
        talk.line()
        after = talk.stats()
        return {name: int(after[name]) - int(before[name]) for name in names
                if after[name] != before[name]}
    assert counted(b"mg k\r\n") == {"cmd_get": 1, "get_hits": 1}
    assert counted(b"mg none\r\n") == {"cmd_get": 1, "get_misses": 1}
    assert counted(b"mg k T100\r\n") == {"cmd_touch": 1, "touch_hits": 1}
    assert counted(b"me k\r\n") == {"cmd_meta": 1}
    assert counted(b"mn\r\n") == {}
