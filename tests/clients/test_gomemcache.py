"""gomemcache, the Go client that reads with `gets` only (U22)."""
import pytest

from conftest import BUILD, HERE, prepared, run_compiler
from known import TEXT, client


@pytest.fixture(scope="session")
def program():
    source = HERE / "gomemcache.go"
    return prepared("gomemcache", [source], lambda target: run_compiler(
        "go", "build", "-o", target, source, env={
            "GO111MODULE": "off", "GOPATH": "/usr/share/gocode",
            "GOFLAGS": "", "GOCACHE": str(BUILD / "go-cache")}))


@client("gomemcache", TEXT)
def test_round(hold_round, program):
    hold_round(program)
