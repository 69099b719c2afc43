"""The clients that are tested here, for the tests and for the README.

A test says which of them it is about with the mark that client() makes; what
each run found is in its junit file, from which tools/client-table makes the
table of README.md. Nothing here needs pytest or a client to be installed but
client() itself.
"""
import json
import subprocess
from pathlib import Path
from typing import NamedTuple

NPM_FOLDER = Path(__file__).resolve().parents[2] / "build/clients/npm"


class Known(NamedTuple):
    name: str
    package: str  # Debian's, or "npm:" and npm's
    dialects: tuple
    remark: str

    def version(self):
        """As installed on this machine; None if it is not."""
        if self.package.startswith("npm:"):
            return npm_version(self.package.removeprefix("npm:"))
        return debian_version(self.package)


TEXT, BINARY = "text", "binary"
BOTH = (TEXT, BINARY)

KNOWN = (
    Known("pymemcache", "python3-pymemcache", (TEXT,),
          "with and without noreply; login, TLS"),
    Known("pylibmc", "python3-pylibmc", BOTH, "also cas, no_block; SASL"),
    Known("python-memcached", "python3-memcache", (TEXT,), ""),
    Known("bmemcached", "python3-binary-memcached", (BINARY,), "SASL, TLS"),
    Known("libmemcached", "libmemcached-dev", BOTH,
          "C: buffered, noreply, any byte in binary keys, writes by UDP"),
    Known("libmemcached tools", "libmemcached-tools", BOTH,
          "memccapable: all 27 text and 27 binary tests"),
    Known("memcached-tool", "memcached", (TEXT,), "lists and dumps keys"),
    Known("php-memcached", "php-memcached", BOTH,
          "and the session handler, with locking; SASL"),
    Known("php-memcache", "php-memcache", BOTH, "and the session handler"),
    Known("Dalli", "ruby-dalli", (BINARY,), "Ruby; SASL, TLS"),
    Known("Cache::Memcached", "libcache-memcached-perl", (TEXT,), "Perl"),
    Known("Cache::Memcached::Fast", "libcache-memcached-fast-perl", (TEXT,),
          "Perl"),
    Known("spymemcached", "libspymemcached-java", BOTH, "Java; SASL"),
    Known("gomemcache", "golang-github-bradfitz-gomemcache-dev", (TEXT,),
          "Go; login"),
    Known("memjs", "npm:memjs", (BINARY,), "Node.js; SASL"),
    Known("memcached (npm)", "npm:memcached", (TEXT,), "Node.js"),
    Known("nutcracker", "nutcracker", (TEXT,),
          "ketama over two servers, one of them killed and back"),
)


def client(name, dialect):
    """The mark of a test of this client in this dialect."""
    import pytest  # pylint: disable=import-outside-toplevel
    known, = [each for each in KNOWN if each.name == name]
    assert dialect in known.dialects, f"{name} is not known to speak {dialect}"
    return pytest.mark.client(name, dialect)


def debian_version(package):
    """Upstream's part of the version of an installed package."""
    done = subprocess.run(
        ["dpkg-query", "-W", "-f", "${db:Status-Status} ${Version}", package],
        capture_output=True, text=True, check=False)
    status, _, version = done.stdout.partition(" ")
    if done.returncode or status != "installed":
        return None
    version = version.split(":", 1)[-1].rsplit("-", 1)[0]
    return version.split("+", 1)[0]


def npm_version(package):
    try:
        text = (NPM_FOLDER / "node_modules" / package
                / "package.json").read_text()
    except FileNotFoundError:
        return None
    return json.loads(text)["version"]
