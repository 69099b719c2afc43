"""Logging in by text (-Y): who gets in, who does not, and what they may do."""
import ctypes
import re
import signal
import socket
import struct
from contextlib import ExitStack

import pytest

from harness.script import conversations, differs, hold, ours_only
from harness.server import run_to_end, user_options
from harness.wait import wait_until

USERS = "ann:secret\nbob:pass word\nrita:look:only"
DENIED = b"CLIENT_ERROR authentication failure\r\n"
UNKNOWN = b"CLIENT_ERROR unauthenticated\r\n"


def login(user, password):
    token = f"{user} {password}".encode()
    return b"set any 0 0 %d\r\n%s\r\n" % (len(token), token)


def enter(server, user="ann", password="secret"):
    """A connection that has logged in."""
    talk = server.connect()
    talk.ask(login(user, password), b"STORED\r\n")
    return talk


def counters(talk):
    stats = talk.stats()
    return int(stats["auth_cmds"]), int(stats["auth_errors"])


@pytest.fixture
def users(tmp_path):
    path = tmp_path / "users"
    path.write_text(USERS)
    path.chmod(0o600)
    return path


@pytest.fixture
def guarded(new_server, users):
    return new_server("-Y", users)


# ---- conversations --------------------------------------------------------

@conversations({
    "in": """
        > set any 0 0 10
        > ann secret
        < STORED
        > get any
        < END
        > set k 0 0 1
        > 1
        < STORED
        > get k
        < VALUE k 0 1
        < 1
        < END
    """,
    "words that mean nothing": """
        > set x flags never 10 and more
        > ann secret
        < STORED
    """,
    "noreply is answered": """
        > set x 0 0 10 noreply
        > ann secret
        < STORED
    """,
    "the first colon ends the name": """
        > set x 0 0 14
        > rita look:only
        < STORED
    """,
    "the first blank ends the name": """
        > set x 0 0 13
        > bob pass word
        < STORED
    """,
    "at the third go": """
        > set x 0 0 9
        > ann wrong
        < CLIENT_ERROR authentication failure
        > get any
        < CLIENT_ERROR unauthenticated
        > set x 0 0 10
        > eve secret
        < CLIENT_ERROR authentication failure
        > set x 0 0 10
        > ann secret
        < STORED
    """,
    "several failing in one write": """
        > set x 0 0 9
        > ann wrong
        > get any
        > set x 0 0 10
        > eve secret
        > set x 0 0 3
        > ann
        > set x 0 0 10
        > ann secret
        > get any
        < CLIENT_ERROR authentication failure
        < CLIENT_ERROR unauthenticated
        < CLIENT_ERROR authentication failure
        < CLIENT_ERROR bad authentication token format
        < STORED
        < END
    """,
    "nothing else works": """
        > get any
        > gets any
        > mg any v
        > version
        > stats
        > flush_all
        > add k 0 0 10
        > ann secret
        > verbosity 1
        > set k 0 0
        > set k 0 0 x
        > set k 0 0 -1
        > setx k 0 0 10
        > set x 0 0 10
        > ann secret
        < CLIENT_ERROR unauthenticated
        < CLIENT_ERROR unauthenticated
        < CLIENT_ERROR unauthenticated
        < CLIENT_ERROR unauthenticated
        < CLIENT_ERROR unauthenticated
        < CLIENT_ERROR unauthenticated
        < CLIENT_ERROR unauthenticated
        < CLIENT_ERROR unauthenticated
        < CLIENT_ERROR unauthenticated
        < CLIENT_ERROR unauthenticated
        < CLIENT_ERROR unauthenticated
        < CLIENT_ERROR unauthenticated
        < CLIENT_ERROR unauthenticated
        < STORED
    """,
    "empty block": """
        > set x 0 0 0
        >
        < CLIENT_ERROR bad authentication token format
        > set x 0 0 10
        > ann secret
        < STORED
    """,
    "a token too long": """
        > set x 0 0 16385
        > ann secret
        < CLIENT_ERROR auth token too long
        < CLIENT_ERROR unauthenticated
        > set x 0 0 10
        > ann secret
        < STORED
    """,
    "too short to be a login": """
        > quit
        <.
    """,
}, differing={
    "the first blank ends the name": "1.6.18 takes one word of the password",
    "several failing in one write": "1.6.18 gives only the last answer",
    "nothing else works": "1.6.18 gives only the last answer",
    "a token too long": "1.6.18 has no limit",
    "too short to be a login": "1.6.18 answers",
})
def test_conversation(guarded, script, delivery):
    with guarded.connect() as talk:
        hold(talk, script, delivery)


