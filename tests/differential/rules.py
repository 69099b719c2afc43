"""The intended differences between memcached 1.6.18 and ours, one rule each.

A rule with `theirs` and `ours` explains a pair of answers while streams run;
a few are built into explain() and replies.py. All others are kept out of the
streams by the generators: the stores would hold different things from there
on. Each has a witness: bytes to which the two servers do answer differently
(test_differential.py holds it), or an empty one if that comes and goes.

DIFFERENCES.md is printed from this table.
"""
import re
from pathlib import Path
from typing import NamedTuple, Optional

HERE = Path(__file__).resolve().parent
BIG = b"x" * ((1 << 20) + 1)
TOO_LARGE = b"SERVER_ERROR object too large for cache"
FMT = b"CLIENT_ERROR bad command line format"
LONG_KEY = b"k" * 251
BY_US = "by us"  # what we do otherwise on purpose
LATER = "later"  # what memcached itself changed after 1.6.18


class Rule(NamedTuple):
    name: str
    whose: str
    why: str
    witness: bytes
    theirs: Optional[re.Pattern] = None
    ours: Optional[re.Pattern] = None


def exactly(*lines):
    return re.compile(b"|".join(re.escape(line) for line in lines))


RULES = [
    Rule("missing-words", LATER,
         "a known command without its arguments, and a line of one character: "
         "`ERROR`, now `CLIENT_ERROR bad command line format`",
         b"get\r\n", exactly(b"ERROR"), exactly(FMT)),
    Rule("append-over-the-limit", BY_US,
         "append and prepend whose result is too large: `NOT_STORED` reads as "
         "if there were no such key",
         b"set k 0 0 600000\r\n%s\r\nappend k 0 0 600000\r\n%s\r\n"
         % (BIG[:600000], BIG[:600000]),
         exactly(b"NOT_STORED", b"NS"), exactly(TOO_LARGE)),
    Rule("meta-error-texts", LATER,
         "flags that are refused: md and ma of 1.6.18 know one text only, and "
         "J has a text of its own",
         b"md k x!\r\n",
         exactly(b"CLIENT_ERROR invalid or duplicate flag",
                 b"CLIENT_ERROR invalid numeric initial value",
                 b"CLIENT_ERROR invalid numeric delta value",
                 b"CLIENT_ERROR options flags too long",
                 b"CLIENT_ERROR incorrect length for M token"),
         re.compile(rb"CLIENT_ERROR (bad token in command line format|"
                    rb"error decoding key|invalid flag|duplicate flag|"
                    rb"opaque token too long|options flags are too long|"
                    rb"bad command line format|"
                    rb"invalid mode for m[sa] M token)")),
    Rule("opaque-of-ma", LATER,
         "ma with an opaque that is too long: refused; 1.6.18 counts first, "
         "and complains then",
         b"ma k N0 O%s\r\n" % (b"o" * 40)),
    Rule("punctuation-flag", LATER,
         "a meta flag that is no letter: a bad line, no longer a bad flag",
         b"mg k !\r\n", exactly(b"CLIENT_ERROR invalid flag"), exactly(FMT)),
    Rule("empty-is-no-number", LATER,
         "ma C with another id on an empty value: the id is looked at first",
         b"set k 0 0 0\r\n\r\nma k C1000000\r\n",
         exactly(b"CLIENT_ERROR cannot increment or decrement non-numeric "
                 b"value"), re.compile(rb"EX( .*)?")),
    Rule("untrusted-length", BY_US,
         "a length that is none closes the connection: a value must never run "
         "as commands",
         b"set k 0 0 -1\r\nbogus\r\n"),
    Rule("refused-line-with-a-block", LATER,
         "bad flags, time, cas id or key: the block is swallowed; 1.6.18 reads "
         "it as a command, and answers even if the line said noreply",
         b"set k x 0 3\r\nabc\r\n"),
    Rule("padding", BY_US,
         "a number that gets shorter is stored without blanks behind it. On "
         "keys that count, values are compared without length and blanks",
         b"set k 0 0 2\r\n10\r\ndecr k 1\r\nget k\r\n"),
    Rule("too-large-keeps-the-old", BY_US,
         "a refused set leaves the old value",
         b"set k 0 0 1\r\na\r\nset k 0 0 %d\r\n%s\r\nget k\r\n"
         % (len(BIG), BIG)),
    Rule("item-limit", BY_US,
         "the limit is the value's alone, not with key and header",
         b"set k 0 0 1048570\r\n%s\r\n" % BIG[:1048570]),
    Rule("flags-over-32-bit", BY_US, "refused, not cut off",
         b"set k 4294967296 0 1\r\na\r\n"),
    Rule("time-over-31-bit", BY_US, "64 bits, no wrap",
         b"set k 0 2147483648 1\r\na\r\nget k\r\n"),
    Rule("signs", BY_US,
         "numbers are digits; only a time may have a minus in front",
         b"set k +1 0 1\r\na\r\n"),
    Rule("more-words", LATER,
         "additional words are ignored; 1.6.18 refuses some lines for them",
         b"touch k 1 2 3\r\n"),
    Rule("leading-blanks", LATER, "a line that begins with a blank is no "
         "command; 1.6.18 skips them",
         b" get k\r\n"),
    Rule("gat-without-key", LATER, "`gat 0` lacks a key; 1.6.18 finds nothing",
         b"gat 0\r\n"),
    Rule("vivified-base64-key", LATER,
         "an item that mg N makes under a base64 key is shown under it; "
         "1.6.18 shows the decoded bytes",
         b"mg awANCg== b k N0\r\n"),
    Rule("new-copy", LATER,
         "append and incr keep all marks of an item: stale, won, base64 key. "
         "In 1.6.18 a new copy has none; and T of an ma that makes one is lost",
         b"ms k 1\r\na\r\nmd k I\r\nappend k 0 0 1\r\nb\r\nmg k\r\n"),
    Rule("dead-time-left", BY_US,
         "t of an item that T killed is 0; 1.6.18 shows a number below zero "
         "as one of 32 bits",
         b"set k 0 0 1\r\na\r\nmg k T-1 t\r\n"),
    Rule("newer-flags", LATER,
         "1.6.18 does not know E, x of md, C of mg, and N and s of ms",
         b"ms k 1 s\r\na\r\n"),
    Rule("lax-base64", BY_US,
         "a key with b is base64 and nothing else; 1.6.18 leaves out bytes "
         "that are none",
         b"mg //79- b\r\n"),
    Rule("fetched", BY_US,
         "h, l, and fetch= of me come from memory of a fixed size, not from the "
         "item: in a pipeline a read right behind a store may be forgotten",
         b""),
    Rule("long-mode", LATER, "what follows the letter of ma M is ignored",
         b"ma k N0 MDxy\r\n"),
    Rule("huge-packet", LATER,
         "a packet that announces more than 1 GiB is refused; 1.6.18 waits "
         "for it",
         b"\x80\x01\0\1\x08\0\0\0\x7f" + b"\xff" * 3 + b"\0" * 20 + b"k"),
    Rule("contradicting-lengths", LATER,
         "a packet whose body is shorter than key and extras is answered "
         "before the connection is closed",
         b"\x80\0\0\2" + b"\0" * 20),
    Rule("huge-numbers", LATER,
         "of a value from 2^63 on, 1.6.18 looks for a minus behind its end, in "
         "memory that holds anything: now and then it is no number",
         b""),
    Rule("cr-and-nul", BY_US,
         "CR and NUL are no part of a text key or number",
         b"get k\0\r\n"),
    Rule("answers-lost", LATER,
         "1.6.18 drops the answers that wait to be sent when a get has a key "
         "that is too long",
         b"bogus\r\nget %s\r\n" % LONG_KEY),
]

