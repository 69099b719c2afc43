"""Streams of classic commands.

Few keys, so that commands meet. Keys k* hold text, or numbers that only grow;
keys n* count: they may get shorter, so nothing is appended to them (rule
"padding"). See rules.py for what is left out on purpose.
"""
from differential.mutants import mutants
from differential.rules import BIG
from differential.steps import CAS, Step

TEXT_KEYS = [b"k0", b"k1", b"k2", b"k3", b"k\x01\xff\x80", b"noreply",
             b"k" * 250]
NUMBER_KEYS = [b"n0", b"n1", b"n2"]
KEYS = TEXT_KEYS + NUMBER_KEYS
LONG_KEY = b"k" * 251

FLAGS = [b"0"] * 4 + [b"1", b"5", b"007", b"65536", b"4294967295"]
# none that passes while a round is under way
TIMES = [b"0"] * 12 + [b"100000", b"2592000", b"2592001", b"-1", b"-100",
                       b"2147483000"]
BAD_NUMBERS = [b"abc", b"1x", b"-", b"99999999999999999999999", b"0x3"]

# A letter or digits come first, digits have no zero in front: what is put
# together of these is a number that grows, or none.
TEXTS = [b"", b"a", b"abc", b"5", b"12", b"999", b"a\r\nEND\r\n",
         b"a\r\nset k0 0 0 1\r\nx\r\n", b"x\0\xff\x80 y", b"v" * 60,
         b"w" * 300]
SMALL = [b"1", b"2", b"0", b"7", b"90", b"1000"]
NUMBERS = [b"0", b"9", b"10", b"99", b"100", b"007", b"12  ", b"1 abc", b"",
           b"-1", b"abc", b"1ab", b" 5", b"9000000000000000000",
           b"18446744073709551616"]
UPS = SMALL + [b"9", b"10", b"007"]  # rule "huge-numbers"
DOWNS = UPS + [b"18446744073709551615"]

BLOCK_VERBS = [b"set"] * 5 + [b"add", b"replace", b"append", b"prepend"]
COUNT_VERBS = [b"set"] * 3 + [b"add", b"replace"]

LINES = [
    b"get", b"gets", b"gat", b"gats", b"set", b"set k0", b"set k0 0",
    b"cas k0 0", b"append k0", b"delete", b"incr", b"incr k0", b"decr k0",
    b"touch", b"touch k0", b"verbosity", b"verbosity x", b"verbosity 1",
    b"a", b"", b"bogus", b"bogus k0 noreply", b"GET k0", b"getx k0", b"ge",
    b"cache_memlimit", b"cache_memlimit x", b"incr k0 -1", b"incr n0 abc",
    b"incr n0 18446744073709551616", b"decr n0 1x", b"decr n0 -1",
    b"incr k0 abc noreply", b"touch k0 abc", b"touch k0 1x noreply",
    b"gat x k0", b"gats 1x k0 k1", b"flush_all abc", b"flush_all x noreply",
    b"delete k0 1", b"delete k0 x", b"delete k0 5 noreply",
    b"verbosity 1 noreply",
    b"delete " + LONG_KEY, b"incr %s 1" % LONG_KEY, b"touch %s 0" % LONG_KEY,
    b"stats bogus", b"slabs", b"lru bogus", b"\t", b"get\tk0",
]
LONG_KEY_READS = [b"get ", b"get k0 ", b"gets k0 k1 ", b"gat 0 "]
LAST_LINES = [b"quit", b"quit now", b"bogus HTTP/1.1", b"GET / HTTP/1.1"]
ENDLESS_LINES = [b"x" * 20_000, b" " * 20_000, b"set " + b"k" * 20_000]


