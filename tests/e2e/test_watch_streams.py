"""watch: who is told what, and what becomes of those who do not listen."""
import re
import socket

import pytest

from harness.packet import ask
from harness.script import conversations, hold, ours_only
from harness.wait import wait_until

WATCHERS_MAX = 20
STREAMS = (b"fetchers mutations deletions connevents evictions rawcmds "
           b"sysevents proxyreqs proxyevents proxyuser")


def watch(server, streams=b""):
    watcher = server.connect()
    watcher.ask(b"watch %s\r\n" % streams, b"OK\r\n")
    return watcher


def next_line(watcher):
    """The next line, without what names its time and number."""
    while b"\n" not in watcher.buffer:
        assert watcher._fill(), "closed"
    line, watcher.buffer = watcher.buffer.split(b"\n", 1)
    match = re.fullmatch(rb"(skipped=\d+ )?ts=\d+\.\d+ gid=\d+ (.*)", line)
    assert match, line
    return (match.group(1) or b"") + match.group(2)


def told(server, streams, act, count):
    """What a watcher hears of an act; its numbers of connections are cut."""
    with watch(server, streams) as watcher:
        with server.connect() as talk:
            act(talk)
        return [re.sub(rb"(clsid|cfd)=\d+", rb"\1=N", next_line(watcher))
                for _ in range(count)]


# ---- the command ------------------------------------------------------------

@conversations({
    "no such stream": """
        > watch nonsense
        < ERROR
        > watch fetchers nonsense
        < ERROR
        > watch fetchers mutations evictions rawcmds sysevents nonsense
        < ERROR
        > watch FETCHERS
        < ERROR
    """,
})
@ours_only  # 1.6.18 hears of unknown ones only
def test_answer(talk, script, delivery):
    hold(talk, script, delivery)


@ours_only
@pytest.mark.parametrize("streams", [b"", STREAMS, *STREAMS.split()])
def test_streams(server, streams):
    watch(server, streams).close()


@ours_only
def test_default_is_fetchers(new_server):
    server = new_server()
    with watch(server) as watcher, server.connect() as talk:
        talk.set(b"k", b"1")
        assert talk.get(b"k") == b"1"
        assert next_line(watcher).startswith(
            b"type=item_get key=k status=not_found")
        assert next_line(watcher).startswith(
            b"type=item_get key=k status=found")


@ours_only
def test_disabled(new_server):
    for option in "--disable-watch", "-W":
        with new_server(option).connect() as talk:
            talk.ask(b"watch\r\nwatch nonsense\r\n",
                     b"CLIENT_ERROR watch commands not allowed\r\n" * 2)
            talk.expect_silence()


@ours_only
def test_refused_behind_answers_that_wait(talk):
    talk.ask(b"get none\r\nwatch\r\nget none\r\n",
             b"END\r\nERROR cannot pipeline other commands before watch\r\n"
             b"END\r\n")
    talk.expect_silence()


@ours_only
def test_behind_writes_without_answer(new_server):
    """They are done first, and nobody is told of them."""
    server = new_server()
    with server.connect() as watcher, server.connect() as talk:
        watcher.send(b"set k 0 0 1 noreply\r\n1\r\n" * 50
                     + b"watch fetchers mutations\r\n")
        watcher.expect(b"OK\r\n")
        assert talk.get(b"k") == b"1"
        assert next_line(watcher).startswith(
            b"type=item_get key=k status=found")


@ours_only
def test_what_a_watcher_sends_is_dropped(new_server):
    server = new_server()
    with server.connect() as watcher, server.connect() as talk:
        watcher.send(b"watch\r\nget a\r\nset b 0 0 1\r\n1\r\n")
        watcher.expect(b"OK\r\n")
        watcher.send(b"quit\r\nversion\r\n" * 5000)
        assert talk.get(b"b") is None
        assert next_line(watcher).startswith(b"type=item_get key=b ")


