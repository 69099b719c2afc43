"""pylibmc (libmemcached), text mode: delete is sent with noreply."""
import pylibmc
import pytest


@pytest.fixture(params=[{}, {"cas": True}, {"no_block": True,
                                            "tcp_nodelay": True}],
                ids=["plain", "cas", "no_block"])
def client(request, empty):
    client = pylibmc.Client([f"127.0.0.1:{empty.port}"], binary=False,
                            behaviors=request.param)
    yield client
    client.disconnect_all()


def test_round(client):
    assert client.set("k", "value") and client.get("k") == "value"
    assert client.get("none") is None
    assert client.set_multi({"a": 1, "b": b"2", "c": [3]}) == []
    assert client.get_multi(["a", "b", "c", "none"]) == {
        "a": 1, "b": b"2", "c": [3]}
    assert client.add("a", 5) is False and client.add("new", 5) is True
    assert client.replace("none", 5) is False
    assert client.append("b", b"0") and client.prepend("b", b"1")
    assert client.get("b") == b"120"
    assert client.incr("a", 9) == 10 and client.decr("a") == 9
    assert client.get("a") == 9
    with pytest.raises(pylibmc.NotFound):
        client.incr("none")
    assert client.touch("a", 1000) is True
    assert client.touch("none", 1000) is False
    assert client.delete("a") is True
    assert client.get("a") is None
    assert client.delete_multi(["b", "c"]) is True
    client.set("dead", 1, time=2592001)
    assert client.get("dead") is None
    assert client.flush_all() is True
    assert client.get("k") is None


def test_cas(client):
    if not client.behaviors["cas"]:
        client.behaviors = {**client.behaviors, "cas": True}
    client.set("k", 1)
    value, cas = client.gets("k")
    assert value == 1
    assert client.cas("k", 2, cas) is True
    assert client.cas("k", 3, cas) is False
    assert client.get("k") == 2


def test_many_keys(client):
    items = {f"key{i}": "x" * i for i in range(500)}
    assert client.set_multi(items) == []
    assert client.get_multi(list(items)) == items


def test_stats(client, empty):
    (_, stats), = client.get_stats()
    assert stats["pid"] == str(empty.pid).encode()
