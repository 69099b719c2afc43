"""The servers that are compared: how each is started, asked and ended.

Every server listens on a loopback address and a free port, keeps its data in
a directory of its own, and is ended by its process id.
"""

import os
import re
import shutil
import signal
import socket
import subprocess
import time

ANSWER_SECONDS = 60


def free_port(host):
    """A TCP port that nobody listens on at the moment."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as probe:
        probe.bind((host, 0))
        return probe.getsockname()[1]


class Server:
    """One process and its directory. Subclasses know the command line."""

    protocol = "classic"
    log_files = None  # a pattern: what of its files is a log, not data

    def __init__(self, name, program, home, settings):
        self.name = name
        self.program = program
        self.home = home
        self.settings = settings
        self.host = settings.host
        self.connections = 4096
        self.process = None
        self.port = None

    @property
    def pid(self):
        return self.process.pid

    def arguments(self):
        raise NotImplementedError

    def version(self):
        """The first line of what the program says about itself."""
        try:
            run = subprocess.run([self.program, "--version"], text=True,
                                 capture_output=True, timeout=10)
        except OSError as error:
            return str(error)
        return (run.stdout or run.stderr).split("\n")[0].strip()

    def start(self, question=None):
        """Starts it; returns the seconds to its first good answer."""
        os.makedirs(self.home, exist_ok=True)
        self.port = free_port(self.host)
        begin = time.monotonic()
        with open(os.path.join(self.home, "stderr.log"), "ab") as log:
            self.process = subprocess.Popen(
                [self.program] + self.arguments(), cwd=self.home,
                stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        while not self.answers(question):
            if self.process.poll() is not None:
                raise RuntimeError(f"{self.name} ended: {self.last_words()}")
            if time.monotonic() - begin > ANSWER_SECONDS:
                raise RuntimeError(f"{self.name} does not answer")
            time.sleep(0.001)
        return time.monotonic() - begin

    def tidy(self):
        """Does what an owner does once in a while, before it is ended."""

    def pause(self):
        """Stands still: what it has left to do is not done in the time of
        another one."""
        self.process.send_signal(signal.SIGSTOP)

    def resume(self):
        self.process.send_signal(signal.SIGCONT)

    def answers(self, question):
        """True if the question (request, start of reply) is answered so."""
        request, reply = question or self.hello
        try:
            with socket.create_connection((self.host, self.port),
                                          timeout=ANSWER_SECONDS) as link:
                link.sendall(request)
                return link.recv(4096).startswith(reply)
        except OSError:
            return False

    def ask(self, request, until):
        """The answer on a connection of its own, once `until` is in it."""
        with socket.create_connection((self.host, self.port),
                                      timeout=ANSWER_SECONDS) as link:
            link.sendall(request)
            said = b""
            while until not in said:
                got = link.recv(65536)
                if not got:
                    raise RuntimeError(f"{self.name} has closed: {said!r}")
                said += got
        return said

    def last_words(self):
        with open(os.path.join(self.home, "stderr.log"),
                  errors="replace") as log:
            return " | ".join(log.read().strip().split("\n")[-3:])

    def stop(self, how=signal.SIGTERM):
        """Ends the process, if there is one; returns how long it took."""
        if self.process is None:
            return 0.0
        begin = time.monotonic()
        self.resume()
        self.process.send_signal(how)
        try:
            self.process.wait(timeout=ANSWER_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process = None
        return time.monotonic() - begin

    def kill(self):
        self.stop(signal.SIGKILL)

    def remove(self):
        """Removes its directory; it must have ended."""
        shutil.rmtree(self.home, ignore_errors=True)

    def resident_bytes(self):
        with open(f"/proc/{self.pid}/status") as status:
            for line in status:
                if line.startswith("VmRSS:"):
                    return int(line.split()[1]) * 1024
        return 0

    def disk_bytes(self):
        """Space taken by its files, as du counts it: data, and logs."""
        data = log = 0
        for folder, _, names in os.walk(self.home):
            for name in names:
                try:
                    size = os.lstat(os.path.join(folder, name)).st_blocks * 512
                except FileNotFoundError:
                    continue  # a log file that was just removed
                if self.log_files and re.fullmatch(self.log_files, name):
                    log += size
                else:
                    data += size
        return {"data_bytes": data, "log_bytes": log}


class Memcached(Server):
    hello = (b"version\r\n", b"VERSION ")

    def arguments(self):
        arguments = ["-l", self.host, "-p", str(self.port), "-U", "0",
                     "-t", str(self.settings.threads),
                     "-c", str(self.connections), *self.memory()]
        return arguments + (["-u", "root"] if os.getuid() == 0 else [])

    def memory(self):
        return ["-m", str(self.settings.cache)]

    def question(self, key):
        return f"get {key}\r\n".encode(), b"VALUE "


class Memcachedb(Memcached):
    log_files = r"log\.\d+|spare(\.new)?"

    def __init__(self, name, program, home, settings, sync, cache=None,
                 more=()):
        super().__init__(name, program, home, settings)
        self.sync = sync
        self.cache = cache or settings.cache
        self.more = list(more)

    def arguments(self):
        return [*super().arguments(), "-H", self.home, f"--sync={self.sync}",
                *self.more]

    def memory(self):
        """Half of it for pages, half for items."""
        return ["-m", str(self.cache // 2),
                f"--item-cache={self.cache - self.cache // 2}m"]


class Redis(Server):
    protocol = "redis"
    hello = (b"PING\r\n", b"+PONG")
    log_files = r"appendonly\.aof.*"

    def __init__(self, name, program, home, settings, fsync):
        super().__init__(name, program, home, settings)
        self.fsync = fsync

    def arguments(self):
        # No rewrite of the log behind our back: it would only cost Redis.
        return ["--bind", self.host, "--port", str(self.port),
                "--dir", self.home, "--save", "", "--appendonly", "yes",
                "--appendfsync", self.fsync,
                "--auto-aof-rewrite-percentage", "0",
                "--maxmemory", f"{self.settings.cache}mb",
                "--maxmemory-policy", "noeviction",
                "--maxclients", str(self.connections)]

    def question(self, key):
        return f"GET {key}\r\n".encode(), b"$"

    def tidy(self):
        """Rewrites the log: else a start would go through every set ever."""
        self.ask(b"BGREWRITEAOF\r\n", b"\r\n")
        said = b""
        while not (b"aof_rewrite_in_progress:0" in said
                   and b"aof_rewrite_scheduled:0" in said):
            time.sleep(0.05)
            said = self.ask(b"INFO persistence\r\n", b"aof_current_size:")


# name, option with the program, kind, what else its constructor takes
KNOWN = (
    ("memcached", "memcached", Memcached, ()),
    ("redis-always", "redis", Redis, ("always",)),
    ("redis-everysec", "redis", Redis, ("everysec",)),
    ("ours-always", "program", Memcachedb, ("always",)),
    ("ours-write", "program", Memcachedb, ("write",)),
    ("ours-interval", "program", Memcachedb, ("interval:1000",)),
)


def make(name, home, settings, **more):
    """The server of this name; None if its program is not here."""
    _, option, kind, extra = next(each for each in KNOWN if each[0] == name)
    program = getattr(settings, option)
    path = shutil.which(program) if program else None
    if path is None:
        return None
    return kind(name, os.path.abspath(path), home, settings, *extra, **more)


def choose(settings, folder, names):
    """Those of the servers that can be started, and notes about others."""
    made = {name: make(name, os.path.join(folder, name), settings)
            for name in names}
    return ([server for server in made.values() if server is not None],
            [f"{name}: its program is not here"
             for name, server in made.items() if server is None])
