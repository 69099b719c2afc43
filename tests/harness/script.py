"""Conversations as text, and the marks of tests.

A conversation is what a reader would see on the wire:

    > set k 5 0 3        sent, CRLF added; lines in a row go out in one write
    > abc
    < STORED             must come back exactly, CRLF added
    <~ VERSION [0-9.]+   must come back and match the expression, in which
    <~ HD t{100 s}       {100 s} is what may be left of 100 seconds
    <.                   the server must close without another byte

A conversation that is not closed ends with proof that nothing else was
answered. @conversations runs each one twice: written as it stands, and with
every byte in a packet of its own.

When the tests run against memcached (MEMCACHEDB=/usr/bin/memcached, 1.6.18 in
Debian 12), what we do differently on purpose must fail there: `differs` names
why. What memcached cannot do at all is marked `ours_only`.
"""
import pytest

from harness.server import REFERENCE


def differs(why):
    """A mark: memcached 1.6.18 answers otherwise, and this is why."""
    return pytest.mark.xfail(REFERENCE, reason=why, strict=True)


ours_only = pytest.mark.skipif(REFERENCE, reason="memcached has no such thing")


def conversations(table, differing=None):
    """Decorator: one test per named conversation of the table.

    differing: {name: why} of those that memcached answers otherwise.
    """
    differing = differing or {}
    unknown = set(differing) - set(table)
    assert not unknown, f"no such conversation: {unknown}"
    params = [
        pytest.param(script, delivery, id=f"{name}-{delivery}",
                     marks=[differs(differing[name])]
                     if name in differing else [])
        for name, script in table.items()
        for delivery in ("whole", "bytewise")]

    def decorate(test):
        return pytest.mark.parametrize("script,delivery", params)(test)
    return decorate


def hold(talk, script, delivery):
    """Holds one conversation in the given way of delivery."""
    talk.bytewise = delivery == "bytewise"
    talk.run(script)
