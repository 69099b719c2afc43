"""db_checkpoint, db_archive, db_compact: work on the database, on demand."""
import threading

import pytest

from harness.faults import LOGS, WRITE
from harness.script import ours_only
from harness.server import STOP_S
from harness.wait import wait_until, within

pytestmark = ours_only

BUSY = b"BUSY this is under way already\r\n"
# Log files of 1 MB, and no checkpoint that nobody has asked for.
BY_HAND = ("--log-file-size=1m", "--checkpoint-interval=0",
           "--checkpoint-size=1g", "--sync=write")


def fill(talk, names, value):
    for at in range(0, len(names), 500):
        talk.send(b"".join(b"set %s 0 0 %d noreply\r\n%s\r\n"
                           % (name, len(value), value)
                           for name in names[at:at + 500]))
        talk.expect_silence()


def log_files(server):
    return sorted(path.name for path in server.home.rglob("log.*"))


def number(talk, name):
    return int(talk.stats("bdb")[name])


def test_checkpoint_is_done_when_it_is_answered(new_server):
    server = new_server(*BY_HAND)
    with server.connect() as talk:
        fill(talk, [b"k%03d" % i for i in range(60)], b"v" * 80000)
        before = log_files(server)
        checkpoints = number(talk, "checkpoints")
        assert len(before) > 3
        talk.ask(b"db_checkpoint\r\n", b"OK\r\n")
        after = log_files(server)
        assert len(after) <= 2 and after[-1] >= before[-1]
        stats = talk.stats("bdb")
        assert int(stats["checkpoints"]) == checkpoints + 1
        assert int(stats["log_files"]) == len(after)
        assert int(stats["checkpoint_age_seconds"]) < 60
        wait_until(lambda: number(talk, "pages_dirty") < 10,
                   "the pages are counted anew")


def test_archive_is_done_when_it_is_answered(new_server):
    server = new_server(*BY_HAND, "--keep-logs")
    with server.connect() as talk:
        fill(talk, [b"k%03d" % i for i in range(60)], b"v" * 100000)
        talk.ask(b"db_checkpoint\r\n", b"OK\r\n")
        kept = log_files(server)
        assert kept[0].endswith("0001") and len(kept) > 5
        talk.ask(b"db_archive\r\n", b"OK\r\n")
        assert len(log_files(server)) <= 2
        assert log_files(server)[-1] == kept[-1]
        talk.ask(b"db_archive\r\n", b"OK\r\n")  # nothing is left to do
    server.kill9()
    server.start()
    with server.connect() as talk:
        assert talk.stats()["curr_items"] == "60"
        assert talk.get(b"k059") == b"v" * 100000


def test_in_a_pipeline(talk):
    """Each is done before the next command is looked at."""
    talk.ask(b"set k 0 0 1\r\n1\r\ndb_checkpoint\r\ndb_archive\r\nget k\r\n"
             b"db_archive\r\ndelete k\r\ndb_checkpoint\r\nget k\r\n",
             b"STORED\r\nOK\r\nOK\r\nVALUE k 0 1\r\n1\r\nEND\r\n"
             b"OK\r\nDELETED\r\nOK\r\nEND\r\n")
    talk.expect_silence()


def test_of_many_clients_at_once(server):
    talks = [server.connect() for _ in range(12)]
    for i, talk in enumerate(talks):
        talk.send((b"db_checkpoint\r\n", b"db_archive\r\n")[i % 2] * 10)
    for talk in talks:
        talk.expect(b"OK\r\n" * 10)
        talk.expect_silence()
        talk.close()


def test_of_clients_that_do_not_wait(new_server):
    server = new_server(*BY_HAND)
    with server.connect() as talk:
        for _ in range(30):
            with server.connect() as other:
                other.send(b"db_checkpoint\r\ndb_archive\r\n" * 5)
        talk.ask(b"db_checkpoint\r\n", b"OK\r\n")
        wait_until(lambda: talk.stats()["curr_connections"] == "1",
                   "they are gone")


def test_by_udp(new_server):
    with new_server("-U", "-1").udp() as udp:
        udp.ask(b"db_checkpoint\r\n", b"OK\r\n")
        udp.ask(b"db_archive\r\n", b"OK\r\n")
        udp.ask(b"db_compact\r\n", b"OK\r\n")


@pytest.mark.parametrize("command", [
    b"db_checkpoint\r\n", b"db_archive\r\n", b"db_compact\r\n"])
def test_the_server_ends_meanwhile(new_server, command):
    def end_meanwhile():
        server = new_server(*BY_HAND)
        with server.connect() as talk:
            fill(talk, [b"k%03d" % i for i in range(50)], b"v" * 50000)
            talk.send(command * 50)
            server.restart()
        with server.connect() as talk:
            assert talk.stats()["curr_items"] == "50"
    within(STOP_S, end_meanwhile)


def wait_for_compact(talk):
    """Until it is over: then, too, the next one may be asked for."""
    wait_until(lambda: number(talk, "compact_running") == 0,
               "the compaction is over")


def compact(talk):
    done = number(talk, "compact_done")
    talk.ask(b"db_compact\r\n", b"OK\r\n")
    wait_for_compact(talk)
    stats = talk.stats("bdb")
    assert stats["compact_done"] == str(done + 1)
    assert stats["compact_failed"] == "0"


