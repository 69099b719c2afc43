"""Waiting for a state, never for a number of seconds.

Two things are about seconds. Items must expire: expire_wait() sleeps until the
wall clock has passed the moment at which the server may keep them no longer.
And what holds for some seconds only may be over before a busy machine lets the
test look: within(). DEADLINE_S is there to say what hangs, for all tests and
clients: nothing fails because all is slow.
"""
import time

DEADLINE_S = 120
TRIES = 10


def wait_until(check, what, deadline_s=DEADLINE_S):
    """Calls check() until it gives something true, and returns that."""
    end = time.monotonic() + deadline_s
    while True:
        result = check()
        if result:
            return result
        if time.monotonic() > end:
            raise AssertionError(f"waited {deadline_s} s in vain: {what}")
        time.sleep(0.01)


def within(limit_s, act):
    """What act() gives; it is tried again if it failed, but took that long.

    For what holds no longer: an item's life, the server's patience with a
    peer. Who was late has seen nothing wrong.
    """
    for again in reversed(range(TRIES)):
        start = time.monotonic()
        try:
            return act()
        except (AssertionError, EOFError, OSError):
            if not again or time.monotonic() - start < limit_s:
                raise


def may_be_left(ttl_s):
    """Seconds that an item has left whose TTL began within the last minute."""
    return range(ttl_s - 60, ttl_s + 2)


def expire_wait(ttl_s):
    """Waits until an item stored just now with this TTL must be gone.

    Expiry has one-second granularity: never early, at most one second late.
    """
    time.sleep(ttl_s + 1.1)
