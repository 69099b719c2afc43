"""UDP: frames, long answers in parts, what is dropped, and what a flood does.

`udp` is a client of a server of this file's own; `talk` is a TCP connection to
the same server.
"""
import random
import socket
import struct

import pytest

from harness.faults import LOGS, SYNC
from harness.files import process_is_gone, sockets_of
from harness.packet import HEAD, packet
from harness.script import differs, ours_only
from harness.server import Server, run_to_end, user_options
from harness.udp import DATAGRAM_MAX, FRAME
from harness.wait import wait_until

ROOM = DATAGRAM_MAX - FRAME.size
MEGABYTE = 1 << 20


@pytest.fixture(scope="module")
def server():
    with Server("-U", "-1") as made:
        yield made


@pytest.fixture
def talk(server):
    with server.connect() as connection:
        connection.ask(b"flush_all\r\n", b"OK\r\n")
        yield connection


@pytest.fixture
def udp(server, talk):
    with server.udp() as client:
        yield client
        client.expect_silence()


# ---- frames --------------------------------------------------------------

@pytest.mark.parametrize("number", [0, 1, 0x1234, 65535])
def test_answer_has_the_number_of_the_request(udp, number):
    udp.send_raw(FRAME.pack(number, 0, 1, 0) + b"get none\r\n")
    assert udp.receive_raw() == FRAME.pack(number, 0, 1, 0) + b"END\r\n"


def test_place_and_unused_number_do_not_count(udp):
    udp.send_raw(FRAME.pack(7, 5, 1, 9) + b"get none\r\n")
    assert udp.receive_raw() == FRAME.pack(7, 0, 1, 0) + b"END\r\n"


DROPPED = {
    "nothing": b"",
    "part of a frame": b"\0\1\0\0\0\1\0",
    "frame alone": FRAME.pack(1, 0, 1, 0),
    "count 0": FRAME.pack(1, 0, 0, 0) + b"get k\r\n",
    "count 2": FRAME.pack(1, 0, 2, 0) + b"get k\r\n",
    "second of 2": FRAME.pack(1, 1, 2, 0) + b"get k\r\n",
    "count 256": FRAME.pack(1, 0, 256, 0) + b"get k\r\n",
    "count 257": FRAME.pack(1, 0, 257, 0) + b"get k\r\n",
    "no line end": FRAME.pack(1, 0, 1, 0) + b"get k",
    "bytes": FRAME.pack(1, 0, 1, 0) + b"\xff" * 3000,
    "long line": FRAME.pack(1, 0, 1, 0) + b"a" * 60000,
    "part of a value": FRAME.pack(1, 0, 1, 0) + b"set k 0 0 9\r\n1234567",
    "value without end": FRAME.pack(1, 0, 1, 0) + b"set k 0 0 1\r\n1",
    "part of a packet": FRAME.pack(1, 0, 1, 0) + packet(0x0b)[:-1],
    "part of a body": FRAME.pack(1, 0, 1, 0) + packet(0, b"key")[:-1],
    "quit": FRAME.pack(1, 0, 1, 0) + b"quit\r\n",
}


# memcached: an empty answer; a value that goes on in the next datagram.
DIFFERENT = {"quit", "part of a value", "value without end"}


@pytest.mark.parametrize("name", [
    pytest.param(name, marks=[ours_only] if name in DIFFERENT else [])
    for name in DROPPED])
def test_is_dropped(udp, talk, name):
    udp.send_raw(DROPPED[name])
    udp.expect_silence()
    talk.ask(b"get k\r\n", b"END\r\n")


@ours_only
@pytest.mark.parametrize("line", [
    b"ERROR", b"CLIENT_ERROR bad command line format",
    b"SERVER_ERROR out of memory storing object"])
def test_errors_of_another_server_are_not_answered(udp, line):
    """Or two servers would answer each other for ever."""
    udp.send(line + b"\r\n")
    udp.expect_silence()


@ours_only  # memcached: the value goes on in the next datagram
def test_half_a_command_leaves_nothing_for_the_next_datagram(udp):
    udp.send(b"set k 0 0 14\r\nab")
    udp.ask(b"get k\r\n", b"END\r\n")


