"""Streams of meta commands, on the keys of classic.py and on base64 ones."""
import base64

from differential.classic import (DOWNS, FLAGS, KEYS, LONG_KEY, NUMBER_KEYS,
                                  NUMBERS, SMALL, TEXT_KEYS, TEXTS, TIMES, UPS)
from differential.mutants import mutants
from differential.rules import BIG
from differential.steps import CAS, Step

# may be stale: never appended to, never counted (rule "new-copy")
STALE_KEYS = [b"s0", b"s1"]
ENCODED = [base64.b64encode(key) for key in
           (b"s0", b"k\0\r\n key", b"\xff\xfe\xfd", b"k" * 180)]
CREATE_TIMES = [b"100000", b"0", b"2592000"]
# far from every time that is left of a TTL above
RECACHE = [b"50000", b"200000", b"0", b"30"]
OPAQUES = [b"1", b"abc", b"0123456789", b"o" * 31]

BAD_FLAGS = [b"v v", b"t c t", b"!", b"1", b"a", b"Z", b"T", b"Tx", b"T1x",
             b"N", b"Nabc", b"R", b"Rx", b"Cx", b"O" + b"o" * 33, b"Dx",
             b"D-1", b"J", b"Jx", b"T99999999999999999999", b"b",
             b" ".join([b"P%d" % i for i in range(21)])]
LINES = [b"mg", b"ms", b"md", b"ma", b"mg " + LONG_KEY, b"md " + LONG_KEY,
         b"mg ???? b", b"mg Zm9 b v", b"md Zm9vYg= b", b"mn", b"mn x y", b"mx",
         b"mg k0 v k0", b"ma k0 MX", b"ma n0 M", b"mg " + LONG_KEY + b" v k",
         b"md k0 Cabc", b"ma n0 N", b"me", b"me none"]


