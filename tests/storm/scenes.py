"""The servers that a storm is let loose on, and how they are called.

Everything is small where it can be, so that limits are met. Where others may
flush the store, the witnesses cannot tell that from a loss; elsewhere they
can.

A storm calls "stream", a socket that is plain or a UNIX one; "udp"; "tls"; or
"beneath", the address of TLS without speaking it.
"""
import functools
import shutil
import socket
import tempfile
from pathlib import Path
from typing import NamedTuple

from harness import tls
from harness.packet import ask, packet
from harness.sasl import Sasl
from harness.served import is_served
from harness.server import Server
from harness.talk import Talk
from harness.tls import Certificates
from harness.wait import wait_until
from storm.engine import call
from storm.witness import Ascii, Binary, Meta

KILOBYTE, MEGABYTE = 1 << 10, 1 << 20
USERS = "ann:secret\nrita:look\n"
TEXT_ENTRY = b"set auth 0 0 10\r\nann secret\r\n"
SASL_ENTRY = packet(0x21, b"PLAIN", b"\0ann\0secret")
NO_FLUSH = "-F"
PACKET_BEGIN = b"\x80"
SMALL_LOG = ["--log-file-size", "1m", "--checkpoint-size", "1m"]


# where a storm calls: some more often than others
STREAM = ["stream"]
UDP = ["stream"] * 3 + ["udp"]
TLS = ["tls"] * 3 + ["stream", "beneath"]  # beneath: as if there were no TLS
PLAIN = ("-l", "127.0.0.1")
BOTH = ("-l", "127.0.0.1", "-l", "notls:127.0.0.1")


class Scene(NamedTuple):
    name: str
    data: list  # options with which the data must be opened again
    more: list  # the others
    witnesses: list = [Ascii, Meta, Binary]
    value_max: int = MEGABYTE
    unix: bool = False
    places: list = STREAM
    entry: bytes = b""  # what a client says first to be let in
    rss_max: int = 400 * MEGABYTE

    @property
    def may_lose(self):
        return NO_FLUSH not in self.more


def size_options(value_max):
    return ["-m", "4", "--max-item-size", str(value_max)]


SCENES = {scene.name: scene for scene in (
    Scene("usual", [], [NO_FLUSH, "-U", "-1"], places=UDP),
    Scene("flushed", [*size_options(100 * KILOBYTE), *SMALL_LOG],
          ["-U", "-1", "-c", "40", "--prefix-delimiter", ":",
           "--max-scan-items", "100000"],
          value_max=100 * KILOBYTE, places=UDP),
    Scene("hash", ["-B", "hash", *size_options(MEGABYTE)],
          [NO_FLUSH, "--sync=interval:100", "--protocol", "ascii",
           "-o", "no_maxconns_fast", "-c", "30"], [Ascii, Meta]),
    Scene("tiny", [*size_options(KILOBYTE), "-A", "512", *SMALL_LOG],
          [NO_FLUSH, "-t", "1", "--protocol", "binary",
           "--max-reqs-per-event", "1", "--idle-timeout", "1"], [Binary],
          value_max=KILOBYTE),
    Scene("unix", size_options(MEGABYTE),
          [NO_FLUSH, "--sync=write", "-C", "1"], unix=True),
    Scene("login", size_options(MEGABYTE), [NO_FLUSH], [Ascii, Meta],
          entry=TEXT_ENTRY),
    Scene("sasl", size_options(MEGABYTE), [NO_FLUSH], [Binary],
          entry=SASL_ENTRY),
    Scene("tls", size_options(MEGABYTE), [NO_FLUSH], places=TLS),
)}


class Begun(Talk):
    """Has always begun its next packet, so it is never idle, however late a
    busy machine lets it go on. The server is patient with what has begun."""

    def __init__(self, sock):
        super().__init__(sock)
        super().send(PACKET_BEGIN)

    def send(self, data):
        assert data.startswith(PACKET_BEGIN)
        super().send(data[1:] + PACKET_BEGIN)


class Stage:
    """A scene's server while it runs."""

    def __init__(self, scene):
        self.scene = scene
        self.folder = Path(tempfile.mkdtemp(prefix="memcachedb-storm-"))
        try:
            self.context = None  # of clients of TLS
            self.server = Server(*scene.data, *scene.more, *self._login(),
                                 *self._tls(), unix=scene.unix,
                                 listen=BOTH if self.context else PLAIN,
                                 env=self._env())
        except BaseException:
            self._discard()
            raise

    def _login(self):
        if self.scene.entry == TEXT_ENTRY:
            users = self.folder / "users"
            users.write_text(USERS)
            users.chmod(0o600)
            return ["-Y", users, "--read-only-user", "rita"]
        return ["-S"] if self.scene.entry == SASL_ENTRY else []

    def _tls(self):
        if self.scene.places != TLS:
            return []
        certificates = Certificates(self.folder)
        self.context = certificates.context()
        return certificates.options()

    def _env(self):
        if self.scene.entry != SASL_ENTRY:
            return {}
        sasl = Sasl(self.folder)
        sasl.add("ann", "secret")
        sasl.add("rita", "look")
        return sasl.env

    def _discard(self):
        shutil.rmtree(self.folder, ignore_errors=True)

    def close(self):
        try:
            self.server.close()
        finally:
            self._discard()

    def places(self):
        """Functions that call it, given whether to be narrow."""
        server = self.server
        if server.socket_path:
            return {"stream": functools.partial(
                call, socket.AF_UNIX, str(server.socket_path))}
        places = {"stream": functools.partial(
            call, socket.AF_INET, server.addresses[-1])}
        if self.context:
            places["beneath"] = functools.partial(
                call, socket.AF_INET, server.addresses[0])
            places["tls"] = functools.partial(
                call, socket.AF_INET, server.addresses[0],
                context=self.context)
        if server.udp_addresses:
            places["udp"] = functools.partial(
                call, socket.AF_INET, server.udp_addresses[0],
                is_datagram=True)
        return places

    def _connect(self):
        if self.context:
            return tls.connect(self.server, self.context)
        talk = self.server.connect()
        return Begun(talk.sock) if "--idle-timeout" in self.scene.more else talk

    def client(self, speaks=None):
        """One who is let in, and speaks so."""
        speaks = speaks or self.scene.witnesses[0]
        talk = self._connect()
        try:
            if self.scene.entry == TEXT_ENTRY:
                talk.ask(TEXT_ENTRY, b"STORED\r\n")
            elif self.scene.entry == SASL_ENTRY:
                assert ask(talk, 0x21, b"PLAIN", b"\0ann\0secret").status == 0
        except BaseException:
            talk.close()
            raise
        return speaks(talk)

    def client_afterwards(self):
        """One who comes behind a storm, when the others leave their places."""
        def served():
            client = self.client()
            if "-c" not in self.scene.more or is_served(client.talk):
                return client
            client.talk.close()
            return None
        return wait_until(served, "a place")

    def restart_plainly(self):
        """A clean stop, and a start with which everybody is let in."""
        self.server.options = self.scene.data
        self.server.listen = PLAIN
        assert "shutdown asked for" not in self.server.stderr(), "is stopping"
        self.server.restart()
