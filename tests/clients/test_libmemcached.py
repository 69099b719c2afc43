"""The C library libmemcached; the checks are in libmemcached.c."""
import pytest

from conftest import HERE, prepared, run_compiler
from known import BINARY, TEXT, client


@pytest.fixture(scope="session")
def program():
    source = HERE / "libmemcached.c"
    return prepared("libmemcached", [source], lambda target: run_compiler(
        "gcc", "-std=c11", "-D_DEFAULT_SOURCE", "-Wall", "-Wextra", "-Werror",
        "-o", target, source, "-lmemcached"))


@pytest.mark.parametrize("dialect", [
    pytest.param(TEXT, marks=client("libmemcached", TEXT)),
    pytest.param(BINARY, marks=client("libmemcached", BINARY))])
def test_round(hold_round, program, dialect):
    hold_round(program, dialect=dialect)
