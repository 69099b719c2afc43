"""Which rows and servers a run has."""
from types import SimpleNamespace

import pytest

import rows as loads

SERVERS = [SimpleNamespace(name=name, protocol=protocol) for name, protocol in (
    ("memcached", "classic"), ("redis-always", "redis"),
    ("redis-everysec", "redis"), ("ours-always", "classic"),
    ("ours-write", "classic"))]


def row(name):
    return loads.choose([name], short=False)[0]


def test_names_are_unique():
    names = [each.name for each in loads.ROWS]
    assert len(set(names)) == len(names)


def test_short_form_leaves_out_dialects():
    short = loads.choose([], short=True)
    assert not any(each.dialect for each in short)
    assert len(short) < len(loads.choose([], short=False))


def test_named_rows_are_in_the_order_of_the_table():
    chosen = loads.choose(["get50", "bin-get50", "set50"], short=True)
    assert [each.name for each in chosen] == ["set50", "get50", "bin-get50"]


def test_unknown_row():
    with pytest.raises(ValueError, match="set51"):
        loads.choose(["set50", "set51"], short=True)


@pytest.mark.parametrize("name,writes,share", [
    ("set50", True, 1.0), ("mix50", True, 1.0), ("get50", False, 0.5)])
def test_reads_are_shorter_in_the_short_form(name, writes, share):
    assert row(name).writes is writes
    assert row(name).share(short=True) == share
    assert row(name).share(short=False) == 1.0


@pytest.mark.parametrize("name,servers", [
    ("set50", ["memcached", "redis-always", "redis-everysec", "ours-always",
               "ours-write"]),
    ("get50", ["memcached", "redis-always", "ours-always"]),
    ("bin-set50", ["memcached", "ours-always"])])
def test_servers_of_a_row(name, servers):
    assert [each.name for each in row(name).servers(SERVERS)] == servers
