"""One server process under test.

The program is $MEMCACHEDB, or else the newest build/**/memcachedb. It runs in
a fresh temporary directory, on an ephemeral TCP port of 127.0.0.1 (or on a
UNIX socket). It is up when it has renamed the file $MEMCACHED_PORT_FILENAME
into place (or when its socket accepts). Its stderr goes to a file that is shown
when a test fails. It must end by itself, with status 0, on SIGTERM, and no
sanitizer may have complained; close() checks that.

With MEMCACHEDB=/usr/bin/memcached the same tests run against memcached: the
outside check that the expectations are memcached's. See script.py for the
marks of what differs on purpose.
"""
import functools
import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
from pathlib import Path

from harness.talk import Talk
from harness.udp import Udp
from harness.wait import DEADLINE_S, wait_until

# A server that ends gives up a disk that stands still for so long.
STOP_S = 5
# And slow readers of answers.
DRAIN_S = 3
ROOT = Path(__file__).resolve().parents[2]
# True when the tests are put against memcached itself.
REFERENCE = os.path.basename(os.environ.get("MEMCACHEDB", "")) == "memcached"

SANITIZER_REPORT = re.compile(
    r"(ERROR|WARNING): (Address|Leak|Thread|Memory)Sanitizer|runtime error:")


@functools.lru_cache(maxsize=None)
def find_program():
    named = os.environ.get("MEMCACHEDB")
    if named:
        return os.path.abspath(shutil.which(named) or named)
    built = sorted((p for p in ROOT.glob("build/**/memcachedb") if p.is_file()),
                   key=lambda p: p.stat().st_mtime)
    if not built:
        raise RuntimeError(
            "no build/**/memcachedb: run make, or set $MEMCACHEDB")
    return str(built[-1])


def user_options():
    """Root must say that it means it."""
    return ["-u", "root"] if os.geteuid() == 0 else []


def run_to_end(*options, cwd=None, env=None, **popen):
    """Runs the program until it ends by itself; for refused starts.

    Returns (exit status, stdout, stderr).
    """
    done = subprocess.run(
        [find_program(), *map(str, options)], cwd=cwd, timeout=DEADLINE_S,
        env={**os.environ, **(env or {})}, stdin=subprocess.DEVNULL,
        capture_output=True, text=True, errors="replace", check=False, **popen)
    assert not SANITIZER_REPORT.search(done.stderr), done.stderr
    return done.returncode, done.stdout, done.stderr


def on_free_port(start):
    """start(port), with other ports until one is still free when it starts."""
    while True:
        with socket.socket() as sock:
            sock.bind(("127.0.0.1", 0))
            port = sock.getsockname()[1]
        try:
            return start(port)
        except AssertionError as failure:
            if "Address already in use" not in str(failure):
                raise


