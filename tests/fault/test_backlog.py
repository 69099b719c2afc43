"""A disk that takes its time: what waits for it takes bounded memory."""
import os
from contextlib import ExitStack

import pytest

from harness.faults import LOGS, SYNC
from harness.wait import wait_until

PEERS = 60
MEGABYTE = 1 << 20


def has_read_all(server, seen):
    """True if nothing has come in since the last time, but this question."""
    seen.append(int(server.stats()["bytes_read"]))
    return len(seen) > 2 and seen[-1] - seen[-2] < 100


@pytest.mark.skipif(bool(os.environ.get("MEMCACHEDB_SAN")),
                    reason="memory of a sanitizer build")
def test_small_writes_that_wait_are_bounded(new_server, faults):
    """What they take is not their values, of which there are none."""
    server = new_server("-t", 1, "-m", 64, env=faults.env)
    lines = (b"ma k N0 D" + b"0" * 1900 + b"1\r\n") * 1024
    with ExitStack() as stack:
        peers = [stack.enter_context(server.connect()) for _ in range(PEERS)]
        before = server.rss_bytes()
        held = faults.hold(SYNC, LOGS)
        for peer in peers:
            peer.sock.setblocking(False)
            peer.sock.send(lines)
        held.wait("a sync")
        seen = []
        wait_until(lambda: has_read_all(server, seen), "all is read")
        grown = server.rss_bytes() - before
        server.kill9()
    assert grown < 110 * MEGABYTE