@ours_only
def test_not_by_udp(new_server):
    server = new_server("-U", "-1")
    with server.udp() as udp:
        udp.ask(b"watch\r\n", b"ERROR\r\n")
        udp.expect_silence()
    assert server.stats()["log_watchers"] == "0"


# ---- how many, and their ends -----------------------------------------------

@ours_only
def test_limit(new_server):
    server = new_server()
    watchers = [watch(server) for _ in range(WATCHERS_MAX)]
    with server.connect() as talk:
        talk.ask(b"watch\r\n",
                 b"WATCHER_TOO_MANY log watcher limit reached\r\n")
        assert talk.stats()["log_watchers"] == str(WATCHERS_MAX)
        for watcher in watchers[:3]:
            watcher.close()
        wait_until(lambda: talk.stats()["log_watchers"]
                   == str(WATCHERS_MAX - 3), "three have left")
        watchers += [watch(server) for _ in range(3)]
        talk.ask(b"watch\r\n",
                 b"WATCHER_TOO_MANY log watcher limit reached\r\n")
        for watcher in watchers:
            watcher.close()
        wait_until(lambda: talk.stats()["log_watchers"] == "0",
                   "all have left")
        wait_until(lambda: talk.stats()["curr_connections"] == "1",
                   "their connections, too")


@ours_only
def test_its_end_is_seen_though_it_was_busy_before(new_server):
    """More arrived than was read at once before the watch began."""
    server = new_server()
    many = b"delete none noreply\r\n" * 3000
    for _ in range(10):
        with server.connect() as watcher:
            watcher.send(many + b"watch evictions\r\n" + b"x" * 300000)
            watcher.expect(b"OK\r\n")
    with server.connect() as talk:
        wait_until(lambda: talk.stats()["log_watchers"] == "0",
                   "all have left")


@ours_only
def test_the_server_ends_with_watchers(new_server):
    server = new_server()
    watchers = [watch(server, STREAMS) for _ in range(5)]
    assert server.terminate() == 0
    for watcher in watchers:
        watcher.close()


@ours_only
def test_it_is_shown_among_the_connections(new_server):
    server = new_server()
    with watch(server) as watcher, server.connect() as talk:
        port = watcher.sock.getsockname()[1]
        conns = talk.stats("conns")
        fd, = [name.split(":")[0] for name, value in conns.items()
               if value == f"tcp:127.0.0.1:{port}"]
        assert conns[f"{fd}:state"] == "conn_watch"


@ours_only
def test_slow_watchers_are_told_what_they_missed(new_server):
    """It costs the others nothing, and little memory."""
    server = new_server("-t", 2)
    with watch(server) as slow, watch(server, b"mutations"), \
            server.connect() as talk:
        slow.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
        keys = b"".join(b"get " + b"%06d" % i + b"#" * 244 + b"\r\n"
                        for i in range(1000))
        said = 0
        while talk.stats()["log_watcher_skipped"] == "0":
            talk.ask(keys, b"END\r\n" * 1000)
            said += 1000
            assert said < 50000
        talk.ask(keys, b"END\r\n" * 1000)
        said += 1000
        heard = skipped = 0
        while skipped == 0 or heard + skipped < said:
            if heard % 100 == 0:  # behind a gap there must be a line
                talk.ask(b"get next\r\n", b"END\r\n")
                said += 1
            line = next_line(slow)
            heard += 1
            match = re.match(rb"skipped=(\d+) type=item_get key=", line)
            skipped += int(match.group(1)) if match else 0
        wait_until(lambda: talk.stats()["log_watcher_sent"] == str(heard),
                   "the last one counts as sent")
        stats = talk.stats()
        assert heard + skipped == said
        assert stats["log_watcher_skipped"] == str(skipped)
        assert stats["log_worker_written"] == str(heard)


# ---- what is said -----------------------------------------------------------

