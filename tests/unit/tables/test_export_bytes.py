"""The same inputs give the same exported bytes, at any number of threads and in any order of staging."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import duckdb

REPOSITORY = Path(__file__).parents[3]
ROW_GROUP = 122_880  # DuckDB's default, in rows


def _export(folder: Path, *, items: int, seed: int, threads: int) -> dict[str, str]:
    """SHA-256 by file name, from a process of its own."""
    subprocess.run(
        [sys.executable, str(Path(__file__).with_name("export_run.py")), str(folder), str(items), str(seed)],
        env={**os.environ, "PYTHONPATH": str(REPOSITORY), "CTXEVAL_THREADS": str(threads)},
        check=True,
        timeout=300,
    )
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.iterdir()}


def test_threads_and_order_of_a_small_run(tmp_path: Path) -> None:
    one = _export(tmp_path / "one", items=20, seed=0, threads=1)
    assert _export(tmp_path / "two", items=20, seed=0, threads=2) == one
    assert _export(tmp_path / "shuffled", items=20, seed=1, threads=1) == one


def test_threads_and_order_of_a_run_of_several_row_groups(tmp_path: Path) -> None:
    # 16,000 items x 2 languages x 4 participants.
    one = _export(tmp_path / "one", items=16_000, seed=0, threads=1)
    two = _export(tmp_path / "two", items=16_000, seed=1, threads=2)
    assert one == two
    for table in ("cells", "annotations", "judgments"):
        (groups,) = duckdb.execute(
            "SELECT count(DISTINCT row_group_id) FROM parquet_metadata(?)",
            [str(tmp_path / "one" / f"{table}.parquet")],
        ).fetchall()
        assert groups[0] >= 2, f"{table} has more than {ROW_GROUP} rows"
