"""What a scan has said is not there does not come back by a power cut."""
import pytest

from harness.faults import LOGS, SYNC, Faults, cut_power

SCANS = [(b"rget a z 0 0 10\r\n", b"END\r\n"), (b"pget k 10\r\n", b"END\r\n"),
         (b"lru_crawler metadump all\r\n", b"OK\r\nEND\r\n"),
         (b"lru_crawler mgdump all\r\n", b"OK\r\nEN\r\n")]
CHANGES = b"delete k\r\n", b"flush_all\r\n", b"touch k -1\r\n"


def read_answer(talk):
    answer = b""
    while not answer.endswith((b"END\r\n", b"EN\r\n")):
        answer += talk.line() + b"\r\n"
    return answer


@pytest.mark.parametrize("scan, nothing", SCANS)
@pytest.mark.parametrize("change", CHANGES)
def test_what_was_not_shown_stays_away(new_server, tmp_path, scan, nothing, change):
    faults = Faults(tmp_path, undo=True)
    server = new_server(env=faults.env)
    with server.connect() as talk, server.connect() as other:
        talk.set(b"k", b"1")
        faults.delay(SYNC, LOGS, ms=150)
        other.send(change)
        talk.send(scan)
        while read_answer(talk) != nothing:
            talk.send(scan)
        server.kill9()
    cut_power(faults, server)
    faults.clear()
    server.start()
    with server.connect() as talk:
        assert talk.get(b"k") is None
