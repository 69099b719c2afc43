"""A conversation with memcachedb, for what the load generator cannot say."""

import socket

ANSWER_SECONDS = 120
CHUNK = 1 << 18


class Talk:
    """One text connection. A context: it is closed at the end."""

    def __init__(self, server):
        self.link = socket.create_connection((server.host, server.port),
                                             timeout=ANSWER_SECONDS)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.link.close()

    def send(self, data):
        self.link.sendall(data)

    def read_until(self, end):
        """Reads until what has come ends with `end`.

        Returns the last bytes, up to a chunk: long answers are not kept.
        """
        kept = b""
        while not kept.endswith(end):
            got = self.link.recv(CHUNK)
            if not got:
                raise RuntimeError("the server has closed the connection")
            kept = (kept + got)[-CHUNK:]
        return kept

    def ask(self, line, end=b"\r\n"):
        self.send(line.encode() + b"\r\n")
        return self.read_until(end)

    def expect(self, line, answer):
        said = self.ask(line)
        if not said.endswith(answer):
            raise RuntimeError(f"{line}: {said[-200:]!r}")

    def checkpoint(self):
        self.expect("db_checkpoint", b"OK\r\n")

    def dump(self):
        """Reads a dump of all keys to its end."""
        # Its lines end with \n, only the last one with \r\n.
        self.expect("lru_crawler metadump all", b"END\r\n")

    def stats(self, group=""):
        said = self.ask(f"stats {group}".strip(), b"END\r\n").decode()
        return dict(line.split(" ", 2)[1:] for line in said.splitlines()
                    if line.startswith("STAT "))


def checkpoint(server):
    with Talk(server) as talk:
        talk.checkpoint()
