"""Starts that may fail, and what a server said during one of them."""
from harness.server import SANITIZER_REPORT


class Said:
    """What is appended to a server's stderr from now on."""

    def __init__(self, server):
        self.path = server.stderr_path
        self.start = self.path.stat().st_size

    def text(self):
        with open(self.path, "rb") as file:
            file.seek(self.start)
            return file.read().decode(errors="replace")

    def lines(self):
        return self.text().splitlines()


def try_start(server):
    """Starts the server. None: it is up; else the status it ended with."""
    said = Said(server)
    try:
        server.start()
        return None
    except AssertionError:
        if server.process.poll() is None:
            raise
    status = server.wait()
    assert not SANITIZER_REPORT.search(said.text()), said.text()
    return status
