"""TLS: the same conversations, encrypted."""
import contextlib
import os
import random
import select
import signal
import ssl
import subprocess
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

import test_admin
import test_errors
import test_flush
import test_meta_arith
import test_meta_delete
import test_meta_get
import test_meta_set
import test_meta_stale
import test_numbers
import test_retrieval
import test_stats_groups
import test_storage
from harness.script import ours_only
from harness.server import DRAIN_S, on_free_port, run_to_end, user_options
from harness.tls import (Certificates, Engine, common_name, connect,
                         is_let_in, openssl)
from harness.wait import DEADLINE_S, wait_until, within

pytestmark = ours_only  # the reference build of Debian answers otherwise

MEGABYTE = 1 << 20
VERSIONS = {"1.2": ssl.TLSVersion.TLSv1_2, "1.3": ssl.TLSVersion.TLSv1_3}


@pytest.fixture(scope="module")
def certificates(tmp_path_factory):
    return Certificates(tmp_path_factory.mktemp("certificates"))


@pytest.fixture
def own_certificates(tmp_path):
    """Some that the test may change."""
    return Certificates(tmp_path)


@pytest.fixture(params=VERSIONS)
def version(request):
    return VERSIONS[request.param]


@pytest.fixture
def tls_server(new_server, certificates):
    return new_server(*certificates.options())


@pytest.fixture
def talk(tls_server, certificates, version):
    with connect(tls_server, certificates.context(version=version)) as made:
        yield made


def stat(server, context, name):
    with connect(server, context) as talk:
        return int(talk.stats()[name])


def is_refused(*options, cwd):
    """The one line of a start that is refused, before there are any data."""
    status, _, err = run_to_end("-p", -1, "-H", cwd / "data", *options,
                                *user_options(), cwd=cwd)
    assert status == 78, err
    assert err.count("\n") == 1, err
    assert not (cwd / "data").exists()
    return err


# ---- conversations --------------------------------------------------------

@pytest.mark.parametrize("module", [
    test_admin, test_errors, test_flush, test_meta_arith, test_meta_delete,
    test_meta_get, test_meta_set, test_meta_stale, test_numbers,
    test_retrieval, test_stats_groups, test_storage],
    ids=lambda module: module.__name__)
def test_the_answers_are_those_of_a_plain_connection(tls_server, certificates,
                                                     module):
    context = certificates.context()
    for script in module.ANSWERS.values():
        with connect(tls_server, context) as talk:
            talk.ask(b"flush_all\r\n", b"OK\r\n")
            talk.run(script)


def test_conversation(talk):
    talk.run("""
        > set k 5 0 3
        > abc
        < STORED
        > get k none k
        < VALUE k 5 3
        < abc
        < VALUE k 5 3
        < abc
        < END
        > bogus
        < ERROR
        > delete k
        < DELETED
        """)


def test_bytewise(talk):
    """Every byte in a record of its own."""
    talk.bytewise = True
    talk.run("""
        > set k 0 0 10
        > 0123456789
        < STORED
        > get k
        < VALUE k 0 10
        < 0123456789
        < END
        """)


def test_quit_ends_with_goodbye(talk):
    """The client can tell the end from an attack that cuts the line."""
    talk.sock.suppress_ragged_eofs = False
    talk.send(b"set k 0 0 1\r\n1\r\nquit\r\n")
    talk.expect(b"STORED\r\n")
    assert talk.sock.recv(1) == b""


def test_answers_come_after_the_clients_goodbye(tls_server, certificates,
                                                version):
    with tls_server.connect() as plain:
        engine = Engine(certificates.context(version=version), plain)
        engine.handshake()
        engine.tls.write(b"set k 0 0 1\r\n1\r\nget k\r\n")
        with pytest.raises(ssl.SSLWantReadError):
            engine.tls.unwrap()
        engine.flush()
        if version == ssl.TLSVersion.TLSv1_3:
            wanted = b"STORED\r\nVALUE k 0 1\r\n1\r\nEND\r\n"
            assert engine.read(len(wanted)) == wanted


