"""Time what people do every day: a cold ``dvc repro``, a second one, and ``--help``.

    python benchmarks/everyday.py [--runs 3]

Works in a fresh clone of HEAD in a temporary folder, with the Python that runs this script. Prints
the median of wall seconds; ``--help`` is set against a bare interpreter start.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def seconds(command: Sequence[str], folder: Path) -> float:
    """Wall seconds of one command that has to succeed."""
    environment = os.environ | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    started = time.perf_counter()
    subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True)
    return time.perf_counter() - started


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--runs", type=int, default=3)
    runs = parser.parse_args().runs
    dvc = [sys.executable, "-m", "dvc", "repro"]
    cold, again = [], []
    for _ in range(runs):
        with tempfile.TemporaryDirectory() as name:
            clone = Path(name) / "clone"
            subprocess.run(["git", "clone", "--quiet", str(ROOT), str(clone)], check=True)
            cold.append(seconds(dvc, clone))
            again.append(seconds(dvc, clone))
    start = [seconds([sys.executable, "-c", "pass"], ROOT) for _ in range(5 * runs)]
    shown = [seconds([sys.executable, "-m", "pipeline", "--help"], ROOT) for _ in range(5 * runs)]
    for label, values in (
        ("cold dvc repro in a fresh clone", cold),
        ("dvc repro again", again),
        ("bare interpreter", start),
        ("python -m pipeline --help", shown),
    ):
        print(f"{label:34} {statistics.median(values):7.2f} s  (median of {len(values)})")


if __name__ == "__main__":
    main()
