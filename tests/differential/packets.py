"""Streams of binary packets, on the keys of classic.py and meta.py.

The upper half of the opaque is the number of the key, so that the ids that
come back can be used again (replies.py).
"""
import struct

from differential.classic import NUMBER_KEYS, NUMBERS, TEXT_KEYS, TEXTS
from differential.meta import STALE_KEYS
from differential.replies import HEAD
from differential.rules import BIG
from differential.steps import Step

KEYS = TEXT_KEYS + NUMBER_KEYS + STALE_KEYS + [b"p\0\r\n key", b"\xff\xfe\xfd"]
TEXT_RANGE = range(len(TEXT_KEYS))
NUMBER_RANGE = range(len(TEXT_KEYS), len(TEXT_KEYS) + len(NUMBER_KEYS))
ALL_RANGE = range(len(KEYS))
# where a number may become any other, and text none
FREE_RANGE = [n for n in ALL_RANGE if n not in NUMBER_RANGE]

GET, GETQ, GETK, GETKQ = 0x00, 0x09, 0x0c, 0x0d
SET, ADD, REPLACE, SETQ, ADDQ, REPLACEQ = 0x01, 0x02, 0x03, 0x11, 0x12, 0x13
DELETE, INCR, DECR, DELETEQ, INCRQ, DECRQ = 0x04, 0x05, 0x06, 0x14, 0x15, 0x16
APPEND, PREPEND, APPENDQ, PREPENDQ = 0x0e, 0x0f, 0x19, 0x1a
QUIT, FLUSH, QUITQ, FLUSHQ = 0x07, 0x08, 0x17, 0x18
NOOP, VERSION, STAT = 0x0a, 0x0b, 0x10
TOUCH, GAT, GATQ, GATK, GATKQ = 0x1c, 0x1d, 0x1e, 0x23, 0x24

# stat answers with many packets; 20 to 22 are unknown without users
KNOWN = [*range(0x10), *range(0x11, 0x1b), TOUCH, GAT, GATQ, GATK, GATKQ]
KEY_NONE = 0xffff << 16

FLAGS = [0, 0, 1, 5, 65536, 0xffffffff, 0xdeadbeef]
TIMES = [0] * 8 + [100000, 2592000, 2592001, 2147483000, 0xffffffff]
CREATE_TIMES = [0, 100000, 2592000, 0xffffffff, 0xffffffff]
SMALL = [0, 1, 2, 7, 90, 1000]
UPS = SMALL + [10, 99]  # rule "huge-numbers"
DOWNS = UPS + [(1 << 64) - 1]
# 7 is text, so that the id is no one's
JUNK_IDS = [7 << 60, (1 << 64) - 1]
UNKNOWN = [0x1b, 0x1f, 0x20, 0x25, 0x30, 0x3f, 0x40, 0x80, 0xfe, 0xff]


def packet(opcode, key=b"", extras=b"", value=b"", opaque=0, cas=0, magic=0x80,
           body=None, key_size=None):
    size = len(extras) + len(key) + len(value) if body is None else body
    return HEAD.pack(magic, opcode, len(key) if key_size is None else key_size,
                     len(extras), 0, 0, size, opaque, cas) + \
        extras + key + value


