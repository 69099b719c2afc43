"""php-memcached in text mode; the checks are in the .php files."""
import subprocess
from pathlib import Path

import pytest

from harness.script import differs


@pytest.mark.parametrize("script", [
    pytest.param("round.php", marks=differs("deletes what was too large")),
    "session.php"])
def test_php_memcached(empty, script):
    done = subprocess.run(
        ["php", Path(__file__).with_name(script), "127.0.0.1",
         str(empty.port)],
        capture_output=True, text=True, timeout=120, check=False)
    assert (done.stdout, done.returncode) == ("ok\n", 0), \
        done.stdout + done.stderr
