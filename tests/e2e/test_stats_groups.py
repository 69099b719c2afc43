"""stats settings, items, slabs, sizes, conns, detail, cachedump.

All items belong to one pseudo class 1, since there are no slabs; the names are
memcached's, so that its tools work.
"""
import base64
import re

import pytest

from harness.script import conversations, differs, hold, ours_only
from harness.server import REFERENCE
from harness.wait import wait_until

ITEMS = """
    number number_hot number_warm number_cold age_hot age_warm age
    mem_requested evicted evicted_nonzero evicted_time outofmemory tailrepairs
    reclaimed expired_unfetched evicted_unfetched evicted_active
    crawler_reclaimed crawler_items_checked lrutail_reflocked moves_to_cold
    moves_to_warm moves_within_lru direct_reclaims hits_to_hot hits_to_warm
    hits_to_cold hits_to_temp""".split()
SLABS = """
    chunk_size chunks_per_page total_pages total_chunks used_chunks
    free_chunks free_chunks_end get_hits cmd_set delete_hits incr_hits
    decr_hits cas_hits cas_badval touch_hits""".split()
SETTINGS = """
    maxbytes maxconns tcpport udpport inter verbosity oldest evictions
    domain_socket umask shutdown_command growth_factor chunk_size num_threads
    num_threads_per_udp stat_key_prefix detail_enabled reqs_per_event
    cas_enabled tcp_backlog binding_protocol auth_enabled_sasl
    auth_enabled_ascii item_size_max maxconns_fast hashpower_init
    slab_reassign slab_automove slab_automove_ratio slab_automove_window
    slab_chunk_max lru_crawler lru_crawler_sleep lru_crawler_tocrawl
    tail_repair_time flush_enabled dump_enabled hash_algorithm
    lru_maintainer_thread lru_segmented hot_lru_pct warm_lru_pct
    hot_max_factor warm_max_factor temp_lru temporary_ttl idle_timeout
    watcher_logbuf_size worker_logbuf_size read_buf_mem_limit track_sizes
    inline_ascii_response ssl_enabled memory_file client_flags_size""".split()

ANSWERS = {
    "unknown-group": """
        > stats nonsense
        < ERROR
        > stats nonsense with words
        < ERROR
    """,
    "sizes": """
        > stats sizes
        < STAT sizes_status disabled
        < END
    """,
    "reset": """
        > stats reset
        < RESET
    """,
    "detail-usage": """
        > stats detail
        < CLIENT_ERROR usage: stats detail on|off|dump
        > stats detail maybe
        < CLIENT_ERROR usage: stats detail on|off|dump
    """,
    "detail": """
        > stats detail on
        < OK
        > set d:1 0 0 1
        > 1
        < STORED
        > get d:1
        < VALUE d:1 0 1
        < 1
        < END
        > get d:2
        < END
        > delete d:3
        < NOT_FOUND
        > get plain
        < END
        > stats detail dump
        < PREFIX d get 2 hit 1 set 1 del 1
        < END
        > stats detail off
        < OK
        > get d:1
        < VALUE d:1 0 1
        < 1
        < END
        > stats detail dump
        < PREFIX d get 2 hit 1 set 1 del 1
        < END
        > stats reset
        < RESET
        > stats detail dump
        < END
    """,
    "cachedump-errors": """
        > stats cachedump
        < CLIENT_ERROR bad command line
        > stats cachedump 1
        < CLIENT_ERROR bad command line
        > stats cachedump a 0
        < CLIENT_ERROR bad command line format
        > stats cachedump 1 b
        < CLIENT_ERROR bad command line format
        > stats cachedump 64 0
        < CLIENT_ERROR Illegal slab id
    """,
}


@conversations(ANSWERS)
def test_answer(talk, script, delivery):
    hold(talk, script, delivery)


EMPTY_STORE = """
    > stats items
    < END
    > stats slabs
    <~ STAT active_slabs [0-9]+
    <~ STAT total_malloced [0-9]+
    < END
"""


def test_items_and_slabs_of_an_empty_store(new_server):
    with new_server().connect() as talk:
        talk.run(EMPTY_STORE)


def test_items_and_slabs_of_an_emptied_store(new_server):
    """The class stays, empty."""
    talk = new_server().connect()
    talk.set(b"k", b"1")
    talk.ask(b"delete k\r\n", b"DELETED\r\n")
    talk.ask(b"stats items\r\n", b"END\r\n")
    slabs = talk.stats("slabs")
    assert slabs["1:used_chunks"] == "0"
    assert slabs["active_slabs"] == "1"


