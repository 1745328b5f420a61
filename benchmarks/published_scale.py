"""Time ``published build`` on runs of growing size, made from the answers of a published run.

    python benchmarks/published_scale.py [--published DIR] [--cells 7776 100000 1000000] [--distinct]

A run of n cells repeats the published dataset and its answers under new item ids until there are
n expected cells. With ``--distinct`` every answer text is made different (a preamble line, which
reading tolerates), so that memoising by text helps nothing. Each size is one fresh process; wall
seconds and peak memory are the operating system's. Ratios are against the smallest size.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def make_run(published: Path, folder: Path, cells: int, distinct: bool) -> Path:
    """Write dataset.jsonl and a run folder with at least ``cells`` expected cells."""
    source = published / "2026-08-high-judge"
    manifest = json.loads((source / "manifest.json").read_text(encoding="utf-8"))
    items = json.loads((published / "dataset" / "runtime.json").read_text(encoding="utf-8"))
    per_copy = len(items) * len(manifest["targetLanguages"]) * len(manifest["participants"])
    copies = -(-cells // per_copy)
    answers = [json.loads(line) for line in (source / "judge-raw.jsonl").open(encoding="utf-8")]
    run = folder / "run"
    run.mkdir()
    (run / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    dataset = folder / "dataset.json"
    dataset.write_text(
        json.dumps(
            [item | {"sampleId": f"{item['sampleId']}-c{copy}"} for copy in range(copies) for item in items],
            ensure_ascii=False,
        ),
        encoding="utf-8",
    )
    with (run / "judge-raw.jsonl").open("w", encoding="utf-8") as out:
        for copy in range(copies):
            for number, answer in enumerate(answers):
                run_id, item, language, participant = answer["stable_key"].split("::")
                text = answer["raw_judge_output"]
                if distinct:
                    text = f"Answer {copy}-{number}.\n{text}"
                row = answer | {
                    "stable_key": f"{run_id}::{item}-c{copy}::{language}::{participant}",
                    "source_id": f"{item}-c{copy}",
                    "raw_judge_output": text,
                }
                out.write(json.dumps(row, ensure_ascii=False) + "\n")
    return dataset


def measure(folder: Path, dataset: Path) -> tuple[float, float]:
    """Wall seconds and peak GB of one ``published build`` in a fresh process."""
    command = [
        sys.executable, "-m", "pipeline", "published", "build", str(folder / "run"),
        "--dataset", str(dataset), "--out", str(folder / "out"),
    ]  # fmt: skip
    started = time.perf_counter()
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - started
    if status:
        raise SystemExit(f"published build failed with status {status}")
    return seconds, usage.ru_maxrss / 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    default = os.environ.get("CTXEVAL_PUBLISHED", str(ROOT.parent / "shared" / "published"))
    parser.add_argument("--published", type=Path, default=Path(default))
    parser.add_argument("--cells", type=int, nargs="+", default=[7_776, 100_000, 1_000_000])
    parser.add_argument("--distinct", action="store_true", help="make every answer text different")
    arguments = parser.parse_args()
    if not (arguments.published / "2026-08-high-judge" / "judge-raw.jsonl").is_file():
        raise SystemExit(
            f"{arguments.published} holds no 2026-08-high-judge run; name the folder by --published"
        )
    print(f"{'cells':>10} {'seconds':>8} {'peak GB':>8} {'x first':>8}   texts "
          f"{'all distinct' if arguments.distinct else 'as published'}")  # fmt: skip
    first = None
    for cells in arguments.cells:
        with tempfile.TemporaryDirectory() as name:
            dataset = make_run(arguments.published, Path(name), cells, arguments.distinct)
            seconds, peak = measure(Path(name), dataset)
        first = first or seconds
        print(f"{cells:>10} {seconds:>8.2f} {peak:>8.2f} {seconds / first:>8.1f}", flush=True)


if __name__ == "__main__":
    main()
