"""`stats`: its names, its shape, and what each counter counts."""
import re

import pytest

from harness.script import differs, ours_only
from harness.server import REFERENCE
from harness.wait import wait_until

NAMES = """
    pid uptime time version libevent pointer_size rusage_user rusage_system
    max_connections curr_connections total_connections rejected_connections
    connection_structures response_obj_oom response_obj_count
    response_obj_bytes read_buf_count read_buf_bytes read_buf_bytes_free
    read_buf_oom reserved_fds cmd_get cmd_set cmd_flush cmd_touch cmd_meta
    get_hits get_misses get_expired get_flushed delete_misses delete_hits
    incr_misses incr_hits decr_misses decr_hits cas_misses cas_hits cas_badval
    touch_hits touch_misses store_too_large store_no_memory auth_cmds
    auth_errors bytes_read bytes_written limit_maxbytes accepting_conns
    listen_disabled_num time_in_listen_disabled_us threads conn_yields
    hash_power_level hash_bytes hash_is_expanding slab_reassign_rescues
    slab_reassign_chunk_rescues slab_reassign_inline_reclaim
    slab_reassign_busy_items slab_reassign_busy_deletes
    slab_reassign_busy_nomem slab_reassign_last_busy_status
    slab_reassign_running slabs_moved malloc_fails log_worker_dropped
    log_worker_written log_watcher_skipped log_watcher_sent log_watchers
    unexpected_napi_ids round_robin_fallback bytes curr_items total_items
    slab_global_page_pool expired_unfetched evicted_unfetched evictions
    reclaimed crawler_reclaimed crawler_items_checked lrutail_reflocked
    """.split()
# What memcached adds while its crawler and its maintainer run.
NAMES_TOO = """
    lru_crawler_running lru_crawler_starts lru_maintainer_juggles
    evicted_active moves_to_cold moves_to_warm moves_within_lru
    direct_reclaims lru_bumps_dropped""".split()

# A collector that is in wide use reads no more than 4096 bytes.
CORE = """
    rusage_user rusage_system threads curr_items bytes limit_maxbytes
    curr_connections listen_disabled_num cmd_get cmd_set cmd_flush cmd_touch
    incr_hits incr_misses decr_hits decr_misses get_hits get_misses evictions
    delete_hits delete_misses bytes_read bytes_written""".split()


@differs("1.6.18 lacks the slab names that came later")
def test_names(talk):
    names = list(talk.stats())
    assert set(NAMES) <= set(names)
    assert set(names) <= {*NAMES, *NAMES_TOO}


def test_values_are_single_words_and_numbers_are_numbers(talk):
    for name, value in talk.stats().items():
        if name == "version":
            assert re.fullmatch(r"\d+\.\d+\.\d+\S*", value)
        elif name == "libevent":
            assert re.fullmatch(r"\S+", value)
        elif name.startswith("rusage"):
            assert re.fullmatch(r"\d+\.\d{6}", value)
        else:
            assert re.fullmatch(r"\d+", value), name


def test_core_names_come_within_4096_bytes(talk):
    head = "".join(f"STAT {name} {value}\r\n"
                   for name, value in talk.stats().items())[:4096]
    assert [name for name in CORE if f"STAT {name} " not in head] == []


def test_what_it_says_of_the_process(server, talk):
    stats = talk.stats()
    assert int(stats["pid"]) == server.pid
    assert int(stats["uptime"]) >= 1  # tools divide by it
    assert stats["pointer_size"] == "64"
    assert stats["threads"] == "4"
    assert stats["max_connections"] == "1024"
    assert stats["accepting_conns"] == "1"
    assert stats["limit_maxbytes"] == str(64 << 20)
    talk.send(b"version\r\n")
    assert talk.line().decode() == "VERSION " + stats["version"]


