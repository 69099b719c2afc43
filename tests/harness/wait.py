"""Waiting for a state, never for a number of seconds.

The one exception are items that must expire: expire_wait() sleeps until the
wall clock has passed the moment at which the server may keep them no longer.
"""
import time

DEADLINE_S = 20


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


def expire_wait(ttl_s):
    """Waits until an item stored just now with this TTL must be gone.

    Expiry has one-second granularity: never early, at most one second late.
    """
    time.sleep(ttl_s + 1.1)