def test_mem_requested(new_server):
    """More than memcached's least item of 50 bytes, less than chunks."""
    talk = new_server().connect()
    for i in range(10):
        talk.set(b"key%d" % i, b"x" * 10)
    requested = int(talk.stats("items")["items:1:mem_requested"])
    chunk = int(talk.stats("slabs")["1:chunk_size"])
    assert 10 * 50 < requested < 10 * chunk


@ours_only  # memcached says "no" only when its thread has ended
def test_lru_crawler_shows_in_settings(new_server):
    talk = new_server("-o", "no_lru_crawler").connect()
    assert talk.stats("settings")["lru_crawler"] == "no"
    for word, shown in ("enable", "yes"), ("disable", "no"):
        talk.ask(b"lru_crawler %s\r\n" % word.encode(), b"OK\r\n")
        assert talk.stats("settings")["lru_crawler"] == shown


def test_items(new_server):
    talk = new_server().connect()
    talk.set(b"a", b"12345")
    talk.set(b"b", b"")
    stats = talk.stats("items")
    assert list(stats) == [f"items:1:{name}" for name in ITEMS]
    assert all(re.fullmatch(r"\d+", value) for value in stats.values())
    assert stats["items:1:number"] == "2"
    assert stats["items:1:evicted"] == "0"
    assert stats["items:1:outofmemory"] == "0"


def test_slabs(new_server):
    talk = new_server().connect()
    talk.set(b"a", b"12345")
    talk.ask(b"get a\r\n", b"VALUE a 0 5\r\n12345\r\nEND\r\n")
    stats = talk.stats("slabs")
    one_class = {name[2:]: value for name, value in stats.items()
                 if name.startswith("1:")}
    assert set(SLABS) <= set(one_class)
    assert set(stats) - {f"1:{name}" for name in one_class} == {
        "active_slabs", "total_malloced"}
    assert all(re.fullmatch(r"\d+", value) for value in stats.values())
    assert one_class["used_chunks"] == "1"
    assert stats["active_slabs"] == "1"
    for name in "chunk_size", "total_chunks", "chunks_per_page":
        assert int(one_class[name]) > 0, name


@differs("1.6.18 has no client_flags_size")
def test_settings_names(talk):
    settings = talk.stats("settings")
    assert set(SETTINGS) - set(settings) == set()
    assert "" not in settings.values()
    assert settings["client_flags_size"] == "4"


@ours_only
@pytest.mark.parametrize("group", ["", "settings", "items", "slabs", "sizes",
                                   "conns", "bdb"])
def test_every_line_has_three_words(talk, group):
    talk.set(b"k", b"1")
    stats = talk.stats(group)
    assert stats
    assert [name for name, value in stats.items()
            if not value or " " in value] == []


def test_settings_of_a_default_start(talk):
    settings = talk.stats("settings")
    wanted = {
        "maxbytes": str(64 << 20), "maxconns": "1024", "verbosity": "0",
        "num_threads": "4", "item_size_max": str(1 << 20),
        "cas_enabled": "yes", "flush_enabled": "yes", "dump_enabled": "yes",
        "shutdown_command": "no", "idle_timeout": "0",
        "reqs_per_event": "20", "tcp_backlog": "1024", "umask": "700",
        "binding_protocol": "auto-negotiate", "auth_enabled_sasl": "no",
        "domain_socket": "NULL", "inter": "127.0.0.1", "maxconns_fast": "yes",
        "ssl_enabled": "no"}
    assert {name: settings[name] for name in wanted} == wanted
    if not REFERENCE:
        assert settings["sync"] == "always"


def test_settings_show_the_options(new_server):
    server = new_server("-m", 32, "-c", 77, "-t", 2, "-I", "2m",
                        "--enable-shutdown", "--disable-flush-all",
                        "--max-reqs-per-event=7", "-o", "idle_timeout=99",
                        "--disable-cas", "-v")
    settings = server.stats("settings")
    wanted = {
        "maxbytes": str(32 << 20), "maxconns": "77", "num_threads": "2",
        "item_size_max": str(2 << 20), "shutdown_command": "yes",
        "flush_enabled": "no", "reqs_per_event": "7", "idle_timeout": "99",
        "cas_enabled": "no", "verbosity": "1"}
    assert {name: settings[name] for name in wanted} == wanted
    assert "idle_kicks" in server.stats()


def test_disabled_cas_shows_0(new_server):
    with new_server("--disable-cas").connect() as talk:
        talk.set(b"k", b"1")
        talk.ask(b"gets k\r\n", b"VALUE k 0 1 0\r\n1\r\nEND\r\n")


def test_settings_follow_verbosity(talk):
    talk.ask(b"verbosity 1\r\n", b"OK\r\n")
    assert talk.stats("settings")["verbosity"] == "1"
    talk.ask(b"verbosity 0\r\n", b"OK\r\n")
    assert talk.stats("settings")["verbosity"] == "0"