@differs("1.6.18 waits for more")
def test_binary_clients_are_cut_off(guarded):
    with guarded.connect() as talk:
        talk.send(b"\x80\x0b" + bytes(22) + b"\r\n" * 2)
        talk.expect_close()


def test_line_without_end_is_cut_off(guarded):
    with guarded.connect() as talk:
        talk.send(b"set x 0 0 " + b"1" * 3000)
        talk.expect_close()


@ours_only
def test_block_that_goes_on(guarded):
    """What is behind the announced bytes is the next line."""
    with guarded.connect() as talk:
        talk.ask(b"set x 0 0 8\r\nann secret and more\r\n",
                 b"CLIENT_ERROR bad command line termination\r\n" + UNKNOWN)
        talk.ask(login("ann", "secret"), b"STORED\r\n")


@ours_only
def test_longest_token(guarded):
    with guarded.connect() as talk:
        talk.ask(login("ann", "x" * (16384 - 4)), DENIED)
        talk.ask(login("ann", "secret"), b"STORED\r\n")


def test_each_connection_logs_in_for_itself(guarded):
    with enter(guarded) as inside, guarded.connect() as outside:
        inside.set(b"k", b"1")
        outside.ask(b"get k\r\n", UNKNOWN)
        assert inside.get(b"k") == b"1"


@ours_only
@pytest.mark.parametrize("end", ["hang up", "reset"])
def test_leaving_with_a_login_under_way(new_server, tmp_path, end):
    """Its check is still in the queue, or at work, when the client is gone."""
    server = new_server("-Y", write_users(tmp_path, slow_user("ann", "secret")))
    for _ in range(20):
        talk = server.connect()
        talk.send(login("ann", "wrong") * 3)
        if end == "reset":
            talk.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                                 struct.pack("ii", 1, 0))
        talk.close()
    with enter(server) as talk:
        assert counters(talk)[0] >= 1


def test_counters(guarded):
    with guarded.connect() as talk:
        talk.ask(login("ann", "wrong"), DENIED)
        talk.ask(login("eve", "secret"), DENIED)
        talk.ask(login("ann", "secret"), b"STORED\r\n")
        assert counters(talk) == (3, 2)
        settings = talk.stats("settings")
        assert settings["auth_enabled_ascii"].endswith("/users")
        assert settings["auth_enabled_sasl"] == "no"
        assert settings["binding_protocol"] == "ascii"


# ---- hashes ---------------------------------------------------------------

def write_users(folder, *lines):
    path = folder / "users"
    path.write_text("".join(line + "\n" for line in lines))
    path.chmod(0o600)
    return path


def hashed(user, password, method="$5$rounds=1000$saltsalt$"):
    library = ctypes.CDLL("libcrypt.so.1")
    library.crypt.restype = ctypes.c_char_p
    made = library.crypt(password.encode(), method.encode()).decode()
    assert made.startswith(method[:3])
    return f"{user}:{made}"


def slow_user(user, password):
    """Whose check takes long enough to have several in the queue."""
    return hashed(user, password, "$6$rounds=5000$saltsalt$")


@ours_only
@pytest.mark.parametrize("method", [
    "$5$rounds=1000$saltsalt$", "$6$rounds=1000$saltsalt$", "$1$saltsalt$",
    "$2b$04$" + "a" * 22, "$y$j75$saltsalt$"],
    ids=lambda method: method.split("$")[1])
def test_hashes(new_server, tmp_path, method):
    line = hashed("ann", "secret", method)
    server = new_server("-Y", write_users(tmp_path, line, "bob:plain"))
    with server.connect() as talk:
        talk.ask(login("ann", "Secret"), DENIED)
        talk.ask(login("ann", line.split(":")[1]), DENIED)
        talk.ask(login("ann", ""), DENIED)
        talk.ask(login("eve", "secret"), DENIED)
        talk.ask(login("ann", "secret"), b"STORED\r\n")
    enter(server, "bob", "plain").close()
    assert "1 of 2 passwords are plain text" in server.stderr()


