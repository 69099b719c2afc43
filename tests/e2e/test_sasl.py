"""Logging in by SASL (-S), which is for binary clients."""
import base64
import contextlib
import hashlib
import hmac
import os
import socket
import struct
import subprocess
import threading

import pytest

from harness.packet import ask, binary_stats, packet, read_answer
from harness.sasl import Sasl
from harness.script import ours_only
from harness.server import REFERENCE, Server, run_to_end, user_options
from harness.wait import wait_until

GET, SET, QUIT, FLUSH, NOOP, VERSION = 0x00, 0x01, 0x07, 0x08, 0x0a, 0x0b
GETQ, STAT, SETQ, TOUCH, GAT = 0x09, 0x10, 0x11, 0x1c, 0x1d
LIST, START, STEP = 0x20, 0x21, 0x22
FAILED, MORE, INVALID, UNKNOWN = 0x20, 0x21, 0x04, 0x81
ALL_BUT_LOGIN = [opcode for opcode in range(256)
                 if opcode not in (VERSION, LIST, START, STEP)]


@pytest.fixture
def sasl(tmp_path):
    made = Sasl(tmp_path)
    made.add("ann", "secret")
    made.add("rita", "look")
    return made


@pytest.fixture
def guarded(new_server, sasl):
    """Binary is the default with -S, but for memcached's."""
    binary = ["-B", "binary"] if REFERENCE else []
    return new_server("-S", *binary, env=sasl.env)


def plain(talk, user, password, authority=""):
    return ask(talk, START, b"PLAIN",
               f"{authority}\0{user}\0{password}".encode()).status


def enter(server, user="ann", password="secret"):
    talk = server.connect()
    assert plain(talk, user, password) == 0
    return talk


def store(talk, key, value):
    return ask(talk, SET, key, value, bytes(8)).status


# ---- in and out -----------------------------------------------------------

def test_plain(guarded):
    with guarded.connect() as talk:
        answer = ask(talk, START, b"PLAIN", b"\0ann\0secret")
        assert (answer.status, answer.value) == (0, b"Authenticated")
        assert store(talk, b"k", b"1") == 0
        assert ask(talk, GET, b"k").value == b"1"


def test_list(guarded):
    with guarded.connect() as talk:
        answer = ask(talk, LIST)
        assert answer.status == 0
        assert sorted(answer.value.split()) == [b"CRAM-MD5", b"PLAIN"]


@pytest.mark.parametrize("user,password", [
    ("ann", "Secret"), ("ann", "secre"), ("ann", "secrets"), ("ann", ""),
    ("eve", "secret"), ("", "secret"), ("", ""), ("ann", "look")])
def test_wrong_passwords_do_not_end_it(guarded, user, password):
    with guarded.connect() as talk:
        answer = ask(talk, START, b"PLAIN", f"\0{user}\0{password}".encode())
        assert (answer.status, answer.value) == (FAILED, b"Auth failure.")
        assert plain(talk, "ann", "secret") == 0


@pytest.mark.parametrize("message", [
    b"", b"\0", b"\0\0", b"ann", b"ann\0secret", b"\0ann\0secret\0",
    b"\0ann\0secret\0more", b"rita\0ann\0secret", b"\xff" * 16384],
    ids=lambda message: repr(message)[:20])
def test_odd_messages(guarded, message):
    with guarded.connect() as talk:
        assert ask(talk, START, b"PLAIN", message).status in (FAILED, MORE)
        assert plain(talk, "ann", "secret") == 0


def test_mechanisms_that_are_not_there(guarded):
    with guarded.connect() as talk:
        for name in b"NONE", b"ANONYMOUS", b"DIGEST-MD5", b"X" * 32, b"\0":
            assert ask(talk, START, name, b"\0ann\0secret").status == FAILED
        assert ask(talk, START, b"X" * 40, b"\0ann\0secret").status == INVALID
        assert plain(talk, "ann", "secret") == 0


@ours_only
def test_anonymous_is_never_offered(new_server, tmp_path):
    sasl = Sasl(tmp_path)
    sasl.configure("mech_list: plain anonymous")
    with new_server("-S", env=sasl.env).connect() as talk:
        assert ask(talk, LIST).value == b"PLAIN"
        assert ask(talk, START, b"ANONYMOUS", b"me").status == FAILED


