"""Writers that know what they were promised, readers that know what they saw.

A writer has keys of its own and one connection. It sends batches of changes,
some without reply, knows what each must answer, and remembers for every change
what its key holds afterwards. A change is acknowledged when it, or any later
one of the same writer, was answered. After a crash what is stored must be what
was there after the first N changes of the writer, for one N that is no less
than the number of acknowledged ones, and no less than the newest change that
any reader has seen. Values name their key and change, and are compared whole:
a torn one equals none.

Readers ask for the writers' keys and note what they get. What they saw of one
key must be in the order in which it was written, and cas ids never go back.

All numbers are drawn from one seed, which is in the text of a failure.
"""
import collections
import hashlib
import random
import socket
import threading

from harness.talk import Talk
from harness.wait import DEADLINE_S, wait_until

FILLER = random.Random(1).randbytes(256 * 1024)
SHARED = b"shared-counter"


class Gone(Exception):
    """The server closed the connection or is not there."""


class Line(Talk):
    """A connection that ends with Gone instead of a failed expectation."""

    def _fill(self):
        if not super()._fill():
            raise Gone
        return True

    def send(self, data):
        try:
            super().send(data)
        except (ConnectionError, BrokenPipeError):
            raise Gone from None


def connect(address):
    try:
        return Line(socket.create_connection(address))
    except ConnectionError:
        raise Gone from None


def digest(value):
    return None if value is None else hashlib.blake2b(value).digest()


Change = collections.namedtuple("Change", "index key value reply")


