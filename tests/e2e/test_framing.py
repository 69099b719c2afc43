"""Lines, packets, pipelines: where a command ends and what is too long."""
import pytest

from harness.script import ours_only
from harness.wait import wait_until


def test_lone_lf_ends_a_line_but_not_a_block(talk):
    talk.ask(b"set k 0 0 2\nab\r\n", b"STORED\r\n")
    talk.ask(b"get k\n", b"VALUE k 0 2\r\nab\r\nEND\r\n")
    talk.ask(b"set k 0 0 2\nabxx", b"CLIENT_ERROR bad data chunk\r\n")
    talk.expect_silence()


def test_trailing_and_double_blanks(talk):
    talk.ask(b"set  k   3  0 1  \r\nA\r\n", b"STORED\r\n")
    talk.ask(b"get k \r\n", b"VALUE k 3 1\r\nA\r\nEND\r\n")
    talk.ask(b"get  k   none  \r\n", b"VALUE k 3 1\r\nA\r\nEND\r\n")
    talk.ask(b"delete  k  \r\n", b"DELETED\r\n")


def test_cr_inside_a_line_is_no_line_end(talk):
    """Only the one CR in front of LF is removed; keys hold no CR."""
    talk.send(b"get a\rb\r\n")
    assert talk.line() in (b"END", b"CLIENT_ERROR bad command line format")
    talk.expect_silence()


def test_pipeline_answers_in_order(talk):
    request, reply = [], []
    for i in range(500):
        request.append(b"set k%d %d 0 1\r\nx\r\nget k%d\r\nincr k%d 1\r\n"
                       b"delete k%d\r\n" % ((i,) * 5))
        reply.append(b"STORED\r\nVALUE k%d %d 1\r\nx\r\nEND\r\n"
                     b"CLIENT_ERROR cannot increment or decrement non-numeric"
                     b" value\r\nDELETED\r\n" % (i, i))
    talk.ask(b"".join(request), b"".join(reply))
    talk.expect_silence()


@ours_only  # memcached may hold it back
def test_answer_does_not_wait_for_a_half_sent_command(talk):
    talk.ask(b"set a 0 0 1\r\n1\r\nget a\r\nset b 0 0 5\r\nab",
             b"STORED\r\nVALUE a 0 1\r\n1\r\nEND\r\n")
    talk.ask(b"cde\r\nversio", b"STORED\r\n")
    talk.send(b"n\r\n")
    assert talk.line().startswith(b"VERSION")


def test_pipeline_of_large_answers_that_is_read_late(talk):
    """More answers than fit into socket buffers wait; nothing is lost."""
    value = b"v" * 500_000
    talk.set(b"big", value)
    talk.send(b"get big\r\n" * 60 + b"set done 0 0 1\r\n1\r\n")
    for _ in range(60):
        talk.expect(b"VALUE big 0 %d\r\n" % len(value))
        assert talk.read(len(value)) == value
        talk.expect(b"\r\nEND\r\n")
    talk.expect(b"STORED\r\n")


def test_conn_yields_counts_long_pipelines(new_server):
    """After -R requests in one go the connection lets others in."""
    server = new_server("--max-reqs-per-event=1")
    with server.connect() as talk:
        before = int(talk.stats()["conn_yields"])
        talk.ask(b"set k 0 0 1\r\n1\r\n" * 6, b"STORED\r\n" * 6)
        talk.ask(b"get k\r\n" * 20, b"VALUE k 0 1\r\n1\r\nEND\r\n" * 20)
        assert int(talk.stats()["conn_yields"]) >= before + 5


@pytest.mark.parametrize("start", [
    b"x" * 3000, b"set k 0 0 1" + b" " * 3000, b"gat 0 " + b"k " * 2000,
    b"gats 0 " + b"k " * 2000, b"delete " + b"k" * 4000, b"\0" * 9000,
    b" " * 200 + b"get " + b"k " * 2000,
    b"stats " + b"k" * 8000], ids=lambda s: repr(s[:8]))
def test_endless_line_closes_silently(talk, start):
    talk.send(start)
    talk.expect_close()


@pytest.mark.parametrize("size", [2_047, 2_048, 2_049, 16_000, 128 << 10,
                                  pytest.param(4 << 20, marks=ours_only)])
def test_long_get_line(talk, size):
    talk.set(b"k", b"1")
    none = b"none " if size < 1 << 20 else b"n" * 249 + b" "
    count, rest = divmod(size - 6, len(none))
    line = b"get " + none * count + b"k" * (rest > 0) + b" k\r\n"
    for at in range(0, len(line), 100_000):
        talk.send(line[at:at + 100_000])
    hits = line.split().count(b"k")
    talk.expect(b"VALUE k 0 1\r\n1\r\n" * hits + b"END\r\n")
    talk.expect_silence()


@ours_only
def test_get_line_without_end_is_bounded(new_server):
    """A line longer than any limit ends the connection, not the memory."""
    server = new_server()
    talk = server.connect()
    talk.expect_silence()
    before = server.rss_bytes()
    try:
        for _ in range(64):
            talk.send(b"get " + b"key " * (1 << 18))
    except (BrokenPipeError, ConnectionResetError):
        pass
    talk.expect_close()
    assert server.rss_bytes() < before + (64 << 20)


@pytest.mark.parametrize("first_line", [
    b"GET / HTTP/1.1", b"POST / HTTP/1.1", b"PUT /x HTTP/1.0"])
def test_http_closes_silently(server, talk, first_line):
    talk.set(b"canary", b"1")
    talk.send(first_line + b"\r\nContent-Length: 11\r\n\r\nflush_all\r\n")
    talk.expect_close()
    with server.connect() as other:
        assert other.get(b"canary") == b"1"


def test_quit_closes_after_earlier_answers(talk):
    talk.send(b"set k 0 0 1\r\n1\r\nget k\r\nquit\r\nget k\r\n")
    talk.expect(b"STORED\r\nVALUE k 0 1\r\n1\r\nEND\r\n")
    talk.expect_close()


def test_quit_ignores_words(talk):
    talk.send(b"quit now please\r\n")
    talk.expect_close()


def test_half_closed_peer_gets_all_answers(talk):
    talk.send(b"set k 0 0 1\r\n1\r\n" * 100 + b"get k\r\n")
    talk.finish_sending()
    talk.expect(b"STORED\r\n" * 100 + b"VALUE k 0 1\r\n1\r\nEND\r\n")
    talk.expect_close()


def test_connection_of_a_gone_peer_is_forgotten(new_server):
    server = new_server()
    talk = server.connect()
    before = int(talk.stats()["curr_connections"])
    others = [server.connect() for _ in range(10)]
    for other in others:
        other.send(b"get k\r\nset half 0 0 100\r\nabc")
        other.expect(b"END\r\n")
    assert int(talk.stats()["curr_connections"]) == before + 10
    for other in others:
        other.close()
    wait_until(lambda: int(talk.stats()["curr_connections"]) == before,
               "closed connections are forgotten")