@pytest.mark.parametrize("opcode", ALL_BUT_LOGIN, ids="{:#04x}".format)
@ours_only
def test_nothing_else_works_before(guarded_once, opcode):
    """Whatever its shape, it is refused, and that is the end."""
    with guarded_once.connect() as talk:
        talk.send(packet(opcode, b"k", opaque=7))
        answer = read_answer(talk)
        assert answer.opaque == 7
        assert answer.status in (FAILED, INVALID, UNKNOWN)
        if answer.status != UNKNOWN:
            talk.expect_close()


@pytest.fixture(scope="module")
def guarded_once(tmp_path_factory):
    """One server for tests that only knock at its door."""
    sasl = Sasl(tmp_path_factory.mktemp("sasl"))
    with Server("-S", env=sasl.env) as server:
        yield server


@pytest.mark.parametrize("request_bytes", [
    packet(GET, b"k"), packet(GETQ, b"k"), packet(SET, b"k", b"1", bytes(8)),
    packet(SETQ, b"k", b"1", bytes(8)), packet(FLUSH), packet(STAT),
    packet(NOOP), packet(QUIT), packet(TOUCH, b"k", extras=bytes(4)),
    packet(GAT, b"k", extras=bytes(4))], ids=lambda data: f"{data[1]:#04x}")
def test_commands_before(guarded, request_bytes):
    with enter(guarded) as inside, guarded.connect() as talk:
        assert store(inside, b"k", b"old") == 0
        talk.send(request_bytes + packet(NOOP))
        answer = read_answer(talk)
        assert (answer.status, answer.value) == (FAILED, b"Auth failure.")
        talk.expect_close()
        assert ask(inside, GET, b"k").value == b"old"


def test_who_goes_on_after_the_refusal_is_reset(guarded):
    """A client learns by that, too, that it needs a new connection."""
    with guarded.connect() as talk:
        assert ask(talk, GET, b"k").status == FAILED
        talk.expect_close()

        def is_reset():
            try:
                talk.sock.sendall(packet(GET, b"k"))
                assert talk.sock.recv(1) == b""
                return False  # the kernel still takes the first
            except (ConnectionResetError, BrokenPipeError):
                return True
        wait_until(is_reset, "the reset")


def test_version_before(guarded):
    with guarded.connect() as talk:
        assert ask(talk, VERSION).status == 0
        assert plain(talk, "ann", "secret") == 0


def test_pipelined(guarded):
    """The commands behind a login wait for it, and answers keep their
    order."""
    with guarded.connect() as talk:
        talk.send(packet(VERSION, opaque=1)
                  + packet(START, b"PLAIN", b"\0ann\0wrong", opaque=2)
                  + packet(START, b"PLAIN", b"\0ann\0secret", opaque=3)
                  + packet(SET, b"k", b"1", bytes(8), opaque=4)
                  + packet(GET, b"k", opaque=5))
        answers = [read_answer(talk) for _ in range(5)]
        assert [(each.opaque, each.status) for each in answers] == \
            [(1, 0), (2, FAILED), (3, 0), (4, 0), (5, 0)]


def test_bytewise(guarded):
    with guarded.connect() as talk:
        talk.bytewise = True
        assert plain(talk, "ann", "secret") == 0
        assert store(talk, b"k", b"1") == 0


def test_text_is_cut_off(guarded):
    with guarded.connect() as talk:
        talk.send(b"set x 0 0 10\r\nann secret\r\n")
        talk.expect_close()


# ---- again ----------------------------------------------------------------

def test_a_failed_login_ends_the_one_before(guarded):
    with enter(guarded) as talk:
        assert store(talk, b"k", b"1") == 0
        assert plain(talk, "ann", "wrong") == FAILED
        assert ask(talk, GET, b"k").status == FAILED
        talk.expect_close()


@ours_only
def test_another_user_after_the_first(new_server, sasl):
    server = new_server("-S", "--read-only-user=rita", env=sasl.env)
    with enter(server) as talk:
        assert store(talk, b"k", b"1") == 0
        assert plain(talk, "rita", "look") == 0
        assert store(talk, b"k", b"2") == FAILED
        assert plain(talk, "ann", "secret") == 0
        assert store(talk, b"k", b"3") == 0


def test_counters(guarded):
    with guarded.connect() as talk:
        assert plain(talk, "ann", "wrong") == FAILED
        assert ask(talk, STEP, b"PLAIN", b"\0ann\0secret").status == FAILED
        assert plain(talk, "ann", "secret") == 0
        stats = binary_stats(talk)
        assert (stats["auth_cmds"], stats["auth_errors"]) == ("3", "2")
        settings = binary_stats(talk, b"settings")
        assert settings["auth_enabled_sasl"] == "yes"
        assert settings["auth_enabled_ascii"] == "no"
        assert settings["binding_protocol"] == "binary"


