"""Dumps and scans over pages that cannot be read: a list with an end is whole.

Berkeley DB holds the inner pages in its cache; leaves are read from the file.
"""
import pytest

from harness.faults import DATA, READ
from harness.wait import wait_until

KEYS = 12000
OPTIONS = ("-m", "1", "--max-scan-items=100000", "--sync=write")

WALKS = {
    "metadump": (b"lru_crawler metadump all\r\n", b"END\r\n", b"key="),
    "mgdump": (b"lru_crawler mgdump all\r\n", b"EN\r\n", b"mg "),
    "cachedump": (b"stats cachedump 1 0\r\n", b"END\r\n", b"ITEM "),
    "rget": (b"rget k l 0 0 100000\r\n", b"END\r\n", b"VALUE "),
    "pget": (b"pget k 100000\r\n", b"END\r\n", b"VALUE "),
}


def start(new_server, faults):
    server = new_server(*OPTIONS, env=faults.env)
    with server.connect() as talk:
        for at in range(0, KEYS, 500):
            talk.send(b"".join(b"set k%05d 0 0 300 noreply\r\n%s\r\n"
                               % (i, b"v" * 300) for i in range(at, at + 500)))
            talk.expect_silence()
        talk.ask(b"db_checkpoint\r\n", b"OK\r\n")
    return server


def walk(talk, name):
    """(how many items it has shown, its last line)"""
    command, end, start_of_item = WALKS[name]
    talk.send(command)
    text = b""
    while not text.endswith((end, b"SERVER_ERROR storage failure\r\n")):
        assert talk.buffer or talk._fill(), text[-200:]
        text, talk.buffer = text + talk.buffer, b""
    return text.count(start_of_item), text[text.rfind(b"\n", 0, -1) + 1:]


@pytest.mark.parametrize("name", WALKS)
def test_a_page_that_cannot_be_read(new_server, faults, name):
    server = start(new_server, faults)
    with server.connect() as talk:
        rule = faults.spoil(READ, DATA, pages=10)
        count, last = walk(talk, name)
        assert rule.hits > 0
        assert last == b"SERVER_ERROR storage failure\r\n"
        assert count < KEYS
        rule.off()
        count, last = walk(talk, name)
        assert (count, last) == (KEYS, WALKS[name][1])
        talk.expect_silence()


def test_pdelete_tries_again(new_server, faults):
    server = start(new_server, faults)
    with server.connect() as talk:
        rule = faults.spoil(READ, DATA, pages=10)
        talk.ask(b"pdelete k\r\n", b"OK\r\n")
        rule.wait("the failure")
        rule.off()
        wait_until(lambda: talk.stats("bdb")["pdelete_done"] == "1",
                   "it is done")
        assert talk.stats()["curr_items"] == "0"
