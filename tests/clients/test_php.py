"""PHP's clients, both of them, and their session handlers (U25, U28)."""
import pytest

from conftest import HERE, run_program
from known import BINARY, TEXT, client


def both(name):
    return pytest.mark.parametrize("dialect", [
        pytest.param(dialect, marks=client(name, dialect))
        for dialect in (TEXT, BINARY)])


@both("php-memcached")
def test_php_memcached(hold_round, dialect):
    hold_round("php", HERE / "php_memcached.php", dialect=dialect)


@both("php-memcache")
def test_php_memcache(hold_round, dialect):
    hold_round("php", HERE / "php_memcache.php", dialect=dialect)


def session(name, handler, dialect, *option):
    return pytest.param(handler, option, marks=client(name, dialect),
                        id=f"{handler}-{dialect}")


@pytest.mark.parametrize("handler,option", [
    session("php-memcached", "memcached", BINARY),
    session("php-memcached", "memcached", TEXT,
            "memcached.sess_binary_protocol"),
    session("php-memcache", "memcache", TEXT)])
def test_session(empty, handler, option):
    """Defaults: binary for php-memcached, locks for both."""
    run_program("php", HERE / "php_session.php", "127.0.0.1", empty.port,
                handler, *option)