# With n = 5, t = text: a command, and what it counts.
COUNTS = {
    "get hit": (b"get n", {"cmd_get": 1, "get_hits": 1}),
    "get miss": (b"get x", {"cmd_get": 1, "get_misses": 1}),
    "get of many": (b"get n x t y n", {"cmd_get": 5, "get_hits": 3,
                                       "get_misses": 2}),
    "gets": (b"gets n", {"cmd_get": 1, "get_hits": 1}),
    "set": (b"set x 0 0 1\r\n1", {"cmd_set": 1, "total_items": 1,
                                  "curr_items": 1}),
    "set again": (b"set n 0 0 1\r\n1", {"cmd_set": 1, "total_items": 1}),
    "add fails": (b"add n 0 0 1\r\n1", {"cmd_set": 1}),
    "replace fails": (b"replace x 0 0 1\r\n1", {"cmd_set": 1}),
    "append fails": (b"append x 0 0 1\r\n1", {"cmd_set": 1}),
    "append": (b"append n 0 0 1\r\n1", {"cmd_set": 1, "total_items": 1}),
    "cas misses": (b"cas x 0 0 1 1\r\n1", {"cmd_set": 1, "cas_misses": 1}),
    "cas exists": (b"cas n 0 0 1 0\r\n1", {"cmd_set": 1, "cas_badval": 1}),
    "delete": (b"delete n", {"delete_hits": 1, "curr_items": -1}),
    "delete miss": (b"delete x", {"delete_misses": 1}),
    "incr": (b"incr n 1", {"incr_hits": 1}),
    "incr miss": (b"incr x 1", {"incr_misses": 1}),
    "decr": (b"decr n 1", {"decr_hits": 1}),
    "decr miss": (b"decr x 1", {"decr_misses": 1}),
    "touch": (b"touch n 0", {"cmd_touch": 1, "touch_hits": 1}),
    "touch miss": (b"touch x 0", {"cmd_touch": 1, "touch_misses": 1}),
    "flush_all later": (b"flush_all 1000", {"cmd_flush": 1}),
    "quiet set": (b"set x 0 0 1 noreply\r\n1",
                  {"cmd_set": 1, "total_items": 1, "curr_items": 1}),
    "quiet incr miss": (b"incr x 1 noreply", {"incr_misses": 1}),
    "version": (b"version", {}),
    "unknown": (b"nonsense", {}),
    "bad line": (b"incr n", {}),
}
# These count what memcached counts otherwise, or twice.
COUNTS_IN_OURS = {
    "gat": (b"gat 0 n x", {"cmd_touch": 2, "touch_hits": 1,
                           "touch_misses": 1}),
    "get of a dead item": (b"get dead", {"cmd_get": 1, "get_misses": 1}),
    "incr counts no stored item twice": (b"incr n 100", {"incr_hits": 1}),
}
COUNTED = ("cmd_get cmd_set cmd_flush cmd_touch get_hits get_misses "
           "delete_hits delete_misses incr_hits incr_misses decr_hits "
           "decr_misses cas_hits cas_misses cas_badval touch_hits "
           "touch_misses store_too_large total_items").split()
if not REFERENCE:  # its curr_items also moves when it meets flushed items
    COUNTED.append("curr_items")


def take_counts(talk):
    stats = talk.stats()
    return {name: int(stats[name]) for name in COUNTED}


def changes_made_by(talk, request, wanted):
    """What the request changed; a quiet write may count a moment later."""
    before = take_counts(talk)
    talk.send(request + b"\r\nversion\r\n")
    while not talk.line().startswith(b"VERSION"):
        pass
    if request == b"version":
        talk.line()

    def changes():
        after = take_counts(talk)
        return {name: after[name] - before[name]
                for name in COUNTED if after[name] != before[name]}
    if b"noreply" in request:
        wait_until(lambda: changes() == wanted, f"{request} counts {wanted}")
    return changes()


@pytest.mark.parametrize("name", COUNTS)
def test_counts(talk, name):
    talk.set(b"n", b"5")
    talk.set(b"t", b"text")
    request, changes = COUNTS[name]
    wanted = {name: n for name, n in changes.items() if name in COUNTED}
    assert changes_made_by(talk, request, wanted) == wanted


@ours_only
@pytest.mark.parametrize("name", COUNTS_IN_OURS)
def test_counts_of_ours(talk, name):
    talk.set(b"n", b"5")
    request, changes = COUNTS_IN_OURS[name]
    assert changes_made_by(talk, request, changes) == changes


def test_cas_hit_counts(talk):
    talk.set(b"n", b"5")
    cas = talk.cas_id(b"n")
    wanted = {"cmd_set": 1, "cas_hits": 1, "total_items": 1}
    assert changes_made_by(talk, b"cas n 0 0 1 %d\r\n6" % cas,
                           wanted) == wanted


