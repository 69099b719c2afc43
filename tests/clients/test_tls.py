"""Clients that speak TLS, and check the server's certificate.

They store and read values that need several records of TLS, and miss one, so
that an answer too many would be noticed. One that trusts another certificate
must not get through, and the server must go on.
"""
import ssl

import bmemcached
import pytest
from pymemcache.client.base import Client

from conftest import HERE, run_program
from harness.tls import openssl
from harness.wait import DEADLINE_S
from known import BINARY, TEXT, client

ITEMS = {f"key{i}": b"v" * i * 1000 for i in range(50)}


@pytest.fixture(scope="session")
def certificates(tmp_path_factory):
    """The folder with keys and certificates of the server and of somebody else.

    The clients check the address, too: it is in the certificates."""
    folder = tmp_path_factory.mktemp("tls")
    for name in "server", "other":
        openssl("req", "-x509", "-newkey", "ec", "-pkeyopt",
                "ec_paramgen_curve:prime256v1", "-nodes", "-days", 2,
                "-subj", "/CN=server", "-addext",
                "subjectAltName=IP:127.0.0.1", "-keyout",
                folder / f"{name}.key", "-out", folder / f"{name}.crt")
    return folder


@pytest.fixture
def secured(new_server, certificates):
    return new_server("-Z", "-o", f"ssl_chain_cert={certificates}/server.crt,"
                      f"ssl_key={certificates}/server.key")


def try_round(client):
    assert not client.set_multi(ITEMS)
    assert client.get_multi(list(ITEMS)) == ITEMS
    assert client.get("none") is None
    assert client.set("large", b"x" * 500_000)
    assert client.get("large") == b"x" * 500_000


def trusting(certificates, name):
    return ssl.create_default_context(cafile=certificates / f"{name}.crt")


@client("pymemcache", TEXT)
def test_pymemcache(secured, certificates):
    def connect(name):
        return Client(("127.0.0.1", secured.port), timeout=DEADLINE_S,
                      tls_context=trusting(certificates, name))
    with pytest.raises(ssl.SSLError):
        connect("other").get("k")
    try_round(connect("server"))


@client("bmemcached", BINARY)
@pytest.mark.filterwarnings("ignore:urllib.parse:DeprecationWarning")
def test_bmemcached(secured, certificates):
    def connect(name):
        return bmemcached.Client([f"127.0.0.1:{secured.port}"],
                                 socket_timeout=DEADLINE_S,
                                 tls_context=trusting(certificates, name))
    assert connect("other").set("k", "1") is False
    try_round(connect("server"))


@client("Dalli", BINARY)
def test_dalli(secured, certificates):
    def run(name, says):
        run_program("ruby", HERE / "tls.rb", "127.0.0.1", secured.port,
                    certificates / f"{name}.crt", says=says)
    run("other", "refused")
    run("server", "ok")
