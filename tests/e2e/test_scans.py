"""rget, pget, pdelete: what memcached does not have."""
import base64
import os
import random

import pytest

from harness.faults import LOGS, SYNC
from harness.packet import ask
from harness.script import conversations, hold, ours_only
from harness.server import STOP_S
from harness.wait import wait_until, within

pytestmark = ours_only

FMT_LINE = b"CLIENT_ERROR bad command line format\r\n"


def read_values(talk):
    """{key: value} of an answer like that of get, in its order."""
    found = {}
    while (line := talk.line()) != b"END":
        word, key, _, size = line.split(b" ")
        assert word == b"VALUE", line
        assert key not in found, f"{key} twice"
        found[key] = talk.read(int(size))
        talk.expect(b"\r\n")
    return found


def rget(talk, start, end, left=0, right=0, most=1000):
    talk.send(b"rget %s %s %d %d %d\r\n" % (start, end, left, right, most))
    return read_values(talk)


def pget(talk, prefix, most=1000, after=None):
    talk.send(b"pget %s %d%s\r\n"
              % (prefix, most, b" " + after if after else b""))
    return read_values(talk)


def pages(talk, prefix, most):
    """All keys with a prefix, page by page until one is not full."""
    after = None
    while True:
        page = list(pget(talk, prefix, most, after))
        yield from page
        if len(page) < most:
            return
        after = page[-1]


def fill(talk, names, value=b"1"):
    talk.send(b"".join(b"set %s 0 0 %d noreply\r\n%s\r\n"
                       % (name, len(value), value) for name in names))
    talk.expect_silence()


def wait_for_pdelete(talk, done):
    """Until so many are done, and none is under way."""
    def is_over():
        stats = talk.stats("bdb")
        return stats["pdelete_done"] == str(done) and \
            stats["pdelete_running"] == stats["pdelete_queued"] == "0"
    wait_until(is_over, "pdelete is done")


def purge(talk, *prefixes):
    """Deletes by prefix, and waits until it is done."""
    done = int(talk.stats("bdb")["pdelete_done"])
    for prefix in prefixes:
        talk.ask(b"pdelete %s\r\n" % prefix, b"OK\r\n")
    wait_for_pdelete(talk, done + len(prefixes))


# ---- what is answered -------------------------------------------------------

@conversations({
    "ends of a range": """
        > set a 1 0 1
        > 1
        > set b 2 0 2
        > 22
        > set bb 0 0 0
        >
        > set c 3 0 3
        > 333
        < STORED
        < STORED
        < STORED
        < STORED
        > rget a c 0 0 10
        < VALUE a 1 1
        < 1
        < VALUE b 2 2
        < 22
        < VALUE bb 0 0
        <
        < VALUE c 3 3
        < 333
        < END
        > rget a c 1 1 10
        < VALUE b 2 2
        < 22
        < VALUE bb 0 0
        <
        < END
        > rget a b 1 0 10
        < VALUE b 2 2
        < 22
        < END
        > rget a b 0 1 10
        < VALUE a 1 1
        < 1
        < END
        > rget a c 0 0 1
        < VALUE a 1 1
        < 1
        < END
        > rget a c 0 0 0
        < END
    """,
    "ranges without items": """
        > set b 0 0 1
        > 1
        < STORED
        > rget c d 0 0 10
        < END
        > rget 0 a 0 0 10
        < END
        > rget c a 0 0 10
        < END
        > rget b a 0 0 10
        < END
        > rget b b 1 0 10
        < END
        > rget b b 0 1 10
        < END
        > rget b b 1 1 10
        < END
        > rget b b 0 0 10
        < VALUE b 0 1
        < 1
        < END
        > rget a bb 1 1 10
        < VALUE b 0 1
        < 1
        < END
    """,
    "prefixes": """
        > set p:1 0 0 1
        > 1
        > set p:2 0 0 1
        > 2
        > set p; 0 0 1
        > 3
        < STORED
        < STORED
        < STORED
        > pget p: 10
        < VALUE p:1 0 1
        < 1
        < VALUE p:2 0 1
        < 2
        < END
        > pget p: 1
        < VALUE p:1 0 1
        < 1
        < END
        > pget p: 1 p:1
        < VALUE p:2 0 1
        < 2
        < END
        > pget p: 10 p:2
        < END
        > pget p: 10 a
        < VALUE p:1 0 1
        < 1
        < VALUE p:2 0 1
        < 2
        < END
        > pget p: 10 z
        < END
        > pget p: 0
        < END
        > pget p:1 10
        < VALUE p:1 0 1
        < 1
        < END
        > pget none 10
        < END
    """,
})
def test_answer(talk, script, delivery):
    hold(talk, script, delivery)


