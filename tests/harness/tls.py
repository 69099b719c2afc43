"""Certificates made with openssl, and connections that speak TLS.

Certificates(directory) holds an authority, a server's and a client's
certificate signed by it, and strangers signed by nobody we trust. All are made
anew by each test that wants some; keys are elliptic, which is quick.
"""
import socket
import ssl
import subprocess

from harness.talk import Talk
from harness.wait import DEADLINE_S, within

HANDSHAKE_S = 10  # that the server gives a client for it


def openssl(*words, **more):
    """Runs the openssl tool; returns what it prints."""
    return subprocess.run(["openssl", *map(str, words)], check=True,
                          capture_output=True, text=True, timeout=DEADLINE_S,
                          stdin=subprocess.DEVNULL, **more).stdout


class Certificates:
    def __init__(self, directory):
        self.dir = directory
        self.ca = self.path("ca.pem")
        self.make_authority("ca")
        self.server = self.make("server")
        self.client = self.make("client")

    def path(self, name):
        return self.dir / name

    def _request(self, name, *words):
        openssl("req", "-newkey", "ec", "-pkeyopt",
                "ec_paramgen_curve:prime256v1", "-nodes",
                "-subj", f"/CN={name}", "-keyout", self.path(f"{name}.key"),
                *words)

    def make_authority(self, name):
        self._request(name, "-x509", "-days", 2, "-out",
                      self.path(f"{name}.pem"))

    def make(self, name, authority="ca"):
        """A certificate with its key; returns both paths."""
        request = self.path(f"{name}.csr")
        self._request(name, "-out", request)
        openssl("x509", "-req", "-in", request, "-days", 2,
                "-CA", self.path(f"{authority}.pem"),
                "-CAkey", self.path(f"{authority}.key"), "-CAcreateserial",
                "-out", self.path(f"{name}.pem"))
        return self.path(f"{name}.pem"), self.path(f"{name}.key")

    def options(self, *more):
        """What the server needs, and more -o words."""
        words = [f"ssl_chain_cert={self.server[0]}",
                 f"ssl_key={self.server[1]}", *more]
        return ["-Z", "-o", ",".join(words)]

    def context(self, client=None, version=None):
        """How a client is set up; with a certificate of its own if given."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.load_verify_locations(self.ca)
        if client:
            context.load_cert_chain(*client)
        if version:
            context.minimum_version = context.maximum_version = version
        return context


def _shake_hands(server, context, address, session):
    sock = socket.create_connection(address or server.addresses[0])
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    sock.settimeout(DEADLINE_S)
    try:
        return Talk(context.wrap_socket(sock, session=session))
    except BaseException:
        sock.close()
        raise


def connect(server, context, address=None, session=None):
    """A Talk through TLS. ssl.SSLError, ConnectionError: no handshake."""
    return within(HANDSHAKE_S, lambda: _shake_hands(server, context, address,
                                                    session))


def is_let_in(server, context, address=None):
    """True if such a client is served, False if the handshake fails.

    With TLS 1.3 a client is through before the server has looked at its
    certificate: the first answer tells.
    """
    try:
        with connect(server, context, address) as talk:
            talk.send(b"version\r\n")
            return talk.line().startswith(b"VERSION ")
    except (ssl.SSLError, ConnectionError, EOFError):
        return False


def common_name(talk):
    """Whom the server says it is."""
    subject = dict(pair[0] for pair in talk.sock.getpeercert()["subject"])
    return subject["commonName"]


class Engine:
    """A client's TLS without a socket: the test moves the records."""

    def __init__(self, context, talk):
        self.incoming, self.outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.tls = context.wrap_bio(self.incoming, self.outgoing)
        self.talk = talk  # plain: its socket carries the records

    def _fetch(self):
        self.incoming.write(self.talk.sock.recv(1 << 16) or b"")

    def flush(self):
        self.talk.send(self.outgoing.read())

    def handshake(self):
        while True:
            try:
                self.tls.do_handshake()
                return self.flush()
            except ssl.SSLWantReadError:
                self.flush()
                self._fetch()

    def read(self, size):
        data = b""
        while len(data) < size:
            try:
                data += self.tls.read(size - len(data))
            except ssl.SSLWantReadError:
                self._fetch()
        return data