def test_many_commands_in_one_record(talk):
    """What OpenSSL holds must not wait for an event that never comes."""
    lines = b"".join(b"set k%d 0 0 1\r\nv\r\n" % n for n in range(700))
    assert len(lines) < 16384
    talk.ask(lines, b"STORED\r\n" * 700)
    talk.ask(b"get none\r\n" * 1000, b"END\r\n" * 1000)


def exchange(talk, request, size):
    """Sends while it reads so many bytes; in one thread, as TLS wants it."""
    sock, sent, got = talk.sock, 0, bytearray()
    patience = sock.gettimeout()
    sock.setblocking(False)
    while len(got) < size:
        before = sent, len(got)
        with contextlib.suppress(ssl.SSLWantReadError, ssl.SSLWantWriteError):
            sent += sock.send(request[sent:sent + 65536]) \
                if sent < len(request) else 0
        with contextlib.suppress(ssl.SSLWantReadError, ssl.SSLWantWriteError):
            more = sock.recv(65536)
            assert more, f"closed after {bytes(got[-200:])!r}"
            got += more
        if before == (sent, len(got)):
            writing = [sock] if sent < len(request) else []
            assert any(select.select([sock], writing, [], patience))
    sock.settimeout(patience)
    return bytes(got)


def test_long_pipeline(talk):
    numbers = range(20000)
    wanted = b"".join(b"STORED\r\nVALUE k%d 0 5\r\nvalue\r\nEND\r\n" % n
                      for n in numbers)
    assert exchange(talk, b"".join(
        b"set k%d 0 0 5\r\nvalue\r\nget k%d\r\n" % (n, n)
        for n in numbers), len(wanted)) == wanted


@pytest.mark.parametrize("size", [
    0, 1, 16383, 16384, 16385, 32768, 65536, 65537, 500000, MEGABYTE])
def test_sizes_around_records(talk, size):
    value = random.Random(size).randbytes(size)
    talk.set(b"k", value)
    assert talk.get(b"k") == value


def test_big_values_at_once(new_server, certificates, version):
    """Several megabytes in flight both ways: partial writes are repeated."""
    server = new_server("-m", 256, "-I", "16m", *certificates.options())
    value = random.Random(1).randbytes(8 * MEGABYTE)
    with connect(server, certificates.context(version=version)) as talk:
        talk.set(b"k", value)
        talk.send(b"get k\r\n" * 5 + b"version\r\n")
        with connect(server, certificates.context()) as other:
            assert other.get(b"none") is None  # nobody else waits
        for _ in range(5):
            talk.expect(b"VALUE k 0 %d\r\n" % len(value))
            assert talk.read(len(value)) == value
            talk.expect(b"\r\nEND\r\n")
        assert talk.line().startswith(b"VERSION ")


@pytest.mark.parametrize("gather", [1, 3, 64])
def test_records_of_other_sizes(new_server, certificates, gather):
    server = new_server(*certificates.options(f"ssl_wbuf_size={gather}"))
    with connect(server, certificates.context()) as talk:
        assert talk.stats("settings")["ssl_wbuf_size"] == str(gather * 1024)
        talk.set(b"k", b"v" * 300000)
        talk.send((b"get k\r\n" + b"get none\r\n" * 50) * 60)
        for _ in range(60):
            talk.expect(b"VALUE k 0 300000\r\n" + b"v" * 300000
                        + b"\r\nEND\r\n" + b"END\r\n" * 50)


def test_slow_reader_gets_all_and_holds_up_nobody(tls_server, certificates,
                                                  version):
    context = certificates.context(version=version)
    with connect(tls_server, context) as slow, \
            connect(tls_server, context) as other:
        slow.set(b"k", b"v" * 100000)
        slow.send(b"get k\r\n" * 200)
        for n in range(200):
            # Writes of others become durable and move where ours may stop.
            other.set(b"o%d" % n, b"x" * 1000)
            slow.expect(b"VALUE k 0 100000\r\n" + b"v" * 100000
                        + b"\r\nEND\r\n")


