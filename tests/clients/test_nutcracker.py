"""nutcracker (twemproxy) in front of two servers.

For a store that keeps its data the proxy must not eject hosts: an ejected key
would come home to stale data. So auto_eject_hosts is false.

Servers have sockets with names: a port may be somebody else's when its server
comes back.
"""
import socket
import subprocess

import pytest
from pymemcache.client.base import Client

from harness.script import ours_only
from harness.server import on_free_port
from harness.wait import DEADLINE_S, wait_until
from known import TEXT, client as about

pytestmark = about("nutcracker", TEXT)

CONFIG = """\
store:
  listen: {socket}
  hash: fnv1a_64
  distribution: ketama
  auto_eject_hosts: false
  redis: false
  timeout: {timeout_ms}
  servers:
   - {servers[0].socket_path}:1 first
   - {servers[1].socket_path}:1 second
"""


def accepts(path):
    with socket.socket(socket.AF_UNIX) as sock:
        return sock.connect_ex(str(path)) == 0


def run_proxy(directory, port):
    """Starts it. Its statistics must have a port."""
    log = directory / "nutcracker.log"
    proxy = subprocess.Popen(
        ["nutcracker", "-c", directory / "nutcracker.yml", "-o", log, "-p",
         directory / "nutcracker.pid", "-a", "127.0.0.1", "-s", str(port)],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def is_up():
        assert proxy.poll() is None, log.read_text()
        return accepts(directory / "proxy")
    wait_until(is_up, "nutcracker listens")
    return proxy


@pytest.fixture
def proxied(new_server):
    """(a client of the proxy, the two servers)"""
    servers = [new_server(unix=True), new_server(unix=True)]
    directory = servers[0].dir
    path = directory / "proxy"
    (directory / "nutcracker.yml").write_text(CONFIG.format(
        socket=path, servers=servers, timeout_ms=DEADLINE_S * 1000))
    proxy = on_free_port(lambda port: run_proxy(directory, port))
    try:
        client = Client(str(path), default_noreply=False, timeout=DEADLINE_S,
                        connect_timeout=DEADLINE_S)
        yield client, servers
        client.close()
    finally:
        proxy.terminate()
        proxy.wait(DEADLINE_S)


def test_round(proxied):
    client, servers = proxied
    items = {f"key{i}": b"v%d" % i for i in range(200)}
    assert client.set_many(items) == []
    assert client.get_many(list(items) + ["none"]) == items
    counts = [int(server.stats()["curr_items"]) for server in servers]
    assert sum(counts) == 200 and min(counts) > 0
    assert client.get("key1") == b"v1"
    assert client.add("key1", b"2") is False
    assert client.replace("none", b"2") is False
    assert client.append("key1", b"+") and client.prepend("key1", b"-")
    assert client.get("key1") == b"-v1+"
    value, cas = client.gets("key2")
    assert client.cas("key2", b"new", cas) is True
    assert client.cas("key2", b"newer", cas) is False
    assert client.cas("none", b"1", cas) is None
    client.set("n", b"10")
    assert client.incr("n", 5) == 15 and client.decr("n", 2) == 13
    assert client.get("n") == b"13"
    assert client.touch("n", 1000) is True
    assert client.touch("none", 1000) is False
    assert client.delete("n") is True and client.delete("n") is False
    assert client.set("dead", b"1", expire=2592001) is True  # in 1970
    assert client.get("dead") is None
    assert client.set("quiet", b"1", noreply=True) is True
    assert client.get("quiet") == b"1"
    large = b"x" * 500_000
    assert client.set("large", large) and client.get("large") == large


@ours_only
def test_server_that_comes_back(proxied):
    """Killed and started again, its keys are where they were."""
    client, servers = proxied
    items = {f"key{i}": b"v%d" % i for i in range(50)}
    assert client.set_many(items) == []
    servers[0].kill9()
    servers[0].start()

    def all_there():
        try:
            return client.get_many(list(items)) == items
        except Exception:  # the proxy reports the lost connection once
            client.close()
            return False
    wait_until(all_there, "all keys are served again")
