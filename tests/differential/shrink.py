"""Makes a stream that shows a difference as short as it gets."""
import time

PATIENCE_S = 10


def shrink(steps, differs, patience_s=PATIENCE_S):
    """The steps that are left when none can be spared, or time is up.

    differs(steps) holds a round and tells whether the servers still differ.
    """
    end = time.monotonic() + patience_s
    size = max(len(steps) // 2, 1)
    while True:
        spared = False
        for at in reversed(range(0, len(steps), size)):
            fewer = steps[:at] + steps[at + size:]
            if time.monotonic() > end:
                return steps
            if fewer and differs(fewer):
                steps = fewer
                spared = True
        if size == 1 and not spared:
            return steps
        size = max(size // 2, 1)
