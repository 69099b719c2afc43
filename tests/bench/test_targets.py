"""What counts as reached, and that each row of the table can be reached."""
import io

import pytest

import rows as loads
from bulk import LOADS
from disturbed import disturbances
from made import add_rows, pairs, result, rows
from records import Records
from table import PAIRS
from targets import TARGETS, print_targets


def target(title):
    return next(each for each in TARGETS if each.title == title)


@pytest.mark.parametrize("ours,reached", [
    ([1250, 1250], True), ([1249, 1249], False), ([900, 1600], True)])
def test_throughput(ours, reached):
    records = rows("set50", redis_always=[1000, 1000], ours_always=ours)
    criterion = target("SET, 50 connections").at_least
    assert criterion.reached(records) is reached


def test_not_measured_is_neither():
    criterion = target("SET, 50 connections").at_least
    assert criterion.reached(Records()) is None


def test_cpu_time_is_to_be_low():
    criterion = target("GET, 50 connections").aim
    assert criterion.reached(rows("get50", memcached=[1000],
                                  ours_always=[1001])) is True
    assert criterion.reached(rows("get50", memcached=[1000],
                                  ours_always=[999])) is False


def test_quiet_gets_aim_at_the_pipelined_gets_of_redis():
    records = rows("get-d32", redis_always=[1000])
    add_rows(records, "metaq-get-d32", memcached=[100], ours_always=[1100])
    aim = target("GET, 32 in flight, meta quiet").aim
    assert aim.measure(records).value == 1.1


@pytest.mark.parametrize("with_,at_least,aim", [
    ([150], True, True), ([151], True, False), ([201], False, False)])
def test_p99_of_a_pair(with_, at_least, aim):
    records = pairs("metadump", "ours-always", [100], with_)
    found = target("SET during dumps of all keys")
    assert found.at_least.reached(records) is at_least
    assert found.aim.reached(records) is aim


def test_one_long_stall_is_enough():
    records = pairs("cold", "ours-always", [1], [10] * 4 + [100001])
    stall = target("data of 10 x the cache, all keys").at_least
    assert stall.measure(records).value == 1.00001
    assert stall.reached(records) is False


def test_idle_memory_is_that_of_the_first_crowd():
    records = Records()
    for number, grown in enumerate((4097, 0, 12)):
        records.keep("pair", scenario="idle", server="ours-always",
                     side="with", round=number, bytes_each=grown, **result())
    assert target("silent connections, memory").at_least.reached(
        records) is False


def test_data_are_those_of_a_million():
    records = Records()
    records.keep("load", server="ours-always",
                 **{**result(), "keys": 2000, "data_bytes": 440000})
    found = target("disk, behind inserts in random order").at_least
    assert found.measure(records).value == 220
    assert found.reached(records) is True


class Recorder(Records):
    """Notes what is asked for."""

    def __init__(self):
        super().__init__()
        self.asked = []

    def of(self, kind, **fields):
        self.asked.append({"kind": kind, **fields})
        return super().of(kind, **fields)


def test_every_pair_and_load_of_the_table_is_one_that_is_measured(monkeypatch):
    """A name that nobody measures would never be missed."""
    asked_rows = set()
    monkeypatch.setattr("summary.Rows.rounds",
                        lambda self, row, server: asked_rows.add(row) or [])
    recorder = Recorder()
    for each in TARGETS:
        for criterion in (each.at_least, each.aim):
            if criterion is not None:
                assert criterion.measure(recorder) is None
    assert asked_rows - {"set1", "get1"} <= {row.name for row in loads.ROWS}
    asked = {ask["scenario"] for ask in recorder.asked
             if ask["kind"] == "pair"}
    assert asked == set(PAIRS)
    assert {ask["protocol"] for ask in recorder.asked
            if ask["kind"] == "bulk" and "protocol" in ask} == {
        protocol for server, protocol in LOADS if server == "ours-always"}

    class Settings:
        seconds = 1
    assert set(disturbances(Settings)) | {"idle", "cold"} == asked


def test_print_says_both_verdicts():
    records = rows("set50", redis_always=[1000, 1000],
                   memcached=[4000, 4000], ours_always=[1300, 1500])
    out = io.StringIO()
    print_targets(records, out)
    line = next(line for line in out.getvalue().splitlines()
                if line.startswith("| SET, 50"))
    assert [cell.strip() for cell in line.split("|")[1:-1]] == [
        "SET, 50 connections", ">= 1.25 x redis-always",
        "1.40 (1.30-1.50), CPU 0.72", "reached", ">= 0.95 x memcached",
        "0.35 (0.33-0.38), CPU 2.87", "MISSED"]
    # The other one is that of the logs, which every result tells.
    assert "2 of 2 reached at least" in out.getvalue()
