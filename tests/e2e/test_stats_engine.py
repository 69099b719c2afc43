"""stats bdb: every number is there, and moves when it should."""
import re

import pytest

from harness.packet import binary_stats
from harness.script import ours_only
from harness.wait import wait_until

pytestmark = ours_only

TEXTS = {"bdb_version", "bdb_home", "access_method", "cache_hit_ratio"}
# What MemcacheDB called so.
MEMCACHEDB = ["cache_size", "txn_lg_bsize", "txn_nosync", "dldetect_val",
              "chkpoint_val"]
NAMES = """
    bdb_version bdb_home access_method cache_hit_ratio page_bytes data_pages
    data_file_bytes cache_bytes cache_hits cache_misses pages_clean pages_dirty
    pages_read pages_written log_file log_offset log_files log_files_bytes
    log_bytes_since_checkpoint checkpoint_file checkpoint_offset checkpoints
    checkpoint_age_seconds locks locks_max lock_requests lock_waits deadlocks
    txns_active txns_begun txns_committed txns_aborted ops commits syncs
    queue_depth batches batched_ops batch_last batch_max flushes flush_p50_us
    flush_p99_us flush_max_us next_cas swept_expired swept_flushed compact_done
    compact_failed compact_pages_examined compact_pages_freed
    compact_pages_returned pdelete_running pdelete_queued pdelete_done
    pdelete_failed pdelete_items receiving_bytes storage_errors
    stored_already_expired
    compact_running""".split()


def numbers(talk):
    return {name: int(value) for name, value in talk.stats("bdb").items()
            if name not in TEXTS}


@pytest.mark.parametrize("options", [
    (), ("--sync=interval:50",), ("-B", "hash")])
def test_names_and_values(new_server, options):
    """Of a new store, of one in use, and of one that was opened again."""
    server = new_server(*options)
    for _ in range(2):
        with server.connect() as talk:
            for _ in range(2):
                stats = talk.stats("bdb")
                assert list(stats)[:5] == MEMCACHEDB
                assert set(MEMCACHEDB + NAMES) <= set(stats)
                bad = [name for name, value in stats.items()
                       if name not in TEXTS and not re.fullmatch(r"\d+", value)]
                assert bad == []
                assert re.fullmatch(r"\d+\.\d+\.\d+", stats["bdb_version"])
                assert stats["bdb_home"] == str(server.home)
                assert re.fullmatch(r"[01]\.\d{4}", stats["cache_hit_ratio"])
                assert stats["access_method"] == \
                    ("hash" if "hash" in options else "btree")
                assert stats["txn_nosync"] == str(int(
                    any(word.startswith(("--sync", "-N")) for word in options)))
                talk.set(b"k", b"1")
                talk.get(b"k")
        server.restart()


def test_options_are_shown(new_server):
    with new_server("-m", 32, "-C", 77).connect() as talk:
        stats = talk.stats("bdb")
        assert stats["cache_size"] == str(32 << 20)
        assert stats["chkpoint_val"] == "77"


