"""Real client libraries and tools, unchanged; see known.py.

`empty` is the shared server with nothing stored; each client makes its own
connections. A client of Debian that is not installed fails its tests: make
check installs them. Those of npm are fetched into build/clients/ at their
first use, and are skipped with the reason where that cannot be done.

Clients in other languages are programs beside the tests. They are called with
host, port and dialect, hold one round, print one line per failed check, and
"ok" if there was none. At the end they leave behind three keys that
after_round() looks at: `large`, which a later set of a too large value must
not have touched, `brief`, stored for a second, and `lasting`.
"""
import fcntl
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from harness.server import REFERENCE
from harness.wait import DEADLINE_S, wait_until
from known import KNOWN

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
BUILD = ROOT / "build/clients"
# For one program, to tell which hangs. It waits DEADLINE_S for each answer.
LIMIT_S = 10 * DEADLINE_S
# For clients that give up after some seconds and cannot be told otherwise: no
# answer waits for the disk.
QUICK = [] if REFERENCE else ["--sync=interval:1000"]


def pytest_configure(config):
    config.addinivalue_line(
        "markers", "client(name, dialect): what known.client() made")


def pytest_collection_modifyitems(config, items):
    """Each test names its client; a whole run covers all that are known.

    The names go to the junit file, for tools/client-table, but not when they
    are memcached's results.
    """
    seen = set()
    for item in items:
        if item.path.parent != HERE:
            continue
        marks = list(item.iter_markers("client"))
        assert marks, f"{item.nodeid} does not say whom it tests"
        for mark in marks:
            if not REFERENCE:
                item.user_properties.append(("client", "/".join(mark.args)))
            seen.add(mark.args)
    if config.args == ["tests/clients"]:
        known = {(each.name, dialect) for each in KNOWN
                 for dialect in each.dialects}
        assert seen == known, f"tested and known differ: {seen ^ known}"


@pytest.fixture
def empty(server, talk):
    return server


@pytest.fixture
def after_round(talk):
    """What must be true when a client has held its round."""
    def check():
        if not REFERENCE:  # memcached deletes it
            assert talk.get(b"large") is not None
        wait_until(lambda: talk.get(b"brief") is None, "brief expires")
        assert talk.get(b"lasting") is not None
    return check


@pytest.fixture
def hold_round(empty, after_round):
    """Lets a program hold its round, and looks at what it left behind."""
    def run(*command, dialect=None, env=None):
        run_program(*command, "127.0.0.1", empty.port,
                    *([dialect] if dialect else []), env=env)
        after_round()
    return run


def run_program(*command, env=None, says="ok"):
    """Runs a program that must say this. It waits $PATIENCE_S for an answer."""
    done = subprocess.run(
        [str(word) for word in command], stdin=subprocess.DEVNULL,
        env={**os.environ, "PATIENCE_S": str(DEADLINE_S), **(env or {})},
        capture_output=True, text=True, timeout=LIMIT_S, check=False)
    assert (done.stdout, done.returncode) == (says + "\n", 0), \
        done.stdout + done.stderr


# --- what must be built or fetched first -------------------------------------

def prepared(target, sources, make):
    """Makes target unless it is newer than its sources; once for all workers.

    make(temporary) makes it under another name, then it is renamed.
    """
    BUILD.mkdir(parents=True, exist_ok=True)
    target = BUILD / target
    with open(f"{target}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        newest = max(source.stat().st_mtime for source in sources)
        if not target.exists() or target.stat().st_mtime < newest:
            temporary = target.with_suffix(".new")
            make(temporary)
            if target.is_dir():
                shutil.rmtree(target)
            temporary.rename(target)
    return target


def run_compiler(*command, cwd=HERE, env=None):
    done = subprocess.run([str(word) for word in command], cwd=cwd,
                          env={**os.environ, **(env or {})},
                          stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, timeout=LIMIT_S, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


SPYMEMCACHED = "/usr/share/java/spymemcached.jar"
JAVA = ("java", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx256m")


@pytest.fixture(scope="session")
def java():
    """The class path of the Java programs."""
    sources = sorted(HERE.glob("*.java"))
    classes = prepared("java", sources, lambda folder: run_compiler(
        "javac", "-cp", SPYMEMCACHED, "-d", folder, *sources))
    return f"{classes}:{SPYMEMCACHED}"


@pytest.fixture(scope="session")
def gomemcache():
    source = HERE / "gomemcache.go"
    return prepared("gomemcache", [source], lambda target: run_compiler(
        "go", "build", "-o", target, source, env={
            "GO111MODULE": "off", "GOPATH": "/usr/share/gocode",
            "GOFLAGS": "", "GOCACHE": str(BUILD / "go-cache")}))


@pytest.fixture(scope="session")
def npm():
    """The environment in which node finds npm's packages."""
    def fetch(temporary):
        try:
            subprocess.run([ROOT / "tools/fetch-npm-clients", temporary],
                           stdin=subprocess.DEVNULL, capture_output=True,
                           text=True, timeout=300, check=True)
        except subprocess.CalledProcessError as failure:
            pytest.skip(failure.stderr.strip().splitlines()[-1])
        except subprocess.TimeoutExpired as failure:
            pytest.skip(str(failure))

    folder = prepared("npm", [HERE / "npm/package-lock.json"], fetch)
    return {"NODE_PATH": str(folder / "node_modules")}
