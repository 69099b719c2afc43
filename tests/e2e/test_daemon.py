"""-d and -P: in the background, with the shell told how the start went."""
import os
import signal

from harness.daemon import Daemon
from harness.script import ours_only
from harness.server import run_to_end, user_options
from harness.wait import wait_until

pytestmark = ours_only  # memcached: relative paths break, pidfiles stay


def test_daemon(tmp_path):
    with Daemon(tmp_path) as daemon:
        with daemon.connect() as talk:
            talk.set(b"k", b"1")
            assert talk.stats()["pid"] == str(daemon.pid)
        for fd in 0, 1, 2:
            assert os.readlink(f"/proc/{daemon.pid}/fd/{fd}") == "/dev/null"
        assert os.getsid(daemon.pid) != os.getsid(0)
        daemon.end()
        assert not daemon.pidfile.exists()


def test_daemon_keeps_its_data(tmp_path):
    with Daemon(tmp_path) as daemon, daemon.connect() as talk:
        assert os.readlink(f"/proc/{daemon.pid}/cwd") == "/"
        talk.set(b"k", b"1")
    with Daemon(tmp_path) as daemon, daemon.connect() as talk:
        assert talk.get(b"k") == b"1"


def test_failed_start_is_told_to_the_shell(tmp_path):
    """One line and the status, as in the foreground; no pidfile is left."""
    (tmp_path / "data").write_text("a file where the directory should be")
    status, _, err = run_to_end("-d", "-P", "pid", "-p", "-1", *user_options(),
                                cwd=tmp_path)
    assert status not in (0, 64) and status > 0
    assert "data" in err and len(err.splitlines()) == 1
    assert not (tmp_path / "pid").exists()


def test_bad_option_is_told_to_the_shell(tmp_path):
    status, _, err = run_to_end("-d", "-t", "none", *user_options(),
                                cwd=tmp_path)
    assert status == 64 and len(err.splitlines()) == 1


def test_pidfile_in_the_foreground(new_server, tmp_path):
    server = new_server("-P", tmp_path / "pid")
    assert int((tmp_path / "pid").read_text()) == server.pid
    assert server.terminate() == 0
    assert not (tmp_path / "pid").exists()


def test_stale_pidfile_is_replaced(new_server, tmp_path):
    (tmp_path / "pid").write_text("999999\n")
    server = new_server("-P", tmp_path / "pid")
    assert int((tmp_path / "pid").read_text()) == server.pid


def test_log_file_takes_over_once_ready(tmp_path):
    log = tmp_path / "server.log"
    with Daemon(tmp_path, "--log-file=server.log") as daemon:
        assert "serving" in log.read_text()
        log.rename(tmp_path / "old.log")
        os.kill(daemon.pid, signal.SIGHUP)
        wait_until(lambda: log.exists() and "again" in log.read_text(),
                   "the new log file")
        daemon.end()
    assert "stopped" in log.read_text()
    assert "stopped" not in (tmp_path / "old.log").read_text()


def test_log_file_that_cannot_be_opened(tmp_path):
    status, _, err = run_to_end("-d", "-p", "-1", "--log-file=no/such/log",
                                *user_options(), cwd=tmp_path)
    assert status == 73 and "no/such/log" in err
