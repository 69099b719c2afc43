"""Bytes that are nearly right: the corpora of the fuzz targets, mutated, and
commands put together of words that mean something somewhere."""
import functools
import re
import struct

from harness.packet import HEAD
from harness.server import ROOT
from storm.witness import MARK

KEYS = [b"k0", b"k1", b"k:2", b"pre:one", b"pre:two", b"pre:three", b"big",
        b"n0", b"n1", b"k" * 250, b"k\xff\x01", b"a2V5"]
NUMBERS = [b"0", b"1", b"2", b"7", b"10", b"64", b"250", b"251", b"1000",
           b"4095", b"4096", b"65535", b"65536", b"1048576", b"2147483647",
           b"2147483648", b"4294967295", b"4294967296", b"-1", b"-0",
           b"18446744073709551615", b"18446744073709551616", b"1x", b""]
FLAGS = [b"v", b"f", b"c", b"k", b"t", b"s", b"h", b"l", b"q", b"b", b"u",
         b"T0", b"T1", b"T30", b"T-1", b"N0", b"N30", b"R30", b"R0", b"I",
         b"x", b"E5", b"C1", b"F7", b"Oopaque", b"O" + b"o" * 40, b"MA", b"MP",
         b"MI", b"MD", b"ME", b"MR", b"MS", b"M?", b"D1", b"J5", b"D-1", b"S5"]
BLOCK_VERBS = [b"set", b"add", b"replace", b"append", b"prepend"]
# how a line goes on: k key, n number, f flags, t short time
LINES = [
    (b"get", "k"), (b"get", "kkkkkkkk"), (b"gets", "kk"), (b"gat", "nkk"),
    (b"gats", "nk"), (b"incr", "kn"), (b"decr", "kn"), (b"touch", "kn"),
    (b"delete", "k"), (b"mg", "kfff"), (b"mg", "kffffff"), (b"md", "kff"),
    (b"ma", "kfff"), (b"me", "k"), (b"mn", ""), (b"mg", "kf"), (b"mg", "k"),
    (b"flush_all", ""), (b"flush_all", "n"), (b"verbosity", "n"),
    (b"cache_memlimit", "n"), (b"slabs", "nn"), (b"lru", "nn"),
    (b"rget", "kknnn"), (b"pget", "kn"), (b"pget", "knk"),
    (b"debugtime", "n"), (b"watch", ""), (b"bogus", "kn"),
]
WORDS = [
    b"stats", b"stats settings", b"stats items", b"stats slabs",
    b"stats conns", b"stats bdb", b"stats sizes", b"stats detail on",
    b"stats detail dump", b"stats detail off", b"stats cachedump 1 100",
    b"stats reset", b"version", b"lru_crawler metadump all",
    b"lru_crawler mgdump all", b"lru_crawler metadump 1,2",
    b"lru_crawler crawl all", b"lru_crawler enable", b"db_checkpoint",
    b"db_archive", b"db_compact",
    b"watch fetchers mutations deletions connevents", b"quit", b"shutdown",
    b"refresh_certs", b"pdelete pre:", b"pdelete pre:t", b"rget a z 0 0 100",
    b"pget pre: 100", b"GET / HTTP/1.1", b"slabs reassign 1 2",
    b"cache_memlimit 64",
]
OPCODES = list(range(0x27)) + [0x30, 0x40, 0x7f, 0x80, 0xfe, 0xff]
MAGIC = [0x80] * 30 + [0x81, 0x00, 0x0a, 0x6d, 0xff]
TIMES = [0, 0, 0, 1, 30, 2592000, 2592001, 0xffffffff]

# It would delete what a witness has stored.
HARMFUL = re.compile(rb"pdelete +(%s)" % b"|".join(
    re.escape(MARK[:size]) + rb"[\s\0]" for size in range(1, len(MARK) + 1)))


def is_harmful(data):
    return bool(HARMFUL.search(data)) or MARK in data


@functools.lru_cache(maxsize=None)
def corpus(name):
    folder = ROOT / "tests/fuzz/corpus" / name
    return [path.read_bytes() for path in sorted(folder.iterdir())]


