"""pymemcache: noreply is its default for writes; U7 broke it elsewhere."""
import pytest
from pymemcache.client.base import Client
from pymemcache.exceptions import MemcacheServerError, MemcacheUnknownError

from harness.script import differs
from harness.wait import DEADLINE_S
from known import TEXT, client as about

pytestmark = about("pymemcache", TEXT)


@pytest.fixture(params=[True, False], ids=["noreply", "replies"])
def client(request, empty):
    client = Client(("127.0.0.1", empty.port), timeout=DEADLINE_S,
                    connect_timeout=DEADLINE_S,
                    default_noreply=request.param)
    yield client
    client.close()


def test_round(client):
    assert client.set("k", b"value") and client.get("k") == b"value"
    assert client.get("none") is None
    assert client.set_many({"a": b"1", "b": b"2"}) == []
    assert client.get_many(["a", "b", "none"]) == {"a": b"1", "b": b"2"}
    assert client.append("a", b"0") and client.prepend("b", b"9")
    assert client.get_many(["a", "b"]) == {"a": b"10", "b": b"92"}
    client.add("a", b"other")
    client.replace("none", b"other")
    assert client.get_many(["a", "none"]) == {"a": b"10"}
    client.replace("a", b"20")
    assert client.incr("a", 5, noreply=False) == 25
    assert client.decr("a", 30, noreply=False) == 0
    assert client.incr("none", 1, noreply=False) is None
    client.touch("a", 1000)
    client.delete("a")
    client.delete_many(["b", "none"])
    assert client.get_many(["a", "b", "k"]) == {"k": b"value"}
    client.set("dead", b"1", expire=-1)
    assert client.get("dead") is None
    client.flush_all()
    assert client.get("k") is None
    client.quit()


def test_answers(client):
    def ask(method, *words):
        return getattr(client, method)(*words, noreply=False)
    assert ask("add", "k", b"1") is True
    assert ask("add", "k", b"2") is False
    assert ask("replace", "none", b"2") is False
    assert ask("append", "none", b"2") is False
    assert ask("touch", "k", 100) is True
    assert ask("touch", "none", 100) is False
    assert ask("delete", "none") is False
    assert ask("flush_all", 0) is True
    assert client.get("k") is None


def test_cas(client):
    client.set("k", b"1", noreply=False)
    value, cas = client.gets("k")
    assert value == b"1"
    assert client.cas("k", b"2", cas) is True
    assert client.cas("k", b"3", cas) is False
    assert client.cas("none", b"3", cas) is None
    assert client.gets_many(["k"])["k"][0] == b"2"


def test_version_and_stats(client, empty):
    assert len(client.version().split(b".")) == 3
    stats = client.stats()
    assert stats[b"pid"] == empty.pid
    assert client.stats("settings")[b"item_size_max"] == 1 << 20
    assert client.stats("slabs")


@differs("memcached deletes the old value")
def test_too_large(client):
    client.set("k", b"old", noreply=False)
    with pytest.raises((MemcacheServerError, MemcacheUnknownError)):
        client.set("k", b"x" * ((1 << 20) + 1), noreply=False)
    assert client.get("k") == b"old"


def test_odd_values(client):
    for value in b"", b"\r\n", b"END\r\n", bytes(range(256)), b"x" * 100_000:
        client.set("k", value)
        assert client.get("k") == value
