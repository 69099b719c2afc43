"""spymemcached, a Java client that pipelines; see Spymemcached.java."""
import pytest

from conftest import HERE, prepared, run_compiler
from known import BINARY, TEXT, client

JAR = "/usr/share/java/spymemcached.jar"


@pytest.fixture(scope="session")
def classes():
    source = HERE / "Spymemcached.java"
    return prepared("java", [source], lambda folder: run_compiler(
        "javac", "-cp", JAR, "-d", folder, source))


@pytest.mark.parametrize("dialect", [
    pytest.param(TEXT, marks=client("spymemcached", TEXT)),
    pytest.param(BINARY, marks=client("spymemcached", BINARY))])
def test_round(hold_round, classes, dialect):
    hold_round("java", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx256m",
               "-cp", f"{classes}:{JAR}", "Spymemcached", dialect=dialect)
