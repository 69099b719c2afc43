"""watch: what the lines of the log say."""
import re

import pytest

from harness.script import ours_only


def watch(server, streams):
    watcher = server.connect()
    watcher.ask(b"watch %s\r\n" % streams, b"OK\r\n")
    return watcher


def next_line(watcher):
    """Lines end with LF alone."""
    line = b""
    while not line.endswith(b"\n"):
        line += watcher.read(1)
    return line[:-1]


def expect_line(watcher, words):
    line = next_line(watcher)
    assert re.fullmatch(rb"ts=\d+\.\d{6} gid=\d+ " + words, line), line


@ours_only  # 1.6.18 has no such stream
@pytest.mark.parametrize("command, answer, name", [
    (b"delete k", b"DELETED", b"delete"),
    (b"md k", b"HD", b"md"),
])
def test_deletions(new_server, command, answer, name):
    server = new_server()
    watcher = watch(server, b"deletions")
    with server.connect() as talk:
        talk.ask(command + b"\r\n", b"NF\r\n" if name == b"md"
                 else b"NOT_FOUND\r\n")  # says nothing
        talk.set(b"k", b"12345")
        talk.ask(command + b"\r\n", answer + b"\r\n")
    expect_line(watcher, b"type=deleted key=k cmd=%s clsid=1 size=5" % name)


@ours_only
def test_a_change_is_shown_with_the_item_it_found(new_server):
    server = new_server()
    watcher = watch(server, b"fetchers mutations")
    with server.connect() as talk:
        talk.set(b"k", b"12345")
        talk.set(b"k", b"1")
    for words in (rb"type=item_get key=k status=not_found .* size=0",
                  rb"type=item_store key=k status=stored cmd=set .* size=5",
                  rb"type=item_get key=k status=found .* size=5",
                  rb"type=item_store key=k status=stored cmd=set .* size=1"):
        expect_line(watcher, words)


@pytest.mark.parametrize("last_words, reason", [
    (b"quit\r\n", b"normal"),
    (b"GET / HTTP/1.1\r\n", b"error"),
    (b"x" * 5000, b"error"),
])
def test_why_a_connection_was_closed(new_server, last_words, reason):
    server = new_server()
    watcher = watch(server, b"connevents")
    talk = server.connect()
    expect_line(watcher, rb"type=conn_new rip=127\.0\.0\.1 rport=\d+ "
                         rb"transport=tcp cfd=\d+")
    talk.send(last_words)
    talk.expect_close()
    expect_line(watcher, rb"type=conn_close .* transport=tcp reason=%s cfd=\d+"
                % reason)
