"""A client of UDP: requests by number, answers put together.

What is not answered is proved by a `version` with a number of its own: on the
loopback datagrams of one sender arrive in order, and what the server takes no
notice of is gone when that is answered.
"""
import itertools
import re
import socket
import struct

from harness.wait import DEADLINE_S

FRAME = struct.Struct(">4H")  # id, sequence, count, unused
DATAGRAM_MAX = 1400


class Udp:
    def __init__(self, address):
        family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
        self.sock = socket.socket(family, socket.SOCK_DGRAM)
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
        self.sock.settimeout(DEADLINE_S)
        self.sock.connect(address)
        self.numbers = itertools.cycle(range(1, 65536))

    def close(self):
        self.sock.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def send_raw(self, datagram):
        self.sock.send(datagram)

    def send(self, payload, number=None):
        """Sends a request; returns its number."""
        number = next(self.numbers) if number is None else number
        self.send_raw(FRAME.pack(number, 0, 1, 0) + payload)
        return number

    def receive_raw(self):
        try:
            return self.sock.recv(1 << 16)
        except socket.timeout:
            raise AssertionError("no answer") from None

    def receive(self):
        """The next answer, whole: its number and the bytes."""
        parts, number, count = {}, None, None
        while count is None or len(parts) < count:
            datagram = self.receive_raw()
            assert FRAME.size < len(datagram) <= DATAGRAM_MAX
            head = FRAME.unpack_from(datagram)
            number = number or head[0]
            count = count or head[2]
            assert (head[0], head[2], head[3]) == (number, count, 0)
            assert head[1] < count and head[1] not in parts
            parts[head[1]] = datagram[FRAME.size:]
        for at in range(count - 1):
            assert len(parts[at]) == DATAGRAM_MAX - FRAME.size
        return number, b"".join(parts[at] for at in range(count))

    def ask(self, request, reply):
        number = self.send(request)
        got = self.receive()
        assert got == (number, reply), (request[:300], got[1][:300])

    def expect_silence(self):
        """Nothing is answered but what is asked now."""
        number = self.send(b"version\r\n")
        got_number, got = self.receive()
        assert got_number == number, got[:300]
        assert re.fullmatch(rb"VERSION \d+\.\d+\.\d+\S*\r\n", got), got
