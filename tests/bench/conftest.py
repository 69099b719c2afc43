"""The modules of bench/ are scripts' own: they are found by their folder."""
import sys

from harness.server import ROOT

sys.path.insert(0, str(ROOT / "bench"))