def test_writes_and_reads_of_many(tls_server, certificates, version):
    """Answers that wait for the disk, between those that do not."""
    context = certificates.context(version=version)
    failures = []

    def work(number):
        try:
            with connect(tls_server, context) as talk:
                for n in range(60):
                    size = (number * 7919 + n * 104729) % 40000
                    value = b"%d" % (n % 10) * size
                    talk.send(b"set %d 0 0 %d\r\n%s\r\nget %d\r\nincr c 1\r\n"
                              % (number, size, value, number))
                    talk.expect(b"STORED\r\nVALUE %d 0 %d\r\n%s\r\nEND\r\n"
                                b"NOT_FOUND\r\n" % (number, size, value))
        except Exception as failure:
            failures.append(failure)
    threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_records_cut_at_every_byte(tls_server, certificates, version):
    """The network may cut records where it likes, the handshake's, too."""
    with tls_server.connect() as plain:
        plain.bytewise = True
        engine = Engine(certificates.context(version=version), plain)
        engine.handshake()
        engine.tls.write(b"set k 0 0 3\r\nabc\r\n")
        engine.tls.write(b"get k\r\n")
        engine.flush()
        wanted = b"STORED\r\nVALUE k 0 3\r\nabc\r\nEND\r\n"
        assert engine.read(len(wanted)) == wanted


# ---- settings and statistics ----------------------------------------------

def test_settings(tls_server, certificates, talk):
    settings = talk.stats("settings")
    assert {name: settings[name] for name in settings if "ssl" in name} == {
        "ssl_enabled": "yes",
        "ssl_chain_cert": str(certificates.server[0]),
        "ssl_key": str(certificates.server[1]),
        "ssl_verify_mode": "0", "ssl_keyformat": "1", "ssl_ciphers": "NULL",
        "ssl_ca_cert": "NULL", "ssl_wbuf_size": "16384",
        "ssl_session_cache": "no", "ssl_kernel_tls": "no",
        "ssl_min_version": "tlsv1.2"}
    assert [name for name in talk.stats() if "ssl" in name or "cert" in name] \
        == ["ssl_handshake_errors", "ssl_proto_errors",
            "time_since_server_cert_refresh"]


def test_bytes_are_counted_as_the_commands_see_them(tls_server, certificates):
    with connect(tls_server, certificates.context()) as talk:
        before = talk.stats()
        talk.ask(b"get 0123456789\r\n", b"END\r\n")
        after = talk.stats()
    assert int(after["bytes_read"]) - int(before["bytes_read"]) == \
        len(b"get 0123456789\r\nstats\r\n")


def test_kernel_tls_is_used_or_not(new_server, certificates):
    """Whether the kernel can or not: it is served."""
    server = new_server(*certificates.options("ssl_kernel_tls"))
    with connect(server, certificates.context()) as talk:
        assert talk.stats("settings")["ssl_kernel_tls"] == "yes"
        talk.set(b"k", b"v" * 100000)
        assert talk.get(b"k") == b"v" * 100000


# ---- where it is spoken ----------------------------------------------------

def test_plain_and_tls_side_by_side(new_server, certificates):
    server = new_server(*certificates.options(),
                        listen=("-l", "notls:127.0.0.1,127.0.0.1"))
    plain, tls = server.addresses
    with server.connect(plain) as talk:
        talk.set(b"k", b"1")
    with connect(server, certificates.context(), tls) as talk:
        assert talk.get(b"k") == b"1"
    with server.connect(plain) as talk:
        assert talk.get(b"k") == b"1"
        assert talk.stats("settings")["inter"] == "notls:127.0.0.1,127.0.0.1"


def test_one_port_on_several_addresses(new_server, certificates):
    server = on_free_port(lambda port: new_server(
        *certificates.options(),
        listen=("-l", f"notls:127.0.0.1:{port}", "-l", f"127.0.0.2:{port}")))
    assert server.addresses[0][1] == server.addresses[1][1]
    port = server.port
    with server.connect(("127.0.0.1", port)) as talk:
        talk.set(b"k", b"1")
    with connect(server, certificates.context(), ("127.0.0.2", port)) as talk:
        assert talk.get(b"k") == b"1"


