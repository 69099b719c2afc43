"""Medians and ratios are what they are said to be."""
import io

from made import pairs, result, rows
from records import Records
from summary import (Measure, Rows, latency, latency_floor_us,
                     longest_stall_us, measure, pair_ratio, rate)


def test_measure_of_nothing_is_none():
    assert measure([]) is None


def test_measure():
    found = measure([3, 1, 2, 10])
    assert found == Measure(2.5, 1, 10)
    assert found.spread == 9 / 2.5


def test_ratio_is_taken_within_each_round():
    """The second round was slow for both: that changes nothing."""
    cells = Rows(rows("get50", memcached=[1000, 10, 4000],
                      ours_always=[1100, 9, 4800]))
    found = cells.ratio("get50", "ours-always", "memcached", rate)
    assert found == Measure(1.1, 0.9, 1.2)


def test_ratio_of_rounds_that_both_have():
    cells = Rows(rows("get50", memcached=[1000], ours_always=[500, 800]))
    assert cells.ratio("get50", "ours-always", "memcached", rate).value == 0.5


def test_ratio_to_a_server_that_is_not_there():
    cells = Rows(rows("get50", ours_always=[500]))
    assert cells.ratio("get50", "ours-always", "memcached", rate) is None


def test_pair_ratio_and_longest_stall():
    records = pairs("sweep", "ours-always", without=[100, 100, 400],
                    with_=[150, 300, 400])
    assert pair_ratio(records, "sweep", "ours-always",
                      latency("p99")) == Measure(1.5, 1.0, 3.0)
    assert longest_stall_us(records, "sweep", "ours-always") == 4000
    assert longest_stall_us(records, "idle", "ours-always") is None


def test_latency_floor_needs_the_disk_and_a_round_trip():
    records = Records()
    records.keep("disk", append_us={"p50": 120.0},
                 overwrite_us={"p50": 80.0})
    assert latency_floor_us(records) is None
    records.keep("result", row="get1", server="memcached", round=0,
                 **result(p50=15.0))
    assert latency_floor_us(records) == 135.0
    assert latency_floor_us(records, "overwrite") == 95.0


def test_records_are_lines_and_come_back(tmp_path):
    log = io.StringIO()
    records = Records(log)
    records.keep("disk", a=1)
    records.keep("result", a=2, b="x")
    path = tmp_path / "run.jsonl"
    path.write_text(log.getvalue())
    again = Records.read(path)
    assert again.all == records.all
    assert again.of("result", b="x") == [{"kind": "result", "a": 2, "b": "x"}]
    assert again.of("result", b="y") == []