class Binary:
    def __init__(self, dice):
        self.dice = dice
        self.choice = dice.choice
        self.random = dice.random
        self.usual = ([self.get] * 22 + [self.get_touch] * 6 
                      + [self.store] * 18 + [self.count_store] * 6
                      + [self.join] * 6 + [self.count] * 10
                      + [self.count_up] * 3 + [self.delete] * 7
                      + [self.short] * 3)

    def step(self):
        chance = self.random()
        if chance < 0.015:
            return self.compare_and_swap()
        if chance < 0.025:
            return (self.bad_shape(),)
        if chance < 0.027:
            return self.odd_packet()
        if chance < 0.028:
            return (self.flush(),)
        if chance < 0.030:
            return (self.last(),)
        if chance < 0.0302:
            return self.too_large()
        return (self.choice(self.usual)(),)

    def make(self, opcode, number, extras=b"", value=b"", cas=0, **more):
        return Step(packet(opcode, KEYS[number], extras, value,
                           number << 16 | self.dice.randrange(1 << 16), cas),
                    binary=True, **more)

    def ids(self, number):
        """No id mostly; else the last one, or one that is none."""
        chance = self.random()
        if chance < 0.85:
            return {}
        if chance < 0.95:
            return {"ref": number}
        return {"cas": self.choice(JUNK_IDS)}

    # ---- what is well-formed ------------------------------------------------

    def get(self):
        return self.make(self.choice((GET, GETQ, GETK, GETKQ)),
                         self.choice(ALL_RANGE))

    def get_touch(self):
        return self.make(self.choice((GAT, GATQ, GATK, GATKQ)),
                         self.choice(ALL_RANGE),
                         struct.pack(">I", self.choice(TIMES)))

    def touch(self):
        return self.make(TOUCH, self.choice(ALL_RANGE),
                         struct.pack(">I", self.choice(TIMES)))

    def _store(self, numbers, values):
        number = self.choice(numbers)
        opcode = self.choice((SET, SET, SET, SETQ, SETQ, ADD, ADDQ, REPLACE,
                              REPLACEQ))
        return self.make(opcode, number,
                         struct.pack(">II", self.choice(FLAGS),
                                     self.choice(TIMES)),
                         self.choice(values), **self.ids(number))

    def store(self):
        return self._store(FREE_RANGE, TEXTS)

    def count_store(self):
        return self._store(NUMBER_RANGE, NUMBERS)

    def join(self):
        number = self.choice(TEXT_RANGE)
        return self.make(self.choice((APPEND, APPENDQ, PREPEND, PREPENDQ)),
                         number, value=self.choice(TEXTS), **self.ids(number))

    def _count(self, opcodes, numbers, deltas, first):
        number = self.choice(numbers)
        return self.make(self.choice(opcodes), number, struct.pack(
            ">QQI", self.choice(deltas), self.choice(first),
            self.choice(CREATE_TIMES)), **self.ids(number))

    def count(self):
        if self.random() < 0.5:
            return self._count((INCR, INCRQ), NUMBER_RANGE, UPS, UPS)
        return self._count((DECR, DECRQ), NUMBER_RANGE, DOWNS, UPS)

    def count_up(self):
        return self._count((INCR, INCRQ), TEXT_RANGE, SMALL, [1, 90])

    def delete(self):
        number = self.choice(ALL_RANGE)
        return self.make(self.choice((DELETE, DELETEQ)), number,
                         **self.ids(number))

    def short(self):
        """Packets without a key."""
        if self.random() < 0.2:
            return Step(packet(self.choice(UNKNOWN), opaque=5), binary=True)
        if self.random() < 0.1:
            return Step(packet(STAT, b"bogus", opaque=9), binary=True)
        return Step(packet(self.choice((NOOP, NOOP, VERSION)), opaque=3),
                    binary=True)

    def flush(self):
        extras = self.choice((b"", b"\0\0\0\0"))
        return Step(packet(self.choice((FLUSH, FLUSHQ)), extras=extras),
                    binary=True)

    def compare_and_swap(self):
        number = self.choice(TEXT_RANGE)
        show = self.make(GET, number, last=True)
        act = self.choice((
            self.make(SET, number, b"\0" * 8, b"abc", ref=number),
            self.make(SETQ, number, b"\0" * 8, b"abc", ref=number),
            self.make(REPLACE, number, b"\0" * 8, b"abc", ref=number),
            self.make(ADD, number, b"\0" * 8, b"abc", ref=number),
            self.make(APPEND, number, value=b"abc", ref=number),
            self.make(INCR, number, struct.pack(">QQI", 1, 1, 0), ref=number),
            self.make(DELETE, number, ref=number),
            self.make(DELETEQ, number, ref=number)))
        return show, act, act, self.make(GETK, number)

    def last(self):
        """Ends the connection."""
        return Step(packet(self.choice((QUIT, QUITQ)), opaque=4), binary=True,
                    first=True, last=True)

    # ---- what is refused ----------------------------------------------------

    def bad_shape(self):
        """One malformed packet, behind a sound one."""
        key = self.choice(KEYS)
        e4, e8, e20 = (b"\0" * size for size in (4, 8, 20))
        bad = self.choice([
            packet(GET), packet(GETQ), packet(GET, key, e4),
            packet(GET, key, value=b"v"), packet(GETK, b"k" * 251),
            packet(GET, key, magic=0x81), packet(GET, key, magic=0x0a),
            packet(GET, key, body=len(key) - 1),
            packet(GET, key, key_size=9999),
            packet(SET, key), packet(SET, key, e4, b"v"),
            packet(SET, b"", e8, b"v"), packet(SETQ, key, e20, b"v"),
            packet(SET, b"k" * 251, e8, b"v"), packet(ADD, key, value=b"v"),
            packet(SET, key, e8, body=4),
            packet(DELETE), packet(DELETE, key, e4),
            packet(DELETE, key, value=b"v"), packet(DELETEQ, key, e8),
            packet(INCR, key), packet(INCR, key, e8), packet(DECR, b"", e20),
            packet(INCR, key, e20, b"v"), packet(DECRQ, key, e4),
            packet(APPEND, key, e8, b"v"), packet(APPEND, b"", b"", b"v"),
            packet(PREPENDQ, b"k" * 251, b"", b"v"),
            packet(TOUCH, key), packet(TOUCH, b"", e4),
            packet(GAT, key), packet(GATKQ, key, e8), packet(GAT, b"", e4),
            packet(NOOP, key), packet(NOOP, value=b"v"), packet(VERSION, key),
            packet(QUIT, key), packet(FLUSH, key), packet(FLUSH, b"", e8),
            packet(FLUSHQ, b"", b"\0"), packet(STAT, b"x", e4)])
        return Step(packet(NOOP) + bad, binary=True, alone=True)

    def odd_packet(self):
        """Any lengths for any opcode that there is; the body is all there."""
        dice = self.dice
        opcode = self.choice(KNOWN)
        key = b"none"[:dice.randrange(5)]
        extras = b"\0" * self.choice((0, 0, 4, 8, 20, dice.randrange(30)))
        value = b"v" * self.choice((0, 0, 0, 1, 9, 3000))
        return (Step(packet(NOOP) + packet(opcode, key, extras, value,
                                           opaque=KEY_NONE), binary=True,
                     alone=True),
                Step(packet(FLUSH), binary=True))

    def too_large(self):
        number = self.choice(TEXT_RANGE)
        opcode = self.choice((SET, SETQ, ADD, REPLACE, APPEND, PREPENDQ))
        extras = b"" if opcode in (APPEND, PREPENDQ) else b"\0" * 8
        return (self.make(opcode, number, extras, BIG),
                self.make(SET, number, b"\0" * 8, b"a"))
