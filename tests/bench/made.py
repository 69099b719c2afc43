"""Records as a run makes them, with what the tests of summaries need."""
from records import Records


def result(rate=1000, cpu=10.0, p50=100.0, p99=200.0, longest=300.0, **more):
    """What the load generator reports."""
    return {"ops_per_s": rate, "server_cpu_us_per_op": cpu,
            "latency_us": {"p50": p50, "p99": p99, "p999": p99,
                           "max": longest},
            "server_cpu_cores": 0.5, "client_cpu_cores": 0.3,
            "client_cpu_us_per_op": 1.0, "errors": 0, "misses": 0,
            "keys": 1000000, "log_bytes": 0, "data_bytes": 0, **more}


def rows(row, **rates):
    """Records of one row: rows("set50", ours=[1, 2]) has two rounds."""
    records = Records()
    add_rows(records, row, **rates)
    return records


def add_rows(records, row, **rates):
    for server, rounds in rates.items():
        for number, rate in enumerate(rounds):
            records.keep("result", row=row, server=server.replace("_", "-"),
                         round=number, **result(rate, cpu=1e6 / rate))


def pairs(scenario, server, without, with_, **more):
    """Records of one pair: p99 of each round, and the slowest answer."""
    records = Records()
    for side, rounds in (("without", without), ("with", with_)):
        for number, p99 in enumerate(rounds):
            records.keep("pair", scenario=scenario, server=server, side=side,
                         round=number, events=number,
                         **result(p99=p99, longest=10 * p99, **more))
    return records