# ---- dialects ------------------------------------------------------------

def test_text(udp, talk):
    udp.ask(b"set k 7 0 3\r\nabc\r\n", b"STORED\r\n")
    udp.ask(b"get k\r\n", b"VALUE k 7 3\r\nabc\r\nEND\r\n")
    talk.ask(b"get k\r\n", b"VALUE k 7 3\r\nabc\r\nEND\r\n")
    udp.ask(b"append k 0 0 1\r\nd\r\n", b"STORED\r\n")
    udp.ask(b"gat 0 k\r\n", b"VALUE k 7 4\r\nabcd\r\nEND\r\n")
    udp.ask(b"delete k\r\n", b"DELETED\r\n")
    udp.ask(b"delete k\r\n", b"NOT_FOUND\r\n")
    udp.ask(b"set n 0 0 2\r\n10\r\n", b"STORED\r\n")
    udp.ask(b"incr n 5\r\n", b"15\r\n")
    udp.ask(b"touch n 0\r\n", b"TOUCHED\r\n")
    udp.ask(b"flush_all\r\n", b"OK\r\n")
    udp.ask(b"get n\r\n", b"END\r\n")
    udp.ask(b"bogus\r\n", b"ERROR\r\n")


def test_meta(udp):
    udp.ask(b"ms k 3 T0\r\nabc\r\n", b"HD\r\n")
    udp.ask(b"mg k v s O42\r\n", b"VA 3 s3 O42\r\nabc\r\n")
    udp.ask(b"mn\r\n", b"MN\r\n")
    udp.ask(b"md k\r\n", b"HD\r\n")
    udp.send(b"mg k v q\r\n")
    udp.expect_silence()


def ask_packet(udp, *args, **fields):
    """(opcode, status, body) of the answer."""
    number = udp.send(packet(*args, opaque=77, **fields))
    got, answer = udp.receive()
    magic, opcode, _, _, _, status, body, opaque, _ = \
        HEAD.unpack_from(answer)
    assert (got, magic, opaque) == (number, 0x81, 77)
    assert body == len(answer) - HEAD.size
    return opcode, status, answer[HEAD.size:]


def test_binary(udp):
    extras = struct.pack("!II", 9, 0)
    assert ask_packet(udp, 1, b"k", b"abc", extras) == (1, 0, b"")
    assert ask_packet(udp, 0, b"k") == (0, 0, extras[:4] + b"abc")
    assert ask_packet(udp, 0, b"none")[:2] == (0, 1)
    assert ask_packet(udp, 4, b"k") == (4, 0, b"")
    assert ask_packet(udp, 0x0a) == (0x0a, 0, b"")


@ours_only  # memcached: an answer without payload
def test_quiet_packets(udp, talk):
    udp.send(packet(9, b"none"))  # getq
    udp.expect_silence()
    udp.send(packet(0x11, b"k", b"v", struct.pack("!II", 0, 0)))  # setq
    udp.expect_silence()
    wait_until(lambda: talk.get(b"k") == b"v", "the write")


def test_every_datagram_has_its_own_dialect(udp):
    for _ in range(3):
        udp.ask(b"get none\r\n", b"END\r\n")
        assert ask_packet(udp, 0x0a) == (0x0a, 0, b"")


@ours_only
def test_dialect_that_is_asked_for(new_server):
    with new_server("-U", "-1", "--protocol=ascii").udp() as udp:
        udp.send(packet(0x0b))
        udp.ask(b"mn\r\n", b"MN\r\n")
    with new_server("-U", "-1", "--protocol=binary").udp() as udp:
        udp.send(b"mn\r\n")
        assert ask_packet(udp, 0x0a) == (0x0a, 0, b"")


@differs("as many answers as commands, each a message of its own")
def test_several_commands_in_one_datagram(udp):
    udp.ask(b"set k 0 0 1\r\n1\r\nincr k 1\r\nget k\r\nbogus\r\n",
            b"STORED\r\n2\r\nVALUE k 0 1\r\n2\r\nEND\r\nERROR\r\n")
    udp.ask(b"get k\r\nquit\r\nget k\r\n", b"VALUE k 0 1\r\n2\r\nEND\r\n")
    udp.ask(b"set k 0 0 1\r\n3\r\nset k 0 0 5\r\n123", b"STORED\r\n")
    udp.ask(b"get k\r\n", b"VALUE k 0 1\r\n3\r\nEND\r\n")


