"""pylibmc (libmemcached for Python). Its delete is sent without a reply.

In binary it asks for one key with `getkq` and `noop`, and sets quietly.
"""
import pylibmc
import pytest

from harness.wait import DEADLINE_S
from known import BINARY, TEXT, client as about

PATIENCE = {"connect_timeout": DEADLINE_S * 1000,
            "_poll_timeout": DEADLINE_S * 1000}
WAYS = {"plain": {}, "cas": {"cas": True},
        "no_block": {"no_block": True, "tcp_nodelay": True}}


def connect(empty, dialect, way):
    return pylibmc.Client([f"127.0.0.1:{empty.port}"],
                          binary=dialect == BINARY,
                          behaviors={**PATIENCE, **WAYS[way]})


@pytest.fixture(params=[pytest.param(dialect, marks=about("pylibmc", dialect))
                        for dialect in (TEXT, BINARY)])
def dialect(request):
    return request.param


@pytest.fixture(params=WAYS)
def client(request, empty, dialect):
    client = connect(empty, dialect, request.param)
    yield client
    client.disconnect_all()


def test_round(client, dialect):
    assert client.set("k", "value") and client.get("k") == "value"
    assert client.get("none") is None
    assert client.set_multi({"a": 1, "b": b"2", "c": [3]}) == []
    assert client.get_multi(["a", "b", "c", "none"]) == {
        "a": 1, "b": b"2", "c": [3]}
    assert client.add("a", 5) is False and client.add("new", 5) is True
    if dialect == BINARY:
        with pytest.raises(pylibmc.NotFound):
            client.replace("none", 5)
    else:
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


def test_cas(empty, dialect):
    client = connect(empty, dialect, "cas")
    client.set("k", 1)
    value, cas = client.gets("k")
    assert value == 1
    assert client.cas("k", 2, cas) is True
    assert client.cas("k", 3, cas) is False
    assert client.get("k") == 2
    client.disconnect_all()


def test_many_keys(client):
    items = {f"key{i}": "x" * i for i in range(500)}
    assert client.set_multi(items) == []
    assert client.get_multi(list(items)) == items


def test_too_large(client, after_round):
    assert client.set("large", b"x" * 500_000)
    with pytest.raises(pylibmc.Error):
        client.set("large", b"x" * ((1 << 20) + 1))
    assert client.get("none") is None
    assert client.set("brief", 1, time=1) and client.set("lasting", 1, 1000)
    after_round()


def test_stats(client, empty):
    (_, stats), = client.get_stats()
    assert stats["pid"] == str(empty.pid).encode()