def connections(talk):
    """`stats conns` by address."""
    by_fd = {}
    for name, value in talk.stats("conns").items():
        fd, name = name.split(":", 1)
        by_fd.setdefault(int(fd), {})[name] = value
    assert list(by_fd) == sorted(by_fd)
    return {each["addr"]: each for each in by_fd.values()}


def test_conns(server, talk):
    def address(connection):
        return "tcp:127.0.0.1:%d" % connection.sock.getsockname()[1]

    listening = f"tcp:127.0.0.1:{server.port}"
    with server.connect() as other, server.connect() as idle:
        idle.expect_silence()
        other.send(b"set k 0 0 10\r\nabc")
        wait_until(lambda: connections(talk).get(address(other), {})
                   .get("state") == "conn_nread", "the set has begun")
        shown = connections(talk)
        other.ask(b"defghij\r\n", b"STORED\r\n")
        assert shown[address(talk)]["state"] == "conn_parse_cmd"
        assert shown[address(talk)]["listen_addr"] == listening
        assert int(shown[address(talk)]["secs_since_last_cmd"]) < 60
        assert shown[address(idle)]["state"] in ("conn_read", "conn_waiting",
                                                 "conn_new_cmd")
        assert shown[listening]["state"] == "conn_listening"
        assert "listen_addr" not in shown[listening]


@ours_only  # memcached closes it with unread bytes, answers may be lost
def test_conns_that_end(server, talk):
    """After the end of the answers it waits a moment for the peer's end."""
    with server.connect() as other:
        name = "tcp:127.0.0.1:%d" % other.sock.getsockname()[1]
        other.ask(b"set k 0 0 -1\r\n",
                  b"CLIENT_ERROR bad command line format\r\n")
        other.expect_close()
        shown = connections(talk)
        assert name not in shown or shown[name]["state"] == "conn_closing"


@ours_only  # memcached lists only what has become cold
@pytest.mark.parametrize("limit,listed", [(0, 20), (7, 7), (100, 20)])
def test_cachedump(talk, limit, listed):
    for i in range(20):
        talk.set(b"key%02d" % i, b"x" * i, exptime=4102444800 if i % 2 else 0)
    talk.set(b"dead", b"1", exptime=-1)
    talk.send(b"stats cachedump 1 %d\r\n" % limit)
    seen = {}
    while (line := talk.line().decode()) != "END":
        key, size, expiry = re.fullmatch(
            r"ITEM (\S+) \[(\d+) b; (\d+) s\]", line).groups()
        seen[key] = (int(size), int(expiry))
    assert len(seen) == listed
    for key, (size, expiry) in seen.items():
        i = int(key.removeprefix("key"))
        assert size == i
        assert expiry == (4102444800 if i % 2 else 0)


@pytest.mark.parametrize("slab_class", [0, 2, 63])
def test_cachedump_of_other_classes_is_empty(talk, slab_class):
    talk.set(b"k", b"1")
    talk.ask(b"stats cachedump %d 0\r\n" % slab_class, b"END\r\n")


def test_dumping_disabled(new_server):
    with new_server("--disable-dumping").connect() as talk:
        talk.ask(b"stats cachedump 1 0\r\n",
                 b"CLIENT_ERROR stats cachedump not allowed\r\n")
        assert talk.stats("settings")["dump_enabled"] == "no"
        if not REFERENCE:  # since 1.6.45
            talk.ask(b"stats detail on\r\n",
                     b"CLIENT_ERROR stats detail not allowed\r\n")


def test_prefix_delimiter(new_server):
    option = ("-D", "/") if REFERENCE else ("--prefix-delimiter=/",)
    with new_server(*option).connect() as talk:
        talk.ask(b"get a/b\r\nget a:b\r\n", b"END\r\nEND\r\n")
        talk.ask(b"stats detail dump\r\n",
                 b"PREFIX a get 1 hit 0 set 0 del 0\r\nEND\r\n")


@ours_only  # memcached lets the key end the answer
def test_prefixes_that_break_lines_are_left_out(new_server):
    with new_server().connect() as talk:
        talk.ask(b"stats detail on\r\n", b"OK\r\n")
        for key in b"a\r\nEND\r\n:x", b"b c:x", b"d\0:x", b"e:x":
            talk.ask(b"ms %s 0 b\r\n\r\n" % base64.b64encode(key), b"HD\r\n")
        talk.ask(b"stats detail dump\r\n",
                 b"PREFIX e get 0 hit 0 set 1 del 0\r\nEND\r\n")