CHANGES = {
    "set": (b"set k 0 0 1\r\n1\r\n", b"STORED\r\n", [
        b"item_get key=k status=not_found clsid=N cfd=N size=0",
        b"item_store key=k status=stored cmd=set ttl=0 clsid=N cfd=N size=1"]),
    "ttl": (b"set k 0 100000 3\r\nabc\r\n", b"STORED\r\n", [
        b"item_get key=k status=not_found clsid=N cfd=N size=0",
        rb"item_store key=k status=stored cmd=set ttl=(100000|9999\d) "
        rb"clsid=N cfd=N size=3"]),
    "dead": (b"set k 0 -1 1\r\n1\r\n", b"STORED\r\n", [
        b"item_get key=k status=not_found clsid=N cfd=N size=0",
        b"item_store key=k status=stored cmd=set ttl=-1 clsid=N cfd=N size=1"]),
    "add, append": (b"add k 0 0 2\r\nab\r\nappend k 0 0 3\r\ncde\r\n",
                    b"STORED\r\nSTORED\r\n", [
        b"item_get key=k status=not_found clsid=N cfd=N size=0",
        b"item_store key=k status=stored cmd=add ttl=0 clsid=N cfd=N size=2",
        b"item_get key=k status=found clsid=N cfd=N size=2",
        b"item_store key=k status=stored cmd=append ttl=0 clsid=N cfd=N "
        b"size=5"]),
    "refused": (b"replace k 0 0 1\r\n1\r\ncas k 0 0 1 5\r\n1\r\n",
                b"NOT_STORED\r\nNOT_FOUND\r\n", [
        b"item_get key=k status=not_found clsid=N cfd=N size=0",
        b"item_store key=k status=not_stored cmd=replace ttl=0 clsid=N cfd=N "
        b"size=1",
        b"item_get key=k status=not_found clsid=N cfd=N size=0",
        b"item_store key=k status=not_found cmd=cas ttl=0 clsid=N cfd=N "
        b"size=1"]),
    "meta": (b"ms k 2\r\nab\r\nms k 1 MP\r\nc\r\nmg k v\r\n",
             b"HD\r\nHD\r\nVA 3\r\ncab\r\n", [
        b"item_get key=k status=not_found clsid=N cfd=N size=0",
        b"item_store key=k status=stored cmd=set ttl=0 clsid=N cfd=N size=2",
        b"item_get key=k status=found clsid=N cfd=N size=2",
        b"item_store key=k status=stored cmd=prepend ttl=0 clsid=N cfd=N "
        b"size=3",
        b"item_get key=k status=found clsid=N cfd=N size=3"]),
    "counter": (b"ma k N0 J9\r\nma k\r\nma none\r\n", b"HD\r\nHD\r\nNF\r\n", [
        b"item_get key=k status=not_found clsid=N cfd=N size=0",
        b"item_store key=k status=stored cmd=incr ttl=0 clsid=N cfd=N size=1",
        b"item_get key=k status=found clsid=N cfd=N size=1",
        b"item_store key=k status=stored cmd=incr ttl=0 clsid=N cfd=N size=2",
        b"item_get key=none status=not_found clsid=N cfd=N size=0"]),
    "touch": (b"set k 0 0 1\r\n1\r\ntouch k 5000\r\ngat 0 k none\r\n"
              b"mg k T9000\r\nmg none T9\r\n",
              b"STORED\r\nTOUCHED\r\nVALUE k 0 1\r\n1\r\nEND\r\n"
              b"HD\r\nEN\r\n", [
        b"item_get key=k status=not_found clsid=N cfd=N size=0",
        b"item_store key=k status=stored cmd=set ttl=0 clsid=N cfd=N size=1",
        b"item_get key=k status=found clsid=N cfd=N size=1",
        b"item_get key=k status=found clsid=N cfd=N size=1",
        b"item_get key=none status=not_found clsid=N cfd=N size=0",
        b"item_get key=k status=found clsid=N cfd=N size=1",
        b"item_get key=none status=not_found clsid=N cfd=N size=0"]),
    "flushed": (b"set k 0 0 1\r\n1\r\nflush_all\r\n",
                b"STORED\r\nOK\r\n", [
        b"item_get key=k status=not_found clsid=N cfd=N size=0",
        b"item_store key=k status=stored cmd=set ttl=0 clsid=N cfd=N size=1"]),
}


