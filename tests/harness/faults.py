"""Faults inside the unmodified server, by a library preloaded into it.

The library is built from tests/fault/*.c; faultinject.h describes the control
file that both sides map. Rules are armed and disarmed while the server runs:

    faults = Faults(tmp_path)
    server = new_server(env=faults.env)
    rule = faults.fail(SYNC, LOGS, EIO, first=3)   # the third from now on
    ...
    assert rule.hits == 1

With undo=True the library also keeps what a power cut would take back;
cut_power() takes it back, after the server was killed.
"""
import ctypes
import errno
import itertools
import mmap
import os
import random
import struct
from pathlib import Path

from harness.server import find_program
from harness.wait import wait_until

# GROW: a write that makes its file longer. BEGIN: the system is asked to begin
# writing; what becomes of that does not matter, so it is not in ANY_CALL.
OPEN, READ, WRITE, SYNC, SIZE, REMOVE, GROW, BEGIN = (
    1, 2, 4, 8, 16, 32, 64, 128)
ANY_CALL = 63
LOGS, DATA, ANY_FILE = "data/log.*", "data/data.db", "data/*"

_ACTIONS = {"count": 1, "fail": 2, "delay": 3, "short": 4, "kill": 5, "hold": 6}
_RULES = 8
_NAME_BYTES = 64


class _Rule(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint64) for name in (
        "action", "calls", "first", "every", "times", "pages", "value", "seen",
        "hits")] + [
            ("files", ctypes.c_char * _NAME_BYTES)]

    def off(self):
        self.action = 0

    def wait(self, what):
        """Waits until it has hit a call, which is `what`."""
        wait_until(lambda: self.hits, what)


class _Control(ctypes.Structure):
    _fields_ = [("magic", ctypes.c_uint64), ("free_bytes", ctypes.c_uint64),
                ("rules", _Rule * _RULES)]


_MAGIC = 0x3154434A4E494C46
TRUTH = 2**64 - 1  # free_bytes: what statvfs says is true


def find_library():
    named = os.environ.get("MEMCACHEDB_FAULT")
    path = Path(named) if named else \
        Path(find_program()).parent / "faultinject.so"
    if not path.is_file():
        raise RuntimeError(f"no {path}: run make tests")
    return str(path)


class Faults:
    """The control file of one server, whatever often that is restarted."""

    def __init__(self, directory, undo=False):
        path = Path(directory) / "faults"
        path.write_bytes(bytes(ctypes.sizeof(_Control)))
        self.env = {"LD_PRELOAD": find_library(), "FAULT_CONTROL": str(path)}
        if undo:
            self.undo_path = Path(directory) / "undo"
            self.env["FAULT_UNDO"] = str(self.undo_path)
        with open(path, "r+b") as file:
            self._control = _Control.from_buffer(
                mmap.mmap(file.fileno(), 0))
        self._control.free_bytes = TRUTH
        self._control.magic = _MAGIC
        self._holds = itertools.count(1)

    @property
    def free_bytes(self):
        return self._control.free_bytes

    @free_bytes.setter
    def free_bytes(self, number):
        self._control.free_bytes = number

    def clear(self):
        """All rules off; statvfs tells the truth."""
        for rule in self._control.rules:
            rule.off()
        self.free_bytes = TRUTH

    def _arm(self, action, calls, files, value, first, every, *,
             times=0, pages=0):
        rule = next(each for each in self._control.rules if not each.action)
        rule.calls, rule.files = calls, files.encode()
        rule.first, rule.every, rule.value = first, every, value
        rule.times, rule.pages = times, pages
        rule.seen = rule.hits = 0
        rule.action = _ACTIONS[action]
        return rule

    def count(self, calls, files):
        """Counts such calls in .seen."""
        return self._arm("count", calls, files, 0, 0, 0)

    def fail(self, calls, files, error=errno.EIO, first=1, every=0, times=0):
        """The first-th call from now on fails, then each every-th after it,
        no more than so many times; every=0: only that one; times=0: always."""
        return self._arm("fail", calls, files, error, first, every,
                         times=times)

    def spoil(self, calls, files, pages, error=errno.EIO):
        """One in so many pages cannot be read or written any more.

        Berkeley DB tries a hundred times: what fails once is no failure.
        """
        return self._arm("fail", calls, files, error, 1, 1, pages=pages)

    def delay(self, calls, files, ms, first=1, every=1):
        return self._arm("delay", calls, files, ms, first, every)

    def hold(self, calls, files):
        """Such calls wait until the rule is off, however long."""
        return self._arm("hold", calls, files, next(self._holds), 1, 1)

    def shorten(self, calls, files, first=1, every=1):
        """Such reads or writes do half of what they were asked."""
        return self._arm("short", calls, files, 0, first, every)

    def kill(self, calls, files, first):
        """The process dies instead of making this call, as by kill -9."""
        return self._arm("kill", calls, files, 0, first, 0)


# ---- power cuts ---------------------------------------------------------

_UNDO = struct.Struct(f"=6Q{_NAME_BYTES}s")
_WRITE, _CUT, _SYNC = 1, 2, 3


class _Change:
    def __init__(self, kind, number, offset, length, old_size, old):
        self.kind, self.number, self.offset = kind, number, offset
        self.length, self.old_size, self.old = length, old_size, old
        self.new = b""

    def undo(self, fd):
        self.new = os.pread(fd, self.length, self.offset) \
            if self.kind == _WRITE else b""
        os.pwrite(fd, self.old, self.offset)
        os.ftruncate(fd, self.old_size)

    def redo(self, fd, size):
        os.pwrite(fd, self.new[:size], self.offset)


def _unsynced(path):
    """{file: changes that no sync covers}, as the undo file tells.

    A kill may have cut off its last record: that change was not made.
    """
    data, at, found = path.read_bytes(), 0, {}
    while at + _UNDO.size <= len(data):
        kind, number, offset, length, old_size, size, name = \
            _UNDO.unpack_from(data, at)
        at += _UNDO.size
        changes = found.setdefault(name.rstrip(b"\0").decode(), [])
        if kind == _SYNC:
            changes[:] = [c for c in changes if c.number >= number]
        else:
            changes.append(_Change(kind, number, offset, length, old_size,
                                   data[at:at + size]))
        at += size
    return found


def cut_power(faults, server, seed=None):
    """Takes back what was not synced in the directory of a killed server.

    Without a seed all of it; with one a random part, as a disk that has
    written some blocks and not others: whole pages of the databases, and log
    writes that may end in their middle. Returns the number of such changes.
    """
    rng = random.Random(seed)
    count = 0
    for name, changes in _unsynced(faults.undo_path).items():
        path = server.dir / name
        if not changes or not path.exists():
            continue
        fd = os.open(path, os.O_RDWR)
        for change in reversed(changes):
            change.undo(fd)
        count += len(changes)
        for change in changes:
            keep = seed is not None and change.kind == _WRITE and \
                rng.random() < 0.5
            size = len(change.new)
            if keep and "/log." in name and rng.random() < 0.3:
                size = rng.randrange(size + 1)
            if keep:
                change.redo(fd, size)
        os.close(fd)
    faults.undo_path.unlink()
    return count