@ours_only
def test_no_warning_without_a_reason(new_server, tmp_path):
    server = new_server("-Y", write_users(tmp_path, hashed("ann", "secret")))
    enter(server).close()
    assert "warning" not in server.stderr()


@ours_only
def test_warning_about_a_file_that_others_can_read(new_server, tmp_path):
    path = write_users(tmp_path, hashed("ann", "secret"))
    path.chmod(0o644)
    server = new_server("-Y", path)
    assert "not its owner alone can read it" in server.stderr()


@ours_only
def test_U87_no_warning_of_an_open_port(new_server, users):
    server = new_server("-Y", users, listen=("-l", "0.0.0.0"))
    assert "open to other machines" not in server.stderr()


# ---- a flood --------------------------------------------------------------

@ours_only
def test_flood_does_not_disturb_who_is_in(new_server, tmp_path):
    """More clients than places of the login thread, each with a whole line of
    attempts, and every one of them slow. Those who are in get on; who wants
    to get in does so before the flood has been dealt with."""
    path = write_users(tmp_path, slow_user("ann", "secret"))
    server = new_server("-Y", path, "-t", 2, "--sync=write")
    with ExitStack() as stack:
        inside = stack.enter_context(enter(server))
        others = [stack.enter_context(server.connect()) for _ in range(60)]
        before = server.rss_bytes()
        for other in others:
            other.send(login("ann", "wrong") * 100)
        for i in range(200):
            inside.set(b"k%d" % i, b"1")
        with enter(server) as late:
            assert late.get(b"k1") == b"1"
        done, failed = counters(inside)
        assert done - failed == 2 and failed < 60 * 100
        assert server.rss_bytes() < before + (16 << 20)


@ours_only
def test_stops_with_logins_in_the_queue(new_server, tmp_path):
    server = new_server("-Y", write_users(tmp_path, slow_user("ann", "x")))
    with ExitStack() as stack:
        others = [stack.enter_context(server.connect()) for _ in range(50)]
        for other in others:
            other.send(login("ann", "wrong") * 10)
        others[0].expect(DENIED)
        assert server.terminate() == 0


# ---- users that may only read ---------------------------------------------

# The blocks would be commands if they were not skipped.
CHANGES = [
    b"set k 0 0 9\r\nflush_all", b"add j 0 0 9\r\nflush_all",
    b"replace k 0 0 1\r\n2", b"cas k 0 0 1 1\r\n2", b"prepend k 0 0 1\r\n2",
    b"incr k 1", b"decr k 1", b"touch k 0", b"gat 0 k", b"gats 0 k",
    b"delete k", b"ms k 9\r\nflush_all", b"md k", b"ma k", b"mg k T0",
    b"mg k N30 v", b"mg k R30", b"flush_all", b"cache_memlimit 100",
    b"verbosity 2", b"stats reset", b"stats detail on", b"shutdown",
    b"lru_crawler disable", b"lru_crawler enable",
]


@ours_only
def test_read_only_user(new_server, users):
    server = new_server("-Y", users, "--read-only-user=rita", "--read-only-"
                        "user=eve,bob", "--enable-shutdown")
    with enter(server) as ann, enter(server, "rita", "look:only") as rita:
        ann.set(b"k", b"1")
        for command in CHANGES:
            rita.ask(command + b"\r\n", b"CLIENT_ERROR read-only user\r\n")
        rita.send(b"append k 0 0 1 noreply\r\n2\r\n")
        assert rita.get(b"k") == b"1"
        rita.run("""
            > mg k v
            > me j
            > mn
            > flush_all noreply
            < VA 1
            < 1
            < EN
            < MN
        """)
        assert rita.stats()["curr_items"] == "1"
        assert rita.stats("settings")["read_only_users"] == "rita,eve,bob"
    with enter(server, "bob", "pass word") as bob:
        bob.ask(b"delete k\r\n", b"CLIENT_ERROR read-only user\r\n")


@ours_only
def test_read_only_user_does_not_win(new_server, users):
    server = new_server("-Y", users, "--read-only-user=rita")
    with enter(server) as ann, enter(server, "rita", "look:only") as rita:
        ann.set(b"k", b"1")
        ann.ask(b"md k I\r\n", b"HD\r\n")
        for _ in range(2):
            rita.ask(b"mg k v\r\n", b"VA 1 X\r\n1\r\n")
            rita.ask(b"mg k\r\n", b"HD X\r\n")
        ann.ask(b"mg k v\r\n", b"VA 1 X W\r\n1\r\n")
        rita.ask(b"mg k\r\n", b"HD Z X\r\n")


