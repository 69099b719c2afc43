"""Every opcode with every odd combination of lengths, over a socket.

Whatever a packet says of itself, it is answered or the connection is closed,
and the next packet is read where this one ends. What is answered is one
packet with the opcode and the opaque of the request.
"""
import itertools

import pytest

from harness.packet import HEAD, read_answer
from harness.server import Server
from harness.wait import wait_until

NOOP = 0x0a
KEYS = [0, 1, 250, 251, 0xffff]
EXTRAS = [0, 1, 4, 8, 20, 21, 255]
VALUES = [0, 1, 9]
LIES = [0, 1, 2047, 1 << 20, (1 << 20) + 1, 1 << 31, (1 << 32) - 1]
OPAQUE = 0x5eed


def packet(opcode, key, extras, value, body=None):
    """With as many bytes as its parts have, whatever its head says."""
    size = key + extras + value if body is None else body
    return HEAD.pack(0x80, opcode, key, extras, 0, 0, size, OPAQUE, 0) \
        + b"7" * (key + extras + value)


@pytest.fixture(scope="module")
def server():
    with Server("-F", "-m", "4") as made:
        yield made
        # nobody is left, and it still serves
        with made.connect() as talk:
            wait_until(lambda: talk.stats()["curr_connections"] == "1",
                       "all connections gone")


def answers(server, data):
    """What is answered until the server closes, after a NOOP of ours."""
    with server.connect() as talk:
        try:
            talk.send(data + packet(NOOP, 0, 0, 0))
            talk.finish_sending()
        except OSError:
            pass  # it has closed already
        found = []
        while talk.buffer or talk._fill():
            found.append(read_answer(talk))
        return found


@pytest.mark.parametrize("opcode", range(256))
def test_odd_lengths(server, opcode):
    """True lengths, but not those that the opcode has."""
    for key, extras, value in itertools.product(KEYS, EXTRAS, VALUES):
        for answer in answers(server, packet(opcode, key, extras, value)):
            assert answer.opcode in (opcode, NOOP)
            assert answer.opaque == OPAQUE


@pytest.mark.parametrize("opcode", range(256))
def test_lies(server, opcode):
    """The body is said to be shorter or longer than what follows."""
    for key, extras, body in itertools.product((0, 5, 251), (0, 8, 20), LIES):
        for answer in answers(server, packet(opcode, key, extras, 0, body)):
            assert answer.opcode in (opcode, NOOP)
            assert answer.opaque == OPAQUE


@pytest.mark.parametrize("opcode", range(256))
def test_ends_in_the_middle(server, opcode):
    whole = packet(opcode, 250, 20, 30)
    for size in 1, 23, 24, 44, 294, len(whole) - 1:
        with server.connect() as talk:
            talk.send(whole[:size])
            talk.finish_sending()
            while talk._fill():
                pass
