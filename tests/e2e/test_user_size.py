"""User cases of large values and large requests: U44 U46 U48."""
import pytest

from harness.crowd import crowd, send_in_background
from harness.script import differs, ours_only
from harness.wait import wait_until

BIG = b"SERVER_ERROR object too large for cache\r\n"


def patterned(size, seed):
    """Bytes that show when a piece is missing or swapped."""
    line = b"".join(b"%07d:%d\r\n" % (i, seed) for i in range(4096))
    return (line * (size // len(line) + 1))[:size]


# ---- U44: the limit is on the value alone, and exact ------------------------

@ours_only
@pytest.mark.parametrize("option,limit", [
    ("1m", 1 << 20), ("3m", 3 << 20),
    pytest.param("16m", 16 << 20, marks=pytest.mark.long),
    pytest.param("64m", 64 << 20, marks=pytest.mark.long)])
def test_u44_exact_limit(new_server, option, limit):
    server = new_server("-I", option, "-m", 128)
    keys = b"k", b"k" * 250
    with server.connect() as talk:
        assert talk.stats("settings")["item_size_max"] == str(limit)
        for key in keys:
            for size, answer in ((limit - 1, b"STORED\r\n"),
                                 (limit, b"STORED\r\n"), (limit + 1, BIG)):
                talk.ask(b"set %s 5 0 %d\r\n" % (key, size)
                         + patterned(size, len(key)) + b"\r\n", answer)
            talk.ask(b"append %s 0 0 1\r\nx\r\n" % key, BIG)
            talk.ask(b"prepend %s 0 0 1\r\nx\r\n" % key, BIG)
            assert talk.get(key) == patterned(limit, len(key))
    server.kill9()
    server.start()
    with server.connect() as talk:
        for key in keys:
            assert talk.get(key) == patterned(limit, len(key))


@ours_only
def test_u44_append_up_to_the_limit(new_server):
    server = new_server("-I", "4096")
    with server.connect() as talk:
        talk.set(b"k", b"a" * 4000)
        talk.ask(b"append k 0 0 96\r\n%s\r\n" % (b"b" * 96), b"STORED\r\n")
        talk.ask(b"append k 0 0 1\r\nc\r\n", BIG)
        assert talk.get(b"k") == b"a" * 4000 + b"b" * 96
        talk.set(b"n", b"9")
        talk.ask(b"incr n 1\r\n", b"10\r\n")


# ---- U46: a large block that does not end in CRLF ---------------------------

@pytest.mark.parametrize("size", [
    1, 2047, 2048, 4095, 65535, 524288, 600000,
    pytest.param(1 << 20, marks=differs("memcached's limit is a bit less"))])
def test_u46_wrong_end(talk, size):
    talk.set(b"k", b"old")
    talk.ask(b"set k 0 0 %d\r\n%s" % (size, b"v" * size + b"xx"),
             b"CLIENT_ERROR bad data chunk\r\n")
    talk.expect_silence()
    assert talk.get(b"k") == b"old"


# ---- U48: giant multi-gets ----------------------------------------------------

@ours_only  # --item-cache
@pytest.mark.parametrize("items,size,clients,spare", [
    (20_000, 100, 4, 64 << 20),
    pytest.param(200_000, 1000, 16, 256 << 20, marks=pytest.mark.long)])
def test_u48_giant_multigets(new_server, items, size, clients, spare):
    """All answers right; the memory for them is bounded, and given back."""
    cache = 64 << 20
    server = new_server("-m", cache >> 20, "--item-cache", 0)

    def value(i):
        return (b"%d " % i).ljust(size, b"x")

    with server.connect() as talk:
        finish = send_in_background(talk, (
            b"".join(b"set key%d 0 0 %d noreply\r\n%s\r\n"
                     % (i, size, value(i)) for i in range(at, at + 1000))
            for at in range(0, items, 1000)))
        finish()
        wait_until(lambda: talk.stats()["curr_items"] == str(items),
                   "all is stored")
    before = server.rss_bytes()
    request = b"get " + b" ".join(b"key%d" % i for i in range(items)) + b"\r\n"
    assert len(request) < 4 << 20

    def act(mine, _):
        done = send_in_background(mine, [request])
        peak = 0
        for i in range(items):
            mine.expect(b"VALUE key%d 0 %d\r\n%s\r\n" % (i, size, value(i)))
            if i % 5000 == 0:
                peak = max(peak, server.rss_bytes())
        mine.expect(b"END\r\n")
        done()
        return peak
    peaks = crowd(server, clients, act)
    assert max(peaks) < max(before, cache) + spare
    wait_until(lambda: server.rss_bytes() < max(before, cache) + (64 << 20),
               "memory is given back")
