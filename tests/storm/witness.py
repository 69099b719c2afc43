"""A client that behaves, beside all the others, and checks every answer.

It alone uses its keys, so it knows what every command must answer and what
every item must hold, to the byte. What others do must not be felt: no wrong
answer, no lost or changed item, no answer that does not come. Where others
may flush the store, an item may be gone, but not otherwise.
"""
import random
import struct
import threading

from harness.packet import ask

MARK = b"~witness~"  # no script of a storm has a reason to say this
KEYS = 40
SMALL = 300
AT_LEAST = 50  # acts of a witness, however short the storm


class Ascii:
    """What the witness says, in classic commands. A miss is None."""

    def __init__(self, talk):
        self.talk = talk

    def _line(self, request, *known):
        self.talk.send(request)
        line = self.talk.line()
        assert line in known, f"{request[:200]!r} was answered {line[:200]!r}"
        return None if line == b"NOT_FOUND" else line

    def store(self, verb, key, value, flags=0):
        return self._line(b"%s %s %d 0 %d\r\n%s\r\n"
                          % (verb, key, flags, len(value), value),
                          b"STORED", b"NOT_STORED") == b"STORED"

    def delete(self, key):
        return self._line(b"delete %s\r\n" % key, b"DELETED", b"NOT_FOUND")

    def touch(self, key):
        return self._line(b"touch %s 0\r\n" % key, b"TOUCHED", b"NOT_FOUND")

    def incr(self, key, delta):
        self.talk.send(b"incr %s %d\r\n" % (key, delta))
        line = self.talk.line()
        return None if line == b"NOT_FOUND" else int(line)

    def get(self, key):
        """(value, flags, cas id)"""
        self.talk.send(b"gets %s\r\n" % key)
        line = self.talk.line()
        if line == b"END":
            return None
        word, name, flags, size, cas = line.split(b" ")
        assert (word, name) == (b"VALUE", key), line
        value = self.talk.read(int(size))
        self.talk.expect(b"\r\nEND\r\n")
        return value, int(flags), int(cas)

    def swap(self, key, value, cas):
        """True: swapped; False: it had changed."""
        line = self._line(b"cas %s 0 0 %d %d\r\n%s\r\n"
                          % (key, len(value), cas, value),
                          b"STORED", b"EXISTS", b"NOT_FOUND")
        return line and line == b"STORED"


class Meta(Ascii):
    """The same in meta commands, where there is one."""

    def store(self, verb, key, value, flags=0):
        mode = {b"set": b"S", b"add": b"E", b"replace": b"R",
                b"append": b"A", b"prepend": b"P"}[verb]
        return self._line(b"ms %s %d F%d M%s\r\n%s\r\n"
                          % (key, len(value), flags, mode, value),
                          b"HD", b"NS") == b"HD"

    def delete(self, key):
        line = self._line(b"md %s\r\n" % key, b"HD", b"NF")
        return line if line == b"HD" else None

    def get(self, key):
        self.talk.send(b"mg %s v f c k\r\n" % key)
        line = self.talk.line()
        if line == b"EN k" + key:
            return None
        word, size, flags, cas, name = line.split(b" ")
        assert (word, name) == (b"VA", b"k" + key), line
        value = self.talk.read(int(size))
        self.talk.expect(b"\r\n")
        return value, int(flags[1:]), int(cas[1:])

    def incr(self, key, delta):
        self.talk.send(b"ma %s D%d v\r\n" % (key, delta))
        line = self.talk.line()
        if line == b"NF":
            return None
        assert line.startswith(b"VA "), line
        return int(self.talk.line())


class Binary:
    OPCODES = {b"set": 0x01, b"add": 0x02, b"replace": 0x03, b"append": 0x0e,
               b"prepend": 0x0f}
    OK, MISS, EXISTS, NOT_STORED = 0, 1, 2, 5

    def __init__(self, talk):
        self.talk = talk

    def _ask(self, opcode, *args, refusal=None, **fields):
        """The answer; None for a miss or what else may be the refusal."""
        answer = ask(self.talk, opcode, *args, **fields)
        if answer.status in (self.MISS, refusal):
            return None
        assert answer.status == self.OK, answer
        return answer

    def store(self, verb, key, value, flags=0):
        joins = verb in (b"append", b"prepend")
        return self._ask(
            self.OPCODES[verb], key, value,
            b"" if joins else struct.pack(">II", flags, 0),
            refusal=self.NOT_STORED if joins else self.EXISTS) is not None

    def delete(self, key):
        return self._ask(0x04, key)

    def touch(self, key):
        return self._ask(0x1c, key, b"", bytes(4))

    def incr(self, key, delta):
        answer = self._ask(0x05, key, b"",
                           struct.pack(">QQI", delta, 0, 0xffffffff))
        return answer and int.from_bytes(answer.value, "big")

    def get(self, key):
        answer = self._ask(0x0c, key)
        if answer is None:
            return None
        assert answer.key == key, answer
        return (answer.value, int.from_bytes(answer.extras, "big"),
                answer.cas)

    def swap(self, key, value, cas):
        answer = ask(self.talk, 0x01, key, value, bytes(8), cas=cas)
        assert answer.status in (self.OK, self.MISS, self.EXISTS), answer
        return {self.OK: True, self.EXISTS: False}.get(answer.status)


