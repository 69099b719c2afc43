"""Perl's two clients, and Ruby's Dalli (U25)."""
import pytest

from conftest import HERE
from known import BINARY, TEXT, client


@pytest.mark.parametrize("which", [
    pytest.param(None, marks=client("Cache::Memcached", TEXT), id="plain"),
    pytest.param("Fast", marks=client("Cache::Memcached::Fast", TEXT))])
def test_cache_memcached(hold_round, which):
    hold_round("perl", HERE / "cache_memcached.pl", dialect=which)


@client("Dalli", BINARY)
def test_dalli(hold_round):
    hold_round("ruby", HERE / "dalli.rb")
