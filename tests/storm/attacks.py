"""The ways in which a connection of a storm is a nuisance.

Each method of Attacks that is named in `kinds` makes the steps of one script.
What it says depends on the dice and on what it is told of the server.
"""
from differential.classic import Classic
from differential.meta import Meta
from differential.packets import Binary
from harness.udp import FRAME
from storm.garbage import KEYS, Garbage, is_harmful
from storm.scripts import (CLOSE, DRAIN, HALF, LISTEN, RAW, RESET, SEND, WAIT,
                           Script)

# how a client of TLS begins, as far as it got
HELLO = bytes.fromhex("16030100a5010000a10303") + b"r" * 60
STEADY_STEPS = 60


class Attacks:
    """An endless run of scripts for a scene (scenes.py)."""

    def __init__(self, dice, scene):
        self.dice = dice
        self.pick = dice.choice
        self.scene = scene
        self.garbage = Garbage(dice, scene.value_max)
        self.sound = [Classic(dice), Meta(dice), Binary(dice)]

    kinds = {
        "corpus": 4, "commands": 3, "packets": 3, "mixture": 2, "steady": 3,
        "big_values": 1, "deep_pipeline": 1, "slow_reader": 1, "watcher": 1,
        "walker": 1, "logins": 1, "half_said": 1, "silent": 1, "hello": 1,
    }

    def __iter__(self):
        names = [name for name, share in self.kinds.items()
                 for _ in range(share)]
        while True:
            kind = self.pick(names)
            place = self.pick(self.scene.places)
            if place == "udp":
                kind = "datagrams"
            steps = getattr(self, kind)()
            if place == "tls" and self.chance(0.1):
                steps.insert(self.dice.randrange(len(steps)),
                             (RAW, self.garbage.mutate(HELLO)))
            script = Script(kind, place, steps,
                            kind == "slow_reader" or self.chance(0.05))
            if not is_harmful(script.sent()):
                yield script

    # ---- parts --------------------------------------------------------------

    def chance(self, share):
        return self.dice.random() < share

    def cut(self, data):
        """Sends of it, with pauses: whole, in some pieces, or byte by byte."""
        if len(data) <= 64 and self.chance(0.1):
            cuts = range(1, len(data))
        else:
            cuts = sorted(self.dice.randrange(len(data) + 1)
                          for _ in range(self.pick((0, 0, 1, 2, 5))))
        steps, at = [], 0
        for cut in [*cuts, len(data)]:
            steps.append((SEND, data[at:cut]))
            if self.chance(0.3):
                steps.append((WAIT, self.dice.randrange(20)))
            at = cut
        return steps

    def end(self):
        return self.pick((
            [(HALF, None), (DRAIN, 60)], [(HALF, None), (DRAIN, 60)],
            [(DRAIN, 20), (CLOSE, None)], [(CLOSE, None)], [(RESET, None)],
            [(WAIT, 30), (RESET, None)], [(HALF, None), (WAIT, 30)]))

    def said(self, data):
        """The usual script: it is said, mostly by one who has logged in."""
        entry = self.scene.entry if self.chance(0.7) else b""
        return self.cut(entry + data) + self.end()

    # ---- what is said -------------------------------------------------------

    def corpus(self):
        count = self.dice.randrange(1, 6)
        return self.said(b"".join(
            self.garbage.sample("text", "binary", "login")
            for _ in range(count)))

    def commands(self):
        return self.said(self.garbage.text(self.dice.randrange(1, 40)))

    def packets(self):
        return self.said(self.garbage.packets(self.dice.randrange(1, 40)))

    def mixture(self):
        """Dialects by turns, some of it damaged."""
        pieces = [self.pick((self.garbage.text, self.garbage.packets))(
            self.dice.randrange(1, 8)) for _ in range(3)]
        pieces.append(self.garbage.sample("text", "binary", "udp"))
        return self.said(b"".join(
            self.garbage.mutate(piece) if self.chance(0.3) else piece
            for piece in pieces))

    def steady(self):
        """Commands that are sound, mostly; all connections share the keys."""
        maker, steps = self.pick(self.sound), []
        while len(steps) < STEADY_STEPS:
            steps += maker.step()
        return self.said(b"".join(step.render({}) for step in steps))

    def big_values(self):
        """The largest ones, and larger; some are not sent to their end."""
        most = self.scene.value_max
        size = most + self.pick((-1000, -1, 0, 0, 1, 2, most))
        head = b"%s big 0 0 %d\r\n" % (self.pick((b"set", b"append", b"add")),
                                       size)
        value = b"v" * size
        if self.chance(0.3):
            return self.said(head + value[:self.dice.randrange(size)])
        return self.said((head + value + b"\r\n") * self.pick((1, 2, 5))
                         + b"get big\r\n")

    def deep_pipeline(self):
        """More at once than may be under way."""
        count = self.pick((200, 1500, 3000))
        key = self.garbage.key()
        command = self.pick((
            b"set %s 0 0 1\r\n1\r\n" % key, b"incr n0 1\r\n",
            b"touch %s 0 noreply\r\n" % key, b"get %s big\r\n" % key,
            b"gat 0 big %s\r\n" % key, b"mg big v N5 T5\r\n", b"mn\r\n",
            b"delete %s\r\n" % key, b"stats\r\n", b"ma n0 q\r\nmn\r\n",
            self.garbage.packet(), b"version\r\nstats conns\r\n"))
        return self.said(command * count)

    def slow_reader(self):
        """Asks for much, and reads when it likes."""
        ask = self.pick((b"get" + b" big" * 40 + b"\r\n",
                         b"gat 0" + b" big" * 40 + b"\r\n",
                         b"mg big v T0\r\n" * 40, b"rget a z 0 0 1000\r\n" * 9,
                         b"stats conns\r\n" * 50))
        return [(LISTEN, False), *self.cut(self.scene.entry + ask * 5),
                (WAIT, self.pick((10, 50, 200))),
                (LISTEN, self.chance(0.5)), (WAIT, self.pick((10, 50))),
                *self.end()]

    def watcher(self):
        streams = self.pick((b"", b" fetchers mutations", b" connevents",
                             b" deletions fetchers mutations connevents"))
        return [*self.cut(self.scene.entry), (WAIT, 20),
                (SEND, b"watch%s\r\n" % streams),
                (LISTEN, self.chance(0.6)), (WAIT, self.pick((10, 100, 300))),
                *(self.cut(self.garbage.text(3)) if self.chance(0.3) else []),
                *self.end()]

    def walker(self):
        """Dumps and jobs, with garbage behind them."""
        asks = [self.pick((
            b"lru_crawler metadump all\r\n", b"lru_crawler mgdump all\r\n",
            b"stats cachedump 1 0\r\n", b"rget a z 0 0 1000\r\n",
            b"pget pre: 1000\r\n", b"pdelete pre:%d\r\n" % self.pick((1, 22)),
            b"db_compact\r\n", b"db_checkpoint\r\n", b"db_archive\r\n"))
            for _ in range(self.pick((1, 1, 3)))]
        steps = self.cut(self.scene.entry)
        for ask in asks:
            steps += [(WAIT, 10), (SEND, ask)]
        if self.chance(0.4):
            steps += self.cut(self.garbage.text(2))
        return steps + [(LISTEN, self.chance(0.7)), (WAIT, 20), *self.end()]

    def logins(self):
        login = self.pick((self.garbage.text_login, self.garbage.sasl_login))
        return self.cut(b"".join(login() for _ in range(self.pick((1, 3, 9))))
                        ) + self.end()

    def half_said(self):
        data = self.garbage.sample("text", "binary", "login")
        return [(SEND, data[:self.dice.randrange(len(data) + 1)]),
                (WAIT, self.pick((5, 100))), *self.end()]

    def silent(self):
        return [(WAIT, self.pick((0, 10, 300))), *self.end()]

    def hello(self):
        """As to a server that speaks TLS, or another protocol."""
        data = self.pick((HELLO, HELLO[:7], b"\x16\x03\x01", b"\x80\x2e\1\0\2",
                          b"\0" * 300, b"\xff" * 3000, b"GET / HTTP/1.1\r\n"))
        return self.cut(data) + self.end()

    # ---- datagrams ----------------------------------------------------------

    def datagram(self):
        body = self.pick((
            lambda: self.garbage.text(1), lambda: self.garbage.packets(1),
            lambda: self.garbage.text(9),
            lambda: self.garbage.sample("text", "binary"),
            lambda: b"get" + b" big" * 20 + b"\r\n",
            lambda: b"gat 0 " + b" ".join(KEYS) + b"\r\n",
            lambda: b"lru_crawler metadump all\r\n"))()
        if self.chance(0.15):
            return self.garbage.sample("udp")
        head = FRAME.pack(self.dice.randrange(1 << 16), 0, 1, 0) \
            if self.chance(0.9) else self.garbage.mutate(bytes(8))
        return head + body

    def datagrams(self):
        steps = []
        for _ in range(self.pick((1, 5, 40, 200))):
            steps.append((SEND, self.datagram()))
            if self.chance(0.05):
                steps.append((WAIT, self.dice.randrange(10)))
        return [(LISTEN, self.chance(0.7)), *steps, (DRAIN, 30)]