def test_expired_and_flushed_count_as_misses_too(talk):
    talk.set(b"dead", b"1", exptime=-1)
    before = talk.stats()
    talk.set(b"k", b"1")
    talk.ask(b"flush_all\r\n", b"OK\r\n")
    talk.ask(b"get k\r\n", b"END\r\n")
    after = talk.stats()
    assert int(after["get_flushed"]) == int(before["get_flushed"]) + 1
    assert int(after["get_misses"]) == int(before["get_misses"]) + 1


@ours_only  # memcached sweeps more slowly
def test_reclaimed_counts_what_is_swept(new_server):
    talk = new_server().connect()
    for i in range(10):
        talk.set(b"k%d" % i, b"1", exptime=1)
    wait_until(lambda: talk.stats()["reclaimed"] == "10", "the sweep")
    assert talk.stats()["crawler_reclaimed"] == "10"


@ours_only  # memcached counts by the second
def test_reclaimed_counts_what_takes_the_place_of_a_dead_item(new_server):
    talk = new_server().connect()
    talk.set(b"k", b"1")
    before = talk.stats()
    talk.set(b"k", b"2")
    assert talk.stats()["reclaimed"] == before["reclaimed"]
    talk.ask(b"flush_all\r\n", b"OK\r\n")
    talk.set(b"k", b"3")
    assert int(talk.stats()["reclaimed"]) == int(before["reclaimed"]) + 1


def test_too_large_counts(talk):
    size = (1 << 20) + 1
    before = take_counts(talk)
    talk.ask(b"set big 0 0 %d\r\n%s\r\n" % (size, b"x" * size),
             b"SERVER_ERROR object too large for cache\r\n")
    assert take_counts(talk)["store_too_large"] == before["store_too_large"] + 1


@ours_only
def test_items_and_bytes_are_exact(talk):
    assert (talk.stats()["curr_items"], talk.stats()["bytes"]) == ("0", "0")
    sizes = []
    for command in (b"set a 0 0 10\r\n0123456789\r\n", b"set bb 0 0 0\r\n\r\n",
                    b"append a 0 0 5\r\n01234\r\n", b"set a 0 0 0\r\n\r\n"):
        talk.ask(command, b"STORED\r\n")
        sizes.append(int(talk.stats()["bytes"]))
    assert sizes[1] - sizes[0] == sizes[0] - 10 + 1  # the longer key
    assert sizes[2] - sizes[1] == 5
    assert sizes[3] - sizes[2] == -15
    talk.ask(b"set gone 0 -1 3\r\nabc\r\n", b"STORED\r\n")
    assert talk.stats()["curr_items"] == "2"
    talk.ask(b"delete a\r\ndelete bb\r\n", b"DELETED\r\n" * 2)
    assert (talk.stats()["curr_items"], talk.stats()["bytes"]) == ("0", "0")


def test_traffic_is_counted(talk):
    before = talk.stats()
    value = b"x" * 100_000
    talk.set(b"k", value)
    assert talk.get(b"k") == value
    after = talk.stats()
    for name in "bytes_read", "bytes_written":
        grown = int(after[name]) - int(before[name])
        assert 100_000 < grown < 110_000, name


def test_connections_are_counted(new_server):
    server = new_server()
    talk = server.connect()
    before = talk.stats()
    with server.connect() as other:
        other.expect_silence()
        after = talk.stats()
    for name in "curr_connections", "total_connections":
        assert int(after[name]) == int(before[name]) + 1, name


def test_reset(new_server):
    """Zeroes what counts; keeps what is a state."""
    talk = new_server().connect()
    talk.set(b"n", b"5")
    talk.ask(b"get n\r\n", b"VALUE n 0 1\r\n5\r\nEND\r\n")
    before = talk.stats()
    talk.ask(b"stats reset\r\n", b"RESET\r\n")
    after = talk.stats()
    for name in ("cmd_get", "cmd_set", "get_hits", "total_items",
                 "total_connections", "cmd_flush"):
        assert int(after[name]) == 0, name
    for name in "curr_items", "bytes", "curr_connections", "pid", "version":
        assert after[name] == before[name], name
    assert int(after["uptime"]) >= int(before["uptime"])