class Garbage:
    """value_max: of the server, so that values around it are said, too."""

    def __init__(self, dice, value_max):
        self.dice = dice
        self.pick = dice.choice
        self.value_max = value_max

    def chance(self, share):
        return self.dice.random() < share

    # ---- from the corpora ---------------------------------------------------

    def sample(self, *names):
        return self.mutate(self.pick(corpus(self.pick(names))))

    def mutate(self, data):
        data = bytearray(data)
        for _ in range(self.pick((0, 1, 1, 2, 4, 8))):
            if data:
                self.pick((self._flip, self._put, self._cut, self._double,
                           self._word))(data)
        return bytes(data)

    def _flip(self, data):
        data[self.dice.randrange(len(data))] ^= 1 << self.dice.randrange(8)

    def _put(self, data):
        data[self.dice.randrange(len(data))] = self.pick(
            (0, 10, 13, 32, 127, 128, 129, 255, self.dice.randrange(256)))

    def _cut(self, data):
        at = self.dice.randrange(len(data))
        del data[at:at + self.dice.randrange(1, 9)]

    def _double(self, data):
        at = self.dice.randrange(len(data))
        piece = data[at:at + self.dice.randrange(1, 65)]
        data[at:at] = piece * self.pick((1, 1, 2, 8))

    def _word(self, data):
        at = self.dice.randrange(len(data))
        data[at:at] = self.pick((self.pick(NUMBERS), self.pick(KEYS),
                                 self.pick(FLAGS), b"\r\n", b" "))

    # ---- text ---------------------------------------------------------------

    def key(self):
        if self.chance(0.3):
            return b"pre:%d" % self.dice.randrange(300)
        return self.pick(KEYS)

    def size(self):
        if self.chance(0.95):
            return self.dice.randrange(200)
        if self.chance(0.8):
            return self.dice.randrange(min(self.value_max, 40000))
        return self.value_max + self.dice.randrange(-2, 3)

    def _part(self, letter):
        return self.pick({"k": [self.key()], "n": NUMBERS, "f": FLAGS}[letter])

    def line(self):
        if self.chance(0.25):
            words = [self.pick(WORDS)]
        else:
            verb, parts = self.pick(LINES)
            words = [verb, *map(self._part, parts)]
        if self.chance(0.1):
            words.append(b"noreply")
        return b" ".join(words) + self.pick((b"\r\n", b"\r\n", b"\r\n", b"\n"))

    def block(self):
        """A store command; its number or its end may be wrong."""
        size = self.size()
        said = b"%d" % size if self.chance(0.96) else self.pick(NUMBERS)
        value = (b"%d" % self.dice.randrange(10**6)).ljust(size, b"v")[:size]
        if self.chance(0.3):
            head = b"ms %s %s %s" % (self.key(), said, self.pick(FLAGS))
        elif self.chance(0.1):
            head = b"cas %s 0 0 %s 5" % (self.key(), said)
        else:
            head = b"%s %s 0 %d %s" % (self.pick(BLOCK_VERBS), self.key(),
                                       self.pick(TIMES), said)
        if self.chance(0.1):
            head += b" noreply"
        return head + b"\r\n" + value + (
            b"\r\n" if self.chance(0.97) else self.pick((b"", b"\n", b"xx")))

    def text(self, commands):
        return b"".join(self.pick((self.line, self.block))()
                        for _ in range(commands))

    # ---- packets ------------------------------------------------------------

    EXTRAS = {4: (0x1c, 0x1d, 0x1e, 0x23, 0x24, 0x08), 20: (5, 6, 0x15, 0x16),
              8: (1, 2, 3, 0x11, 0x12, 0x13)}

    def _extras(self, opcode):
        size = next((size for size, opcodes in self.EXTRAS.items()
                     if opcode in opcodes), 0)
        if size == 20:
            return struct.pack(">QQI", self.dice.randrange(99),
                               self.dice.randrange(99), self.pick(TIMES))
        return struct.pack(">II", 7, self.pick(TIMES))[-size:] if size else b""

    def packet(self):
        opcode = self.pick(OPCODES) if self.chance(0.9) \
            else self.dice.randrange(256)
        extras = self._extras(opcode)
        key = b"" if opcode in (7, 8, 10, 11, 0x17, 0x18, 0x20) else self.key()
        if opcode == 0x10:
            key = self.pick(WORDS)[6:] if self.chance(0.8) else b""
        value = b""
        if opcode in (1, 2, 3, 14, 15, 0x11, 0x12, 0x13, 0x19, 0x1a):
            value = b"v" * self.size()
        sizes = [len(key), len(extras), len(extras + key + value)]
        if self.chance(0.04):
            sizes[self.dice.randrange(3)] = self.pick(
                (0, 1, 24, 250, 251, 255, 256, 65535))
        if self.chance(0.01):
            sizes[2] = self.pick((1 << 20, 1 << 31, (1 << 32) - 1))
        head = HEAD.pack(
            self.pick(MAGIC), opcode, sizes[0] & 0xffff, sizes[1] & 0xff,
            self.pick((0,) * 20 + (1, 255)), self.pick((0,) * 9 + (7,)),
            sizes[2], self.dice.randrange(1 << 32),
            self.pick((0,) * 20 + (1, (1 << 64) - 1)))
        return head + extras + key + value

    def packets(self, count):
        return b"".join(self.packet() for _ in range(count))

    # ---- logins -------------------------------------------------------------

    def text_login(self):
        token = self.pick((b"ann secret", b"ann wrong", b"rita look", b"ann",
                           b" ", b"eve " + b"e" * 300, b"\0 \0"))
        size = len(token) if self.chance(0.9) else self.dice.randrange(20000)
        return b"set auth 0 0 %d\r\n%s\r\n" % (size, token)

    def sasl_login(self):
        mechanism = self.pick((b"PLAIN",) * 6 + (b"CRAM-MD5", b"NONE",
                                                 b"P" * 250, b""))
        message = self.pick((b"\0ann\0secret", b"\0ann\0wrong",
                             b"\0rita\0look", b"", b"\0", b"ann",
                             b"\xff" * 16384, b"\0a\0b\0c"))
        opcode = self.pick((0x21, 0x21, 0x21, 0x22, 0x20))
        body = b"" if opcode == 0x20 else mechanism + message
        return HEAD.pack(0x80, opcode, len(body) and len(mechanism), 0, 0, 0,
                         len(body), 0, 0) + body