# excused by explain() itself
EXCUSED = {"untrusted-length", "refused-line-with-a-block",
           "contradicting-lengths", "padding", "dead-time-left"}
PAIRS = [rule for rule in RULES if rule.theirs]
ERROR = re.compile(rb"(CLIENT_|SERVER_)?ERROR\b")
EXISTS, NOT_A_NUMBER = 0x02, 0x06  # statuses of packets
NUMBER = re.compile(rb"\d+")
BLOCK_LINE = re.compile(rb"(set|add|replace|append|prepend|cas|ms) ")
# A time left, or an idle time. On a busy machine the clock of memcached, a
# timer of its own, goes wrong by seconds; streams use times far apart.
CLOCK_S = 30
CLOCK_WORD = re.compile(rb"(t|l|exp=|la=)-?\d+")
CLOCK = "clock"


def same_but_for_the_clock(theirs, ours):
    """Are these two answers of about the same time?"""
    if not isinstance(theirs, bytes) or not isinstance(ours, bytes):
        return False
    pairs = [theirs.split(b" "), ours.split(b" ")]
    if len(pairs[0]) != len(pairs[1]):
        return False
    for a, b in zip(*pairs):
        if a == b:
            continue
        if not CLOCK_WORD.fullmatch(a) or not CLOCK_WORD.fullmatch(b):
            return False
        numbers = [int(NUMBER.search(word).group()) for word in (a, b)]
        if NUMBER.sub(b"", a) != NUMBER.sub(b"", b) or \
                abs(numbers[0] - numbers[1]) > CLOCK_S:
            return False
    return True


