"""How servers are run, as far as it can be seen without running one."""
from types import SimpleNamespace

import pytest

import servers as fleet

SETTINGS = SimpleNamespace(host="127.0.0.1", threads=2, cache=512,
                           memcached="sh", redis="sh", program="sh")


def make(name, home="data", **more):
    return fleet.make(name, str(home), SETTINGS, **more)


@pytest.mark.parametrize("name,words", [
    ("memcached", ["-m 512"]),
    ("redis-always", ["--maxmemory 512mb", "--appendfsync always"]),
    ("redis-everysec", ["--maxmemory 512mb", "--appendfsync everysec"]),
    ("ours-always", ["-m 256 --item-cache=256m", "--sync=always"]),
    ("ours-interval", ["-m 256 --item-cache=256m", "--sync=interval:1000"])])
def test_all_get_the_same_memory(name, words):
    line = " ".join(make(name).arguments())
    assert all(word in line for word in words)


def test_a_cache_of_its_own():
    line = " ".join(make("ours-always", cache=9).arguments())
    assert "-m 4 --item-cache=5m" in line


def test_a_program_that_is_not_there_is_noted():
    settings = SimpleNamespace(**{**vars(SETTINGS), "redis": "/no/such"})
    servers, notes = fleet.choose(settings, "folder",
                                  ["memcached", "redis-always"])
    assert [server.name for server in servers] == ["memcached"]
    assert notes == ["redis-always: its program is not here"]


@pytest.mark.parametrize("name,logs,data", [
    ("ours-always", ["log.0000000001", "log.0000000012", "spare",
                     "spare.new"], ["data.db", "meta.db", "log.db"]),
    ("redis-always", ["dir/appendonly.aof.1.incr.aof"], ["dump.rdb"]),
    ("memcached", [], ["stderr.log"])])
def test_logs_are_told_from_data(tmp_path, name, logs, data):
    (tmp_path / "dir").mkdir()
    size = 16384
    for each in logs + data:
        (tmp_path / each).write_bytes(b"x" * size)
    assert make(name, tmp_path).disk_bytes() == {
        "data_bytes": len(data) * size, "log_bytes": len(logs) * size}
