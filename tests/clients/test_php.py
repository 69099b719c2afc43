"""PHP's clients, both of them, and their session handlers (U25, U28)."""
import pytest

from conftest import HERE, QUICK, run_program
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
    until the first is acknowledged: with memcached that takes 40 ms (U28). By
    turns with one that does not hold it back, whatever else takes its time."""
    run_program("php", "-r", r"""
        function connect($no_delay) {
            global $argv;
            $m = new Memcached();
            $m->setOption(Memcached::OPT_BINARY_PROTOCOL, true);
            $m->setOption(Memcached::OPT_TCP_NODELAY, $no_delay);
            $m->setOption(Memcached::OPT_POLL_TIMEOUT,
                          getenv("PATIENCE_S") * 1000);
            $m->addServer($argv[1], (int)$argv[2]);
            return $m;
        }
        function miss($m) {
            $start = hrtime(true);
            if ($m->get("none") !== false)
                echo "found\n";
            return hrtime(true) - $start;
        }
        [$plain, $no_delay] = [connect(false), connect(true)];
        for ($i = $ns = 0; $i < 500; $i++)
            $ns += miss($plain) - miss($no_delay);
        echo $ns / 500 < 20e6 ? "ok\n" : "takes $ns ns longer\n";""",
        "--", "127.0.0.1", empty.port)


def session(name, handler, dialect, *option):
    return pytest.param(handler, option, marks=client(name, dialect),
                        id=f"{handler}-{dialect}")


@pytest.mark.parametrize("handler,option", [
    session("php-memcached", "memcached", BINARY),
    session("php-memcached", "memcached", TEXT,
            "memcached.sess_binary_protocol"),
    session("php-memcache", "memcache", TEXT)])
def test_session(new_server, handler, option):
    """Defaults: binary for php-memcached, locks for both."""
    run_program("php", HERE / "php_session.php", "127.0.0.1",
                new_server(*QUICK).port, handler, *option)
