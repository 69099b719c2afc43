"""What the kernel sees: no answer leaves before the sync that covers it.

strace records the server's system calls in their order. Each value carries a
number. A write of a log file that holds it, then an fdatasync of that file
which began after it and has returned 0: from then on it may be answered.
"""
import os
import re

import pytest

from harness.server import Server

CALLS = "pwrite64,write,writev,sendmsg,sendto,fdatasync,fsync"
# "pid  call(arguments <unfinished ...>" and "pid  <... call resumed>rest"
LINE = re.compile(r"(\d+) +(?:(<\.\.\.) )?(\w+)(?: resumed>|\()(.*)")
MARK = re.compile(r"mark-(\d+)-")


class Traced(Server):
    """Runs below strace; -D: the process itself stays our child."""

    def command(self):
        return ["strace", "-D", "-f", "-y", "-s", "1000000", "-e",
                f"trace={CALLS}", "-o", str(self.dir / "trace"),
                *super().command()]

    def calls(self):
        """(name, text, line it began in, line it ended in) of every call."""
        begun, calls = {}, []
        text = (self.dir / "trace").read_text(errors="replace")
        for at, line in enumerate(text.splitlines()):
            match = LINE.fullmatch(line)
            if not match:
                continue
            thread, resumed, name, rest = match.groups()
            if resumed:
                start, before = begun.pop(thread)
                calls.append((name, before + rest, start, at))
            elif rest.endswith("<unfinished ...>"):
                begun[thread] = at, rest
            else:
                calls.append((name, rest, at, at))
        return sorted(calls, key=lambda call: call[2])


@pytest.fixture
def traced():
    # The leak check of a sanitizer cannot work below strace.
    options = os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"
    with Traced("-C", "0", env={"ASAN_OPTIONS": options}) as server:
        yield server


def durable_from(calls):
    """{mark: line from which it is durable}"""
    durable = {}
    writes = [call for call in calls
              if call[0] in ("pwrite64", "write") and "/log." in call[1]]
    syncs = [call for call in calls if call[0] in ("fdatasync", "fsync")
             and "/log." in call[1] and call[1].endswith("= 0")]
    for _, text, _, written in writes:
        for mark in MARK.findall(text):
            ends = [end for _, _, start, end in syncs if start > written]
            if ends:
                durable.setdefault(int(mark), min(ends))
    return durable


def answers(calls):
    """The line in which each STORED began to leave, in their order."""
    return [start for name, text, start, _ in calls
            if name in ("write", "writev", "sendmsg", "sendto")
            and ("TCP" in text or "socket" in text)
            for _ in range(text.count("STORED"))]


def judge(server, marks):
    assert server.terminate() == 0
    calls = server.calls()
    durable, left = durable_from(calls), answers(calls)
    assert len(left) == marks
    for mark, line in enumerate(left):
        assert mark in durable, f"no sync covers {mark}"
        assert durable[mark] < line, f"{mark} was answered before its sync"


def set_command(mark):
    value = b"mark-%d-" % mark
    return b"set k%d 0 0 %d\r\n%s\r\n" % (mark, len(value), value)


def test_no_answer_before_its_sync(traced):
    with traced.connect() as talk:
        for mark in range(30):
            talk.ask(set_command(mark), b"STORED\r\n")
    judge(traced, 30)


def test_no_answer_before_its_sync_in_a_pipeline(traced):
    with traced.connect() as talk:
        talk.send(b"".join(set_command(mark) for mark in range(300)))
        talk.expect(b"STORED\r\n" * 300)
    judge(traced, 300)