class Meta:
    def __init__(self, dice):
        self.dice = dice
        self.choice = dice.choice
        self.random = dice.random
        self.usual = ([self.get] * 24 + [self.store] * 16
                      + [self.count_store] * 4 + [self.count] * 8
                      + [self.count_up] * 2 + [self.delete] * 8
                      + [self.noop] + [self.bad_line]
                      + [self.bad_flag] * 2 + [self.bad_block, self.bad_chunk])

    def step(self):
        chance = self.random()
        if chance < 0.01:
            return self.compare_and_swap()
        if chance < 0.012:
            return self.invalidate()
        if chance < 0.0122:
            return self.too_large()
        if chance < 0.014:
            return mutants(self.dice, self.choice(self.usual))
        return (self.choice(self.usual)(),)

    # ---- parts ------------------------------------------------------------

    def key(self, keys=TEXT_KEYS):
        """A key, and the flag that goes with it."""
        if self.random() < 0.15 and keys is not NUMBER_KEYS:
            return self.choice(ENCODED), [b"b"]
        return self.choice(keys), []

    def line(self, verb, key, flags):
        self.dice.shuffle(flags)
        return b" ".join([verb, key] + flags) + b"\r\n"

    def some(self, letters, share):
        """Some of these flags."""
        return [b"%c" % letter for letter in letters if self.random() < share]

    def common(self):
        flags = self.some(b"k", 0.3)
        if self.random() < 0.3:
            flags.append(b"O" + self.choice(OPAQUES))
        if self.random() < 0.15:
            flags.append(b"q")
        if self.random() < 0.05:
            flags.append(self.choice((b"P12", b"L9", b"Pabc")))
        return flags

    def time(self, letter, share, times):
        return [letter + self.choice(times)] if self.random() < share else []

    # ---- what is well-formed ----------------------------------------------

    def get(self):
        key, flags = self.key(KEYS)
        if self.random() < 0.3:
            key, flags = self.choice(STALE_KEYS), self.marks()
        flags += self.common() + self.some(b"vfc", 0.5) + self.some(b"lu", 0.1)
        if not key.startswith(b"n"):  # rule "padding"
            flags += self.some(b"s", 0.4)
        flags += self.time(b"T", 0.1, TIMES) + self.some(b"t", 0.5)
        return Step(self.line(b"mg", key, flags))

    def marks(self):
        """Flags that leave marks: for keys that are never copied.

        No h, and no me of a key: rule "fetched"."""
        return self.time(b"N", 0.3, CREATE_TIMES) + \
            self.time(b"R", 0.3, RECACHE)

    def _store(self, key, flags, values, compare=None):
        value = self.choice(values)
        flags += self.common() + self.some(b"c", 0.4)
        flags += self.time(b"F", 0.4, FLAGS) + self.time(b"T", 0.4, TIMES)
        if self.random() < 0.4:
            modes = b"EAPRS" if key in TEXT_KEYS else b"ERS"
            flags.append(b"M%c" % self.choice(modes))
        if key in STALE_KEYS and self.random() < 0.3:
            flags.append(b"I")
        if compare or self.random() < 0.1:
            flags.append(b"C" + (compare or self.choice((CAS, b"0", b"1"))))
        return Step(self.line(b"ms", key + b" %d" % len(value), flags)
                    + value + b"\r\n", ref=key)

    def store(self):
        if self.random() < 0.2:
            return self._store(self.choice(STALE_KEYS), [], TEXTS)
        return self._store(*self.key(), TEXTS)

    def count_store(self):
        return self._store(*self.key(NUMBER_KEYS), NUMBERS)

    def _count(self, key, modes, deltas, first):
        flags = self.common() + self.some(b"vtc", 0.4)
        flags += self.time(b"D", 0.5, deltas)  # no T: rule "new-copy"
        if self.random() < 0.4:
            flags += [b"N" + self.choice(CREATE_TIMES),
                      b"J" + self.choice(first)]
        if modes[0] == b"D" or self.random() < 0.5:
            flags.append(b"M" + self.choice(modes))
        if self.random() < 0.05:
            flags.append(b"C" + CAS)
        return Step(self.line(b"ma", key, flags), ref=key)

    def count(self):
        key = self.choice(NUMBER_KEYS)
        if self.random() < 0.5:
            return self._count(key, (b"I", b"+"), UPS, UPS)
        return self._count(key, (b"D", b"-"), DOWNS, UPS)

    def count_up(self):
        return self._count(self.choice(TEXT_KEYS), (b"I", b"+"), SMALL,
                           [b"1", b"90"])

    def delete(self):
        key, flags = self.key(KEYS)
        if self.random() < 0.4:
            key, flags = self.choice(STALE_KEYS), [b"I"]
        flags += self.common()
        if self.random() < 0.1:
            flags.append(b"C" + CAS)
        flags += self.time(b"T", 0.2, TIMES)
        return Step(self.line(b"md", key, flags), ref=key)

    def noop(self):
        return Step(b"mn\r\n")

    def compare_and_swap(self):
        """With an id that is still right, mostly."""
        by = self.dice.randrange(3)
        key, flags = self.key() if by < 2 else (self.choice(TEXT_KEYS), [])
        show = Step(self.line(b"mg", key, flags + [b"c", b"k"]), last=True)
        if by == 0:
            act = self._store(key, list(flags), TEXTS, compare=CAS)
        else:
            flags = flags + [b"C" + CAS] + self.common()
            act = Step(self.line((b"md", b"ma")[by - 1], key, flags), ref=key)
        return (show, act, act, Step(b"mg %s v t c f\r\n" % key))

    def invalidate(self):
        """The life of a stale item: one wins, a lower id leaves it stale."""
        key = self.choice(STALE_KEYS)
        dice = self.dice
        steps = [Step(b"ms %s 1 T100000\r\na\r\n" % key),
                 Step(b"mg %s c k\r\n" % key, last=True),
                 Step(b"md %s I%s\r\n" % (key, dice.choice((b"", b" T5000")))),
                 Step(b"mg %s v t\r\n" % key), Step(b"mg %s v\r\n" % key),
                 Step(b"ms %s 1 C%s I T0\r\nb\r\n" % (key, CAS), ref=key),
                 Step(b"mg %s v t R200000\r\n" % key),
                 Step(b"mg %s v t c k\r\n" % key, last=True),
                 Step(b"ms %s 1 C%s I\r\nc\r\n" % (key, CAS), ref=key),
                 Step(b"mg %s v t\r\n" % key)]
        spared = dice.sample(range(len(steps)), dice.randrange(4))
        return [step for i, step in enumerate(steps) if i not in spared]

    # ---- what is refused ----------------------------------------------------

    def bad_line(self):
        return Step(self.choice(LINES) + b"\r\n")

    def bad_flag(self):
        flags = self.choice(BAD_FLAGS)
        verb = self.choice((b"mg", b"md", b"ma") if flags[:1] != b"O"
                           else (b"mg", b"md"))  # rule "opaque-of-ma"
        return Step(b"%s %s %s\r\n" % (verb, self.choice(KEYS), flags))

    def bad_block(self):
        """A refused ms; its block is a command that says nothing."""
        block = b"delete none noreply"
        return Step(b"ms %s %d %s\r\n%s\r\n" % (
            self.choice(KEYS), len(block),
            self.choice(BAD_FLAGS + [b"MX", b"M", b"Fx", b"F-1", b"Ms"]),
            block))

    def bad_chunk(self):
        return Step(b"ms %s %d%s\r\n%s" % (
            self.choice(KEYS), self.choice((1, 3, 5)),
            self.choice((b"", b" q", b" c k Oabc")),
            self.choice((b"abcdefgh\r\n", b"12345678\n"))))

    def too_large(self):
        key = self.choice(TEXT_KEYS)
        return (Step(b"ms %s %d %s\r\n%s\r\n" % (
            key, len(BIG), self.choice((b"", b"q", b"MA", b"ME", b"c k")),
            BIG)), Step(b"set %s 0 0 1\r\na\r\n" % key))
