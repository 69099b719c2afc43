"""python3-memcache: trailing blanks, pipelined sets, asks stats groups."""
import memcache
import pytest

from harness.wait import DEADLINE_S
from known import TEXT, client as about

pytestmark = about("python-memcached", TEXT)


@pytest.fixture
def client(empty):
    client = memcache.Client([f"127.0.0.1:{empty.port}"], debug=0,
                             cache_cas=True, socket_timeout=DEADLINE_S)
    yield client
    client.disconnect_all()


def test_round(client):
    assert client.set("k", "value") and client.get("k") == "value"
    assert client.get("none") is None
    assert client.set_multi({"a": 1, "b": b"2"}) == []
    assert client.get_multi(["a", "b", "none"]) == {"a": 1, "b": b"2"}
    assert not client.add("a", 5) and client.add("new", 5)
    assert not client.replace("none", 5) and client.replace("new", 6)
    client.set("text", "b")
    assert client.append("text", "c") and client.prepend("text", "a")
    assert client.get("text") == "abc"
    assert client.incr("a", 9) == 10 and client.decr("a", 20) == 0
    assert client.incr("none") is None
    assert client.touch("a", 1000)
    assert client.gets("a") == 0
    assert client.cas("a", 7) and client.get("a") == 7
    assert client.delete("a") and client.get("a") is None
    assert client.delete_multi(["b", "none"])
    client.flush_all()
    assert client.get("k") is None


def test_cas_conflict(client, empty):
    client.set("k", 1)
    assert client.gets("k") == 1
    with empty.connect() as other:
        other.set(b"k", b"2")
    assert not client.cas("k", 3)


def test_stats(client, empty):
    (_, stats), = client.get_stats()
    assert stats["pid"] == str(empty.pid)
    (_, settings), = client.get_stats("settings")
    assert settings["maxconns"] == "1024"
