"""A run of many rounds, each from its own seed.

What a round sends depends on the dialect, the seed of the run and the number
of the round only, so a round can be held again by itself.
"""
import random

from differential import rules
from differential.classic import Classic
from differential.duel import Difference
from differential.meta import Meta
from differential.packets import Binary
from differential.shrink import PATIENCE_S, shrink

ROUND_STEPS = 2000
BATCH_STEPS = 250
MAKERS = {"classic": [Classic], "meta": [Meta], "binary": [Binary],
          "mixed": [Classic, Meta, Binary]}
DIALECTS = list(MAKERS)


def make_round(dialect, seed):
    """The steps of a round, with the ends of its batches."""
    dice = random.Random(f"{dialect} {seed}")
    makers = [maker(dice) for maker in MAKERS[dialect]]
    steps = []
    while len(steps) < ROUND_STEPS:
        maker = dice.choice(makers)
        batch = []
        size = int(BATCH_STEPS * dice.random()) + 1
        while len(batch) < size:
            batch += maker.step()
        steps += batch
        steps[-1] = steps[-1]._replace(last=True)
    return steps


class Campaign:
    def __init__(self, duel, dialect, seed, patience_s=PATIENCE_S):
        self.duel = duel
        self.dialect = dialect
        self.seed = seed
        self.patience_s = patience_s
        self.done = 0

    def run(self, commands, stop_after, tell):
        """Returns the differences, as text; each was told, too."""
        found = []
        number = 0
        while self.done < commands and len(found) < stop_after:
            seed = f"{self.seed}.{number}"
            steps = make_round(self.dialect, seed)
            difference = self._difference(steps, seed)
            if difference:
                found.append(self._report(steps, seed, difference))
                tell(found[-1])
            self.done += len(steps)
            number += 1
        return found

    def _difference(self, steps, seed):
        try:
            self.duel.hold(steps, seed)
        except Difference as difference:
            return difference
        return None

    def _report(self, steps, seed, difference):
        self.duel.hurry(True)
        total = len(steps)
        fewest = shrink(
            steps[:difference.steps_before + len(difference.sent)],
            lambda fewer: self._difference(fewer, seed) is not None,
            self.patience_s)
        again = self._difference(fewest, seed)
        self.duel.hurry(False)
        if again is None:
            again = difference
            fewest = again.sent
            head = f"round {seed}: differed once, in this batch:"
        else:
            head = f"round {seed}, {len(fewest)} of {total} steps:"
        return "\n".join([head] + describe(fewest, again))


SHOWN = 8


def brief(data):
    text = repr(data)
    return text if len(text) < 200 else \
        f"{text[:100]} ... {text[-50:]} ({len(data)} bytes)"


def how(step):
    marks = [name for name in ("first", "last", "alone", "binary")
             if getattr(step, name)]
    return f"  ({', '.join(marks)})" if marks else ""


def describe(steps, difference):
    """A minimal conversation, and how it was answered."""
    lines = [f"  > {brief(step.data)}{how(step)}" for step in steps]
    if len(lines) > SHOWN:
        lines[:-SHOWN] = [f"  ... {len(lines) - SHOWN} steps before"]
    for name, (units, closed), (other, _) in (
            ("memcached", difference.theirs, difference.ours),
            ("memcachedb", difference.ours, difference.theirs)):
        lines.append(f"  {name}:" + (" closes after" if closed else ""))
        same = next((i for i, pair in enumerate(zip(units, other))
                     if not rules.alike(*pair)), min(len(units), len(other)))
        lines += [f"    {brief(unit)}" for unit in units[max(same - 3, 0):same]]
        lines += [f"  ! {brief(unit)}"
                  for unit in units[same:same + SHOWN]]
    return lines