@pytest.mark.parametrize("line", [
    b"rget", b"rget a", b"rget a b", b"rget a b 0", b"rget a b 0 0",
    b"rget a b 2 0 1", b"rget a b 0 x 1", b"rget a b 00 0 1",
    b"rget a b 0 0 x", b"rget a b 0 0 -1", b"rget a b 0 0 4294967296",
    b"rget a b 0 0 1 2", b"rget a b 0 0 1 noreply", b"rget a",
    b"rget %s b 0 0 1" % (b"k" * 251), b"rget a %s 0 0 1" % (b"k" * 251),
    b"pget", b"pget p", b"pget p x", b"pget p -1", b"pget p 1 k more",
    b"pget %s 1" % (b"k" * 251), b"pget p 1 %s" % (b"k" * 251),
    b"pdelete", b"pdelete a b", b"pdelete a noreply",
    b"pdelete %s" % (b"k" * 251)])
def test_bad_lines(talk, line):
    talk.ask(line + b"\r\n", FMT_LINE)
    talk.expect_silence()


def test_a_hash_has_no_order(new_server):
    refusal = b"SERVER_ERROR this store keeps no key order\r\n"
    with new_server("-B", "hash").connect() as talk:
        talk.set(b"a", b"1")
        talk.ask(b"rget a b 0 0 10\r\n", refusal)
        talk.ask(b"pget a 10\r\n", refusal)
        talk.ask(b"rget a b 0 0 x\r\n", FMT_LINE)
        purge(talk, b"a")  # which needs none
        assert talk.get(b"a") is None


def test_longest_keys(talk):
    keys = [b"k" * 249, b"k" * 250, b"l"]
    fill(talk, keys)
    assert list(rget(talk, b"k" * 250, b"l")) == [b"k" * 250, b"l"]
    assert list(rget(talk, b"k" * 250, b"l", left=1)) == [b"l"]
    assert list(pget(talk, b"k" * 250)) == [b"k" * 250]
    assert list(pget(talk, b"k", 10, b"k" * 249)) == [b"k" * 250]
    assert list(pget(talk, b"k", 10, b"k" * 250)) == []


def test_order_is_that_of_bytes(talk):
    keys = [b"\x01", b"!", b"A", b"a", b"a!", b"aa", b"\x7f", b"\x80",
            b"\xff", b"\xff\xff"]
    fill(talk, keys)
    assert list(rget(talk, b"\x01", b"\xff\xff")) == keys
    assert list(pget(talk, b"\xff")) == [b"\xff", b"\xff\xff"]


def test_dead_items_are_not_shown(talk):
    talk.set(b"a", b"1")
    talk.ask(b"flush_all\r\n", b"OK\r\n")
    talk.set(b"b", b"1", exptime=-1)
    talk.set(b"c", b"1", exptime=100)
    assert list(rget(talk, b"a", b"z", most=1)) == [b"c"]


def test_keys_that_break_lines_are_not_shown(talk, server):
    """Binary and meta may have stored them; rget and pget are text."""
    good = [b"k\tx", b"k0", b"k1"]
    bad = [b"k 0 1\r\nx\r\nEND\r\nVALUE k", b"k a", b"k\0", b"k\r", b"k\nk"]
    with server.connect() as binary:
        for key in good + bad:
            assert ask(binary, 1, key, b"v", bytes(8)).status == 0
    talk.ask(b"ms %s 1 b\r\nv\r\n" % base64.b64encode(b"k2"), b"HD\r\n")
    assert list(rget(talk, b"j", b"l")) == good + [b"k2"]
    assert list(pget(talk, b"k", 3)) == good
    assert list(pget(talk, b"k", 3, b"k1")) == [b"k2"]
    talk.expect_silence()