class Writer:
    """See above. Keys: w<n>-v* whole values, -t* texts that grow, -n* numbers.

    steady=True: one change at a time, all answered; then SERVER_ERROR is a
    possible answer, and means that nothing has changed.
    """

    def __init__(self, number, seed, steady=False, largest=200_000):
        self.rng = random.Random(f"{seed}/{number}")
        self.steady, self.largest = steady, largest
        kinds = b"v" * 8 + b"t" * 2 + b"n" * 2
        self.keys = [b"w%d-%c%d" % (number, kind, i)
                     for i, kind in enumerate(kinds)]
        self.acknowledged = dict.fromkeys(self.keys)  # values
        self.ahead = dict(self.acknowledged)  # when all sent is done
        self.pending = collections.deque()  # Changes sent, not acknowledged
        self.history = {key: [(0, None)] for key in self.keys}  # digests
        self.index = 0  # of the newest change sent
        self.acks = 0
        self.refused = 0
        self.shared_sent = self.shared_high = 0

    # ---- making changes -------------------------------------------------

    def _block(self, verb, key, value, tail=b""):
        return b"%s %s %d %d %d%s" % (verb, key, self.rng.randrange(2**32),
                                      self.rng.choice((0, 0, 500_000)),
                                      len(value), tail), value

    def _fresh_value(self, key):
        size = int(10 * (self.largest / 10) ** (self.rng.random() ** 3))
        at = self.rng.randrange(1000)
        return b"%s:%d:%d:" % (key, self.index, size) + FILLER[at:at + size]

    def _change_value(self, key, old):
        """(head, block or None, new value, reply) for a -v key."""
        verb = self.rng.choice((b"set",) * 5 + (
            b"add", b"replace", b"cas", b"touch", b"delete", b"delete"))
        if verb == b"touch":
            return (b"touch %s 1000000" % key, None, old,
                    b"NOT_FOUND" if old is None else b"TOUCHED")
        if verb == b"delete":
            return (b"delete %s" % key, None, None,
                    b"NOT_FOUND" if old is None else b"DELETED")
        value = self._fresh_value(key)
        stored = {b"set": True, b"add": old is None, b"cas": False,
                  b"replace": old is not None}[verb]
        tail = b" 1" if verb == b"cas" else b""
        reply = b"STORED" if stored else b"NOT_STORED"
        if verb == b"cas":
            reply = b"NOT_FOUND" if old is None else b"EXISTS"
        return (*self._block(verb, key, value, tail),
                value if stored else old, reply)

    def _change_text(self, key, old):
        if old is None or len(old) > 20_000:
            value = self._fresh_value(key)[:300]
            return *self._block(b"set", key, value), value, b"STORED"
        part = b"<%d>" % self.index
        if self.rng.random() < 0.5:
            return *self._block(b"append", key, part), old + part, b"STORED"
        return *self._block(b"prepend", key, part), part + old, b"STORED"

    def _change_number(self, key, old):
        if old is None or self.rng.random() < 0.05:
            return *self._block(b"set", key, b"0"), b"0", b"STORED"
        if self.rng.random() < 0.05:
            return b"delete %s" % key, None, None, b"DELETED"
        delta = self.rng.randrange(1000)
        if self.rng.random() < 0.7:
            new = b"%d" % (int(old) + delta)
            return b"incr %s %d" % (key, delta), None, new, new
        new = b"%d" % max(0, int(old) - delta)
        return b"decr %s %d" % (key, delta), None, new, new

    def make_change(self):
        """Draws the next change; returns the bytes to send."""
        self.index += 1
        key = self.rng.choice(self.keys)
        make = {b"v": self._change_value, b"t": self._change_text,
                b"n": self._change_number}[key.split(b"-")[1][:1]]
        head, block, value, reply = make(key, self.ahead[key])
        if not self.steady and self.rng.random() < 0.2:
            head, reply = head + b" noreply", None
        self._note(Change(self.index, key, value, reply))
        return head + b"\r\n" + (b"" if block is None else block + b"\r\n")

    def _note(self, change):
        self.pending.append(change)
        if change.value != self.ahead[change.key]:
            self.history[change.key].append(
                (change.index, digest(change.value)))
        self.ahead[change.key] = change.value

    def make_cas(self, talk):
        """A cas that must succeed; the id is asked for first."""
        key = self.rng.choice(self.keys[:8])
        if self.ahead[key] is None:
            return b""
        cas = talk.cas_id(key)
        self.index += 1
        value = self._fresh_value(key)
        head, block = self._block(b"cas", key, value, b" %d" % cas)
        self._note(Change(self.index, key, value, b"STORED"))
        return head + b"\r\n" + block + b"\r\n"

    def make_shared(self):
        """All writers count in one number; the answer is not known before."""
        self.index += 1
        self.shared_sent += 1
        self.pending.append(Change(self.index, SHARED, None, b""))
        return b"incr %s 1\r\n" % SHARED

    # ---- sending, and what comes back -----------------------------------

    def step(self, talk):
        """One batch, or one change if steady; waits for the answers."""
        if self.steady:
            talk.send(self.make_change())
        else:
            batch = [self.make_cas(talk) if self.rng.random() < 0.2 else b""]
            batch += [self.make_change()
                      for _ in range(self.rng.randrange(1, 16))]
            talk.send(b"".join(batch) + self.make_shared())
        while self.pending:
            self._take_reply(talk)

    def _take_reply(self, talk):
        answered = next(c for c in self.pending if c.reply is not None)
        line = talk.line()
        if self.steady and line.startswith(b"SERVER_ERROR "):
            self._take_back(self.pending.pop())
            return
        if answered.key == SHARED and line.isdigit():
            self.shared_high = max(self.shared_high, int(line))
        else:
            assert line == answered.reply, \
                f"{answered.key!r}: {answered.reply!r} expected, got {line!r}"
        while self.pending and self.pending[0].index <= answered.index:
            self._acknowledge(self.pending.popleft())
        self.acks += 1

    def _acknowledge(self, change):
        if change.key != SHARED:
            self.acknowledged[change.key] = change.value

    def _take_back(self, change):
        """It was refused, so nothing has changed."""
        self.refused += 1
        self.ahead[change.key] = self.acknowledged[change.key]
        if self.history[change.key][-1][0] == change.index:
            self.history[change.key].pop()

    # ---- after the crash ------------------------------------------------

    def check(self, stored, seen):
        """Compares with what is stored; adopts that as the new beginning.

        stored: {key: value}; seen: index of the newest change anybody saw.
        """
        nearest, newest = None, None
        for done, expected in self._possible_states():
            differences = self._differences(expected, stored)
            if not differences and done >= seen:
                self._begin_again(expected)
                return
            if not differences:
                newest = done
            elif nearest is None or len(differences) < len(nearest):
                nearest = differences
        assert newest is None, \
            f"change {seen} of {self.keys[0]!r} etc. was shown to a reader " \
            f"and is gone: the last one that is there is {newest}"
        raise AssertionError("\n".join(
            ["not a state this writer has ever left:", *nearest]))

    def _possible_states(self):
        """(index, values) after each change from the last acknowledged on."""
        values = dict(self.acknowledged)
        yield self.pending[0].index - 1 if self.pending else self.index, values
        for change in self.pending:
            if change.key != SHARED:
                values[change.key] = change.value
            yield change.index, values

    def _begin_again(self, values):
        self.acknowledged, self.ahead = dict(values), dict(values)
        self.pending.clear()
        self.history = {key: [(self.index, digest(value))]
                        for key, value in values.items()}

    @staticmethod
    def _differences(expected, stored):
        return [f"  {key.decode()}: stored {shorten(stored[key])}, "
                f"expected {shorten(value)}"
                for key, value in expected.items() if stored[key] != value]


def shorten(value):
    if value is None:
        return "nothing"
    return f"{len(value)} bytes {value[:60]!r}..{value[-10:]!r}"