class Classic:
    """Makes one step after the other from the dice."""

    def __init__(self, dice):
        self.dice = dice
        self.choice = dice.choice
        self.random = dice.random
        kinds = ([self.store] * 24 + [self.count_store] * 8 + [self.get] * 26
                 + [self.gat] * 4 + [self.count] * 10 + [self.count_up] * 4
                 + [self.touch] * 4 + [self.delete] * 7 + [self.cas] * 5
                 + [self.bad_line] * 5 + [self.bad_chunk, self.bad_block])
        self.usual = kinds
        self.rare = ([self.compare_and_swap] * 3 + [self.mutant] * 2
                     + [self.flush, self.many, self.last_line, self.bad_length,
                        self.long_key_read, self.garbage])

    def step(self):
        if self.random() < 0.03:
            return self.choice(self.rare)()
        if self.random() < 0.0003:  # a megabyte each
            return self.too_large()
        return (self.choice(self.usual)(),)

    def quiet(self, share=0.15):
        return b" noreply" if self.random() < share else b""

    # ---- what is well-formed ----------------------------------------------

    def store(self):
        choice = self.choice
        value = choice(TEXTS)
        return Step(b"%s %s %s %s %d%s\r\n%s\r\n" % (
            choice(BLOCK_VERBS), choice(TEXT_KEYS), choice(FLAGS),
            choice(TIMES), len(value), self.quiet(), value))

    def count_store(self):
        choice = self.choice
        value = choice(NUMBERS)
        return Step(b"%s %s %s %s %d%s\r\n%s\r\n" % (
            choice(COUNT_VERBS), choice(NUMBER_KEYS), choice(FLAGS),
            choice(TIMES), len(value), self.quiet(), value))

    def get(self):
        keys = self.dice.choices(KEYS, k=int(1 + 4 * self.random() ** 3))
        end = b"\n" if self.random() < 0.05 else b" \r\n" \
            if self.random() < 0.05 else b"\r\n"
        return Step(self.choice((b"get ", b"gets ")) + b" ".join(keys) + end)

    def many(self):
        keys = self.dice.choices(KEYS, k=self.dice.randrange(20, 60))
        return (Step(b"gets " + b" ".join(keys) + b"\r\n"),)

    def gat(self):
        keys = self.dice.choices(KEYS, k=self.dice.randrange(1, 4))
        return Step(b"%s %s %s\r\n" % (self.choice((b"gat", b"gats")),
                                       self.choice(TIMES), b" ".join(keys)))

    def count(self):
        up = self.random() < 0.5
        return Step(b"%s %s %s%s\r\n" % (
            b"incr" if up else b"decr", self.choice(NUMBER_KEYS),
            self.choice(UPS if up else DOWNS), self.quiet()))

    def count_up(self):
        return Step(b"incr %s %s%s\r\n" % (
            self.choice(TEXT_KEYS), self.choice(SMALL), self.quiet()))

    def touch(self):
        return Step(b"touch %s %s%s\r\n" % (
            self.choice(KEYS), self.choice(TIMES), self.quiet()))

    def delete(self):
        return Step(b"delete %s%s%s\r\n" % (
            self.choice(KEYS), self.choice((b"", b"", b" 0")), self.quiet()))

    def cas(self):
        """With the id that was shown last: it may be old by now."""
        choice = self.choice
        key = choice(TEXT_KEYS)
        value = choice(TEXTS)
        return Step(b"cas %s %s %s %d %s%s\r\n%s\r\n" % (
            key, choice(FLAGS), choice(TIMES), len(value),
            choice((CAS, CAS, CAS, b"0", b"18446744073709551615")),
            self.quiet(), value), ref=key)

    def compare_and_swap(self):
        key = self.choice(TEXT_KEYS)
        return (Step(b"gets %s\r\n" % key, last=True),
                self.cas()._replace(ref=key), Step(
                    b"cas %s 3 0 3 %s\r\nabc\r\n" % (key, CAS), ref=key),
                Step(b"gets %s\r\n" % key))

    def flush(self):
        return (Step(b"flush_all%s%s\r\n" % (
            self.choice((b"", b" 0", b" -1")), self.quiet())),)

    # ---- what is refused ----------------------------------------------------

    def bad_line(self):
        return Step(self.choice(LINES) + b"\r\n")

    def bad_chunk(self):
        """A block that is longer than announced; the rest is a line."""
        choice = self.choice
        return Step(b"%s %s 0 0 %d%s\r\n%s" % (
            choice(BLOCK_VERBS), choice(KEYS), choice((1, 3, 5)), self.quiet(),
            choice((b"abcdefgh\r\n", b"abcdefghijkl mno\r\n",
                    b"12345678\n", b"\r\n\r\nbogus\r\n"))))

    def bad_block(self):
        """A refused line. Its block is a command without an answer, for a
        server that does not swallow it."""
        choice = self.choice
        block = b"delete none noreply"
        verb = choice(BLOCK_VERBS)
        wrong = self.dice.randrange(4 if verb == b"cas" else 3)
        return Step(b"%s %s %s %s %d\r\n%s\r\n" % (
            verb, LONG_KEY if wrong == 0 else choice(KEYS),
            choice(BAD_NUMBERS) if wrong == 1 else b"0",
            choice(BAD_NUMBERS) if wrong == 2 else b"0", len(block), block))

    def bad_length(self):
        """Ends the connection, or is not understood."""
        return (Step(b"%s %s 0 0 %s\r\nbogus\r\n" % (
            self.choice(BLOCK_VERBS), self.choice(KEYS),
            self.choice(BAD_NUMBERS + [b"-1", b"4294967296", b"2147483647"])),
            alone=True),)

    def too_large(self):
        """Refused; then the key is set, for the old value may be gone."""
        key = self.choice(TEXT_KEYS)
        return (Step(b"%s %s 0 0 %d%s\r\n%s\r\n" % (
            self.choice(BLOCK_VERBS), key, len(BIG), self.quiet(), BIG)),
            Step(b"set %s 0 0 1\r\na\r\n" % key))

    def last_line(self):
        if self.random() < 0.2:
            return (Step(self.choice(ENDLESS_LINES), alone=True),)
        return (Step(self.choice(LAST_LINES) + b"\r\n", first=True,
                     last=True),)

    def long_key_read(self):
        """In a batch of its own: rule "answers-lost"."""
        return (Step(self.choice(LONG_KEY_READS) + LONG_KEY
                     + self.choice((b"\r\n", b" k0\r\n")), first=True),)

    def mutant(self):
        return mutants(self.dice, self.choice(self.usual))

    def garbage(self):
        """A connection of its own that says nothing sound."""
        dice = self.dice
        size = int(300 * self.random() ** 2)
        noise = bytes(dice.choices(b"\r\n  aet0k\x00\x7f\x80\xffxyz", k=size))
        return (Step(b"z" + noise, alone=True),)
