"""PHP's clients, both of them, and their session handlers (U25, U28)."""
import pytest

from conftest import HERE, run_program
from harness.script import ours_only
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


@ours_only
@client("php-memcached", BINARY)
def test_quiet_misses(empty):
    """Each is two small packets, and the client's kernel holds back the second
    until the first is acknowledged: with memcached that takes 40 ms (U28), and
    so many would not end in time."""
    run_program("php", "-r", r"""
        $m = new Memcached();
        $m->setOption(Memcached::OPT_BINARY_PROTOCOL, true);
        $m->addServer($argv[1], (int)$argv[2]);
        for ($i = 0; $i < 6000; $i++)
            if ($m->get("none") !== false)
                echo "found\n";
        echo "ok\n";""", "--", "127.0.0.1", empty.port)


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
