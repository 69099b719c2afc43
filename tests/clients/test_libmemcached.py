"""The C library libmemcached; the checks are in libmemcached.c."""
import pytest

from conftest import HERE, prepared, run_compiler, run_program
from harness.wait import wait_until
from known import BINARY, TEXT, client

BOTH = pytest.mark.parametrize("dialect", [
    pytest.param(TEXT, marks=client("libmemcached", TEXT)),
    pytest.param(BINARY, marks=client("libmemcached", BINARY))])


def compiled(name):
    source = HERE / f"{name}.c"
    return prepared(name, [source], lambda target: run_compiler(
        "gcc", "-std=c11", "-D_DEFAULT_SOURCE", "-Wall", "-Wextra", "-Werror",
        "-o", target, source, "-lmemcached"))


@BOTH
def test_round(hold_round, dialect):
    hold_round(compiled("libmemcached"), dialect=dialect)


@client("libmemcached", TEXT)
def test_writes_by_udp(new_server):
    server = new_server("-U", "-1")
    run_program(compiled("libmemcached_udp"), *server.udp_addresses[0])
    items = {b"key%d" % i: b"key%d" % i for i in range(50)}
    items |= {b"key2": b"key2+", b"key3": b"-key3", b"key4": b"new",
              b"key5": None, b"last": b"1"}
    with server.connect() as talk:
        wait_until(lambda: talk.get(b"last"), "the last datagram")
        assert {key: talk.get(key) for key in items} == items
