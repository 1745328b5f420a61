"""Time what an auditor does: one trace, from a folder and from a revision, and every number of a run.

    python benchmarks/lineage.py OUT [--runs 5]

``OUT`` is an output folder of ``published build``. The revision is HEAD of this project in a fresh clone:
first without any DVC cache, so that it is rebuilt, then from the cache. Prints medians of wall seconds.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
NUMBER = "summary-overall.penalty#/0/mean_penalty"
EVERY_NUMBER = """
import sys
from pathlib import Path
from pipeline.lineage.places import place_of
from pipeline.lineage.trace.tracer import Tracer
tracer = Tracer(place_of(Path(sys.argv[1])))
traces = [tracer.resolve(*place) for place in tracer.numbers()]
assert all(trace.agrees for trace in traces)
for cell in tracer.tables.cells:
    tracer.ancestry.cell(cell)
print(len(traces), "numbers,", len(tracer.tables.cells), "cells")
"""


def run(folder: Path, *arguments: str) -> str:
    """Output of this Python with arguments, in a folder; it has to succeed."""
    environment = os.environ | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    command = [sys.executable, *arguments]
    done = subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True, text=True)
    return done.stdout


def median(runs: int, action: Callable[[], object]) -> float:
    """Median wall seconds of so many calls."""
    seconds = []
    for _ in range(runs):
        started = time.perf_counter()
        action()
        seconds.append(time.perf_counter() - started)
    return statistics.median(seconds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--runs", type=int, default=5)
    given = parser.parse_args()
    out, trace = str(given.out.resolve()), ("-m", "pipeline", "trace")
    counted = run(ROOT, "-c", EVERY_NUMBER, out).strip()
    one = median(given.runs, lambda: run(ROOT, *trace, "--dir", out, NUMBER))
    every = median(given.runs, lambda: run(ROOT, "-c", EVERY_NUMBER, out))
    print(f"one trace in the folder      {one:7.2f} s")
    print(f"every number and every cell  {every:7.2f} s  ({counted})")
    with tempfile.TemporaryDirectory() as name:
        clone = Path(name) / "clone"
        subprocess.run(["git", "clone", "--quiet", str(ROOT), str(clone)], check=True)
        for label, runs in (("one trace --rev, rebuilt", 1), ("one trace --rev, from cache", given.runs)):
            took = median(runs, lambda: run(clone, *trace, "--rev", "HEAD", NUMBER))
            print(f"{label:27}  {took:7.2f} s")


if __name__ == "__main__":
    main()
