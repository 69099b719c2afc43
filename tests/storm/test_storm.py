"""Storms on the whole server: nothing breaks, and others do not feel it.

A storm that fails prints its seed and a recording; see tests/storm/run.
"""
import itertools
import math
import random

import pytest

from storm.attacks import Attacks
from storm.report import report
from storm.scenes import SCENES
from storm.scripts import SEND, WAIT, Script, load, save
from storm.trial import Trial, reduce
from storm.witness import KEYS

SHORT_SCRIPTS = 150
LONG_S = 60
PATIENCE_S = 120


def weather(scene, seed, **size):
    trial = Trial(SCENES[scene], seed, **size)
    failure = trial.hold()
    if failure:
        pytest.fail(report(trial, failure, PATIENCE_S), pytrace=False)
    assert trial.begun.total and trial.asked


@pytest.mark.parametrize("scene", SCENES)
def test_storm(scene):
    weather(scene, "1", count=SHORT_SCRIPTS)


@pytest.mark.long
@pytest.mark.parametrize("scene", SCENES)
def test_long_storm(scene):
    weather(scene, str(random.randrange(10**9)), seconds=LONG_S)


# ---- the storm itself ------------------------------------------------------

FATAL = Script("fatal", "stream", [(SEND, b"get k0\r\n"), (WAIT, 3),
                                   (SEND, b"shutdown\r\n"), (WAIT, 3)])


def scripts_of(seed, count):
    return list(itertools.islice(
        iter(Attacks(random.Random(seed), SCENES["unix"])), count))


def test_a_server_that_ends_is_noticed_and_the_storm_made_short():
    scene = SCENES["unix"]._replace(more=["--enable-shutdown"])
    calm = [script for script in scripts_of(5, 24)
            if b"shutdown" not in script.sent()]
    storm = [*calm[:12], FATAL, *calm[12:]]
    assert Trial(scene, "5", scripts=calm).hold() is None
    assert "shutdown asked for" in Trial(scene, "5", scripts=storm).hold()
    fewest = reduce(scene, "5", storm, math.inf, print)
    assert [script.steps for script in fewest] == [[(SEND, b"shutdown\r\n")]]


def test_an_item_that_is_changed_is_noticed():
    """By somebody who knows its key."""
    scene = SCENES["unix"]
    meddler = Script("meddler", "stream", [
        (SEND, b"set ~witness~Ascii:%d 0 0 1\r\n1\r\n" % number)
        for number in range(KEYS)])
    assert "~witness~Ascii" in Trial(scene, "6",
                                     scripts=[meddler] * 50).hold()


def test_a_storm_is_made_from_its_seed(tmp_path):
    assert scripts_of("1", 100) == scripts_of("1", 100)
    assert scripts_of("1", 100) != scripts_of("2", 100)
    path = tmp_path / "recording"
    save(path, scripts_of("1", 100))
    assert load(path) == scripts_of("1", 100)