def test_compact_of_an_empty_store(new_server):
    with new_server().connect() as talk:
        compact(talk)
        talk.set(b"k", b"1")
        compact(talk)
        assert talk.get(b"k") == b"1"


def test_compact_gives_space_back(new_server):
    """After most of the items have been deleted."""
    server = new_server("--sync=write")
    names = [b"k%05d" % i for i in range(4000)]
    with server.connect() as talk:
        fill(talk, names, b"v" * 500)
        talk.ask(b"db_checkpoint\r\n", b"OK\r\n")
        before = number(talk, "data_file_bytes")
        talk.send(b"".join(b"delete %s noreply\r\n" % name
                           for i, name in enumerate(names) if i % 10))
        talk.expect_silence()
        compact(talk)
        talk.ask(b"db_checkpoint\r\n", b"OK\r\n")
        stats = talk.stats("bdb")
        assert int(stats["data_file_bytes"]) < before / 3
        assert int(stats["compact_pages_examined"]) > 0
        assert int(stats["compact_pages_freed"]) > 0
        assert int(stats["compact_pages_returned"]) > 0
        for name in names[::10]:
            assert talk.get(name) == b"v" * 500
        assert talk.stats()["curr_items"] == str(len(names[::10]))


def test_compact_one_at_a_time(new_server, faults):
    server = new_server("--sync=write", env=faults.env)
    names = [b"k%05d" % i for i in range(4000)]
    with server.connect() as talk:
        fill(talk, names, b"v" * 500)
        fill(talk, names[::2], b"")
        rule = faults.hold(WRITE, LOGS)
        talk.ask(b"db_compact\r\n", b"OK\r\n")
        rule.wait("a write of the compaction")
        talk.ask(b"db_compact\r\n" * 2, BUSY * 2)
        rule.off()
        wait_for_compact(talk)
        assert number(talk, "compact_done") == 1
        talk.ask(b"db_compact\r\n", b"OK\r\n")


def test_compact_of_a_hash_is_refused(new_server):
    """Berkeley DB crashes there."""
    with new_server("-B", "hash").connect() as talk:
        talk.ask(b"db_compact\r\n",
                 b"SERVER_ERROR not possible in a hash\r\n")
        talk.ask(b"db_checkpoint\r\ndb_archive\r\n", b"OK\r\nOK\r\n")
        assert number(talk, "compact_running") == 0


def test_compact_beside_writers(new_server):
    """Nothing is lost, and nothing comes back."""
    server = new_server("--sync=write")
    filler = [b"k%05d" % i for i in range(3000)]
    failures = []

    def write(own):
        """Changes keys of its own, and finds each as it has left it."""
        try:
            with server.connect() as talk:
                names = [b"k%05d-%d" % (i, own) for i in range(0, 3000, 60)]
                for turn in range(8):
                    value = b"%d" % turn * (10 + turn * 300)
                    for name in names:
                        talk.set(name, value)
                    for name in names[::2]:
                        assert talk.get(name) == value
                        talk.ask(b"delete %s\r\n" % name, b"DELETED\r\n")
                    for name in names:
                        assert talk.get(name) == \
                            (None if name in names[::2] else value)
        except BaseException as failure:
            failures.append(failure)

    with server.connect() as talk:
        fill(talk, filler, b"v" * 500)
        threads = [threading.Thread(target=write, args=(own,))
                   for own in range(3)]
        for thread in threads:
            thread.start()
        talk.ask(b"db_compact\r\n", b"OK\r\n")
        talk.send(b"".join(b"delete %s noreply\r\n" % name
                           for i, name in enumerate(filler) if i % 5))
        while any(thread.is_alive() for thread in threads):
            talk.send(b"db_compact\r\n")
            assert talk.line() + b"\r\n" in (b"OK\r\n", BUSY)
            talk.expect_silence()
        assert not failures, failures[0]
        kept = filler[::5]
        assert [name for name in kept if talk.get(name) != b"v" * 500] == []
        assert talk.stats()["curr_items"] == str(len(kept) + 3 * 25)
        wait_for_compact(talk)
        assert talk.stats("bdb")["compact_failed"] == "0"


def test_compact_and_kill(new_server):
    server = new_server(*BY_HAND)
    names = [b"k%05d" % i for i in range(4000)]
    with server.connect() as talk:
        fill(talk, names, b"v" * 500)
        talk.send(b"".join(b"delete %s noreply\r\n" % name
                           for i, name in enumerate(names) if i % 4))
        talk.expect_silence()
        talk.ask(b"db_compact\r\n", b"OK\r\n")
        wait_until(lambda: number(talk, "compact_pages_freed") > 0,
                   "it has begun")
    server.kill9()
    server.start()
    with server.connect() as talk:
        assert number(talk, "compact_running") == 0
        for i, name in enumerate(names):
            if i % 50 == 0 or i % 50 == 1:
                assert talk.get(name) == (b"v" * 500 if i % 4 == 0 else None)
        assert talk.stats()["curr_items"] == str(len(names[::4]))
        compact(talk)
