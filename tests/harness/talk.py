"""One raw connection to the server.

Everything is bytes and everything is exact: expect() wants these bytes and no
others next. That the server says nothing is proved by a `version` round trip,
whose answer must be the next thing that arrives.
"""
import re
import socket
import textwrap

from harness.wait import DEADLINE_S, may_be_left


def _with_times(expression):
    """With what may be left of a time in the place of {100 s}."""
    return re.sub(
        rb"\{(\d+) s\}", lambda time: b"(%s)" % b"|".join(
            b"%d" % left for left in may_be_left(int(time[1]))), expression)


class Talk:
    def __init__(self, sock):
        sock.settimeout(DEADLINE_S)
        if sock.family != socket.AF_UNIX:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.sock = sock
        self.buffer = b""
        self.last_sent = b""
        self.bytewise = False  # send every byte in a write of its own

    def close(self):
        self.sock.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    # ---- sending --------------------------------------------------------

    def send(self, data):
        self.last_sent = data
        if self.bytewise:
            for at in range(len(data)):
                self.sock.sendall(data[at:at + 1])
        else:
            self.sock.sendall(data)

    def finish_sending(self):
        """Half-closes: the server sees the end, we can still read."""
        self.sock.shutdown(socket.SHUT_WR)

    # ---- expecting ------------------------------------------------------

    def _fill(self):
        """Reads some more; False at the end of the stream."""
        try:
            more = self.sock.recv(1 << 20)
        except ConnectionResetError:
            return False
        except socket.timeout:
            raise AssertionError(
                f"no answer; sent {self.last_sent[:300]!r}, "
                f"got {self.buffer[:300]!r}") from None
        self.buffer += more
        return bool(more)

    def _fail(self, wanted, got):
        raise AssertionError(f"\n  sent     {self.last_sent[:300]!r}"
                             f"\n  expected {wanted[:300]!r}"
                             f"\n  got      {got[:300]!r}")

    def read(self, size):
        """Exactly this many bytes."""
        while len(self.buffer) < size:
            if not self._fill():
                self._fail(b"%d bytes" % size, self.buffer + b" <closed>")
        data, self.buffer = self.buffer[:size], self.buffer[size:]
        return data

    def line(self):
        """The next line, without its CRLF. EOFError: closed before it."""
        while b"\r\n" not in self.buffer:
            if not self._fill():
                if not self.buffer:
                    raise EOFError(f"closed; sent {self.last_sent[:300]!r}")
                self._fail(b"a line", self.buffer + b" <closed>")
        line, self.buffer = self.buffer.split(b"\r\n", 1)
        return line

    def expect(self, wanted):
        while len(self.buffer) < len(wanted):
            if not wanted.startswith(self.buffer):
                break
            if not self._fill():
                self._fail(wanted, self.buffer + b" <closed>")
        if not self.buffer.startswith(wanted):
            self._fail(wanted, self.buffer)
        self.buffer = self.buffer[len(wanted):]

    def ask(self, request, reply):
        self.send(request)
        self.expect(reply)

    def expect_close(self):
        while not self.buffer:
            if not self._fill():
                return
        self._fail(b"<closed>", self.buffer)

    def line_or_close(self):
        """The next line, or None if there is none any more."""
        while b"\n" not in self.buffer:
            if not self._fill():
                return None
        return self.line()

    def expect_silence(self):
        """No byte is waiting and the connection is in step."""
        self.sock.sendall(b"version\r\n")
        line = self.line()
        if not re.fullmatch(rb"VERSION \d+\.\d+\.\d+\S*", line):
            self._fail(b"VERSION (silence before it)", line)

    # ---- whole exchanges ------------------------------------------------

    def run(self, script):
        """Holds a conversation written down as text; see script.py."""
        unsent = b""
        for line in textwrap.dedent(script).strip("\n").split("\n"):
            mark, text = line[:2], line[2:].encode("latin-1")
            if mark in ("> ", ">"):
                unsent += text + b"\r\n"
                continue
            if unsent:
                self.send(unsent)
                unsent = b""
            if mark in ("< ", "<"):
                self.expect(text + b"\r\n")
            elif mark == "<~":
                got = self.line()
                if not re.fullmatch(_with_times(text.strip()), got):
                    self._fail(text, got)
            elif mark == "<.":
                self.expect_close()
                return
            else:
                raise ValueError(f"not a conversation line: {line!r}")
        if unsent:
            self.send(unsent)
        self.expect_silence()

    def stats(self, group=""):
        """The STAT lines of a group as a dict of texts, in their order."""
        self.send(b"stats %s\r\n" % group.encode() if group else b"stats\r\n")
        found = {}
        while True:
            line = self.line().decode("latin-1")
            if line == "END":
                return found
            word, name, value = line.split(" ", 2)
            assert word == "STAT", line
            assert name not in found, f"{name} twice"
            found[name] = value

    def get(self, key):
        """The value of one key, None if there is none."""
        self.send(b"get %s\r\n" % key)
        line = self.line()
        if line == b"END":
            return None
        match = re.fullmatch(rb"VALUE ([^ ]+) \d+ (\d+)", line)
        if not match or match.group(1) != key:
            self._fail(b"VALUE " + key, line)
        value = self.read(int(match.group(2)))
        self.expect(b"\r\nEND\r\n")
        return value

    def cas_id(self, key):
        """The cas id of a live key."""
        self.send(b"gets %s\r\n" % key)
        line = self.line()
        match = re.fullmatch(rb"VALUE [^ ]+ \d+ (\d+) (\d+)", line)
        if not match:
            self._fail(b"VALUE " + key, line)
        self.read(int(match.group(1)))
        self.expect(b"\r\nEND\r\n")
        return int(match.group(2))

    def set(self, key, value, flags=0, exptime=0):
        self.ask(b"set %s %d %d %d\r\n%s\r\n"
                 % (key, flags, exptime, len(value), value), b"STORED\r\n")
