"""spymemcached, a Java client that pipelines; see Spymemcached.java."""
import pytest

from conftest import JAVA
from known import BINARY, TEXT, client

@pytest.mark.parametrize("dialect", [
    pytest.param(TEXT, marks=client("spymemcached", TEXT)),
    pytest.param(BINARY, marks=client("spymemcached", BINARY))])
def test_round(hold_round, java, dialect):
    hold_round(*JAVA, "-cp", java, "Spymemcached", dialect=dialect)
