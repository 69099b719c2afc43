"""What is there after a stop, a kill -9 and a new start: everything."""
import os
import resource
import time

import pytest

from harness.script import ours_only
from harness.server import run_to_end, user_options
from harness.wait import expire_wait, wait_until, within

pytestmark = ours_only

ITEMS = {
    b"plain": (b"value", 0),
    b"flags": (b"x", 4294967295),
    b"empty": (b"", 7),
    b"binary": (bytes(range(256)) * 2, 1),
    b"k" * 250: (b"long key", 2),
    b"\x01\xff\t": (b"odd key", 3),
    b"large": (b"L" * (1 << 20), 4),
    b"overflow": (b"o" * 20_000, 5),
}


def stop(server, how):
    if how == "kill":
        assert server.kill9() == -9
    else:
        assert server.terminate() == 0


both_ends = pytest.mark.parametrize("how", ["term", "kill"])


@both_ends
def test_everything_is_kept(new_server, how):
    server = new_server()
    with server.connect() as talk:
        for key, (value, flags) in ITEMS.items():
            talk.set(key, value, flags)
        talk.set(b"gone", b"1")
        talk.ask(b"delete gone\r\n", b"DELETED\r\n")
        talk.set(b"n", b"99", flags=9)
        talk.ask(b"incr n 1\r\n", b"100\r\n")
        talk.ask(b"append n 0 0 1\r\n0\r\n", b"STORED\r\n")
        ids = {key: talk.cas_id(key) for key in ITEMS}
    stop(server, how)
    server.start()
    with server.connect() as talk:
        for key, (value, flags) in ITEMS.items():
            talk.ask(b"gets %s\r\n" % key,
                     b"VALUE %s %d %d %d\r\n%s\r\nEND\r\n"
                     % (key, flags, len(value), ids[key], value))
        talk.ask(b"get gone n\r\n", b"VALUE n 9 4\r\n1000\r\nEND\r\n")
        talk.ask(b"cas plain 0 0 1 %d\r\n1\r\n" % ids[b"plain"],
                 b"STORED\r\n")


@both_ends
def test_counts_are_exact_again(new_server, how):
    server = new_server()
    with server.connect() as talk:
        for i in range(100):
            talk.set(b"k%d" % i, b"x" * i)
        for i in range(0, 100, 3):
            talk.ask(b"delete k%d\r\n" % i, b"DELETED\r\n")
        before = talk.stats()
    stop(server, how)
    server.start()
    after = server.stats()
    assert after["curr_items"] == before["curr_items"] == "66"
    assert after["bytes"] == before["bytes"]
    assert after["cmd_set"] == after["total_items"] == "0"


@both_ends
def test_cas_ids_never_repeat(new_server, how):
    server = new_server()
    seen = set()
    for _ in range(4):
        with server.connect() as talk:
            for i in range(20):
                talk.set(b"k%d" % (i % 3), b"1")
                cas = talk.cas_id(b"k%d" % (i % 3))
                assert cas > max(seen, default=0)
                seen.add(cas)
            talk.ask(b"delete k0\r\n", b"DELETED\r\n")
        stop(server, how)
        server.start()


def revive(talk):
    talk.set(b"revived", b"1", exptime=2)
    talk.ask(b"touch revived 1000\r\n", b"TOUCHED\r\n")


@both_ends
def test_expiry_counts_while_down(new_server, how):
    server = new_server()
    with server.connect() as talk:
        talk.set(b"dies", b"1", exptime=1)
        talk.set(b"dies_at", b"1", exptime=int(time.time()) + 1)
        talk.set(b"touched", b"1")
        talk.ask(b"touch touched 1\r\n", b"TOUCHED\r\n")
        talk.set(b"lives", b"1", exptime=1000)
        within(2, lambda: revive(talk))
    stop(server, how)
    expire_wait(2)
    server.start()
    with server.connect() as talk:
        talk.ask(b"get dies dies_at touched lives revived\r\n",
                 b"VALUE lives 0 1\r\n1\r\nVALUE revived 0 1\r\n1\r\nEND\r\n")
        talk.ask(b"add dies 0 0 1\r\n2\r\n", b"STORED\r\n")


@both_ends
def test_flush_survives(new_server, how):
    server = new_server()
    with server.connect() as talk:
        talk.set(b"before", b"1")
        talk.ask(b"flush_all\r\n", b"OK\r\n")
        talk.set(b"after", b"1")
    stop(server, how)
    server.start()
    with server.connect() as talk:
        talk.ask(b"get before after\r\n", b"VALUE after 0 1\r\n1\r\nEND\r\n")
        assert talk.stats()["curr_items"] == "1"


