"""What the lints of this folder share.

A lint is an executable that looks at the tree below its argument (default:
this repository), prints "file:line: what is wrong and what to do" for every
finding, and exits with 1 if there was any. selftest.py proves for each that it
finds what it is for.
"""
import os
import re
import subprocess
import sys
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
NOT_OURS = {".git", "build", "data", "__pycache__", ".pytest_cache"}


class Lint:
    def __init__(self):
        self.root = Path(sys.argv[1] if len(sys.argv) > 1 else REPOSITORY)
        self.root = self.root.resolve()
        self.found = 0

    def complain(self, path, line, what):
        print(f"{path}:{line}: {what}")
        self.found += 1

    def end(self):
        sys.exit(1 if self.found else 0)

    def files(self, *suffixes):
        """Paths relative to the root, sorted; all files without suffixes."""
        every = sorted(
            path for path in self._listed()
            if not suffixes or path.suffix in suffixes)
        if not every:
            sys.exit(f"{self.root}: nothing to look at")
        return every

    def _listed(self):
        """What git tracks or would track; without git, what is there."""
        if (self.root / ".git").exists():
            listing = subprocess.run(
                ["git", "-C", self.root, "ls-files", "-z", "--cached",
                 "--others", "--exclude-standard"],
                check=True, capture_output=True).stdout.decode()
            paths = [Path(name) for name in listing.split("\0") if name]
            return [path for path in paths if (self.root / path).is_file()]
        found = []
        for folder, inner, names in os.walk(self.root):
            inner[:] = [name for name in inner if name not in NOT_OURS]
            found += [(Path(folder) / name).relative_to(self.root)
                      for name in names]
        return found

    def text(self, path):
        return (self.root / path).read_text(errors="replace")

    def lines(self, path):
        """(number, line) pairs."""
        return enumerate(self.text(path).splitlines(), 1)

    def code_lines(self, path):
        """(number, line) pairs of C without comments and literals."""
        return enumerate(bare_code(self.text(path)).splitlines(), 1)


COMMENT_OR_LITERAL = re.compile(
    r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)


def bare_code(text):
    """C with comments and literals emptied; line numbers stay."""
    def empty(match):
        token = match.group()
        if token[0] in "\"'":
            return token[0] * 2
        if token.startswith("//"):
            return "//"
        return " " + "\n" * token.count("\n")
    return COMMENT_OR_LITERAL.sub(empty, text)
