"""What one connection of a storm does: a place to call, and steps.

A script is plain data. It is made from dice alone, so a seed makes the same
ones again, and it is written to a recording as one line of JSON, from which
it can be replayed without the seed.

    send <bytes>     as much as the peer takes; the rest when it takes more
    raw <bytes>      the same beneath TLS, which it breaks
    wait <turns>     lets others get on
    listen <yes>     from now on, read what is answered, or do not
    half             says no more
    until closed     reads to the end, for a limited number of turns
    close            as a program that ends
    reset            as a machine that goes away
"""
import json
from typing import NamedTuple

SEND, RAW, WAIT, LISTEN, HALF, DRAIN, CLOSE, RESET = (
    "send", "raw", "wait", "listen", "half", "until closed", "close", "reset")
BYTES = SEND, RAW  # those whose argument is bytes


class Script(NamedTuple):
    kind: str  # for people: what made it
    place: str  # what it calls: see scenes.py
    steps: list  # (name, argument) pairs
    narrow: bool = False  # with a small receive buffer

    def line(self):
        steps = [[name, value.decode("latin-1")] if name in BYTES
                 else [name, value] for name, value in self.steps]
        return json.dumps({**self._asdict(), "steps": steps})

    @classmethod
    def of_line(cls, line):
        fields = json.loads(line)
        fields["steps"] = [
            (name, value.encode("latin-1")) if name in BYTES else (name, value)
            for name, value in fields["steps"]]
        return cls(**fields)

    def sent(self):
        """All that it says, in one piece."""
        return b"".join(value for name, value in self.steps if name == SEND)


def save(path, scripts):
    path.write_text("".join(script.line() + "\n" for script in scripts))


def load(path):
    return [Script.of_line(line) for line in path.read_text().splitlines()]
