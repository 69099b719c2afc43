"""The process: signals, options, daemon mode, users, what it logs.

Exit statuses are those of sysexits.h: 64 for a command line that cannot be
used, 67 for an unknown user, 71 for an address that cannot be had.
"""
import os
import re
import signal
from pathlib import Path

import pytest

from harness.files import program_for_everyone
from harness.script import ours_only
from harness.server import REFERENCE, STOP_S, run_to_end, user_options
from harness.wait import within

only_root_can = pytest.mark.skipif(os.geteuid() != 0,
                                   reason="needs root, to change users")


# ---- signals ------------------------------------------------------------

@pytest.mark.parametrize("number", [
    signal.SIGTERM, signal.SIGINT, signal.SIGUSR1], ids=lambda n: n.name)
def test_signal_ends_it_cleanly(new_server, number):
    server = new_server()
    with server.connect() as talk:
        talk.set(b"k", b"1")
        server.signal(number)
        assert server.wait() == 0
        talk.expect_close()


@ours_only
def test_threads_have_names(new_server):
    server = new_server("-t", "2")
    server.stats()  # the last of them runs
    names = {path.read_text().strip() for path in
             Path(f"/proc/{server.pid}/task").glob("*/comm")}
    assert names == {
        "memcachedb", "worker 0", "worker 1", "writer", "flusher", "maint",
        "spare", "sweep", "jobs"}


def test_hup_does_not_end_it(new_server):
    if REFERENCE:
        pytest.skip("needs -o sig_hup")
    server = new_server()
    with server.connect() as talk:
        for _ in range(3):
            server.signal(signal.SIGHUP)
            talk.expect_silence()


def stop_in_a_pipeline(server):
    with server.connect() as talk:
        sets = b"".join(b"set k%d 0 0 1\r\n1\r\n" % i for i in range(2000))
        talk.send(sets)
        talk.expect(b"STORED\r\n")
        server.signal(signal.SIGTERM)
        assert server.wait() == 0
        answered = 1
        while talk.buffer.startswith(b"STORED\r\n") or talk._fill():
            if talk.buffer.startswith(b"STORED\r\n"):
                talk.expect(b"STORED\r\n")
                answered += 1
    server.start()
    with server.connect() as talk:
        assert all(talk.get(b"k%d" % i) == b"1" for i in range(answered))


@ours_only
def test_term_drains_what_was_read(new_server):
    """Every write is either answered and kept, or not answered."""
    within(STOP_S, lambda: stop_in_a_pipeline(new_server()))


def test_term_does_not_wait_for_idle_or_stuck_clients(new_server):
    server = new_server()
    with server.connect() as idle, server.connect() as half, \
            server.connect() as unread:
        idle.expect_silence()
        half.send(b"set k 0 0 100\r\nabc")
        unread.set(b"big", b"x" * 1_000_000)
        unread.send(b"get big\r\n" * 100)
        assert server.terminate() == 0


# ---- options ------------------------------------------------------------

@ours_only
def test_help_and_version():
    for option in "-h", "--help":
        status, out, err = run_to_end(option)
        assert (status, err) == (0, "")
        for word in ("--port", "--unix-socket", "--data-dir", "--sync",
                     "--memory-limit", "21201"):
            assert word in out
    for option in "-V", "--version":
        status, out, err = run_to_end(option)
        assert (status, err) == (0, "")
        assert re.fullmatch(r"memcachedb \d+\.\d+\.\d+\n", out)
    status, out, err = run_to_end("-i")
    assert status == 0 and out and not err


BAD_OPTIONS = {
    "unknown letter": ["-?"],
    "unknown name": ["--no-such-option"],
    "unknown -o name": ["-o", "no_such_option"],
    "missing value": ["-p"],
    "stray word": ["stray"],
    "port text": ["-p", "http"],
    "port too large": ["-p", "65536"],
    "port negative": ["-p", "-2"],
    "port with junk": ["-p", "1x"],
    "port empty": ["-p", ""],
    "threads 0": ["-t", "0"],
    "threads text": ["-t", "many"],
    "threads too many": ["-t", "1000000"],
    "connections 0": ["-c", "0"],
    "connections negative": ["-c", "-5"],
    "memory 0": ["-m", "0"],
    "memory text": ["-m", "lots"],
    "memory huge": ["-m", "99999999999999999999"],
    "memory unit": ["-m", "64q"],
    "item size small": ["-I", "10"],
    "item size huge": ["-I", "2000m"],
    "item size over half of the memory": ["-I", "48m", "-m", "64"],
    "socket mode": ["-a", "9z"],
    "address empty": ["-l", ""],
    "address port": ["-l", "127.0.0.1:99999"],
    "sync mode": ["--sync=sometimes"],
    "sync interval": ["--sync=interval:-1"],
    "page size": ["-A", "5000"],
    "access method": ["-B", "heap"],
    "idle timeout": ["-o", "idle_timeout=soon"],
    "idle timeout missing": ["-o", "idle_timeout="],
    "protocol": ["--protocol=carrier-pigeon"],
    "udp": ["-U", "65536"],
    "udp and sasl": ["-U", "11211", "-S"],
    "udp and auth file": ["-U", "11211", "-Y", "passwords"],
    "trickle percent": ["-e", "101"],
    "checkpoint": ["-C", "x"],
    "data file with folder": ["-f", "a/b"],
    "tls": ["-Z"],
    "sasl and auth file": ["-S", "-Y", "passwords"],
    "sasl in text": ["-S", "--protocol=ascii"],
    "auth file in binary": ["-Y", "passwords", "--protocol=binary"],
    "read-only user": ["--read-only-user=somebody"],
    "replication": ["-R", "127.0.0.1:31211"],
}


