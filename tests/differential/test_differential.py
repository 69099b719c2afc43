"""Random streams to memcached 1.6.18 and to ours: every difference has a rule.

And the search does find them: a memcached that is known to differ is told.
"""
import pytest

from differential import rules
from differential.campaign import DIALECTS, Campaign, make_round
from differential.duel import Duel, Memcached, ours
from differential.shrink import shrink
from harness.wait import DEADLINE_S

DOCUMENT = rules.HERE / "DIFFERENCES.md"


def run(theirs, ours_, dialect, seed, commands):
    """The differences that were found, and the rules that were used."""
    with Duel(theirs, ours_) as duel:
        campaign = Campaign(duel, dialect, seed)
        return campaign.run(commands, 3, print), duel.used


@pytest.mark.parametrize("seed,commands", [
    (1, 15_000),
    *(pytest.param(seed, 100_000, marks=pytest.mark.long)
      for seed in range(2, 6))])
@pytest.mark.parametrize("dialect", DIALECTS)
def test_same_answers(dialect, seed, commands):
    found, _ = run(Memcached(unix=True), ours(), dialect, seed, commands)
    assert not found, "\n".join(found)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_memcached_equals_itself(dialect):
    """What comes and goes by chance or by the clock would show here."""
    found, used = run(Memcached(unix=True), Memcached(unix=True), dialect, 7,
                      10_000)
    assert not found, "\n".join(found)
    assert set(used) <= {rules.CLOCK}


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_difference_is_found(dialect):
    """A memcached without cas ids is told apart."""
    with Duel(Memcached(unix=True), Memcached("-C", unix=True), 1) as duel:
        campaign = Campaign(duel, dialect, 1, patience_s=1)
        assert campaign.run(20_000, 1, print)


def test_a_difference_is_shrunk():
    noise = list(range(1000))
    assert shrink(noise, lambda some: 17 in some and 800 in some) == [17, 800]
    assert shrink([5], lambda some: True) == [5]


def test_a_round_is_made_from_its_seed():
    for dialect in DIALECTS:
        assert make_round(dialect, "1.1") == make_round(dialect, "1.1")
        assert make_round(dialect, "1.1") != make_round(dialect, "1.2")


def answer(server, request):
    """All that is said to these bytes."""
    with server.connect() as talk:
        talk.sock.settimeout(DEADLINE_S)
        try:
            talk.send(request)
            talk.finish_sending()
        except OSError:
            pass  # closed early
        while talk._fill():
            pass
        return talk.buffer


@pytest.fixture(scope="module")
def both():
    with Memcached(unix=True) as theirs, ours() as ours_:
        yield theirs, ours_


@pytest.mark.parametrize("rule", rules.RULES, ids=lambda rule: rule.name)
def test_rule_has_a_witness(both, rule):
    """A rule that explains nothing any more is to be removed."""
    if not rule.witness:
        pytest.skip("comes and goes")
    for server in both:
        assert answer(server, b"flush_all\r\n") == b"OK\r\n"
    theirs, ours_ = (answer(server, rule.witness) for server in both)
    assert theirs != ours_


def test_document_is_up_to_date():
    assert DOCUMENT.read_text() == rules.as_markdown(), \
        "run tests/differential/run --differences >" + str(DOCUMENT)
