"""Starts that may fail, and what a server said during one of them."""
import time

from harness.server import SANITIZER_REPORT


class Said:
    """What is appended to a server's stderr from now on."""

    def __init__(self, server):
        self.path = server.stderr_path
        self.start = self.path.stat().st_size
        self.since = time.monotonic()

    def text(self):
        with open(self.path, "rb") as file:
            file.seek(self.start)
            return file.read().decode(errors="replace")

    def lines(self):
        return self.text().splitlines()

    def is_brief(self):
        """True if it said little: of an error that goes on, 5 lines in 10 s."""
        age_s = time.monotonic() - self.since
        return len(self.lines()) < 20 + age_s / 10 * 5


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