def explain_pair(theirs, ours):
    """The name of what explains this pair of units, or None."""
    for rule in PAIRS:
        if isinstance(theirs, bytes) and isinstance(ours, bytes) and \
                rule.theirs.fullmatch(theirs) and rule.ours.fullmatch(ours):
            return rule.name
    if type(theirs) is type(ours) is tuple and \
            (theirs[2], ours[2]) == (NOT_A_NUMBER, EXISTS) and \
            theirs[:2] + theirs[3:6] == ours[:2] + ours[3:6]:
        return "empty-is-no-number"
    if same_but_for_the_clock(theirs, ours):
        return CLOCK
    return None


def alike(theirs, ours):
    """Are they the same, one way or the other?"""
    return theirs == ours or bool(
        explain_pair(theirs, ours) or explain_pair(ours, theirs))


def is_error(unit):
    """An error line, or a packet that says no."""
    if isinstance(unit, bytes):
        return bool(ERROR.match(unit))
    return unit[2] != 0


def explain_alone(batch, theirs, ours):
    """What is not sound, on a connection of its own: (names, the units of
    memcached that are left to be compared)."""
    if batch[0].binary:
        if ours[:-1] == theirs and is_error(ours[-1]):
            return {"contradicting-lengths"}, ours
    elif BLOCK_LINE.match(batch[0].data) and any(map(is_error, theirs[:1])) \
            and all(map(is_error, ours[:1])) and len(ours) != len(theirs):
        return {"refused-line-with-a-block"}, ours
    elif BLOCK_LINE.match(batch[0].data) and not theirs and \
            len(ours) == 1 and is_error(ours[0]):
        return {"untrusted-length"}, ours  # 1.6.18 waits for the block
    elif ours and is_error(ours[-1]) and len(ours) < len(theirs):
        return {"untrusted-length"}, theirs[:len(ours)]
    return set(), theirs


def explain(batch, theirs, ours):
    """The names of the rules that explain these answers, or None."""
    (their_units, their_end), (our_units, our_end) = theirs, ours
    names = set()
    alone = batch[0].alone
    if alone:
        names, their_units = explain_alone(batch, their_units, our_units)
    if len(their_units) != len(our_units) or their_end != our_end:
        return None
    for pair in zip(their_units, our_units):
        if pair[0] == pair[1]:
            continue
        name = explain_pair(*pair)
        if name:
            names.add(name)
        elif not (alone and all(map(is_error, pair))):
            return None
    return names


# --- the document ------------------------------------------------------------

HEAD = """# Intended differences from memcached 1.6.18

Printed from rules.py by `tests/differential/run --differences`; do not edit.
Where our answers differ from those of the memcached in Debian 12, one of these
rules is the reason. "By us" is a decision of ours (protocol/PROTOCOL.md lists
them all); "later" is what memcached itself changed, or repaired, after 1.6.18.
Some rules excuse a pair of answers while streams run; the others are kept out
of the streams, because the two stores would hold different things from there
on. Times left may differ by half a minute.

| rule | whose | how it is used | what differs |
|---|---|---|---|
"""


def as_markdown():
    lines = []
    for rule in RULES:
        excused = rule.theirs or rule.name in EXCUSED
        lines.append(f"| {rule.name} | {rule.whose} | "
                     f"{'excused' if excused else 'kept out'} | {rule.why} |\n")
    return HEAD + "".join(lines)