def test_values_of_all_sizes(talk):
    sizes = [0, 1, 500, 4000, 30000, 32000, 65000, 65536, 70000, 131072,
             1 << 20]
    for i, size in enumerate(sizes):
        talk.set(b"k%02d" % i, b"%02d" % i * (size // 2))
        talk.set(b"m%02d" % i, b"small")
    wanted = {b"k%02d" % i: b"%02d" % i * (size // 2)
              for i, size in enumerate(sizes)}
    assert rget(talk, b"k", b"l") == wanted
    assert pget(talk, b"k") == wanted
    assert list(pages(talk, b"k", 1)) == list(wanted)


@pytest.mark.skipif(bool(os.environ.get("MEMCACHEDB_SAN")),
                    reason="memory of a sanitizer build")
def test_many_big_values_cost_bounded_memory(new_server):
    """They are read as they leave."""
    server = new_server("-m", "8", "--item-cache", "0",
                        "--sync=write")
    with server.connect() as talk:
        for i in range(20):
            talk.set(b"b%02d" % i, b"%02d" % i * (1 << 19))
        before = server.rss_bytes()
        talk.send(b"pget b 20\r\n")
        talk.expect(b"VALUE b00 0 1048576\r\n")
        with server.connect() as other:
            assert other.get(b"none") is None
            assert server.rss_bytes() - before < 10 << 20
        talk.read(1 << 20)
        talk.expect(b"\r\n")
        found = read_values(talk)
        assert list(found) == [b"b%02d" % i for i in range(1, 20)]
        assert found[b"b19"] == b"19" * (1 << 19)


def test_own_writes_are_seen(talk):
    for i in range(20):
        talk.send(b"set k%d 0 0 1 noreply\r\n1\r\ndelete k%d noreply\r\n"
                  b"rget k l 0 0 10\r\npget k 10\r\n" % (i, i - 1))
        assert list(read_values(talk)) == list(read_values(talk)) == [
            b"k%d" % i]


def test_the_cap(new_server):
    keys = [b"k%02d" % i for i in range(30)]
    with new_server("--max-scan-items=7").connect() as talk:
        fill(talk, keys)
        assert talk.stats("settings")["max_scan_items"] == "7"
        assert list(rget(talk, b"k", b"l", most=1000)) == keys[:7]
        assert list(pget(talk, b"k", 1000, b"k02")) == keys[3:10]
        assert list(pages(talk, b"k", 7)) == keys
        assert list(rget(talk, b"k", b"l", most=3)) == keys[:3]


def test_more_than_a_turn(new_server):
    """Thousands of items, and the others get their turn meanwhile."""
    server = new_server("--max-scan-items=1000000", "--sync=write", "-t", "1")
    keys = [b"k%05d" % i for i in range(5000)]
    with server.connect() as talk, server.connect() as other:
        fill(talk, keys, b"v" * 100)
        talk.send(b"rget k l 0 0 1000000\r\nget none\r\n")
        for _ in range(10):
            other.set(b"other", b"1")
            assert other.get(b"other") == b"1"
        assert list(read_values(talk)) == keys
        assert read_values(talk) == {}
        assert list(pages(talk, b"k", 999)) == keys


def test_pages_while_others_change_the_store(new_server):
    """Whoever stays is shown once; whoever goes may be, once."""
    server = new_server("--sync=write")
    stay = [b"k%04d-stays" % i for i in range(500)]
    goes = [b"k%04d-goes" % i for i in range(0, 500, 5)]
    rolls = random.Random(1)
    with server.connect() as talk, server.connect() as other:
        fill(talk, stay)
        fill(other, goes, b"v" * 70000)  # these are read on their own
        found = []
        for key in pages(talk, b"k", 20):
            found.append(key)
            if len(found) % 10 == 0:
                some = rolls.sample(goes, 20)
                other.send(b"".join(
                    b"delete %s noreply\r\n" % name for name in some[:10]) +
                    b"".join(b"set %s 0 0 1 noreply\r\n1\r\n" % name
                             for name in some[10:]))
        assert found == sorted(set(found))
        assert set(stay) <= set(found) <= set(stay + goes)


def test_a_page_is_full_though_items_go(new_server):
    """A page that is not full is the last one."""
    server = new_server("--sync=write")
    big = [b"k%04d" % i for i in range(60)]
    with server.connect() as talk, server.connect() as other:
        for _ in range(3):
            fill(talk, big, b"v" * 66000)
            talk.send(b"pget k 40\r\n" * 3)
            other.send(b"".join(b"delete %s noreply\r\n" % key
                                for key in big[:40:2]))
            for _ in range(3):
                assert len(read_values(talk)) == 40


def test_a_reader_that_leaves_midway(new_server):
    server = new_server("--sync=write")
    with server.connect() as talk:
        fill(talk, [b"k%03d" % i for i in range(300)], b"v" * 20000)
        for i in range(5):
            with server.connect() as other:
                other.send(b"pget k 1000\r\n")
                other.read(100000 * i + 1)
        wait_until(lambda: talk.stats()["curr_connections"] == "1",
                   "they are gone")
        assert len(pget(talk, b"k")) == 300


def test_by_udp(new_server):
    server = new_server("-U", "-1")
    with server.udp() as udp, server.connect() as talk:
        talk.set(b"p1", b"1")
        udp.ask(b"pget p 10\r\n", b"VALUE p1 0 1\r\n1\r\nEND\r\n")
        udp.ask(b"rget p q 0 0 10\r\n", b"VALUE p1 0 1\r\n1\r\nEND\r\n")
        udp.ask(b"pdelete p\r\n", b"OK\r\n")


# ---- pdelete ----------------------------------------------------------------

def test_pdelete(new_server):
    with new_server("--sync=write").connect() as talk:
        gone = [b"p:%d" % i for i in range(2000)]
        fill(talk, gone)
        fill(talk, [b"p", b"p;", b"q"])
        talk.set(b"p:big", b"v" * 200000)
        talk.set(b"p:dead", b"1", exptime=-1)
        purge(talk, b"p:")
        stats = talk.stats("bdb")
        assert stats["pdelete_items"] == "2001"
        assert stats["pdelete_failed"] == "0"
        assert talk.stats()["curr_items"] == "3"
        assert list(rget(talk, b"a", b"z")) == [b"p", b"p;", b"q"]
        for key in b"p", b"p;", b"q":
            talk.ask(b"delete %s\r\n" % key, b"DELETED\r\n")
        assert talk.stats()["bytes"] == "0"


def test_pdelete_spares_what_is_stored_later(new_server):
    """In one pipeline: before it is before, behind it is later."""
    with new_server("--sync=write").connect() as talk:
        fill(talk, [b"p%04d" % i for i in range(3000)])
        talk.send(b"set pa 0 0 1 noreply\r\n1\r\npdelete p\r\n"
                  b"set pb 0 0 1\r\n2\r\nset p0001 0 0 1\r\n3\r\n"
                  b"append p0001 0 0 1\r\n4\r\n")
        talk.expect(b"OK\r\nSTORED\r\nSTORED\r\nSTORED\r\n")
        wait_for_pdelete(talk, 1)
        assert pget(talk, b"p") == {b"p0001": b"34", b"pb": b"2"}


def test_pdelete_of_keys_of_any_bytes(talk, server):
    with server.connect() as binary:
        for key in b"p \r\n", b"p\0", b"p":
            assert ask(binary, 1, key, b"v", bytes(8)).status == 0
    purge(talk, b"p")
    assert talk.stats()["curr_items"] == "0"


def test_pdelete_of_whole_keys(talk):
    key = b"k" * 250
    fill(talk, [key, key[:249]])
    purge(talk, key)
    assert talk.get(key[:249]) == b"1" and talk.get(key) is None
    purge(talk, b"none", key[:249])
    assert talk.stats()["curr_items"] == "0"


def test_pdelete_queue(new_server, faults):
    """Sixteen may wait; then others are told so, and may ask again."""
    with new_server(env=faults.env).connect() as talk:
        fill(talk, [b"p%05d" % i for i in range(3000)])
        rule = faults.hold(SYNC, LOGS)
        talk.ask(b"pdelete p\r\n", b"OK\r\n")
        rule.wait("a sync of its deletes")
        talk.ask(b"pdelete none\r\n" * 40, b"OK\r\n" * 16
                 + b"BUSY this is under way already\r\n" * 24)
        rule.off()
        wait_for_pdelete(talk, 17)
        assert talk.stats()["curr_items"] == "0"
        talk.ask(b"pdelete p\r\n", b"OK\r\n")


def test_pdelete_and_kill(new_server):
    """None is resumed; what is left is whole, and counted."""
    server = new_server()
    keys = [b"p%05d" % i for i in range(6000)]
    with server.connect() as talk:
        fill(talk, keys)
        fill(talk, [b"q%d" % i for i in range(10)])
        talk.ask(b"pdelete p\r\n", b"OK\r\n")
        wait_until(lambda: talk.stats("bdb")["pdelete_items"] != "0",
                   "it has begun")
    server.kill9()
    server.start()
    with server.connect() as talk:
        left = list(pages(talk, b"p", 1000))
        assert left == keys[len(keys) - len(left):] and len(left) < len(keys)
        assert talk.stats()["curr_items"] == str(len(left) + 10)
        stats = talk.stats("bdb")
        assert stats["pdelete_running"] == stats["pdelete_queued"] == "0"
        purge(talk, b"p", b"q")
        stats = talk.stats()
        assert stats["curr_items"] == stats["bytes"] == "0"


def test_the_server_ends_during_pdelete(new_server):
    def end_meanwhile():
        server = new_server()
        with server.connect() as talk:
            fill(talk, [b"p%05d" % i for i in range(6000)])
            talk.send(b"pdelete p\r\n" * 17)
            assert talk.line() == b"OK"
        server.restart()
        with server.connect() as talk:
            count = len(list(pages(talk, b"p", 1000)))
            assert talk.stats()["curr_items"] == str(count)
    within(STOP_S, end_meanwhile)