@ours_only
@pytest.mark.parametrize("name", CHANGES)
def test_lines(new_server, name):
    request, answer, lines = CHANGES[name]

    lines = [b"type=" + line for line in lines]
    found = told_one_by_one(new_server(), request, answer, len(lines))
    for wanted, line in zip(lines, found):
        assert re.fullmatch(wanted.replace(b"+", rb"\+"), line), line


def told_one_by_one(server, request, answer, count):
    """As told(), of commands of which each is answered before the next: a
    read may be told of before the writes in front of it."""
    commands = re.findall(rb"(?:set|add|append|replace|cas|ms) [^\r]*\r\n"
                          rb"[^\r]*\r\n|[^\r]+\r\n", request)

    def act(talk):
        for command in commands:
            talk.send(command)
            talk.buffer += talk.sock.recv(1000)
        talk.expect(answer)
    return told(server, b"fetchers mutations", act, count)


@ours_only
def test_keys_are_in_percent_code(new_server):
    def act(talk):
        assert ask(talk, 0, b"\r\n a").status == 1
        assert ask(talk, 0, b"\xff" * 250).status == 1
    assert told(new_server(), b"fetchers", act, 2) == [
        b"type=item_get key=%s status=not_found clsid=N cfd=N size=0" % key
        for key in (b"%0D%0A%20a", b"%FF" * 250)]


def came_and_went(watcher):
    """The two lines of one connection; others may come and go beside it."""
    came = {}
    while True:
        line = next_line(watcher)
        cfd = line.rsplit(b" ", 1)[1]
        if line.startswith(b"type=conn_new "):
            came[cfd] = line
        elif cfd in came:
            return came[cfd], line


@ours_only
@pytest.mark.parametrize("listen, host, transport", [
    (["-l", "127.0.0.1"], rb"127\.0\.0\.1", b"tcp"),
    (["-l", "::1"], b"::1", b"tcp"),
    ("unix", b"unix", b"local")])
def test_connections(new_server, listen, host, transport):
    server = new_server(unix=True) if listen == "unix" else \
        new_server(listen=listen)
    with watch(server, b"connevents") as watcher:
        with server.connect() as talk:
            talk.expect_silence()
        port = b"0" if listen == "unix" else rb"[1-9]\d*"
        where = rb"rip=%s rport=%s transport=%s" % (host, port, transport)
        came, went = came_and_went(watcher)
        assert re.fullmatch(rb"type=conn_new %s cfd=\d+" % where, came), came
        assert re.fullmatch(
            rb"type=conn_close %s reason=normal cfd=\d+" % where, went), went


@ours_only
def test_a_watcher_that_leaves_is_no_error(new_server):
    server = new_server()
    with watch(server, b"connevents") as watcher:
        watch(server).close()
        _, went = came_and_went(watcher)
        assert went.startswith(b"type=conn_close ")
        assert b" reason=normal " in went


@ours_only
def test_whoever_is_idle_is_told_of_as_such(new_server):
    """Watchers are not."""
    server = new_server("-o", "idle_timeout=1")
    with watch(server, b"connevents") as watcher, server.connect() as idle:
        idle.expect_close()
        assert next_line(watcher).startswith(b"type=conn_new ")
        assert b" reason=idle_timeout " in next_line(watcher)


@ours_only
def test_what_was_flushed_is_told_of_as_such(new_server):
    def act(talk):
        talk.set(b"k", b"1")
        talk.ask(b"flush_all\r\n", b"OK\r\n")
        talk.ask(b"get k\r\n", b"END\r\n")
        talk.set(b"k", b"1")
        assert talk.get(b"k") == b"1"
    found = told(new_server(), b"fetchers", act, 4)
    assert [re.search(rb"status=(\w+)", line).group(1) for line in found] == [
        b"not_found", b"flushed", b"flushed", b"found"]