def test_numbers_move(new_server):
    server = new_server("-C", "0")
    with server.connect() as talk:
        before = numbers(talk)
        for i in range(20):
            talk.set(b"k%d" % i, b"v" * 20000)
        talk.set(b"dead", b"1", exptime=-1)
        after = numbers(talk)
        for name in ("ops", "commits", "batched_ops", "next_cas"):
            assert after[name] >= before[name] + 20, name
        for name in ("log_bytes_since_checkpoint", "syncs", "flushes",
                     "batches", "txns_begun", "txns_committed",
                     "lock_requests"):
            assert after[name] > before[name], name
        assert (after["log_file"], after["log_offset"]) > (
            before["log_file"], before["log_offset"])
        assert after["stored_already_expired"] == \
            before["stored_already_expired"] + 1
        assert after["queue_depth"] == after["txns_aborted"] == 0
        assert 1 <= after["batch_last"] <= after["batch_max"]
        assert 0 < after["flush_p50_us"] <= after["flush_p99_us"]
        assert after["flush_p50_us"] <= after["flush_max_us"]
        talk.ask(b"db_checkpoint\r\n", b"OK\r\n")
        last = numbers(talk)
        assert last["checkpoints"] == after["checkpoints"] + 1
        assert last["log_bytes_since_checkpoint"] < \
            after["log_bytes_since_checkpoint"]
        assert (last["checkpoint_file"], last["checkpoint_offset"]) > (
            after["checkpoint_file"], after["checkpoint_offset"])
        assert last["data_file_bytes"] >= 20 * 20000
        # what is counted now and then
        wait_until(lambda: numbers(talk)["pages_written"]
                   > before["pages_written"], "pages are counted anew")
        wait_until(lambda: numbers(talk)["data_pages"]
                   * numbers(talk)["page_bytes"] >= 20 * 20000,
                   "pages of data are counted anew")


def test_what_the_sweep_has_done(new_server):
    server = new_server("--flush-grace=0")
    with server.connect() as talk:
        talk.send(b"".join(b"set k%d 0 0 1 noreply\r\n1\r\n" % i
                           for i in range(50)))
        talk.ask(b"flush_all\r\n", b"OK\r\n")
        wait_until(lambda: numbers(talk)["swept_flushed"] == 50,
                   "they are swept")


def test_reset_keeps_the_engine(new_server):
    """It is told of ours; the engine counts from the start."""
    with new_server().connect() as talk:
        talk.set(b"k", b"1", exptime=-1)
        before = numbers(talk)
        talk.ask(b"stats reset\r\n", b"RESET\r\n")
        after = numbers(talk)
        assert after["stored_already_expired"] == 0
        assert after["ops"] >= before["ops"] > 0
        assert after["next_cas"] >= before["next_cas"]


def test_in_binary(new_server):
    server = new_server()
    with server.connect() as talk, server.connect() as text:
        assert list(binary_stats(talk, b"bdb")) == list(text.stats("bdb"))


# ---- the other groups, in binary --------------------------------------------

@pytest.mark.parametrize("group", ["", "settings", "items", "slabs", "sizes"])
def test_groups_are_the_same_in_binary(new_server, group):
    server = new_server()
    with server.connect() as talk, server.connect() as text:
        text.set(b"k", b"1")
        by_text = text.stats(group)
        by_binary = binary_stats(talk, group.encode())
        assert list(by_binary) == list(by_text)
        assert "" not in by_binary.values()
        if group in ("settings", "sizes"):
            assert by_binary == by_text


def test_conns_in_binary(new_server):
    server = new_server()
    with server.connect() as talk:
        found = binary_stats(talk, b"conns")
        port = talk.sock.getsockname()[1]
        fd, = [name.split(":")[0] for name, value in found.items()
               if value == f"tcp:127.0.0.1:{port}"]
        assert found[f"{fd}:state"] == "conn_parse_cmd"
        assert "" not in found.values()


def test_conns_while_all_kinds_of_them_are_open(new_server):
    """Nothing is empty, whatever a connection is at."""
    server = new_server("-U", "-1")
    with server.connect() as talk, server.connect() as half, \
            server.connect() as watcher, server.connect() as closing:
        half.send(b"set k 0 0 10\r\n123")
        watcher.ask(b"watch\r\n", b"OK\r\n")
        closing.send(b"set k 0 0 -1\r\n" + b"x" * 100)
        wait_until(lambda: {"conn_nread", "conn_watch"}
                   <= set(talk.stats("conns").values()), "they are there")
        found = talk.stats("conns")
        assert "" not in found.values()
        states = [value for name, value in found.items()
                  if name.endswith(":state")]
        assert {"conn_listening", "conn_read", "conn_parse_cmd"} <= set(states)
        half.ask(b"4567890\r\n", b"STORED\r\n")