# ---- SIGHUP ---------------------------------------------------------------

@ours_only
def test_hup_reads_the_file_again(new_server, users):
    server = new_server("-Y", users)
    with enter(server) as ann, enter(server, "rita", "look:only") as rita:
        users.write_text("bob:new\nrita:look:only\n")
        server.signal(signal.SIGHUP)
        wait_until(lambda: can_enter(server, "bob", "new"), "the new file")
        assert not can_enter(server, "ann", "secret")
        assert not can_enter(server, "bob", "pass word")
        # Who is in stays in.
        ann.set(b"k", b"1")
        assert rita.get(b"k") == b"1"


def can_enter(server, user, password):
    with server.connect() as talk:
        talk.send(login(user, password))
        return talk.line() == b"STORED"


@ours_only
@pytest.mark.parametrize("content", ["ann:new\nbroken\n", "", None],
                         ids=["malformed", "empty", "gone"])
def test_hup_with_a_bad_file_keeps_the_old_users(new_server, users, content):
    server = new_server("-Y", users)
    if content is None:
        users.unlink()
    else:
        users.write_text(content)
    server.signal(signal.SIGHUP)
    wait_until(lambda: "the users stay those of before" in server.stderr(),
               "the refusal")
    assert can_enter(server, "ann", "secret")
    assert not can_enter(server, "ann", "new")
    assert "broken" not in server.stderr()


@ours_only
def test_hup_under_load(new_server, users):
    """Files change hands while logins are checked."""
    server = new_server("-Y", users)
    for i in range(20):
        users.write_text(f"ann:secret\nbob:{i}\n")
        server.signal(signal.SIGHUP)
        assert can_enter(server, "ann", "secret")
    wait_until(lambda: can_enter(server, "bob", "19"), "the last file")


# ---- the start ------------------------------------------------------------

BAD_FILES = {
    "no colon": ("ann:good\nhunter2\n", "line 2: there is no colon"),
    "no name": (":hunter2\n", "line 1: there is no user name"),
    "no password": ("hunter2:\n", "line 1: the password is empty"),
    "blank in the name": ("ann b:hunter2\n", "line 1: there is a blank"),
    "NUL": ("ann:hunter2\0\n", "line 1: there is a NUL"),
    "empty": ("", "there is no user in it"),
    "long": ("ann:hunter2" + "2" * 2000, "line 1: the line is too long"),
    "many": ("ann:hunter2\n" * 1025, "line 1025: there are too many"),
}


@ours_only
@pytest.mark.parametrize("name", BAD_FILES)
def test_bad_file_refuses_to_start(tmp_path, name):
    content, why = BAD_FILES[name]
    path = tmp_path / "users"
    path.write_text(content)
    status, _, err = run_to_end(*user_options(), "-p", "-1", "-H",
                                tmp_path / "data", "-Y", path)
    assert status == 78
    assert f"cannot use the auth file {path}: {why}" in err
    assert "hunter" not in err
    assert not (tmp_path / "data").exists()


@ours_only
def test_unreadable_file_refuses_to_start(tmp_path):
    for path, why in ((tmp_path / "missing", "No such file or directory"),
                      (tmp_path, "it is not a file")):
        status, _, err = run_to_end(*user_options(), "-p", "-1", "-H",
                                    tmp_path / "data", "-Y", path)
        assert status == 78
        assert f"cannot use the auth file {path}: {why}" in err


# ---- the log --------------------------------------------------------------

@ours_only
def test_failed_logins_are_logged_without_the_password(new_server, users):
    server = new_server("-Y", users, "-vv")
    with server.connect() as talk:
        # in one go: there is a line a second
        talk.ask(login("e\x1bve", "hunter2") * 50, DENIED * 50)
        talk.ask(login("ann", "secret"), b"STORED\r\n")
    log = server.stderr()
    assert 'login as "e%1Bve" from tcp:127.0.0.1:' in log
    assert len(re.findall("login as", log)) < 50
    assert "hunter2" not in log and "secret" not in log
