"""Data directories: shared, split, foreign, damaged.

A directory that the server cannot explain is refused with one line that names
the file, the right exit status, and every file as it was: 65 for what is in it,
73 for who may use it. It never starts empty over existing data.
"""
import os
import shutil

import pytest

from harness.files import snapshot
from harness.script import ours_only
from harness.server import run_to_end, user_options

pytestmark = ours_only

DATA, BUSY = 65, 73


def refused_start(home, *options):
    """Starts on the directory; returns (status, stderr) and checks that
    nothing in it was changed."""
    before = snapshot(home)
    status, out, err = run_to_end("-p", "-1", "-l", "127.0.0.1", "-H", home,
                                  *user_options(), *options)
    assert snapshot(home) == before
    assert status > 0 and out == ""
    errors = [line for line in err.splitlines() if line]
    assert len(errors) == 1, err
    return status, errors[0]


@pytest.fixture
def stopped(new_server):
    """A server that has stopped cleanly and left a key behind."""
    server = new_server()
    with server.connect() as talk:
        for i in range(200):
            talk.set(b"k%d" % i, b"x" * 500)
    assert server.terminate() == 0
    return server


def test_second_instance(new_server):
    server = new_server()
    with server.connect() as talk:
        talk.set(b"k", b"1")
        status, line = refused_start_of_running(server)
        assert status == BUSY and str(server.home) in line
        talk.set(b"k", b"2")
        assert talk.get(b"k") == b"2"
    server.kill9()  # the lock ends with the process
    server.start()
    with server.connect() as talk:
        assert talk.get(b"k") == b"2"


def refused_start_of_running(server):
    status, _, err = run_to_end("-p", "-1", "-l", "127.0.0.1", "-H",
                                server.home, *user_options())
    assert len(err.splitlines()) == 1, err
    return status, err


def test_directory_is_made(new_server):
    server = new_server()
    assert oct(os.stat(server.home).st_mode & 0o777) == "0o750"
    names = os.listdir(server.home)
    assert "data.db" in names and "meta.db" in names
    assert any(name.startswith("log.") for name in names)
    assert not any(name.startswith("__db.") for name in names)


def test_directory_is_a_file(tmp_path):
    (tmp_path / "data").write_text("precious")
    status, _, err = run_to_end("-p", "-1", "-H", tmp_path / "data",
                                *user_options())
    assert status in (65, 73) and str(tmp_path / "data") in err
    assert (tmp_path / "data").read_text() == "precious"


def test_parent_is_missing(tmp_path):
    status, _, err = run_to_end("-p", "-1", "-H", tmp_path / "a" / "b",
                                *user_options())
    assert status > 0 and "a/b" in err and len(err.splitlines()) == 1
    assert list(tmp_path.iterdir()) == []


def test_foreign_data_file(tmp_path):
    (tmp_path / "data.db").write_bytes(b"this is somebody else's\n" * 1000)
    status, line = refused_start(tmp_path)
    assert status == DATA and "data.db" in line


def test_foreign_files_of_other_names_do_not_matter(new_server):
    server = new_server()
    (server.home / "notes.txt").write_text("mine")
    server.restart()
    assert (server.home / "notes.txt").read_text() == "mine"


@pytest.mark.parametrize("missing", ["data.db", "meta.db", "log"])
def test_missing_file(stopped, missing):
    kept = stopped.dir / "kept"
    kept.mkdir()
    for name in os.listdir(stopped.home):
        if name.startswith(missing):
            shutil.move(stopped.home / name, kept / name)
    status, line = refused_start(stopped.home)
    assert status == DATA
    assert missing.removesuffix(".db") in line
    for name in os.listdir(kept):  # brought back, all is well
        shutil.move(kept / name, stopped.home / name)
    stopped.start()
    with stopped.connect() as talk:
        assert talk.get(b"k0") == b"x" * 500


def test_only_the_log_is_left(stopped):
    for name in "data.db", "meta.db":
        (stopped.home / name).unlink()
    status, _ = refused_start(stopped.home)
    assert status == DATA


@pytest.mark.parametrize("file", ["data.db", "meta.db"])
@pytest.mark.parametrize("damage", ["garbage", "empty", "head"])
def test_damaged_file(stopped, file, damage):
    path = stopped.home / file
    data = path.read_bytes()
    path.write_bytes({"garbage": b"\xa5" * len(data), "empty": b"",
                      "head": b"\xa5" * 64 + data[64:]}[damage])
    status, line = refused_start(stopped.home)
    assert status == DATA and file in line


def test_foreign_log_file(stopped):
    log = sorted(path for path in stopped.home.iterdir()
                 if path.name.startswith("log."))[-1]
    log.write_bytes(b"2026-01-01 something else logs here\n" * 2000)
    status, line = refused_start(stopped.home)
    assert status == DATA and log.name in line


def test_leftover_region_files_do_not_matter(stopped):
    """A MemcacheDB or a tool may have left them; ours are in memory."""
    for number in "001", "002", "003":
        (stopped.home / f"__db.{number}").write_bytes(os.urandom(8192))
    stopped.start()
    with stopped.connect() as talk:
        assert talk.get(b"k0") == b"x" * 500


def test_separate_log_directory(new_server):
    server = new_server()
    server.terminate()
    shutil.rmtree(server.home)
    logs = server.dir / "logs"
    server.options = ["-G", str(logs), "-f", "items.db"]
    server.start()
    with server.connect() as talk:
        talk.set(b"k", b"1")
    assert (server.home / "items.db").exists()
    assert any(name.startswith("log.") for name in os.listdir(logs))
    assert not any(name.startswith("log.") for name in os.listdir(server.home))
    server.kill9()
    # Without its log the data are not whole.
    status, _ = refused_start(server.home, "-f", "items.db")
    assert status == DATA
    server.start()
    with server.connect() as talk:
        assert talk.get(b"k") == b"1"


def test_wrong_data_file_name_does_not_start_empty(stopped):
    status, _ = refused_start(stopped.home, "-f", "other.db")
    assert status == DATA


def test_hash_access_method(new_server):
    server = new_server("-B", "hash", "-A", "4096")
    with server.connect() as talk:
        for i in range(500):
            talk.set(b"k%d" % i, b"v%d" % i)
    server.kill9()
    server.start()
    with server.connect() as talk:
        assert all(talk.get(b"k%d" % i) == b"v%d" % i for i in range(500))
        assert talk.stats("settings")["access_method"] == "hash"


def test_moved_directory(stopped):
    """Nothing inside remembers the path."""
    moved = stopped.dir / "elsewhere"
    shutil.move(stopped.home, moved)
    stopped.home = moved
    stopped.start()
    with stopped.connect() as talk:
        assert talk.get(b"k0") == b"x" * 500
