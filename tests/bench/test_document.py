"""The table of the README is made from records alone."""
import io

import pytest

import rows as loads
from document import print_document, short_number, version_number
from made import add_rows
from records import Records


@pytest.mark.parametrize("number,text", [
    (688123, "688k"), (99700, "99.7k"), (24000, "24k"), (5321, "5.32k"),
    (999, "999"), (0, "0")])
def test_short_number(number, text):
    assert short_number(number) == text


@pytest.mark.parametrize("said,number", [
    ("memcached 1.6.45", "1.6.45"), ("memcachedb 2.0.0", "2.0.0"),
    ("Redis server v=7.0.15 sha=00000000:0 malloc=jemalloc-5.3.0", "7.0.15"),
    ("none", "none")])
def test_version_number(said, number):
    assert version_number(said) == number


def make_run():
    records = Records()
    records.keep("about", date="2026-11-30T10:00:00", cores=2, kernel="6",
                 filesystem="ext4", device="/dev/vda", mount="/", rounds=2,
                 seconds=4.0, keys=1000000, threads=2, cache_mb=512,
                 load_average=0.0, notes=[],
                 versions={"memcached": "memcached 1.6.45",
                           "ours-always": "memcachedb 2.0.0"})
    records.keep("disk", bytes=512, append_us={"p50": 180.0},
                 overwrite_us={"p50": 100.0})
    add_rows(records, "set50", memcached=[100000, 100000],
             ours_always=[50000, 40000])
    add_rows(records, "set1", ours_always=[4000])
    records.keep("syncs", row="set50", server="ours-always", sets=480,
                 syncs=10)
    return records


def test_document():
    out = io.StringIO()
    print_document(loads.ROWS, make_run(), out)
    text = out.getvalue()
    assert "Rounds of writes differed by 0 to 22 %" in " ".join(text.split())
    assert ("| load | memcached 1.6.45 | Redis appendfsync always "
            "| memcachedb 2.0.0 `always` |\n|---|---|---|---|\n") in text
    assert ("| SET, 50 connections | 100k/s (10.0 us) |  "
            "| **45k/s** (22.5 us; 48 sets a sync) |\n") in text
    assert "| SET, 1 connection |  |  | **100 us** (250 us) |\n" in text
    assert "| GET, 50 connections |" not in text


def test_a_run_that_found_nothing_is_printed():
    records = Records()
    records.all = make_run().of("about")
    out = io.StringIO()
    print_document(loads.ROWS, records, out)
    assert "Rounds of writes differed by -, of reads by -" in " ".join(
        out.getvalue().split())