class Witness:
    """failure: what was wrong, or None; to be looked at by the caller."""

    def __init__(self, client, name, seed, largest, may_lose):
        self.client = client
        self.dice = random.Random(f"witness {name} {seed}")
        self.keys = [MARK + b"%s:%d" % (name.encode(), number)
                     for number in range(KEYS)]
        self.largest = largest
        self.may_lose = may_lose
        self.items = {}  # key -> (value, flags)
        self.done = 0
        self.failure = None
        self.ending = threading.Event()
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def _run(self):
        acts = [self.put] * 4 + [self.look] * 6 + [
            self.add, self.replace, self.join, self.count, self.swap,
            self.remove, self.touch]
        try:
            while not self.ending.is_set() or self.done < AT_LEAST:
                self.dice.choice(acts)(self.dice.choice(self.keys))
                self.done += 1
            self.check(self.client)
        except (AssertionError, OSError, EOFError, ValueError) as failure:
            self.failure = f"{self.keys[0]!r} and so on, after {self.done} " \
                f"answers: {failure!r}"
        finally:
            self.client.talk.close()

    def end(self):
        self.ending.set()
        self.thread.join()

    # ---- the acts -----------------------------------------------------------

    def has(self, key, answer):
        """Does the answer say that the item is there? As it must."""
        if answer is None and self.may_lose:
            self.items.pop(key, None)
        assert (answer is not None) == (key in self.items), \
            f"{key!r}: {answer!r}, {self.items.get(key)!r} was stored"
        return answer is not None

    def value(self):
        size = self.dice.randrange(SMALL)
        if self.dice.random() < 0.02:
            size = self.dice.randrange(self.largest)
        return (b"%d|" % self.dice.randrange(1 << 30)) * (size // 11 + 1)

    def number(self):
        return b"%d" % self.dice.randrange(1 << 40)

    def put(self, key):
        value = self.dice.choice((self.value, self.number))()
        flags = self.dice.randrange(1 << 32)
        assert self.client.store(b"set", key, value, flags), key
        self.items[key] = value, flags

    def look(self, key):
        found = self.client.get(key)
        if self.has(key, found):
            assert found[:2] == self.items[key], \
                f"{key!r}: {found!r}, not {self.items[key]!r}"

    def add(self, key):
        stored = self.client.store(b"add", key, b"added", 1)
        if stored and self.may_lose:
            self.items.pop(key, None)
        assert stored == (key not in self.items), key
        if stored:
            self.items[key] = b"added", 1

    def _change(self, verb, key, value, flags, becomes):
        stored = self.client.store(verb, key, value, flags)
        if self.has(key, stored or None):
            self.items[key] = becomes(self.items[key])

    def replace(self, key):
        self._change(b"replace", key, b"replaced", 2,
                     lambda old: (b"replaced", 2))

    def join(self, key):
        if len(self.items.get(key, (b"",))[0]) < SMALL:
            self._change(b"append", key, b"+1", 0,
                         lambda old: (old[0] + b"+1", old[1]))
            self._change(b"prepend", key, b"1+", 0,
                         lambda old: (b"1+" + old[0], old[1]))

    def count(self, key):
        if not self.items.get(key, (b"0",))[0].isdigit():
            return
        delta = self.dice.randrange(1 << 20)
        number = self.client.incr(key, delta)
        if self.has(key, number):
            value, flags = self.items[key]
            assert number == int(value) + delta, (key, number, value, delta)
            self.items[key] = b"%d" % number, flags

    def swap(self, key):
        found = self.client.get(key)
        if not self.has(key, found):
            return
        stale = self.dice.random() < 0.3
        done = self.client.swap(key, b"swapped", found[2] + stale)
        if self.has(key, done):
            assert done == (not stale), key
            if done:
                self.items[key] = b"swapped", 0

    def remove(self, key):
        if self.has(key, self.client.delete(key)):
            del self.items[key]

    def touch(self, key):
        self.has(key, self.client.touch(key))

    def check(self, client):
        """All that was stored is there, and nothing else."""
        mine, self.client = self.client, client
        for key in self.keys:
            self.look(key)
        self.client = mine