def test_each_address_asks_for_what_it_says(new_server, certificates):
    server = new_server(
        *certificates.options(f"ssl_ca_cert={certificates.ca}"),
        listen=("-l", "127.0.0.1,btls:127.0.0.1,mtls:127.0.0.1"))
    default, basic, mutual = server.addresses
    nobody = certificates.context()
    known = certificates.context(client=certificates.client)
    assert is_let_in(server, nobody, default)
    assert is_let_in(server, nobody, basic)
    assert not is_let_in(server, nobody, mutual)
    assert is_let_in(server, known, mutual)


def test_basic_address_beside_a_strict_default(new_server, certificates):
    server = new_server(
        *certificates.options(f"ssl_ca_cert={certificates.ca}",
                              "ssl_verify_mode=2"),
        listen=("-l", "127.0.0.1,btls:127.0.0.1"))
    strict, basic = server.addresses
    assert not is_let_in(server, certificates.context(), strict)
    assert is_let_in(server, certificates.context(), basic)


def test_mutual_without_authority_trusts_nobody(new_server, certificates):
    server = new_server(*certificates.options(),
                        listen=("-l", "127.0.0.1,mtls:127.0.0.1"))
    assert "no certificate of a client that is trusted" in " ".join(
        server.stderr().split())
    known = certificates.context(client=certificates.client)
    assert is_let_in(server, known, server.addresses[0])
    assert not is_let_in(server, known, server.addresses[1])


# ---- who is let in ---------------------------------------------------------

@pytest.mark.parametrize("mode,nobody,stranger", [
    (0, True, True), (1, True, False), (2, False, False), (3, False, False)])
def test_verify_modes(new_server, own_certificates, version, mode, nobody,
                      stranger):
    made = own_certificates
    made.make_authority("other")
    strange = made.make("stranger", authority="other")
    server = new_server(*made.options(f"ssl_ca_cert={made.ca}",
                                      f"ssl_verify_mode={mode}"))
    known = made.context(client=made.client, version=version)
    assert is_let_in(server, known)
    assert is_let_in(server, made.context(version=version)) == nobody
    assert is_let_in(server, made.context(client=strange, version=version)) \
        == stranger
    errors = (not nobody) + (not stranger)
    wait_until(lambda: stat(server, known, "ssl_handshake_errors") == errors,
               "they are counted")
    assert stat(server, known, "ssl_proto_errors") == 0


def test_min_version(new_server, certificates):
    server = new_server(*certificates.options("ssl_min_version=3"))
    assert not is_let_in(server,
                         certificates.context(version=VERSIONS["1.2"]))
    assert is_let_in(server, certificates.context(version=VERSIONS["1.3"]))


def s_client(server, *words, typed=b""):
    """What the openssl tool says of a connection."""
    host, port = server.addresses[0]
    return subprocess.run(
        ["openssl", "s_client", "-connect", f"{host}:{port}", *words],
        input=typed, capture_output=True, timeout=DEADLINE_S,
        check=False)


def test_old_versions_are_refused_unless_asked_for(new_server, certificates):
    old = ["-tls1_1", "-cipher", "DEFAULT@SECLEVEL=0"]
    quit_ = b"version\r\nquit\r\n"
    strict = new_server(*certificates.options())
    assert b"VERSION " not in s_client(strict, *old, typed=quit_).stdout
    lax = new_server(*certificates.options("ssl_min_version=1",
                                           "ssl_ciphers=ALL@SECLEVEL=0"))
    done = s_client(lax, *old, "-ign_eof", typed=quit_)
    assert b"VERSION " in done.stdout, done
    assert is_let_in(lax, certificates.context())


