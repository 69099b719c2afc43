"""A server in the background (-d), found by its pidfile and port file."""
import os
import re
import signal
import socket
from pathlib import Path

from harness.files import process_is_gone
from harness.server import run_to_end, user_options
from harness.talk import Talk
from harness.wait import wait_until


class Daemon:
    """Started on construction, ended by `with` or end().

    Paths may be relative to `directory`, in which it is started.
    """

    def __init__(self, directory, *options, pidfile="pid"):
        self.directory = Path(directory)
        self.pidfile = self.directory / pidfile
        self.ports = self.directory / "ports"
        self.ports.unlink(missing_ok=True)
        self.result = run_to_end(
            "-d", "-P", pidfile, "-p", "-1", "-l", "127.0.0.1",
            *user_options(), *options, cwd=directory,
            env={"MEMCACHED_PORT_FILENAME": str(self.ports)})
        status, out, err = self.result
        assert status == 0, (status, out, err)
        wait_until(self.pidfile.exists, "the pidfile")
        wait_until(self.ports.exists, "the port file")
        self.pid = int(self.pidfile.read_text())
        self.port = int(re.search(r"TCP INET: (\d+)",
                                  self.ports.read_text()).group(1))

    def connect(self):
        return Talk(socket.create_connection(("127.0.0.1", self.port)))

    def end(self, number=signal.SIGTERM):
        os.kill(self.pid, number)
        wait_until(lambda: process_is_gone(self.pid), "the daemon's end")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if not process_is_gone(self.pid):
            self.end()
