"""A stop gives up what does not get on, not what takes its time."""
import signal
from contextlib import ExitStack

from harness.faults import LOGS, SYNC, WRITE
from harness.life import Said
from harness.wait import wait_until

PEERS = 16
# Bigger than the log buffer: each is a write of its own, and a batch.
VALUE = b"v" * 1_000_000


def test_a_stop_waits_for_a_slow_disk(new_server, faults):
    server = new_server("-C", "0", "-e", "0", env=faults.env)
    said = Said(server)
    held = faults.hold(SYNC, LOGS)
    with ExitStack() as stack:
        peers = [stack.enter_context(server.connect()) for _ in range(PEERS)]
        looker = stack.enter_context(server.connect())
        for number, peer in enumerate(peers):
            peer.send(b"set k%d 0 0 %d\r\n%s\r\n"
                      % (number, len(VALUE), VALUE))
            if number == 0:  # is alone, so the writer waits for its sync
                wait_until(lambda: held.hits, "the first sync")
        wait_until(lambda: looker.stats("bdb")["queue_depth"]
                   == str(PEERS - 1), "all others in the queue")
        slow = faults.delay(WRITE, LOGS, ms=130)
        held.off()
        wait_until(lambda: slow.hits, "the first slow write")
        # What is left takes longer than a store that does not get on has.
        server.signal(signal.SIGTERM)
        assert server.wait() == 0, said.text()
    assert slow.hits >= PEERS
    faults.clear()
    server.start()
    with server.connect() as talk:
        assert all(talk.get(b"k%d" % number) == VALUE
                   for number in range(PEERS))
