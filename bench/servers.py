"""The servers that are compared: how each is started, asked and ended.

Every server listens on a loopback address and a free port, keeps its data in
a directory of its own, and is ended by its process id.
"""

import os
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
    durable = True  # does it have anything after a restart?

    def __init__(self, name, program, host, home, settings):
        self.name = name
        self.program = program
        self.host = host
        self.home = home
        self.settings = settings
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

    def last_words(self):
        with open(os.path.join(self.home, "stderr.log"),
                  errors="replace") as log:
            return " | ".join(log.read().strip().split("\n")[-3:])

    def stop(self, how=signal.SIGTERM):
        """Ends the process, if there is one; returns how long it took."""
        if self.process is None:
            return 0.0
        begin = time.monotonic()
        self.process.send_signal(how)
        try:
            self.process.wait(timeout=ANSWER_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process = None
        return time.monotonic() - begin

    def resident_bytes(self):
        with open(f"/proc/{self.pid}/status") as status:
            for line in status:
                if line.startswith("VmRSS:"):
                    return int(line.split()[1]) * 1024
        return 0

    def disk_bytes(self):
        """Space taken by its files, as du counts it."""
        return sum(os.lstat(os.path.join(folder, name)).st_blocks * 512
                   for folder, _, names in os.walk(self.home)
                   for name in names)


class Memcached(Server):
    durable = False
    hello = (b"version\r\n", b"VERSION ")

    def arguments(self):
        arguments = ["-l", self.host, "-p", str(self.port), "-U", "0",
                     "-t", str(self.settings.threads), "-m", "2048",
                     "-c", "4096"]
        return arguments + (["-u", "root"] if os.getuid() == 0 else [])

    def question(self, key):
        return f"get {key}\r\n".encode(), b"VALUE "


class Memcachedb(Memcached):
    durable = True

    def __init__(self, name, program, host, home, settings, sync):
        super().__init__(name, program, host, home, settings)
        self.sync = sync

    def arguments(self):
        arguments = ["-l", self.host, "-p", str(self.port), "-H", self.home,
                     "-t", str(self.settings.threads),
                     "-m", str(self.settings.cache // 2),
                     f"--item-cache={self.settings.cache // 2}m",
                     "-c", "4096", f"--sync={self.sync}"]
        return arguments + (["-u", "root"] if os.getuid() == 0 else [])


class Redis(Server):
    protocol = "redis"
    hello = (b"PING\r\n", b"+PONG")

    def __init__(self, name, program, host, home, settings, fsync):
        super().__init__(name, program, host, home, settings)
        self.fsync = fsync

    def arguments(self):
        # No rewrite of the log behind our back: it would only cost Redis.
        return ["--bind", self.host, "--port", str(self.port),
                "--dir", self.home, "--save", "", "--appendonly", "yes",
                "--appendfsync", self.fsync,
                "--auto-aof-rewrite-percentage", "0",
                "--maxclients", "4096"]

    def question(self, key):
        return f"GET {key}\r\n".encode(), b"$"


def choose(settings, folder):
    """The servers that can be started here, and notes about the others."""
    def home(name):
        return os.path.join(folder, name)

    servers, notes = [], []
    wanted = [("memcached", settings.memcached, Memcached, []),
              ("redis-always", settings.redis, Redis, ["always"]),
              ("redis-everysec", settings.redis, Redis, ["everysec"]),
              ("ours-always", settings.program, Memcachedb, ["always"]),
              ("ours-write", settings.program, Memcachedb, ["write"]),
              ("ours-interval", settings.program, Memcachedb,
               ["interval:1000"])]
    for name, program, kind, extra in wanted:
        path = shutil.which(program) if program else None
        if path is None:
            notes.append(f"{name}: no program {program or 'built'}")
        elif not settings.servers or name in settings.servers:
            servers.append(kind(name, os.path.abspath(path), settings.host,
                                home(name), settings, *extra))
    return servers, notes
