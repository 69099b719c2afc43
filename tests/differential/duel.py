"""Two servers that get the same streams and must answer the same.

A round begins with an empty store on both sides, fresh connections and no ids
known, so a round that found a difference can be held again, and shrunk.
"""
import random
import socket

from differential import rules
from differential.replies import HEAD, Ids, packet_units, text_units
from differential.steps import batches
from harness.server import Server, user_options
from harness.wait import DEADLINE_S

MEMCACHED = "/usr/bin/memcached"
SHRINK_DEADLINE_S = 0.5  # a difference was seen already
MARK_OPAQUE = 0xf0000000  # no packet of a stream has such a one
READ_BYTES = 1 << 20


class Memcached(Server):
    """The reference; with options, a memcached that is known to differ.

    One thread: it must be done with one batch before it begins the next, for
    an item that is still being sent is copied when it is changed.
    """

    def command(self):
        return [MEMCACHED, "-s", str(self.socket_path), "-m", "256",
                "-t", "1", *user_options(), *self.options]


def ours(*options):
    """Answers need not wait for the disk: what they say is looked at here."""
    return Server("--sync=interval:1000", *options, unix=True)


class Difference(Exception):
    """Two answers that no rule explains."""

    def __init__(self, sent, theirs, ours_):
        super().__init__("answers differ")
        self.sent = sent
        self.steps_before = 0
        self.theirs = theirs
        self.ours = ours_


class Side:
    """One server, with a connection for each dialect."""

    def __init__(self, server):
        self.server = server
        self.ids = Ids()
        self.open = {}  # is it binary? -> socket
        self.marks = 0
        self.deadline_s = DEADLINE_S

    def start_round(self):
        """No item, no id, no connection."""
        self.hang_up()
        self.ids = Ids()
        with self.server.connect() as talk:
            talk.ask(b"flush_all\r\n", b"OK\r\n")
            # id 1 is nobody's else: streams use it as one that is low
            talk.ask(b"set =mark= 0 0 0\r\n\r\n", b"STORED\r\n")

    def hang_up(self):
        while self.open:
            self.open.popitem()[1].close()

    def _dial(self):
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        sock.connect(str(self.server.socket_path))
        sock.settimeout(self.deadline_s)
        return sock

    def _connection(self, binary):
        if binary not in self.open:
            self.open[binary] = self._dial()
        return self.open[binary]

    def _mark(self, binary):
        """A command that is always answered, and how its answer ends."""
        self.marks += 1
        if binary:
            opaque = MARK_OPAQUE | self.marks
            return (HEAD.pack(0x80, 0x0a, 0, 0, 0, 0, 0, opaque, 0),
                    HEAD.pack(0x81, 0x0a, 0, 0, 0, 0, 0, opaque, 0))
        return (b"set =mark= 0 0 9 noreply\r\n%09d\r\nget =mark=\r\n"
                % self.marks, b"%09d\r\nEND\r\n" % self.marks)

    def send(self, batch, cuts):
        """Sends a batch in pieces. Returns what is to end its answer."""
        first = batch[0]
        data = b"".join([step.render(self.ids.last) for step in batch])
        if first.alone:
            sock, end = self._dial(), None
            self.open["alone"] = sock
        else:
            sock = self._connection(first.binary)
            mark, end = self._mark(first.binary)
            data += mark
        at = 0
        try:
            for cut in cuts:
                sock.sendall(data[at:cut])
                at = max(at, cut)
            sock.sendall(data[at:])
            if first.alone:
                sock.shutdown(socket.SHUT_WR)
        except (BrokenPipeError, ConnectionResetError):
            pass  # closed early: what was answered until then is compared
        return end

    def receive(self, batch, end):
        """The answer: (units, True if the connection was closed)."""
        binary = batch[0].binary
        sock = self.open["alone" if batch[0].alone else binary]
        raw = b""
        closed = False
        while not (end and raw.endswith(end)):
            try:
                more = sock.recv(READ_BYTES)
            except ConnectionResetError:
                more = b""
            except socket.timeout:
                more = b""
                raw += b"<no answer>\r\n"
            raw += more
            if not more:
                closed = True
                sock.close()
                del self.open["alone" if batch[0].alone else binary]
                break
        cut = packet_units if binary else text_units
        return cut(raw, self.ids), closed


class Duel:
    def __init__(self, theirs, ours_, deadline_s=DEADLINE_S):
        self.theirs = Side(theirs)
        self.ours = Side(ours_)
        self.used = {}  # rule -> how often it explained a difference
        self.deadline_s = deadline_s
        self.hurry(False)

    def hurry(self, yes):
        """How long to wait for an answer: when shrinking, not long."""
        for side in self.theirs, self.ours:
            side.deadline_s = SHRINK_DEADLINE_S if yes else self.deadline_s

    def hold(self, steps, seed):
        """One round. Raises the first Difference."""
        dice = random.Random(seed)
        for side in self.theirs, self.ours:
            side.start_round()
        done = 0
        for batch in batches(steps):
            try:
                self._exchange(batch, dice)
            except Difference as difference:
                difference.steps_before = done
                raise
            done += len(batch)

    def _exchange(self, batch, dice):
        size = sum(len(step.data) for step in batch)
        cuts = sorted(dice.sample(range(1, size), min(size - 1, 3))) \
            if size > 1 and dice.random() < 0.1 else ()
        ends = [side.send(batch, cuts) for side in (self.theirs, self.ours)]
        theirs, ours_ = (side.receive(batch, end) for side, end in
                         zip((self.theirs, self.ours), ends))
        if theirs == ours_:
            return
        names = rules.explain(batch, theirs, ours_)
        if names is None:
            raise Difference(batch, theirs, ours_)
        for name in names:
            self.used[name] = self.used.get(name, 0) + 1

    def close(self):
        for side in self.theirs, self.ours:
            side.hang_up()
            side.server.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
