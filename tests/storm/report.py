"""What is said of a storm that has failed: the seed and a short recording."""
import os
import tempfile
from pathlib import Path

from storm.scripts import save
from storm.trial import Trial, reduce

SHOWN_SCRIPTS = 6
SHOWN_CHARS = 1500


def folder():
    build = os.environ.get("MEMCACHEDB_BUILD")
    return Path(build) / "results" if build else Path(tempfile.gettempdir())


def report(trial, failure, patience_s, tell=lambda line: None):
    """Records what was played, shortens it if it fails again; a text."""
    scene, seed = trial.scene, trial.seed
    path = folder() / f"storm-{scene.name}-{seed}.jsonl"
    scripts = list(trial.begun.kept)
    save(path, scripts)
    tell(failure)
    lines = [f"{scene.name}, seed {seed}: {failure}"]
    if patience_s > 0 and Trial(scene, seed, scripts=scripts).hold():
        scripts = reduce(scene, seed, scripts, patience_s, tell)
        save(path, scripts)
        lines += ["the last of it:"] + [
            script.line()[:SHOWN_CHARS] for script in scripts[-SHOWN_SCRIPTS:]]
    else:
        lines.append("it did not fail again with the same scripts")
    lines.append(f"{len(scripts)} scripts; tests/storm/run --replay {path} "
                 f"{scene.name}")
    return "\n".join(lines)
