"""Fixtures of all tests against the running server.

server      one server per test process, shared by all tests that only need an
            empty store; a test during which it dies fails, the next gets a
            new one
talk        a connection to that server, whose store was emptied first
new_server  makes servers of a test's own: new_server("-c", 8, unix=True)
faults      what new_server(env=faults.env) is to suffer (harness/faults.py)

All are ended by process id, and must end well (harness/server.py).
"""
import os
import tempfile
from pathlib import Path

import pytest

from harness.faults import Faults
from harness.server import Server


class Shared:
    server = None


@pytest.fixture(scope="session", autouse=True)
def _end_shared_server():
    yield
    if Shared.server:
        Shared.server.close()


@pytest.fixture
def server():
    if not Shared.server:
        Shared.server = Server()
    yield Shared.server
    if Shared.server.process.poll() is not None:
        dead, Shared.server = Shared.server, None
        dead.close()


@pytest.fixture
def talk(server):
    with server.connect() as connection:
        connection.ask(b"flush_all\r\n", b"OK\r\n")
        yield connection


@pytest.fixture
def new_server():
    made = []

    def make(*options, **how):
        made.append(Server(*options, **how))
        return made[-1]

    yield make
    failures = []
    for each in made:
        try:
            each.close()
        except Exception as failure:  # end all of them, then complain
            failures.append(failure)
    if failures:
        raise failures[0]


@pytest.fixture
def faults(tmp_path):
    return Faults(tmp_path)


@pytest.fixture
def open_directory():
    """A directory that other users may look into; tmp_path is private."""
    with tempfile.TemporaryDirectory(prefix="memcachedb-test-") as name:
        os.chmod(name, 0o755)
        yield Path(name)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    report = outcome.get_result()
    if report.failed:
        for each in Server.running:
            report.sections.append(
                (f"server {each.pid} stderr", each.stderr()[-4000:]))
