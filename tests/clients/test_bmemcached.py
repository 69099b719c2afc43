"""bmemcached, the Python client that speaks nothing but binary."""
import bmemcached
import pytest
from bmemcached.exceptions import MemcachedException

from harness.wait import DEADLINE_S
from known import BINARY, client as about

pytestmark = [
    about("bmemcached", BINARY),
    pytest.mark.filterwarnings("ignore:urllib.parse:DeprecationWarning")]


@pytest.fixture
def client(empty):
    client = bmemcached.Client([f"127.0.0.1:{empty.port}"],
                               socket_timeout=DEADLINE_S)
    yield client
    client.disconnect_all()


def test_round(client):
    assert client.set("k", "value") and client.get("k") == "value"
    assert client.get("none") is None
    assert client.set("c", {"list": [3]})
    assert client.set_multi({"a": b"1", "b": b"2"}) == []
    assert client.get_multi(["a", "b", "c", "none"]) == {
        "a": b"1", "b": b"2", "c": {"list": [3]}}
    assert client.add("a", 5) is False and client.add("new", 5) is True
    assert client.replace("none", 5) is False and client.replace("new", 6)
    assert client.get("new") == 6
    value, cas = client.gets("k")
    assert value == "value"
    assert client.cas("k", b"other", cas) is True
    assert client.cas("k", b"late", cas) is False
    assert client.get("k") == b"other"
    assert client.delete("k") is True
    assert client.get("k") is None
    assert client.delete_multi(["a", "b"]) is True
    assert client.get_multi(["a", "b", "c"]) == {
        "c": {"list": [3]}}
    assert client.flush_all() is True
    assert client.get("c") is None


def test_numbers(client, talk):
    """A counter that is not there begins with the default, for 11 days."""
    assert client.incr("n", 5) == 0
    assert client.incr("n", 31) == 31
    assert client.decr("n", 1) == 30
    assert client.decr("n", 100) == 0
    assert client.incr("fresh", 5, default=70) == 70
    assert talk.get(b"fresh") == b"70"


def test_keys_and_values_of_any_kind(client):
    for key in "a b", "tab\t\r\n", "\u00e9\u20ac", "x" * 250:
        assert client.set(key, key) and client.get(key) == key
    for value in b"", b"\r\n", bytes(range(256)), b"x" * 500_000:
        assert client.set("k", value) and client.get("k") == value


def test_many(client):
    items = {f"key{i}": "x" * i for i in range(500)}
    assert client.set_multi(items) == []
    assert client.get_multi(list(items) + ["none"]) == items


def test_quiet_sets_that_fail(client, talk):
    """set_multi with a too large value: an answer for that one only."""
    large = bytes(range(256)) * 4097
    failed = client.set_multi({"a": b"1", "large": large, "b": b"2"},
                              compress_level=0)
    assert failed == ["large"]
    assert client.get_multi(["a", "b", "large"]) == {"a": b"1", "b": b"2"}


def test_too_large(client, after_round):
    assert client.set("large", b"x" * 500_000, compress_level=0)
    with pytest.raises(MemcachedException):
        client.set("large", b"x" * ((1 << 20) + 1), compress_level=0)
    assert client.set("brief", 1, time=1) and client.set("lasting", 1, 1000)
    after_round()


def test_stats(client, empty):
    stats, = client.stats().values()
    assert stats["pid"] == str(empty.pid).encode()
    settings, = client.stats("settings").values()
    assert settings["maxconns"] == b"1024"
