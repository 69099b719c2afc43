"""Where it listens: TCP addresses, IPv6, UNIX sockets."""
import os
import socket
import stat
import subprocess

import pytest

from harness.files import sockets_of
from harness.script import ours_only
from harness.server import (DEADLINE_S, REFERENCE, find_program,
                            on_free_port, run_to_end, user_options)
from harness.wait import wait_until


def has_ipv6():
    try:
        with socket.socket(socket.AF_INET6) as sock:
            sock.bind(("::1", 0))
        return True
    except OSError:
        return False


def exchange(server, address):
    with server.connect(address) as talk:
        talk.ask(b"set k 0 0 1\r\n1\r\nget k\r\n",
                 b"STORED\r\nVALUE k 0 1\r\n1\r\nEND\r\n")


@pytest.mark.parametrize("how", [
    ("-l", "127.0.0.1,127.0.0.2"), ("-l", "127.0.0.1", "-l", "127.0.0.2")],
    ids=["commas", "repeated"])
def test_several_addresses(new_server, how):
    server = new_server(listen=how)
    assert len(server.addresses) == 2
    exchange(server, ("127.0.0.1", server.addresses[0][1]))
    exchange(server, ("127.0.0.2", server.addresses[1][1]))


def test_address_with_port(new_server):
    def start(port):
        return port, new_server(listen=("-l", f"127.0.0.1:{port}"))
    port, server = on_free_port(start)
    assert server.addresses == [("127.0.0.1", port)]
    exchange(server, None)


@ours_only
def test_ipv6(new_server):
    """Served where the machine has IPv6, clearly refused where not."""
    if has_ipv6():
        server = new_server(listen=("-l", "127.0.0.1", "-l", "[::1]"))
        families = sorted(address for address, _ in server.addresses)
        assert families == ["127.0.0.1", "::1"]
        for address in server.addresses:
            exchange(server, address)
        assert any("tcp6:[::1]" in value for value
                              in server.stats("conns").values())
    else:
        status, _, stderr = run_to_end("-p", -1, "-l", "::1", *user_options())
        assert status not in (0, -6, -11) and "::1" in stderr


def test_address_in_use_is_refused(server, tmp_path):
    status, _, stderr = run_to_end(
        "-p", server.port, "-l", "127.0.0.1", *user_options(), cwd=tmp_path)
    assert status > 0
    assert "Address already in use" in stderr


@ours_only
def test_default_address_is_loopback(new_server):
    server = new_server(listen=())
    assert {address for address, _ in server.addresses} <= {"127.0.0.1", "::1"}
    listening = [words[1] for table in ("tcp", "tcp6")
                 for words in sockets_of(server.pid, table)
                 if words[3] == "0A"]
    assert listening == [f"0100007F:{server.port:04X}"]


def test_no_port_at_all(tmp_path):
    """It runs, as memcached does, and says that it has none."""
    ports = tmp_path / "ports"
    process = subprocess.Popen(
        [find_program(), "-p", "0", *user_options()], cwd=tmp_path,
        env={**os.environ, "MEMCACHED_PORT_FILENAME": str(ports)},
        stderr=subprocess.PIPE, text=True)
    try:
        wait_until(ports.exists, "the port file")
        assert ports.read_text() == ""
    finally:
        process.terminate()
        _, stderr = process.communicate(timeout=DEADLINE_S)
    assert process.returncode == 0
    assert REFERENCE or "warning: -p 0 without -s or -U" in stderr


def test_unix_socket(new_server):
    server = new_server(unix=True)
    mode = os.stat(server.socket_path).st_mode
    assert stat.S_ISSOCK(mode) and stat.S_IMODE(mode) == 0o700
    exchange(server, None)
    stats = server.stats()
    assert stats["pid"] == str(server.pid)
    settings = server.stats("settings")
    assert settings["domain_socket"] == str(server.socket_path)
    assert any(value == f"unix:{server.socket_path}"
               for value in server.stats("conns").values())
    assert not server.port_file.exists()  # -s turns TCP off


def test_unix_socket_mode(new_server):
    server = new_server("-a", "0666", unix=True)
    assert stat.S_IMODE(os.stat(server.socket_path).st_mode) == 0o666
    assert server.stats("settings")["umask"] == "666"


def test_stale_unix_socket_is_replaced(new_server):
    server = new_server(unix=True)
    server.kill9()
    assert server.socket_path.exists()
    server.start()
    exchange(server, None)


@ours_only
def test_unix_socket_is_removed_at_the_end(new_server):
    server = new_server(unix=True)
    assert server.terminate() == 0
    assert not server.socket_path.exists()


@ours_only
def test_file_that_is_no_socket_is_left_alone(tmp_path):
    path = tmp_path / "precious"
    path.write_text("data")
    status, _, stderr = run_to_end("-s", path, "-H", tmp_path / "data",
                                   *user_options())
    assert status > 0 and str(path) in stderr
    assert path.read_text() == "data"