@ours_only
def test_two_thousand_commands_in_one_datagram(udp, talk):
    udp.ask(b"set n 0 0 1\r\n0\r\n" + b"incr n 1\r\n" * 2000,
            b"STORED\r\n" + b"".join(b"%d\r\n" % n for n in range(1, 2001)))
    udp.send(b"incr n 1 noreply\r\n" * 2000)
    wait_until(lambda: talk.get(b"n") == b"4000", "the increments")


@ours_only
def test_watching_is_not_for_datagrams(udp):
    udp.ask(b"watch\r\n", b"ERROR\r\n")
    udp.ask(b"watch fetchers\r\n", b"ERROR\r\n")


# ---- sizes ---------------------------------------------------------------

def value_answer(key, value):
    return b"VALUE %s 0 %d\r\n%s\r\nEND\r\n" % (key, len(value), value)


@pytest.mark.parametrize("parts", [1, 2, 3, 70])
@pytest.mark.parametrize("more", [-1, 0, 1])
def test_long_answers_are_cut(udp, talk, parts, more):
    size = parts * ROOM + more - len(value_answer(b"big", b""))
    size -= len(b"%d" % size) - 1
    value = bytes(n * 31 % 251 for n in range(size))
    talk.set(b"big", value)
    answer = value_answer(b"big", value)
    assert len(answer) == parts * ROOM + more
    udp.ask(b"get big\r\n", answer)


@differs("cut where a value ends, too")
def test_answer_of_many_values_is_cut_as_one(udp, talk):
    value = b"v" * 20000
    for n in range(5):
        talk.set(b"k%d" % n, value)
    udp.ask(b"get k0 k1 k2 k3 k4\r\n",
            b"".join(value_answer(b"k%d" % n, value)[:-5] for n in range(5))
            + b"END\r\n")


@pytest.mark.parametrize("size", [1, 1391, 1392, 4096, 16384, 60000])
def test_value_in_one_datagram(udp, talk, size):
    value = b"s" * size
    udp.ask(b"set k 0 0 %d\r\n%s\r\n" % (size, value), b"STORED\r\n")
    assert talk.get(b"k") == value
    assert ask_packet(udp, 1, b"k", value[1:], struct.pack("!II", 0, 0)) \
        == (1, 0, b"")
    assert talk.get(b"k") == value[1:]


@ours_only
def test_answer_that_is_too_big_is_none(udp, talk):
    for n in range(6):
        talk.set(b"k%d" % n, b"v" * (MEGABYTE - 1000))
    keys = b" ".join(b"k%d" % n for n in range(6))
    udp.send(b"get " + keys + b"\r\n")
    udp.expect_silence()
    # And what is done in front of it is done.
    udp.send(b"set first 0 0 1\r\n1\r\nget " + keys + b"\r\nget first\r\n")
    udp.expect_silence()
    wait_until(lambda: talk.get(b"first") == b"1", "the write")


# ---- where it listens ----------------------------------------------------

def test_U87_off_by_default(new_server):
    server = new_server()
    assert server.udp_addresses == []
    assert "UDP" not in server.port_file.read_text()
    assert server.stats("settings")["udpport"] == "0"
    assert not any("UDP" in name for name in server.stats("conns"))
    assert sockets_of(server.pid, "udp") == []
    assert sockets_of(server.pid, "udp6") == []


@ours_only
def test_one_socket_for_each_address(new_server):
    server = new_server("-U", "-1", listen=("-l", "127.0.0.1,127.0.0.2"))
    assert len(server.udp_addresses) == 2
    for host, (_, port) in zip(("127.0.0.1", "127.0.0.2"),
                               server.udp_addresses):
        with server.udp((host, port)) as udp:
            udp.ask(b"get none\r\n", b"END\r\n")