@both_ends
def test_delayed_flush_survives(new_server, how):
    """It comes although the server was down when it was due."""
    server = new_server()
    with server.connect() as talk:
        def store_and_flush():
            talk.set(b"k", b"1")
            talk.ask(b"flush_all 3\r\n", b"OK\r\n")
            assert talk.get(b"k") == b"1"
        within(3, store_and_flush)
    stop(server, how)
    expire_wait(3)
    server.start()
    with server.connect() as talk:
        assert talk.get(b"k") is None
        talk.set(b"k", b"2")
        assert talk.get(b"k") == b"2"


@both_ends
def test_replaced_flush_stays_replaced(new_server, how):
    server = new_server()
    with server.connect() as talk:
        talk.ask(b"flush_all 1\r\nflush_all 1000\r\n", b"OK\r\nOK\r\n")
        talk.set(b"k", b"1")
    stop(server, how)
    expire_wait(1)
    server.start()
    with server.connect() as talk:
        assert talk.get(b"k") == b"1"


def test_kill_after_kill(new_server):
    """Five kills in a row, each right after an answer."""
    server = new_server()
    for i in range(5):
        with server.connect() as talk:
            for j in range(i):
                assert talk.get(b"k%d" % j) == b"v%d" % j
            talk.set(b"k%d" % i, b"v%d" % i)
        server.kill9()
        server.start()


@pytest.mark.parametrize("sync", ["write", "interval:50"])
def test_weaker_modes_say_so_and_keep_over_a_clean_stop(new_server, sync):
    server = new_server(f"--sync={sync}")
    with server.connect() as talk:
        assert talk.stats("settings")["sync"] == sync
        talk.set(b"k", b"1")
    server.restart()
    with server.connect() as talk:
        assert talk.get(b"k") == b"1"


def test_mode_write_keeps_over_kill(new_server):
    server = new_server("--sync=write")
    with server.connect() as talk:
        for i in range(200):
            talk.set(b"k%d" % i, b"1")
    server.kill9()
    server.start()
    with server.connect() as talk:
        assert all(talk.get(b"k%d" % i) == b"1" for i in range(200))


def test_mode_interval_is_whole_after_kill(new_server):
    """The last answers may be lost, in order; nothing is torn."""
    server = new_server("-N")
    assert server.stats("settings")["sync"] == "interval:1000"
    with server.connect() as talk:
        for i in range(300):
            talk.set(b"k%d" % i, b"v%d" % i)
    server.kill9()
    server.start()
    with server.connect() as talk:
        found = [talk.get(b"k%d" % i) for i in range(300)]
    kept = sum(value is not None for value in found)
    assert found == [b"v%d" % i for i in range(kept)] + [None] * (300 - kept)


def test_limits_may_change_at_a_restart(new_server):
    """Cache, item limit, threads; what is stored stays readable."""
    server = new_server("-m", 64, "-I", "1m", "-t", 4)
    with server.connect() as talk:
        talk.set(b"large", b"x" * 500_000)
    for options in (["-m", "8", "-I", "1k", "-t", "1"],
                    ["-m", "256", "-I", "16m", "-t", "8"]):
        server.options = options
        server.restart()
        with server.connect() as talk:
            assert talk.get(b"large") == b"x" * 500_000
    server.options = ["-m", "8", "-I", "1k"]
    server.restart()
    with server.connect() as talk:
        talk.ask(b"append large 0 0 1\r\nx\r\n",
                 b"SERVER_ERROR object too large for cache\r\n")
        talk.ask(b"touch large 1000\r\n", b"TOUCHED\r\n")
        assert talk.get(b"large") == b"x" * 500_000


@pytest.mark.skipif(bool(os.environ.get("MEMCACHEDB_SAN")),
                    reason="sanitizers need more addresses than there are")
def test_lack_of_memory_is_no_damage(new_server):
    """It says so, and not that a backup is needed."""
    def few_addresses():
        resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))

    server = new_server()
    with server.connect() as talk:
        talk.set(b"k", b"1")
    assert server.terminate() == 0
    status, _, err = run_to_end(*user_options(), "-H", server.home, "-p", "-1",
                                "-m", "100g", preexec_fn=few_addresses)
    assert status == 71, err
    assert "not enough memory" in err and "backup" not in err
    server.start()
    with server.connect() as talk:
        assert talk.get(b"k") == b"1"


def test_answers_wait_for_nobody_else_after_recovery(new_server):
    """The first get after a kill is answered as soon as the port is open."""
    server = new_server()
    with server.connect() as talk:
        talk.send(b"".join(b"set k%d 0 0 100 noreply\r\n%s\r\n"
                           % (i, b"x" * 100) for i in range(20_000)))
        talk.expect_silence()
        wait_until(lambda: talk.stats()["curr_items"] == "20000",
                   "all are stored")
        talk.set(b"last", b"1")
    server.kill9()
    server.start()
    with server.connect() as talk:
        assert talk.get(b"last") == b"1"
        assert talk.get(b"k19999") == b"x" * 100
        assert talk.stats()["curr_items"] == "20001"
