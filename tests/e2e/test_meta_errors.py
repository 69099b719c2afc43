"""Flags that are refused, the same way by every meta command but ma."""
import pytest

from harness.script import differs

LONG_KEY = b"k" * 251
FMT = b"CLIENT_ERROR bad command line format"
NUMBER = b"CLIENT_ERROR bad token in command line format"

# Both for mg and md; ma has one text for all (test_meta_arith.py), ms swallows
# its block, too (test_meta_set.py).
REFUSED = {
    "same flag twice": (b"k v v", b"CLIENT_ERROR duplicate flag"),
    "same flag, other argument": (b"k T1 T2", b"CLIENT_ERROR duplicate flag"),
    "unknown letter": (b"k a", b"CLIENT_ERROR invalid flag"),
    "unknown capital": (b"k Z", b"CLIENT_ERROR invalid flag"),
    "S": (b"k S5", b"CLIENT_ERROR invalid flag"),
    "digit": (b"k 5", b"CLIENT_ERROR invalid flag"),
    "T without a number": (b"k T", NUMBER),
    "T with text": (b"k Tabc", NUMBER),
    "T with a tail": (b"k T1x", NUMBER),
    "T too large": (b"k T99999999999999999999", NUMBER),
    "N without a number": (b"k N", NUMBER),
    "N with text": (b"k Nabc", NUMBER),
    "R without a number": (b"k R", NUMBER),
    "R with text": (b"k Rabc", NUMBER),
    "C without a number": (b"k C", NUMBER),
    "C with text": (b"k Cabc", NUMBER),
    "C negative": (b"k C-1", NUMBER),
    "E without a number": (b"k E", NUMBER),
    "E with text": (b"k Eabc", NUMBER),
    "D with text": (b"k Dabc", NUMBER),
    "J with text": (b"k Jabc", NUMBER),
    "F with text": (b"k Fabc", FMT),
    "F negative": (b"k F-1", FMT),
    "punctuation": (b"k !", FMT),
    "no base64": (b"k$ b", b"CLIENT_ERROR error decoding key"),
    "no padding": (b"Zm9vYg b", b"CLIENT_ERROR error decoding key"),
    "opaque": (b"k O" + b"o" * 32, b"CLIENT_ERROR opaque token too long"),
    "many": (b" ".join([b"k"] + [b"P%d" % i for i in range(20)]),
             b"CLIENT_ERROR options flags are too long"),
    "long key": (LONG_KEY, FMT),
    "long key with flags": (LONG_KEY + b" v k q", FMT),
    "long base64": (b"YWFh" * 63 + b" b", FMT),
    "no key": (b"", FMT),
}
NOT_IN_REFERENCE = {
    "punctuation", "no key", "D with text", "J with text",
    "E without a number", "E with text"}
ONE_TEXT_IN_REFERENCE = {  # 1.6.18's md
    "same flag twice", "same flag, other argument", "unknown letter",
    "unknown capital", "S", "digit", "no base64", "no padding", "many",
    "F with text", "F negative"} | {
        name for name in REFUSED if REFUSED[name][1] == NUMBER}


def marks(verb, name):
    if name in NOT_IN_REFERENCE or \
            (verb == "md" and name in ONE_TEXT_IN_REFERENCE):
        return [differs("1.6.18 words it otherwise")]
    return []


@pytest.mark.parametrize("verb,name", [
    pytest.param(verb, name, marks=marks(verb, name), id=f"{verb} {name}")
    for verb in ("mg", "md") for name in REFUSED])
@pytest.mark.parametrize("quiet", [b"", b" q"], ids=["", "q"])
def test_refused(talk, verb, name, quiet):
    """Nothing is done, and q hides nothing."""
    words, error = REFUSED[name]
    if quiet and (name == "no key" or b" q" in words):
        pytest.skip("not this one")
    talk.set(b"k", b"a")
    talk.ask(verb.encode() + b" " + words + quiet + b"\r\n", error + b"\r\n")
    talk.expect_silence()
    assert talk.get(b"k") == b"a"


@pytest.mark.parametrize("verb", [b"mg", b"md", b"ma"])
def test_the_longest_opaque(talk, verb):
    opaque = b"O" + b"o" * 31
    talk.send(verb + b" none " + opaque + b"\r\n")
    assert talk.line().split() == [b"EN" if verb == b"mg" else b"NF", opaque]


@differs("in 1.6.18 they are")
def test_twenty_words_are_not_too_many(talk):
    """Command and key are two of them."""
    talk.set(b"k", b"a")
    flags = b"v f c t s k O1 q h l u P1 L1 F1 D1 J1 I MS"
    assert len(flags.split()) == 18
    talk.send(b"mg k " + flags + b"\r\n")
    assert talk.line().startswith(b"VA 1 f0 c")
    talk.expect(b"a\r\n")


@pytest.mark.parametrize("verb", [b"me", b"ma"])
def test_long_key(talk, verb):
    talk.ask(verb + b" " + LONG_KEY + b"\r\n",
             FMT + b"\r\n")


@pytest.mark.parametrize("line", [b"me", *(
    pytest.param(line, marks=differs("1.6.18 answers ERROR"))
    for line in (b"mg", b"ms", b"md", b"ma"))])
def test_no_key(talk, line):
    talk.ask(line + b"\r\n", FMT + b"\r\n")
    talk.expect_silence()


def test_unknown_commands(talk):
    for line in b"mx k", b"m k", b"mgx k v", b"MG k":
        talk.ask(line + b"\r\n", b"ERROR\r\n")
