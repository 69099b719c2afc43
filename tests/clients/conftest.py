"""Real client libraries and tools from Debian, unchanged, in text mode.

`empty` is the shared server with nothing stored; each client makes its own
connections. A client that is not installed fails its tests.
"""
import subprocess

import pytest


@pytest.fixture
def empty(server, talk):
    return server


@pytest.fixture
def tool(empty):
    """Runs a libmemcached tool against the server: (status, output)."""
    def run(name, *words, stdin=None):
        done = subprocess.run(
            [name, f"--servers=127.0.0.1:{empty.port}", *map(str, words)],
            input=stdin, capture_output=True, text=True, timeout=60,
            check=False)
        return done.returncode, done.stdout + done.stderr
    return run
