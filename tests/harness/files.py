"""Looking at directories and processes from outside."""
import hashlib
import os
import shutil
from pathlib import Path

from harness.server import find_program


def snapshot(directory):
    """{relative path: what is there}; the lock file says nothing."""
    found = {}
    for path in sorted(Path(directory).rglob("*")):
        name = str(path.relative_to(directory))
        if path.is_dir():
            found[name] = "directory"
        elif path.name != "LOCK":
            found[name] = hashlib.sha256(path.read_bytes()).hexdigest()
    return found


def process_is_gone(pid):
    """True if it has ended; nobody may have collected it yet."""
    try:
        status = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return True
    return status.rpartition(")")[2].split()[0] == "Z"


def sockets_of(pid, table):
    """The lines of /proc/net/<table> that are about a process's sockets.

    Each as its words; the table has those of everybody.
    """
    own = set()
    for fd in Path(f"/proc/{pid}/fd").iterdir():
        try:
            own.add(os.readlink(fd))
        except FileNotFoundError:
            pass  # closed meanwhile
    lines = Path(f"/proc/{pid}/net/{table}").read_text().splitlines()[1:]
    return [words for words in map(str.split, lines)
            if f"socket:[{words[9]}]" in own]


def program_for_everyone(directory):
    """A copy of the program that any user may run."""
    copy = Path(directory) / "memcachedb"
    shutil.copy(find_program(), copy)
    os.chmod(copy, 0o755)
    return str(copy)