# ---- mechanisms of several steps ------------------------------------------

def cram(user, password, challenge):
    digest = hmac.new(password.encode(), challenge, hashlib.md5).hexdigest()
    return f"{user} {digest}".encode()


def test_cram_md5(guarded):
    with guarded.connect() as talk:
        for password, status in ("wrong", FAILED), ("secret", 0):
            answer = ask(talk, START, b"CRAM-MD5")
            assert answer.status == MORE
            answer = ask(talk, STEP, b"CRAM-MD5",
                         cram("ann", password, answer.value))
            assert answer.status == status
        assert store(talk, b"k", b"1") == 0


def test_step_without_start(guarded):
    with guarded.connect() as talk:
        assert ask(talk, STEP, b"PLAIN", b"\0ann\0secret").status == FAILED
        challenge = ask(talk, START, b"CRAM-MD5").value
        good = cram("ann", "secret", challenge)
        assert plain(talk, "ann", "wrong") == FAILED
        assert ask(talk, STEP, b"CRAM-MD5", good).status == FAILED
        challenge = ask(talk, START, b"CRAM-MD5").value
        assert ask(talk, STEP, b"CRAM-MD5", good).status == FAILED
        assert ask(talk, STEP, b"CRAM-MD5", good).status == FAILED
        assert plain(talk, "ann", "secret") == 0


@ours_only
def test_half_a_login_is_none(guarded):
    with enter(guarded) as talk:
        assert ask(talk, START, b"CRAM-MD5").status == MORE
        assert ask(talk, GET, b"k").status == FAILED
        talk.expect_close()


@ours_only
def test_leaving_in_the_middle(guarded):
    for _ in range(50):
        with guarded.connect() as talk:
            assert ask(talk, START, b"CRAM-MD5").status == MORE
            talk.send(packet(STEP, b"CRAM-MD5", b"ann 0"))
    enter(guarded).close()


@ours_only
def test_scram(new_server, sasl):
    """Two steps, and the server proves that it knows the password, too."""
    sasl.configure("mech_list: scram-sha-256 plain")
    with new_server("-S", env=sasl.env).connect() as talk:
        first = "n=ann,r=abcdefgh"
        answer = ask(talk, START, b"SCRAM-SHA-256", f"n,,{first}".encode())
        assert answer.status == MORE
        fields = dict(part.split("=", 1)
                      for part in answer.value.decode().split(","))
        salted = hashlib.pbkdf2_hmac("sha256", b"secret",
                                     base64.b64decode(fields["s"]),
                                     int(fields["i"]))
        key = hmac.new(salted, b"Client Key", "sha256").digest()
        last = f"c=biws,r={fields['r']}"
        message = f"{first},{answer.value.decode()},{last}".encode()
        signature = hmac.new(hashlib.sha256(key).digest(), message,
                             "sha256").digest()
        proof = bytes(a ^ b for a, b in zip(key, signature))
        answer = ask(talk, STEP, b"SCRAM-SHA-256",
                     f"{last},p={base64.b64encode(proof).decode()}".encode())
        while answer.status == MORE:
            assert answer.value.startswith(b"v=")
            answer = ask(talk, STEP, b"SCRAM-SHA-256")
        assert answer.status == 0
        assert store(talk, b"k", b"1") == 0


# ---- users ----------------------------------------------------------------

@ours_only
@pytest.mark.parametrize("named,user,may_change", [
    ("rita", "rita", False), ("RITA", "rita", False), ("rit", "rita", True),
    ("rita@elsewhere", "rita", True), ("rita", "rita@elsewhere", False),
    ("rita@elsewhere", "rita@elsewhere", False), ("ann,rita", "rita", False),
    ("rita@here", "rita@elsewhere", True)])
def test_read_only_user(new_server, sasl, named, user, may_change):
    sasl.add("rita", "look", "-u", "elsewhere")
    server = new_server("-S", "--read-only-user", named, env=sasl.env)
    with enter(server, user, "look") as talk:
        assert store(talk, b"k", b"1") == (0 if may_change else FAILED)
        talk.send(packet(SETQ, b"k", b"2", bytes(8))
                  + packet(GAT, b"k", extras=bytes(4)) + packet(FLUSH))
        answers = [read_answer(talk) for _ in range(2 if may_change else 3)]
        assert all((each.status == 0) == may_change for each in answers)
        assert ask(talk, NOOP).status == 0
        assert ask(talk, GET, b"k").status == 1
        assert binary_stats(talk)["curr_items"] == "0"