class Server:
    """Starts on construction. Options are added to the basic ones.

    What is not named here goes to subprocess.Popen().
    """

    running = []  # for the failure report

    def __init__(self, *options, unix=False, listen=("-l", "127.0.0.1"),
                 env=None, owner=None, **popen):
        self.dir = Path(tempfile.mkdtemp(prefix="memcachedb-test-"))
        self.home = self.dir / "data"
        self.socket_path = self.dir / "socket" if unix else None
        self.port_file = self.dir / "ports"
        self.stderr_path = self.dir / "stderr"
        self.options = [str(option) for option in options]
        self.listen = list(listen)
        self.env = env or {}
        self.popen = popen
        if owner is not None:  # whom the process will belong to
            os.chown(self.dir, owner, -1)
        self.process = None
        self.addresses = []  # of TCP
        self.udp_addresses = []
        self.ending = False
        try:
            self.start()
        except BaseException:
            self._discard()
            raise

    # ---- life and death -------------------------------------------------

    def command(self):
        line = [self.popen.get("executable", find_program())]
        if self.socket_path:
            line += ["-s", str(self.socket_path)]
        else:
            line += ["-p", "-1", *self.listen]
        if not REFERENCE:
            line += ["-H", str(self.home)]
        if "user" not in self.popen:
            line += user_options()
        return line + self.options

    def start(self):
        """Starts the process (again) and waits until it can be talked to."""
        self.port_file.unlink(missing_ok=True)
        env = {**os.environ, "MEMCACHED_PORT_FILENAME": str(self.port_file),
               **self.env}
        with open(self.stderr_path, "ab") as stderr:
            self.process = subprocess.Popen(
                self.command(), env=env, stdin=subprocess.DEVNULL,
                stdout=stderr, stderr=stderr, **self.popen)
        self.ending = False
        Server.running.append(self)
        wait_until(self._is_up, f"start of {self.command()}")

    def _is_up(self):
        status = self.process.poll()
        assert status is None, \
            f"ended with status {status} instead of starting:\n{self.stderr()}"
        if self.socket_path:
            try:
                self.connect().close()
            except OSError:
                return False
            return True
        if not self.port_file.exists():
            return False
        self.addresses = self._find_addresses("TCP")
        self.udp_addresses = self._find_addresses("UDP")
        return bool(self.addresses or self.udp_addresses)

    def _find_addresses(self, kind):
        return [("127.0.0.1" if family == "INET" else "::1", int(port))
                for family, port in re.findall(
                    rf"^{kind} (INET6?): (\d+)$",
                    self.port_file.read_text(), re.M)]

    def signal(self, number):
        self.process.send_signal(number)

    def wait(self, deadline_s=DEADLINE_S):
        """Waits for the end; returns the exit status (-9: killed)."""
        self.ending = True
        status = self.process.wait(deadline_s)
        if self in Server.running:
            Server.running.remove(self)
        return status

    def terminate(self):
        self.signal(signal.SIGTERM)
        return self.wait()

    def kill9(self):
        self.signal(signal.SIGKILL)
        return self.wait()

    def restart(self):
        """A clean stop and a new start on the same directory."""
        assert self.terminate() == 0, self.stderr()
        self.start()

    def close(self):
        """Ends the server, checks that it ended well, removes its files."""
        try:
            if self.process.poll() is None:
                status = self.terminate()
                assert status == 0, f"status {status}:\n{self.stderr()}"
            else:
                assert self.ending, \
                    f"died: status {self.process.returncode}\n{self.stderr()}"
            report = self.stderr()
            assert not SANITIZER_REPORT.search(report), report
        finally:
            self._discard()

    def _discard(self):
        if self.process and self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        if self in Server.running:
            Server.running.remove(self)
        shutil.rmtree(self.dir, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    # ---- looking at it --------------------------------------------------

    @property
    def pid(self):
        return self.process.pid

    @property
    def port(self):
        return self.addresses[0][1]

    def stderr(self):
        return self.stderr_path.read_text(errors="replace")

    def connect(self, address=None):
        """A new connection; by default to the first address."""
        if self.socket_path and address is None:
            sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            try:
                sock.connect(str(self.socket_path))
            except OSError:
                sock.close()
                raise
            return Talk(sock)
        return Talk(socket.create_connection(address or self.addresses[0]))

    def udp(self, address=None):
        """A new client of UDP; by default of the first address."""
        return Udp(address or self.udp_addresses[0])

    def stats(self, group=""):
        with self.connect() as talk:
            return talk.stats(group)

    def wait_for_queue(self, changes):
        """Waits until so many changes wait for the writer."""
        wait_until(lambda: self.stats("bdb")["queue_depth"] == str(changes),
                   "all changes in the queue")

    def rss_bytes(self):
        """Of memory. ProcessLookupError: it has ended."""
        text = Path(f"/proc/{self.pid}/status").read_text()
        found = re.search(r"VmRSS:\s+(\d+) kB", text)
        if not found:  # nobody has collected it yet
            raise ProcessLookupError(self.pid)
        return int(found.group(1)) * 1024
