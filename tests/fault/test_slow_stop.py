"""A stop gives up what does not get on, not what takes its time."""
import signal
from contextlib import ExitStack

from harness.faults import LOGS, SYNC, WRITE
from harness.life import Said
from harness.server import STOP_S

PEERS = 16
# Bigger than the log buffer, so each is a batch of its own, of several writes.
VALUE = b"v" * 1_000_000
WRITE_MS = 130


def test_a_stop_waits_for_a_slow_disk(new_server, faults):
    server = new_server("-C", "0", "-e", "0", env=faults.env)
    said = Said(server)
    held = faults.hold(SYNC, LOGS)
    with ExitStack() as stack:
        peers = [stack.enter_context(server.connect()) for _ in range(PEERS)]
        for number, peer in enumerate(peers):
            peer.send(b"set k%d 0 0 %d\r\n%s\r\n"
                      % (number, len(VALUE), VALUE))
            if number == 0:  # is alone, so the writer waits for its sync
                held.wait("the first sync")
        server.wait_for_queue(PEERS - 1)
        slow = faults.delay(WRITE, LOGS, ms=WRITE_MS)
        held.off()
        slow.wait("the first slow write")
        server.signal(signal.SIGTERM)
        assert server.wait() == 0, said.text()
    # That took longer than a store has that does not get on.
    assert slow.hits * WRITE_MS > STOP_S * 1000
    faults.clear()
    server.start()
    with server.connect() as talk:
        assert all(talk.get(b"k%d" % number) == VALUE
                   for number in range(PEERS))