@ours_only
@pytest.mark.parametrize("name", BAD_OPTIONS)
def test_bad_options_give_one_line_and_status_64(tmp_path, name):
    status, out, err = run_to_end(*user_options(), "-H", tmp_path / "data",
                                  "-p", "-1", *BAD_OPTIONS[name])
    assert (status, out) == (64, "")
    assert re.fullmatch(r"memcachedb: [ -~]+\n", err), err
    assert not (tmp_path / "data").exists()


@ours_only
def test_option_with_control_bytes_is_shown_escaped(tmp_path):
    status, _, err = run_to_end(*user_options(), "-t", "1\x1b[2J\n2",
                                cwd=tmp_path)
    assert status == 64
    assert re.fullmatch(r"memcachedb: [ -~]+\n", err), err


@ours_only
def test_old_options_are_accepted_with_a_warning(new_server):
    server = new_server("-o", "slab_reassign,slab_automove,hashpower=20",
                        "-T", "30", "-E", "--disable-evictions",
                        "-o", "relaxed_privileges")
    warnings = [line for line in server.stderr().splitlines()
                if "slab_reassign" in line]
    assert len(warnings) == 1 and "hashpower" in warnings[0]
    assert "relaxed_privileges" not in server.stderr()


# ---- users --------------------------------------------------------------

@only_root_can
def test_root_must_say_so(tmp_path):
    status, _, err = run_to_end("-p", "-1", cwd=tmp_path)
    assert status == 64, err
    assert "root" in err and "-u" in err
    assert list(tmp_path.iterdir()) == []


@only_root_can
def test_unknown_user(tmp_path):
    status, _, err = run_to_end("-p", "-1", "-u", "no_such_user_", cwd=tmp_path)
    assert status == 67
    assert "no_such_user_" in err


@only_root_can
@ours_only
def test_becomes_another_user(new_server):
    server = new_server()
    server.terminate()
    for path in [server.dir, server.home, *server.home.iterdir()]:
        os.chown(path, 65534, 65534)
    server.options += ["-u", "nobody"]
    server.start()
    with server.connect() as talk:
        talk.set(b"k", b"1")
    status = open(f"/proc/{server.pid}/status").read()
    assert re.search(r"^Uid:\t65534\t65534\t65534\t65534$", status, re.M)
    assert re.search(r"^Gid:\t65534\t65534\t65534\t65534$", status, re.M)


@only_root_can
@ours_only
def test_directory_without_permission(open_directory):
    home = open_directory / "data"
    home.mkdir(mode=0o700)
    status, _, err = run_to_end(
        "-p", "-1", "-H", home, cwd="/", user=65534, group=65534,
        executable=program_for_everyone(open_directory))
    assert status == 73
    assert str(home) in err and len(err.splitlines()) == 1
    assert list(home.iterdir()) == []


# ---- what it says -------------------------------------------------------

@ours_only
def test_start_line_says_where_and_how_durable(new_server):
    server = new_server()
    line = next(line for line in server.stderr().splitlines()
                if "serving" in line)
    for what in f"127.0.0.1:{server.port}", str(server.home), "always":
        assert what in line


@ours_only
def test_logs_show_keys_escaped_and_never_values(new_server):
    server = new_server("-vv")
    with server.connect() as talk:
        talk.set(b"key-\x1b[2J-\xff", b"a-secret-value")
        talk.ask(b"set key-\x07 0 0 16\r\nanother-secret..\r\n", b"STORED\r\n")
        talk.ask(b"set k 0 0 1\r\nbad-secret-chunk\r\n",
                 b"CLIENT_ERROR bad data chunk\r\n")
        talk.line()
    assert server.terminate() == 0
    log = server.stderr_path.read_bytes()
    assert b"key-" in log
    assert b"secret" not in log
    assert re.fullmatch(rb"[\n -~]*", log)


@ours_only
def test_quiet_by_default(new_server):
    """Without -v: some lines about the start, none about clients."""
    server = new_server()
    before = server.stderr()
    with server.connect() as talk:
        talk.set(b"k", b"1")
        talk.ask(b"nonsense\r\n", b"ERROR\r\n")
    assert server.stderr() == before
