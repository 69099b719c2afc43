"""Clients that log in: by SASL in binary, by a first `set` in text (U88).

Programs in other languages get host, port, user and password; no user: they do
not log in. They store and read fifty keys, quietly or pipelined where the
client can, and miss one, so that an answer too many would be noticed; then they
say "ok", or "refused" if the client could not.
"""
import bmemcached
import pylibmc
import pytest
from pymemcache.client.base import Client
from pymemcache.exceptions import MemcacheClientError

from conftest import HERE, JAVA, run_program
from harness.sasl import Sasl
from harness.server import REFERENCE
from harness.wait import DEADLINE_S
from known import BINARY, TEXT, client
from test_pylibmc import PATIENCE

ITEMS = {f"key{i}": b"%d" % i for i in range(50)}
REFUSALS = [("ann", "Secret"), ("", "")]


@pytest.fixture
def guarded(new_server, tmp_path):
    """A server for those who log in by SASL."""
    sasl = Sasl(tmp_path)
    sasl.configure("mech_list: plain")
    sasl.add("ann", "secret")
    binary = ["-B", "binary"] if REFERENCE else []
    return new_server("-S", *binary, env=sasl.env)


def try_program(server, *command, env=None):
    def run(says, user, password):
        run_program(*command, "127.0.0.1", server.port, user, password,
                    env=env, says=says)
    run("ok", "ann", "secret")
    for user, password in REFUSALS:
        run("refused", user, password)


@client("php-memcached", BINARY)
def test_php(guarded):
    try_program(guarded, "php", HERE / "login.php")


@client("Dalli", BINARY)
def test_dalli(guarded):
    try_program(guarded, "ruby", HERE / "login.rb")


@client("memjs", BINARY)
def test_memjs(guarded, npm):
    try_program(guarded, "node", HERE / "login.js", env=npm)


@client("spymemcached", BINARY)
def test_spymemcached(guarded, java):
    """After a wrong password it waits for a login until its patience ends."""
    def run(user, password, says, patience_s=DEADLINE_S):
        run_program(*JAVA, "-cp", java, "Login", "127.0.0.1", guarded.port,
                    user, password, int(patience_s * 1000), says=says)
    run("ann", "secret", "ok")
    run("ann", "Secret", "refused", patience_s=0.5)
    run("", "", "refused")


def try_round(client):
    assert not client.set_multi(ITEMS)
    assert client.get_multi(list(ITEMS)) == ITEMS
    assert client.get("none") is None


@client("pylibmc", BINARY)
def test_pylibmc(guarded):
    def connect(user, password):
        how = {"username": user, "password": password} if user else {}
        return pylibmc.Client([f"127.0.0.1:{guarded.port}"], binary=True,
                              behaviors=PATIENCE, **how)
    try_round(connect("ann", "secret"))
    for user, password in REFUSALS:
        with pytest.raises(pylibmc.Error):
            connect(user, password).set("k", "1")


@client("bmemcached", BINARY)
@pytest.mark.filterwarnings("ignore:urllib.parse:DeprecationWarning")
def test_bmemcached(guarded):
    def connect(user, password):
        return bmemcached.Client([f"127.0.0.1:{guarded.port}"], user or None,
                                 password or None,
                                 socket_timeout=DEADLINE_S)
    try_round(connect("ann", "secret"))
    for user, password in REFUSALS:
        with pytest.raises(bmemcached.exceptions.MemcachedException):
            connect(user, password).set("k", "1")


# ---- in text ----------------------------------------------------------------

@pytest.fixture
def guarded_text(new_server, tmp_path):
    path = tmp_path / "users"
    path.write_text("ann:secret\n")
    path.chmod(0o600)
    return new_server("-Y", path)


@client("pymemcache", TEXT)
def test_pymemcache(guarded_text):
    """It knows nothing of logins: the application sends a set."""
    client = Client(("127.0.0.1", guarded_text.port), timeout=DEADLINE_S)
    with pytest.raises(MemcacheClientError, match="unauthenticated"):
        client.get("k")
    with pytest.raises(MemcacheClientError, match="authentication failure"):
        client.set("login", "ann Secret", noreply=False)
    assert client.set("login", "ann secret", noreply=False) is True
    assert client.get("login") is None
    assert client.set_many(ITEMS) == []
    assert client.get_many(list(ITEMS)) == ITEMS
    client.close()


@client("gomemcache", TEXT)
def test_gomemcache(guarded_text, gomemcache):
    run_program(gomemcache, "127.0.0.1", guarded_text.port, "ann", "secret")
    run_program(gomemcache, "127.0.0.1", guarded_text.port, "ann", "Secret",
                says="refused")