@ours_only
def test_ipv6(new_server):
    try:
        with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as sock:
            sock.bind(("::1", 0))
    except OSError:
        pytest.skip("no IPv6 here")
    server = new_server("-U", "-1", listen=("-l", "[::1]"))
    assert [host for host, _ in server.udp_addresses] == ["::1"]
    with server.udp() as udp:
        udp.ask(b"get none\r\n", b"END\r\n")
    assert f"udp6:[::1]:{server.udp_addresses[0][1]}" \
        in server.stats("conns").values()


def test_without_tcp(new_server):
    server = new_server("-p", "0", "-U", "-1")
    assert server.addresses == []
    with server.udp() as udp:
        udp.ask(b"set k 0 0 1\r\n1\r\n", b"STORED\r\n")


@ours_only
@pytest.mark.parametrize("kind", ["TCP", "UDP"])
def test_port_in_use_is_found_out(tmp_path, server, kind):
    """Also that -U without -p is the port of TCP, too."""
    if kind == "TCP":
        port, options, shown = server.port, (), ""
    else:
        port, options, shown = \
            server.udp_addresses[0][1], ("-p", "-1"), "udp:"
    status, _, err = run_to_end("-U", port, *options, "-l", "127.0.0.1",
                                *user_options(), cwd=tmp_path)
    assert status > 0
    assert f"cannot listen on {shown}127.0.0.1:{port}: Address already in use" \
        in err


@ours_only
def test_U87_warning_when_others_can_reach_it(new_server):
    server = new_server("-p", "0", "-U", "-1", listen=("-l", "0.0.0.0"))
    assert "is open to other machines" in server.stderr()


def test_stats_conns_names_the_socket(server, talk, udp):
    stats = talk.stats("conns")
    found = [name.split(":")[0] for name, value in stats.items()
             if value == f"udp:127.0.0.1:{udp.sock.getpeername()[1]}"]
    assert found
    assert stats[f"{found[0]}:UDP"] == "UDP"
    assert stats[f"{found[0]}:state"] == "conn_read"
    assert f"udp:127.0.0.1:{udp.sock.getsockname()[1]}" not in stats.values()
    udp.send(b"stats conns\r\n")
    assert b":state conn_parse_cmd\r\n" in udp.receive()[1]


@ours_only
def test_what_is_counted(server, talk, udp):
    udp.ask(b"get none\r\n", b"END\r\n")
    with server.connect() as other:
        wait_until(lambda: other.stats()["curr_connections"] == "2",
                   "those of other tests are gone")
        before = other.stats()
        for _ in range(10):
            udp.ask(b"get none\r\n", b"END\r\n")
        after = other.stats()

    def grown(name):
        return int(after[name]) - int(before[name])

    assert grown("cmd_get") == grown("get_misses") == 10
    assert grown("bytes_read") == 10 * len("get none\r\n") + len("stats\r\n")
    assert grown("bytes_written") >= 10 * len("END\r\n")
    assert grown("total_connections") == 0
    assert after["curr_connections"] == before["curr_connections"] == "2"


@ours_only
def test_log_says_who_asks(new_server):
    server = new_server("-U", "-1", "-vv")
    with server.udp() as udp:
        udp.ask(b"get none\r\n", b"END\r\n")
        host, port = udp.sock.getsockname()
    assert f"trace: udp:{host}:{port} get none" in server.stderr()


# ---- many of them --------------------------------------------------------

@ours_only
def test_idle_clients_are_not_datagrams(new_server):
    server = new_server("-U", "-1", "-o", "idle_timeout=1", "-c", "1")
    with server.connect() as talk, server.udp() as udp:
        udp.ask(b"get none\r\n", b"END\r\n")  # no place of -c is taken
        talk.expect_close()
        udp.send(b"stats\r\n")
        assert b"STAT idle_kicks 1\r\n" in udp.receive()[1]