@ours_only
def test_realm_of_the_machine_can_be_named(new_server, sasl):
    listing = subprocess.run(
        ["/usr/sbin/sasldblistusers2", "-f", sasl.database], check=True,
        capture_output=True, text=True).stdout
    full_name = [line.split(":")[0] for line in listing.split("\n")
                 if line.startswith("rita@")][0]
    server = new_server("-S", "--read-only-user", full_name, env=sasl.env)
    with enter(server, "rita", "look") as talk:
        assert store(talk, b"k", b"1") == FAILED


# ---- without passwords ----------------------------------------------------

def test_without_sasl_the_commands_are_unknown(new_server):
    with new_server().connect() as talk:
        assert ask(talk, LIST).status == UNKNOWN
        assert ask(talk, START, b"PLAIN", b"\0ann\0secret").status == UNKNOWN
        assert ask(talk, STEP, b"PLAIN", b"\0ann\0secret").status == UNKNOWN
        assert store(talk, b"k", b"1") == 0


@ours_only
def test_nothing_configured(new_server, tmp_path):
    """It starts, PLAIN is there, and nobody gets in."""
    server = new_server("-S", env={"SASL_CONF_PATH": str(tmp_path)})
    with server.connect() as talk:
        assert b"PLAIN" in ask(talk, LIST).value.split()
        assert plain(talk, "ann", "secret") == FAILED
    log = server.stderr()
    assert 'login as "ann" from tcp:127.0.0.1:' in log
    assert "secret" not in log


def test_users_added_later(guarded, sasl):
    with guarded.connect() as talk:
        assert plain(talk, "new", "pass") == FAILED
        sasl.add("new", "pass")
        assert plain(talk, "new", "pass") == 0


@pytest.mark.parametrize("options", [
    ["--protocol=ascii"], ["--protocol=auto"], ["-Y", "/etc/passwd"]],
    ids=lambda options: options[0])
@ours_only
def test_refuses_to_start_with(tmp_path, options):
    status, _, err = run_to_end(*user_options(), "-p", "-1", "-H",
                                tmp_path / "data", "-S", *options)
    assert status == 64
    assert err.startswith("memcachedb: -S")


# ---- another daemon that checks -------------------------------------------

@contextlib.contextmanager
def saslauthd(folder, answer):
    """Listens where the library asks saslauthd; answer(user, password) is a
    bool, or None for no answer at all."""
    path = folder / "mux"
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(path))
    listener.listen(16)
    held = []

    def word(peer):
        size, = struct.unpack("!H", peer.recv(2, socket.MSG_WAITALL))
        return peer.recv(size, socket.MSG_WAITALL).decode() if size else ""

    def serve():
        while True:
            try:
                peer, _ = listener.accept()
            except OSError:
                return
            said = answer(*[word(peer) for _ in range(4)][:2])
            if said is None:
                held.append(peer)
                continue
            reply = b"OK" if said else b"NO"
            peer.sendall(struct.pack("!H", len(reply)) + reply)
            peer.close()

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield path
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join()
        for peer in held:
            peer.close()
        os.unlink(path)


@ours_only
def test_saslauthd(new_server, sasl, tmp_path):
    with saslauthd(tmp_path, lambda user, password:
                   (user, password) == ("bob", "there")) as path:
        sasl.configure("pwcheck_method: saslauthd", "mech_list: plain",
                       f"saslauthd_path: {path}")
        with new_server("-S", env=sasl.env).connect() as talk:
            assert plain(talk, "ann", "secret") == FAILED
            assert plain(talk, "bob", "there") == 0
            assert store(talk, b"k", b"1") == 0


@ours_only
def test_a_check_that_does_not_end(new_server, sasl, tmp_path):
    """Who is in goes on; who is not waits; the server can be stopped."""
    with saslauthd(tmp_path, lambda user, password:
                   True if user == "ann" else None) as path:
        sasl.configure("pwcheck_method: saslauthd", "mech_list: plain",
                       f"saslauthd_path: {path}")
        server = new_server("-S", env=sasl.env)
        with enter(server, "ann", "") as inside, \
                server.connect() as hanging, server.connect() as behind:
            hanging.send(packet(START, b"PLAIN", b"\0bob\0x"))
            behind.send(packet(START, b"PLAIN", b"\0ann\0x"))
            for i in range(100):
                assert store(inside, b"k%d" % i, b"1") == 0
            assert server.terminate() == 0
    server.start()
