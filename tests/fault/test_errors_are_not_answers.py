"""A storage error is neither a miss nor NOT_STORED (U41, promise 7)."""
import errno
import random

from harness.faults import DATA, GROW, LOGS, READ, WRITE
from harness.life import Said
from harness.load import Load
from harness.wait import wait_until

# Smallest cache: nearly every key must be read from the file.
OPTIONS = ["-m", "1", "-I", "64k", "-C", "0", "-e", "0"]
KEYS = 10_000


def fill(server):
    with server.connect() as talk:
        for start in range(0, KEYS, 1000):
            talk.send(b"".join(
                b"set k%d 0 0 404 noreply\r\n%04d%s\r\n" % (i, i, b"x" * 400)
                for i in range(start, start + 1000)))
        talk.set(b"last", b"1")
    server.restart()


def storage_errors(server):
    return int(server.stats("bdb")["storage_errors"])


def get_or_error(talk, key, number):
    """True if found, False if it was SERVER_ERROR; fails on anything else."""
    line = talk.line()
    if line.startswith(b"SERVER_ERROR "):
        return False
    assert line == b"VALUE %s 0 404" % key, line
    assert talk.read(404)[:4] == b"%04d" % number
    talk.expect(b"\r\nEND\r\n")
    return True


def test_u41_read_error_is_not_a_miss(new_server, faults):
    server = new_server(*OPTIONS, env=faults.env)
    fill(server)
    said = Said(server)
    order = list(range(KEYS))
    random.shuffle(order)
    rule = faults.spoil(READ, DATA, pages=10)
    failed = 0
    with server.connect() as talk:
        for start in range(0, KEYS, 100):
            part = order[start:start + 100]
            talk.send(b"".join(b"get k%d\r\n" % i for i in part))
            failed += sum(not get_or_error(talk, b"k%d" % i, i) for i in part)
        rule.off()
        assert 0 < failed < KEYS
        talk.expect_silence()
        assert all(talk.get(b"k%d" % i) for i in order[:100])
    assert storage_errors(server) == failed
    assert said.is_brief(), said.text()


def test_u41_read_error_in_a_multi_get_is_told(new_server, faults):
    """A list that ends with END is complete."""
    server = new_server(*OPTIONS, env=faults.env)
    fill(server)
    rule = faults.spoil(READ, DATA, pages=20)
    ends = {b"END": 0, b"SERVER_ERROR": 0}
    with server.connect() as talk:
        for start in range(0, KEYS, 20):
            talk.send(b"get %s\r\n" % b" ".join(
                b"k%d" % (i * 37 % KEYS) for i in range(start, start + 20)))
            found = 0
            while (line := talk.line()).startswith(b"VALUE "):
                talk.read(406)
                found += 1
            assert line.startswith(b"SERVER_ERROR ") or \
                (line, found) == (b"END", 20)
            ends[line.split(b" ")[0]] += 1
        rule.off()
        talk.expect_silence()
    assert all(ends.values()), ends


# What a healthy server answers for a key that is there.
CHANGES = {b"touch k%d 0": b"TOUCHED",
           b"gat 0 k%d": b"VALUE",
           b"incr k%d 1": b"CLIENT_ERROR",
           b"delete k%d": b"DELETED",
           b"append k%d 0 0 1\r\ny": b"STORED",
           b"prepend k%d 0 0 1\r\ny": b"STORED",
           b"replace k%d 0 0 1\r\nz": b"STORED",
           b"set k%d 0 0 1\r\nz": b"STORED",
           b"add k%d 0 0 1\r\nz": b"NOT_STORED",
           b"cas k%d 0 0 1 1\r\nz": b"EXISTS"}


def test_u41_read_error_in_a_change_refuses_it(new_server, faults):
    server = new_server(*OPTIONS, env=faults.env)
    fill(server)
    said = Said(server)
    rule = faults.spoil(READ, DATA, pages=10)
    refused = set()
    with server.connect() as talk:
        for i in range(0, 2000, len(CHANGES)):
            for n, (command, reply) in enumerate(CHANGES.items()):
                key = (i + n) * 37 % KEYS
                talk.send(command % key + b"\r\n")
                line = talk.line()
                if line.startswith(b"SERVER_ERROR "):
                    refused.add(key)
                    continue
                assert line.startswith(reply), (command % key, line)
                if reply == b"VALUE":
                    talk.read(406)
                    talk.expect(b"END\r\n")
        rule.off()
        talk.expect_silence()
        assert 0 < len(refused) < 2000
        for key in refused:
            assert talk.get(b"k%d" % key) == b"%04d%s" % (key, b"x" * 400)
    assert storage_errors(server) == len(refused)
    assert said.is_brief(), said.text()


BIG = b"v" * 500_000


def state(talk):
    """k and new with flags and cas ids."""
    talk.send(b"gets k new\r\n")
    lines = []
    while not lines or lines[-1] != b"END":
        lines.append(talk.line())
    return lines


def refused_without_space(talk, faults, head):
    """True if the change was refused and has changed nothing.

    A value bigger than the log buffer is written at once, and fails. Berkeley
    DB seeks and tries again, and the store tries once more: four writes that
    do not fit, then there is room for the rest. Unless another thread, which
    writes pages, has hit some of the four.
    """
    talk.set(b"k", b"old", flags=7)
    talk.send(b"delete new\r\n")
    talk.line()
    tail = b" %d" % talk.cas_id(b"k") if head == b"cas k" else b""
    before = state(talk)
    rule = faults.fail(WRITE, LOGS, errno.ENOSPC, every=1, times=4)
    talk.send(b"%s 9 0 %d%s\r\n%s\r\n" % (head, len(BIG), tail, BIG))
    line = talk.line()
    rule.off()
    if line == b"STORED":
        return False
    assert line == b"SERVER_ERROR out of memory storing object", line
    assert state(talk) == before
    return True


def test_u41_change_without_space_changes_nothing(new_server, faults):
    server = new_server(env=faults.env)
    heads = (b"set k", b"set new", b"add new", b"replace k", b"append k",
             b"prepend k", b"cas k")
    with server.connect() as talk:
        for head in heads:
            wait_until(lambda: refused_without_space(talk, faults, head),
                       f"refusal of {head!r}")
        assert talk.get(b"k") == b"old" and talk.get(b"new") is None
    assert server.stats()["store_no_memory"] == str(len(heads))
    assert storage_errors(server) == 0
    server.kill9()
    server.start()
    with server.connect() as talk:
        assert talk.get(b"k") == b"old" and talk.get(b"new") is None
        assert talk.stats()["curr_items"] == "1"


def test_u41_database_cannot_grow(new_server, faults):
    """Changes are in the log: they go on, and the databases catch up."""
    server = new_server("-C", "1", "--checkpoint-size", "1m",
                        "--log-file-size", "1m", env=faults.env)
    load = Load(server, random.randrange(10**6), largest=50_000)
    said = Said(server)
    rule = faults.fail(GROW, DATA, errno.ENOSPC, first=1, every=1)
    load.start()
    wait_until(lambda: rule.hits > 10, "a checkpoint")
    load.wait_for_acks(300)
    rule.off()
    load.wait_for_acks(300)
    load.stop()
    load.check()
    assert said.is_brief(), said.text()
    server.kill9()
    server.start()
    load.check()