class Reader:
    """Asks for random keys of the writers and notes what it is shown."""

    def __init__(self, number, seed, writers):
        self.rng = random.Random(f"{seed}/reader {number}")
        self.keys = [key for writer in writers for key in writer.keys]
        self.seen = {key: [] for key in self.keys}  # digests
        self.cas = {}
        self.gets = 0

    def step(self, talk):
        wanted = self.rng.sample(self.keys, self.rng.randrange(1, 6))
        talk.send(b"gets %s\r\n" % b" ".join(wanted))
        found = {}
        while (line := talk.line()) != b"END":
            word, key, _, size, cas = line.split(b" ")
            assert word == b"VALUE" and key in wanted, line
            found[key] = talk.read(int(size))
            talk.expect(b"\r\n")
            assert int(cas) >= self.cas.get(key, 0), \
                f"{key!r}: cas id {int(cas)} after {self.cas[key]}"
            self.cas[key] = int(cas)
        for key in wanted:
            now = digest(found.get(key))
            if not self.seen[key] or self.seen[key][-1] != now:
                self.seen[key].append(now)
        self.gets += 1

    def newest_change(self, history, key):
        """Index of the change that the last look must have been at or after.

        The earliest reading of what was seen: each look is matched with the
        first possible change.
        """
        at = 0
        for look in self.seen[key]:
            while at < len(history) and history[at][1] != look:
                at += 1
            assert at < len(history), \
                f"a reader saw {key!r} as it never was, or go back"
        return history[at][0] if self.seen[key] else 0


class Load:
    """Writers and readers, each in a thread, against one server."""

    def __init__(self, server, seed, writers=16, readers=2, **how):
        self.server, self.seed = server, seed
        self.writers = [Writer(n, seed, **how) for n in range(writers)]
        self.reader_count, self.round = readers, 0
        self.readers, self.threads, self.failures = [], [], []
        self.stopping = threading.Event()
        with server.connect() as talk:
            talk.set(SHARED, b"0")

    def _run(self, who):
        try:
            with connect(self.server.addresses[0]) as talk:
                while not self.stopping.is_set():
                    who.step(talk)
        except Gone:
            pass
        except Exception as failure:  # shown by the main thread
            self.failures.append(failure)

    def start(self):
        self.round += 1
        self.stopping.clear()
        self.readers = [
            Reader(n, f"{self.seed}/{self.round}", self.writers)
            for n in range(self.reader_count)]
        self.threads = [threading.Thread(target=self._run, args=(who,))
                        for who in self.writers + self.readers]
        for thread in self.threads:
            thread.start()

    def acks(self):
        return sum(writer.acks for writer in self.writers)

    def refusals(self):
        return sum(writer.refused for writer in self.writers)

    def _wait_for_more(self, number, more, what):
        now = number()
        goal = now + more

        def gets_on():
            self._raise_failures()
            assert any(thread.is_alive() for thread in self.threads), \
                f"the server left: {self.server.stderr()}"
            return number() > now
        while now < goal:
            wait_until(gets_on, f"{more} {what} (seed {self.seed})")
            now = number()

    def wait_for_acks(self, more):
        """Waits until so many more changes were acknowledged."""
        self._wait_for_more(self.acks, more, "acknowledged changes")

    def wait_for_refusals(self, more):
        self._wait_for_more(self.refusals, more, "refused changes")

    def stop(self):
        """Ends the threads, which finish what they are at if they can."""
        self.stopping.set()
        self.join()

    def join(self):
        for thread in self.threads:
            thread.join(DEADLINE_S)
            assert not thread.is_alive(), "a client hangs"
        self._raise_failures()

    def _raise_failures(self):
        if self.failures:
            raise AssertionError(
                f"seed {self.seed}: {self.failures}") from self.failures[0]

    # ---- after the crash ------------------------------------------------

    def check(self, others=0):
        """Compares everything with what the (restarted) server has.

        others: how many items there are that are not the writers'.
        """
        try:
            with self.server.connect() as talk:
                self._check_writers(talk)
                self._check_counters(talk, others)
        except AssertionError as failure:
            raise AssertionError(f"seed {self.seed}, round {self.round}: "
                                 f"{failure}") from failure

    def _check_writers(self, talk):
        for writer in self.writers:
            stored = {key: talk.get(key) for key in writer.keys}
            seen = [reader.newest_change(writer.history[key], key)
                    for reader in self.readers for key in writer.keys]
            writer.check(stored, max(seen, default=0))

    def _check_counters(self, talk, others):
        shared = int(talk.get(SHARED))
        assert max(w.shared_high for w in self.writers) <= shared \
            <= sum(w.shared_sent for w in self.writers), shared
        values = {SHARED: b"%d" % shared}
        for writer in self.writers:
            values.update((key, value) for key, value
                          in writer.acknowledged.items() if value is not None)
        stats = talk.stats()
        there = len(values) + others
        assert int(stats["curr_items"]) == there, \
            f"curr_items {stats['curr_items']}, there are {there}"
        cas = max((id for reader in self.readers
                   for id in reader.cas.values()), default=0)
        talk.set(b"after", b"1")
        assert talk.cas_id(b"after") > cas, f"cas id {cas} was seen before"
        talk.ask(b"delete after\r\n", b"DELETED\r\n")
        self.readers = []  # what they saw is checked, and was long ago
