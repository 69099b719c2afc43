"""Two clients of npm's; the checks are in the .js files."""
from conftest import HERE
from known import BINARY, TEXT, client


@client("memjs", BINARY)
def test_memjs(hold_round, npm):
    hold_round("node", HERE / "memjs.js", env=npm)


@client("memcached (npm)", TEXT)
def test_memcached(hold_round, npm):
    hold_round("node", HERE / "memcached.js", env=npm)
