"""Plays many scripts at once, in one thread.

In each turn one open connection, chosen by dice, takes one step. No socket
blocks: what cannot be sent stays for a later turn, and is given up when the
peer has not taken it for long.
"""
import collections
import errno
import os
import socket
import ssl
import struct
import time

from storm.scripts import CLOSE, DRAIN, HALF, LISTEN, RAW, RESET, SEND, WAIT

PATIENCE_TURNS = 100
READ_BYTES = 1 << 16
NARROW_BYTES = 2304
RECORDED_BYTES = 32 << 20
# how often the server is looked after, and when it is given time
LOOK_TURNS = 64
BREATH_S = 0.001
ABORT = struct.pack("ii", 1, 0)
LATER = (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError)


class Player:
    """One connection on its way through its script."""

    def __init__(self, script, sock):
        self.sock = sock
        self.steps = iter(script.steps)
        self.listening = True
        self.rest = b""  # of what is being sent
        self.turns = 0  # left, to wait or to be patient
        self.draining = False
        self.moved = False  # in the last turn: it did something

    def _read(self):
        """False: the peer has closed."""
        try:
            self.moved = bool(self.sock.recv(READ_BYTES))
            return self.moved
        except LATER:
            return True

    def _push(self):
        try:
            sent = self.sock.send(self.rest)
        except LATER:
            self.turns -= 1
            return self.turns > 0
        except OSError as error:
            # a datagram may be too long, or there is no room for it
            if error.errno not in (errno.EMSGSIZE, errno.ENOBUFS):
                raise
            sent = len(self.rest)
        self.moved = True
        self.rest = self.rest[sent:]
        self.turns = PATIENCE_TURNS
        return True

    def _abort(self):
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, ABORT)
        return False

    def _begin(self, name, value):
        """Takes the next step; False: the script is over."""
        if name == SEND:
            self.rest, self.turns = value, PATIENCE_TURNS
        elif name == RAW:
            os.write(self.sock.fileno(), value)
        elif name == WAIT:
            self.turns = value
        elif name == LISTEN:
            self.listening = value
        elif name == HALF:
            self.sock.shutdown(socket.SHUT_WR)
        elif name == DRAIN:
            self.draining, self.turns = True, value
        elif name == RESET:
            return self._abort()
        else:
            assert name == CLOSE, name
            return False
        return True

    def turn(self):
        """Gets on a little; False when it is over."""
        self.moved = False
        try:
            if (self.listening or self.draining) and not self._read():
                return False
            if self.rest:
                return self._push()
            if self.turns > 0:
                self.turns -= 1
                self.moved |= not self.draining
                return True
            if self.draining:
                return False
            return self._begin(*next(self.steps, (CLOSE, None)))
        except (OSError, ValueError):
            return False  # reset by the peer

    def close(self):
        try:
            self.sock.close()
        except OSError:
            pass


def call(family, address, narrow, is_datagram=False, context=None):
    """A socket on its way to a server that is there; with TLS if so told."""
    sock = socket.socket(
        family, socket.SOCK_DGRAM if is_datagram else socket.SOCK_STREAM)
    if family != socket.AF_UNIX and not is_datagram:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if narrow:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, NARROW_BYTES)
    sock.settimeout(5)
    try:
        sock.connect(address)
    except OSError:
        sock.close()
        raise
    sock.setblocking(False)
    if context:
        return context.wrap_socket(sock, do_handshake_on_connect=False)
    return sock


class Recording:
    """The scripts that were begun last: what is long over is forgotten."""

    def __init__(self):
        self.total = 0
        self.bytes = 0
        self.kept = collections.deque()

    def add(self, script):
        self.total += 1
        self.bytes += len(script.sent())
        self.kept.append(script)
        while self.bytes > RECORDED_BYTES and len(self.kept) > 1:
            self.bytes -= len(self.kept.popleft().sent())


class Engine:
    """places: {name: function that calls it, given `narrow`}."""

    def __init__(self, places, dice, width):
        self.places = places
        self.dice = dice
        self.width = width
        self.open = []
        self.begun = Recording()

    def _start(self, script):
        """False: its queue is full, or it is gone; others will tell."""
        self.begun.add(script)
        try:
            sock = self.places[script.place](script.narrow)
        except OSError:
            return False
        self.open.append(Player(script, sock))
        return True

    def _fill(self, source):
        """False: there are no more scripts."""
        while len(self.open) < self.width:
            script = next(source, None)
            if script is None:
                return False
            if not self._start(script):
                return True
        return True

    def _turn(self):
        """True if something was done."""
        at = self.dice.randrange(len(self.open))
        player = self.open[at]
        if player.turn():
            return player.moved
        player.close()
        self.open[at] = self.open[-1]
        self.open.pop()
        return True

    def run(self, scripts, go_on):
        """Plays them all, as long as go_on(), which is asked now and then."""
        source = iter(scripts)
        turns = idle = 0
        while self._fill(source) or self.open:
            if self.open:
                idle = 0 if self._turn() else idle + 1
            turns += 1
            if idle > 2 * len(self.open):
                time.sleep(BREATH_S)
                idle = 0
            if turns % LOOK_TURNS == 0 and not go_on():
                return

    def hang_up(self):
        for player in self.open:
            player.close()
        self.open = []