def test_ciphers(new_server, certificates):
    cipher = "ECDHE-ECDSA-AES128-GCM-SHA256"
    server = new_server(*certificates.options(f"ssl_ciphers={cipher}"))
    context = certificates.context(version=VERSIONS["1.2"])
    with connect(server, context) as talk:
        assert talk.sock.cipher()[0] == cipher
        assert talk.stats("settings")["ssl_ciphers"] == cipher
    context.set_ciphers("ECDHE-ECDSA-AES256-GCM-SHA384")
    assert not is_let_in(server, context)


class Typist:
    """The openssl tool as a client; its keys R and K ask for new secrets."""

    def __init__(self, server, *words):
        host, port = server.addresses[0]
        self.process = subprocess.Popen(
            ["openssl", "s_client", "-connect", f"{host}:{port}", *words],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.communicate()

    def type(self, line):
        self.process.stdin.write(line)
        self.process.stdin.flush()

    def read_until(self, end):
        """What is printed up to this, or up to the end."""
        said = b""
        while not said.endswith(end):
            byte = self.process.stdout.read(1)
            if not byte:
                return said
            said += byte
        return said


def test_no_compression_and_no_renegotiation(tls_server, certificates):
    """A client that asks for a new handshake is told no, and leaves."""
    with Typist(tls_server, "-tls1_2") as client:
        client.type(b"version\r\n")
        assert b"Compression: NONE" in client.read_until(b"VERSION ")
        client.type(b"R\n")
        said = client.read_until(b"no renegotiation")
        assert b"RENEGOTIATING" in said and b"no renegotiation" in said
    assert is_let_in(tls_server, certificates.context())


def test_new_keys_while_it_lasts(tls_server):
    with Typist(tls_server, "-tls1_3") as client:
        for _ in range(20):
            client.type(b"K\n")
            assert b"KEYUPDATE" in client.read_until(b"KEYUPDATE")
            client.type(b"version\r\n")
            assert client.read_until(b"VERSION ").endswith(b"VERSION ")


def test_watch(tls_server, certificates, talk):
    """What a watcher sends is dropped; that it leaves is seen."""
    context = certificates.context()
    with connect(tls_server, context) as watcher:
        watcher.ask(b"watch mutations\r\n", b"OK\r\n")
        talk.set(b"seen", b"1")
        assert b"key=seen" in watcher.read(100)
        watcher.send(b"x" * 100000)
        talk.set(b"seen2", b"1")
        while b"key=seen2" not in watcher.buffer:
            assert watcher._fill()
    wait_until(lambda: talk.stats()["curr_connections"] == "1",
               "the end of the watcher")


def test_key_as_der(new_server, own_certificates):
    made = own_certificates
    der = made.path("server.der")
    openssl("pkey", "-in", made.server[1], "-outform", "DER", "-out", der)
    made.server = made.server[0], der
    server = new_server(*made.options("ssl_keyformat=2"))
    assert is_let_in(server, made.context())


# ---- starts that are refused ------------------------------------------------

def test_files_that_are_not_there(certificates, tmp_path):
    missing = tmp_path / "missing.pem"
    for name in "ssl_chain_cert", "ssl_key", "ssl_ca_cert":
        err = is_refused(*certificates.options(f"{name}={missing}"),
                         cwd=tmp_path)
        assert f"{missing}: No such file or directory" in err


def test_files_that_are_something_else(certificates, tmp_path):
    garbage = tmp_path / "garbage.pem"
    garbage.write_bytes(os.urandom(3000))
    for name in "ssl_chain_cert", "ssl_key", "ssl_ca_cert":
        err = is_refused(*certificates.options(f"{name}={garbage}"),
                         cwd=tmp_path)
        assert str(garbage) in err


def test_key_of_another_certificate(certificates, tmp_path):
    err = is_refused(
        *certificates.options(f"ssl_key={certificates.client[1]}"),
        cwd=tmp_path)
    assert "key values mismatch" in err


def test_key_with_a_password_is_refused_and_not_asked_for(certificates,
                                                          tmp_path):
    locked = tmp_path / "locked.key"
    openssl("pkey", "-in", certificates.server[1], "-aes128", "-passout",
            "pass:secret", "-out", locked)
    err = is_refused(*certificates.options(f"ssl_key={locked}"), cwd=tmp_path)
    assert str(locked) in err


def test_unknown_cipher(certificates, tmp_path):
    err = is_refused(*certificates.options("ssl_ciphers=ROT13"), cwd=tmp_path)
    assert "ROT13: no cipher match" in err


# ---- reading the files again ------------------------------------------------

def replace_server(made, name):
    """A new certificate under the server's old paths."""
    pair = made.make(name)
    for new, old in zip(pair, made.server):
        os.replace(new, old)


def refresh_by_command(server, talk):
    talk.ask(b"refresh_certs\r\n", b"OK\r\n")


def refresh_by_signal(server, talk):
    lines = server.stderr().count("TLS:")
    server.signal(signal.SIGHUP)
    wait_until(lambda: server.stderr().count("TLS:") > lines, "a log line")


@pytest.mark.parametrize("refresh", [refresh_by_command, refresh_by_signal])
def test_new_connections_get_the_new_certificate(new_server, own_certificates,
                                                 refresh):
    made = own_certificates
    server = new_server(*made.options())
    with connect(server, made.context()) as old:
        assert common_name(old) == "server"
        replace_server(made, "renewed")
        refresh(server, old)
        with connect(server, made.context()) as new:
            assert common_name(new) == "renewed"
            new.set(b"k", b"1")
        assert old.get(b"k") == b"1"


def test_relative_names_mean_the_same_later(new_server, own_certificates):
    """A daemon goes to "/"."""
    made = own_certificates
    names = [path.name for path in made.server]
    server = new_server(
        "-Z", "-o", f"ssl_chain_cert={names[0]},ssl_key={names[1]}",
        cwd=made.dir)
    replace_server(made, "renewed")
    with connect(server, made.context()) as talk:
        refresh_by_command(server, talk)
    with connect(server, made.context()) as talk:
        assert common_name(talk) == "renewed"


def test_broken_files_change_nothing(new_server, own_certificates):
    made = own_certificates
    server = new_server(*made.options())
    made.server[1].write_text("no key")
    with connect(server, made.context()) as talk:
        talk.send(b"refresh_certs\r\n")
        assert talk.line().startswith(b"Error ")
        assert f"{made.server[1]}: " in server.stderr()
        talk.expect_silence()
    with connect(server, made.context()) as talk:
        assert common_name(talk) == "server"
        replace_server(made, "mended")
        refresh_by_command(server, talk)
    with connect(server, made.context()) as talk:
        assert common_name(talk) == "mended"


def test_new_authorities_count_for_those_who_come_back(new_server,
                                                       own_certificates):
    """Who is no longer trusted does not get in with an old session."""
    made = own_certificates
    server = new_server(*made.options(f"ssl_ca_cert={made.ca}",
                                      "ssl_verify_mode=2"))
    context = made.context(client=made.client, version=VERSIONS["1.2"])
    with connect(server, context) as talk:
        session = talk.sock.session
        trusted = made.ca.read_bytes()
        made.make_authority("other")
        os.replace(made.path("other.pem"), made.ca)
        refresh_by_command(server, talk)
        with pytest.raises((ssl.SSLError, ConnectionError)):
            connect(server, context, session=session)
        made.ca.write_bytes(trusted)
        refresh_by_command(server, talk)
    assert is_let_in(server, context)


def test_time_since_refresh_starts_again(new_server, certificates):
    server = new_server(*certificates.options())
    context = certificates.context()
    name = "time_since_server_cert_refresh"
    with connect(server, context) as talk:
        wait_until(lambda: int(talk.stats()[name]) >= 3, "three seconds")
        start = time.monotonic()
        refresh_by_command(server, talk)
        assert int(talk.stats()[name]) <= time.monotonic() - start + 1


def test_refresh_without_tls(server):
    with server.connect() as talk:
        talk.ask(b"refresh_certs\r\n", b"Error TLS not enabled\r\n")
        assert not [name for name in talk.stats() if "ssl" in name]


def test_refresh_while_clients_come_and_go(new_server, certificates):
    server = new_server(*certificates.options())
    context = certificates.context()
    over = threading.Event()

    def come_and_go():
        served = 0
        while not over.is_set():
            assert is_let_in(server, context)
            served += 1
        return served

    with connect(server, context) as talk, ThreadPoolExecutor(4) as pool:
        workers = [pool.submit(come_and_go) for _ in range(4)]
        try:
            for _ in range(100):
                refresh_by_command(server, talk)
        finally:
            over.set()
        assert all(worker.result() for worker in workers)


# ---- sessions ----------------------------------------------------------------

def come_twice(server, context, first=None, second=None):
    """Was the second connection a resumption of the first?"""
    with connect(server, context, first) as talk:
        talk.expect_silence()  # with TLS 1.3 the ticket comes later
        session = talk.sock.session
    with connect(server, context, second, session) as talk:
        talk.expect_silence()
        return talk.sock.session_reused


@pytest.mark.parametrize("words", [(), ("ssl_session_cache",)])
def test_sessions_are_resumed(new_server, certificates, version, words):
    server = new_server(*certificates.options(*words))
    context = certificates.context(version=version)
    assert come_twice(server, context)
    if words:
        with connect(server, context) as talk:
            assert talk.stats()["ssl_new_sessions"] == "2"
            assert talk.stats("settings")["ssl_session_cache"] == "yes"


@pytest.mark.parametrize("words", [(), ("ssl_session_cache",)])
def test_session_is_no_way_around_certificates(new_server, certificates,
                                               version, words):
    server = new_server(
        *certificates.options(f"ssl_ca_cert={certificates.ca}", *words),
        listen=("-l", "btls:127.0.0.1,mtls:127.0.0.1"))
    basic, mutual = server.addresses
    context = certificates.context(version=version)
    with pytest.raises((ssl.SSLError, ConnectionError, EOFError,
                        AssertionError)):
        come_twice(server, context, basic, mutual)
    known = certificates.context(client=certificates.client, version=version)
    assert come_twice(server, known, mutual, mutual)
    assert not come_twice(server, known, basic, mutual)


# ---- peers that do not behave ------------------------------------------------

def test_plain_text_is_dropped(tls_server, certificates):
    with tls_server.connect() as plain:
        plain.send(b"version\r\n")
        while plain._fill():  # an alert, perhaps
            pass
        assert b"VERSION" not in plain.buffer
    context = certificates.context()
    wait_until(lambda: stat(tls_server, context, "ssl_handshake_errors") == 1,
               "it is counted")


@pytest.mark.parametrize("seed", range(5))
def test_garbage_is_dropped(tls_server, certificates, seed):
    noise = random.Random(seed)
    with connect(tls_server, certificates.context()) as other:
        for length in 1, 5, 100, 20000:
            with tls_server.connect() as plain:
                head = b"" if noise.random() < .5 else b"\x16\x03\x01"
                garbage = head + noise.randbytes(length)
                try:
                    plain.send(garbage)
                    plain.finish_sending()
                except OSError:
                    continue  # dropped already
                while plain._fill():
                    pass
        assert other.get(b"none") is None


def test_garbage_after_the_handshake_is_an_error_of_the_protocol(
        tls_server, certificates, version):
    context = certificates.context(version=version)
    with tls_server.connect() as plain:
        engine = Engine(context, plain)
        engine.handshake()
        engine.tls.write(b"get none\r\n")
        engine.flush()
        assert engine.read(5) == b"END\r\n"  # it is over on both sides
        engine.tls.write(b"set k 0 0 1\r\n1\r\n")
        record = bytearray(engine.outgoing.read())
        record[-1] ^= 1
        plain.send(bytes(record))
        while plain._fill():
            pass
    with connect(tls_server, context) as talk:
        wait_until(lambda: talk.stats()["ssl_proto_errors"] == "1",
                   "it is counted")
        assert talk.stats()["ssl_handshake_errors"] == "0"
        assert talk.get(b"k") is None


def test_half_open_handshakes_are_dropped(new_server, certificates):
    """They have ten seconds, and hold up nobody meanwhile."""
    server = new_server(*certificates.options(), "-c", 200)
    context = certificates.context()
    engine = Engine(context, None)
    with pytest.raises(ssl.SSLWantReadError):
        engine.tls.do_handshake()
    hello = engine.outgoing.read()
    silent = [server.connect() for _ in range(150)]
    for number, plain in enumerate(silent):
        plain.send((b"", b"\x16", hello[:100], hello)[number % 4])
    with connect(server, context) as talk:
        talk.set(b"k", b"1")
        assert talk.get(b"k") == b"1"
        wait_until(lambda: talk.stats()["curr_connections"] == "1",
                   "the end of 150 half-open handshakes")
        assert talk.stats()["ssl_handshake_errors"] == "150"
    for plain in silent:
        plain.close()


def test_connection_limit_speaks_no_plain_text(new_server, certificates):
    server = new_server(*certificates.options(), "-c", 1)
    context = certificates.context()
    with connect(server, context) as talk:
        talk.expect_silence()
        with server.connect() as plain:
            plain.expect_close()
        assert talk.stats()["rejected_connections"] == "1"
    wait_until(lambda: is_let_in(server, context), "a free place")


def test_idle_clients_are_closed(new_server, certificates):
    server = new_server(*certificates.options("idle_timeout=1"))
    with connect(server, certificates.context()) as talk:
        talk.expect_silence()
        talk.expect_close()


def test_an_open_address_is_warned_about_unless_guarded(new_server,
                                                        certificates):
    words = certificates.options(f"ssl_ca_cert={certificates.ca}")
    for listen, warned in ("btls:*", True), ("notls:*", True), \
            ("mtls:*", False), ("127.0.0.1", False):
        server = new_server(*words, listen=("-l", listen))
        assert ("open to other machines" in server.stderr()) == warned


def test_clients_that_vanish_leave_nothing(tls_server, certificates):
    """In the middle of the handshake, of a value, of an answer."""
    context = certificates.context()
    with connect(tls_server, context) as other:
        other.set(b"big", b"v" * MEGABYTE)
        for _ in range(20):
            with tls_server.connect() as plain:
                plain.send(b"\x16\x03\x01\x02\x00")
            with connect(tls_server, context) as talk:
                talk.send(b"set k 0 0 100000\r\n" + b"x" * 5000)
            with connect(tls_server, context) as talk:
                talk.send(b"get big\r\n" * 20)
                talk.read(100)
        wait_until(lambda: other.stats()["curr_connections"] == "1",
                   "all of them to be gone")


@pytest.mark.skipif(bool(os.environ.get("MEMCACHEDB_SAN")),
                    reason="memory of a sanitizer build")
def test_idle_connections_are_small(new_server, certificates):
    server = new_server(*certificates.options(), "-c", 1000)
    context = certificates.context()
    first = [connect(server, context) for _ in range(50)]
    before = server.rss_bytes()
    more = [connect(server, context) for _ in range(400)]
    for talk in more:
        talk.ask(b"get none\r\n", b"END\r\n")
    grown = server.rss_bytes() - before
    for talk in first + more:
        talk.close()
    assert grown / 400 < 40000


def test_stop_waits_for_answers(new_server, certificates):
    def stop():
        server = new_server(*certificates.options())
        with connect(server, certificates.context()) as talk:
            talk.set(b"k", b"v" * MEGABYTE)
            talk.send(b"get k\r\n")
            talk.expect(b"VALUE k 0 1048576\r\n")
            server.signal(signal.SIGTERM)
            talk.expect(b"v" * MEGABYTE + b"\r\nEND\r\n")
            talk.expect_close()
        assert server.wait() == 0
    within(DRAIN_S, stop)