def flood(server, datagrams, rounds):
    """Sends without ever reading."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.connect(server.udp_addresses[0])
        for _ in range(rounds):
            for datagram in datagrams:
                sock.send(datagram)


FLOOD = [FRAME.pack(1, 0, 1, 0) + payload for payload in (
    b"set u 0 0 3\r\nabc\r\n", b"set u 0 0 3 noreply\r\nabc\r\n",
    b"get big\r\n" * 50, b"get u\r\nget big\r\n", b"incr n 1\r\n" * 100,
    b"\x80\x01\x02", b"garbage", b"ERROR\r\n", b"set u 0 0 900\r\nx",
    b"get big big big big big\r\n", packet(0, b"big"), b"stats\r\n")]


def is_answered(udp):
    """Asks once; in a flood it may be lost."""
    udp.send(b"mn\r\n")
    try:
        return udp.receive()[1] == b"MN\r\n"
    except AssertionError:
        return False


@ours_only
def test_flood_does_not_disturb_others(server, talk):
    talk.set(b"big", b"b" * 100000)
    talk.set(b"n", b"0")
    before = server.rss_bytes()
    for turn in range(10):
        flood(server, FLOOD, 10)
        talk.set(b"own", b"%d" % turn)
        assert talk.get(b"own") == b"%d" % turn
    assert server.rss_bytes() < before + 300 * MEGABYTE
    wait_until(lambda: talk.get(b"u") == b"abc", "a write of the flood")
    with server.udp() as udp:
        udp.sock.settimeout(0.5)
        wait_until(lambda: is_answered(udp), "the end of the flood")
    wait_until(lambda: talk.stats()["curr_connections"] == "1",
               "nobody else is there")


@ours_only
def test_more_writes_than_may_be_under_way(server, talk, udp):
    """A socket that pauses goes on."""
    for _ in range(20):
        for n in range(300):
            udp.send(b"set k%d 0 0 1 noreply\r\n1\r\n" % n)
        number = udp.send(b"mn\r\n")
        assert udp.receive() == (number, b"MN\r\n")
    wait_until(lambda: all(talk.get(b"k%d" % n) for n in range(300)),
               "the writes")


@ours_only
def test_damaged_datagrams(server, talk):
    """Any bytes: the next request is answered as ever."""
    udp = server.udp()
    rng = random.Random(8)
    seeds = FLOOD + list(DROPPED.values()) + [
        FRAME.pack(1, 0, 1, 0) + payload for payload in (
            b"ms k 3 T0 c\r\nabc\r\nmg k v t\r\n", b"mn\r\n" * 30,
            packet(1, b"k", b"abc", bytes(8)) + packet(0x0d, b"k"),
            b"gat 0 a b c\r\nstats settings\r\n")]
    for _ in range(100):
        for _ in range(20):
            datagram = bytearray(rng.choice(seeds)[:200])
            for _ in range(rng.randrange(4)):
                at = rng.randrange(len(datagram) + 1)
                datagram[at:at + rng.randrange(3)] = rng.randbytes(
                    rng.randrange(3))
            udp.send_raw(bytes(datagram))
        number = udp.send(b"mn\r\n", number=0xffff)
        while udp.receive()[0] != number:
            pass  # what makes sense is answered
        talk.ask(b"mn\r\n", b"MN\r\n")
    udp.close()


@ours_only
def test_stop_in_a_flood(new_server):
    server = new_server("-U", "-1")
    with server.connect() as talk:
        talk.set(b"big", b"b" * 100000)
    flood(server, FLOOD, 20)
    assert server.terminate() == 0
    assert process_is_gone(server.pid)


# ---- what an answer promises ---------------------------------------------

@ours_only
def test_answered_writes_survive_a_kill(new_server):
    server = new_server("-U", "-1")
    with server.udp() as udp:
        for n in range(50):
            udp.ask(b"set k%d 0 0 2\r\n%02d\r\n" % (n, n), b"STORED\r\n")
    server.kill9()
    server.start()
    with server.connect() as talk:
        for n in range(50):
            assert talk.get(b"k%d" % n) == b"%02d" % n


@ours_only
def test_what_cannot_be_flushed_is_not_answered(new_server, faults):
    server = new_server("-U", "-1", env=faults.env)
    with server.udp() as udp:
        udp.ask(b"set k 0 0 1\r\n0\r\n", b"STORED\r\n")
        faults.fail(SYNC, LOGS)
        udp.send(b"set k 0 0 1\r\n1\r\nget k\r\n")
        udp.send(b"set k 0 0 1\r\n2\r\n")
        assert server.wait() == 74
        udp.sock.setblocking(False)
        with pytest.raises(OSError):  # not a byte, and nobody there
            udp.sock.recv(1)
