"""User cases of operation: U70 U74 U86."""
import os
import resource
import signal

import pytest

from harness.daemon import Daemon
from harness.files import program_for_everyone
from harness.script import ours_only
from harness.served import is_served
from harness.wait import wait_until


# ---- U70: relative paths with -d ----------------------------------------------

# What a server makes, of this test or by default; others use "/", too.
MADE = {"items", "logs", "ports", "run.pid", "data", "data.db", "meta.db",
        "LOCK"}


@ours_only
def test_u70_relative_paths(tmp_path):
    """The same files both times, whatever the working directory; nothing
    appears elsewhere."""
    here, elsewhere = tmp_path / "here", tmp_path / "elsewhere"
    here.mkdir()
    elsewhere.mkdir()
    before = set(os.listdir("/"))
    relative = Daemon(here, "-H", "../here/items", "-G", "./logs",
                      pidfile="run.pid")
    with relative, relative.connect() as talk:
        settings = talk.stats("settings")
        assert os.path.realpath(settings["data_dir"]) == str(here / "items")
        assert settings["log_dir"].startswith(str(here))
        talk.set(b"k", b"1")
        relative.end(signal.SIGKILL)
    absolute = Daemon(elsewhere, "-H", here / "items", "-G", here / "logs",
                      pidfile=str(here / "run.pid"))
    with absolute, absolute.connect() as talk:
        assert talk.get(b"k") == b"1"
    assert sorted(os.listdir(elsewhere)) == ["ports"]
    assert set(os.listdir(here)) == {"items", "logs", "ports"}
    new = set(os.listdir("/")) - before
    assert not [name for name in new if name in MADE or "log." in name]


# ---- U74: more connections wanted than descriptors allowed ----------------------

def limited_server(open_directory, new_server):
    """One that may open 256 files and cannot change that."""
    def few_files():
        resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256))

    if os.geteuid() != 0:
        return new_server("-c", 1000, preexec_fn=few_files)
    # Root could raise it; so run as somebody who cannot.
    return new_server("-c", 1000, preexec_fn=few_files, owner=65534,
                      user=65534, group=65534,
                      executable=program_for_everyone(open_directory))


@ours_only
def test_u74_descriptor_limit(new_server, open_directory):
    """It starts with what is possible and says so; extra clients are told;
    a place that becomes free is taken at once."""
    server = limited_server(open_directory, new_server)
    assert any("1000" in line for line in server.stderr().splitlines())
    first = server.connect()
    wait_until(lambda: first.stats()["curr_connections"] == "1",
               "nobody else is there")
    limit = int(first.stats()["max_connections"])
    assert 64 <= limit < 256
    talks = [first] + [server.connect() for _ in range(400)]
    served = [talk for talk in talks if is_served(talk)]
    assert len(served) == limit
    leaving = min(200, limit - 1)
    for talk in served[:leaving]:
        talk.close()
    served = served[leaving:]
    for talk in served:
        talk.expect_silence()
    wait_until(lambda: int(served[0].stats()["curr_connections"])
               == len(served), "places are free")
    again = [server.connect() for _ in range(leaving)]
    for number, talk in enumerate(again):
        assert is_served(talk), number
        talk.set(b"k%d" % number, b"1")


# ---- U86: HTTP and other protocols on the port ------------------------------------

BODY = b"Content-Length: 11\r\n\r\nflush_all\r\n"
FOREIGN = {
    "get": b"GET / HTTP/1.1\r\nHost: x\r\n" + BODY,
    "post": b"POST / HTTP/1.1\r\n" + BODY,
    "lower case": b"post / HTTP/1.0\r\n" + BODY,
    "tls": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\x5a" * 3000,
    "8 kB without a line end": b"A" * 8192,
}


@pytest.mark.parametrize("name", FOREIGN)
def test_u86_foreign_protocol(server, talk, name):
    talk.set(b"canary", b"1")
    with server.connect() as other:
        other.send(FOREIGN[name])
        other.expect_close()
    assert talk.get(b"canary") == b"1"


def test_u86_host_line_first(server, talk):
    """A header line alone looks like any unknown command (and its answer may
    be lost); the request line behind it ends the connection before the body.
    """
    talk.set(b"canary", b"1")
    with server.connect() as other:
        other.send(b"Host: x\r\nPOST / HTTP/1.1\r\n" + BODY)
        while other._fill():
            pass
        assert other.buffer in (b"", b"ERROR\r\n")
    assert talk.get(b"canary") == b"1"
