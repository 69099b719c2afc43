"""Tools that list the keys of a server (U31).

memcdump and php-memcached ask `stats cachedump` for each of 255 slab classes,
memcached-tool walks `lru_crawler metadump`, whose keys are percent-escaped.
memcached's cachedump shows a part of them; ours shows all.
"""
import re
import subprocess

import pytest

from conftest import LIMIT_S
from harness.server import REFERENCE
from known import TEXT, client

KEYS = 5000
NAMES = [f"key%20{i}" for i in range(KEYS - 2)] + ["\u00e9t\u00e9", "100%"]

# Where Debian puts it.
MEMCACHED_TOOL = "/usr/share/memcached/scripts/memcached-tool"


@pytest.fixture
def filled(empty, talk):
    talk.send(b"".join(b"set %s 0 0 1 noreply\r\n1\r\n" % name.encode()
                       for name in NAMES))
    assert talk.get(NAMES[-1].encode()) == b"1"  # nobody waits for noreply
    return empty


def run(*command):
    done = subprocess.run([str(word) for word in command], text=True,
                          stdin=subprocess.DEVNULL, capture_output=True,
                          timeout=LIMIT_S, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def check_libmemcached(listed):
    """It cuts a key at the first byte that is not printable ASCII."""
    wanted = {re.match("[!-~]*", name).group() for name in NAMES}
    if REFERENCE:  # shows what its LRU has called cold
        assert set(listed) <= wanted
    else:
        assert sorted(listed) == sorted(wanted)


@client("libmemcached tools", TEXT)
def test_memcdump(filled):
    listed = run("memcdump", f"--servers=127.0.0.1:{filled.port}").split("\n")
    assert listed.pop() == ""
    check_libmemcached(listed)


@client("php-memcached", TEXT)
def test_php_get_all_keys(filled):
    check_libmemcached(run("php", "-r", f"""
        $m = new Memcached();
        $m->setOption(Memcached::OPT_BINARY_PROTOCOL, false);
        $m->addServer("127.0.0.1", {filled.port});
        echo implode("\\n", $m->getAllKeys());""").split("\n"))


def escaped(name):
    """As memcached: all but letters, digits and -._~ as %XX."""
    return "".join(
        char if re.match(rb"[A-Za-z0-9._~-]", bytes([byte])) else f"%{byte:02X}"
        for byte, char in zip(name.encode(), name.encode().decode("latin-1")))


@client("memcached-tool", TEXT)
def test_memcached_tool_keys(filled):
    output = run(MEMCACHED_TOOL, f"127.0.0.1:{filled.port}", "keys")
    listed = re.findall(r"^key=(\S+) exp=-1 .*$", output, re.M)
    assert sorted(listed) == sorted(escaped(name) for name in NAMES)


@client("memcached-tool", TEXT)
def test_memcached_tool_dump(filled, new_server):
    """What it dumps can be sent to another server as it is."""
    output = run(MEMCACHED_TOOL, f"127.0.0.1:{filled.port}", "dump")
    other = new_server()
    with other.connect() as talk:
        stores = output.count("\nadd ") + output.startswith("add ")
        assert stores == KEYS
        talk.send(output.encode().replace(b"\n", b"\r\n"))
        talk.expect(b"STORED\r\n" * KEYS)


@client("memcached-tool", TEXT)
@pytest.mark.parametrize("words", ["display", "stats", "settings", "sizes"])
def test_memcached_tool_looks(filled, words):
    output = run(MEMCACHED_TOOL, f"127.0.0.1:{filled.port}", words)
    assert not re.search("^(ERROR|CLIENT_ERROR)", output, re.M), output
    if words == "stats":
        assert re.search(rf"\bpid +{filled.pid}\b", output), output

