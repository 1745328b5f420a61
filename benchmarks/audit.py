"""Time an audit: `verify` on the rebuilt high-judge run (7,759 answers) and on a project.

    python benchmarks/audit.py [--runs 5] [--published FOLDER]

The run is rebuilt into a temporary folder first. Prints the median of wall seconds of the whole command, the
interpreter's start included, and the peak memory of the largest. The project is this one, where `dvc repro`
ran.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def measure(arguments: list[str]) -> tuple[float, float]:
    """Wall seconds and peak GB of one ``python -m pipeline`` command that has to succeed."""
    started = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-m", "pipeline", *arguments], cwd=ROOT, stdout=subprocess.DEVNULL
    )
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"{' '.join(arguments)} failed with status {status}")
    return time.perf_counter() - started, usage.ru_maxrss / 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    default = os.environ.get("CTXEVAL_PUBLISHED", str(ROOT.parent / "shared" / "published"))
    parser.add_argument("--published", type=Path, default=Path(default))
    parser.add_argument("--runs", type=int, default=5)
    given = parser.parse_args()
    source, dataset = given.published / "2026-08-high-judge", given.published / "dataset" / "runtime.json"
    if not source.is_dir():
        raise SystemExit(f"{given.published} holds no 2026-08-high-judge run; name the folder by --published")
    with tempfile.TemporaryDirectory() as name:
        measure(["published", "build", str(source), "--dataset", str(dataset), "--out", name])
        for label, folder in (("high-judge, 7,759 answers", name), ("this project", str(ROOT))):
            made = [measure(["verify", "--dir", folder]) for _ in range(given.runs)]
            seconds = statistics.median(wall for wall, _ in made)
            print(f"verify, {label:26} {seconds:6.2f} s  {max(peak for _, peak in made):5.2f} GB")


if __name__ == "__main__":
    main()
