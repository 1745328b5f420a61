"""What happens around the commands: full outputs, signals, encodings, folders that hold other things."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import IO

import pytest
from published_run import Published, write_run

ROOT = Path(__file__).parents[2]
COMMAND = (sys.executable, "-m", "pipeline")
# A query that takes longer than any test waits, whatever the machine.
LONG_QUERY = "select sum(a.range * b.range % 7) from range(1000000000) a, range(1000) b"


def pipeline(
    *words: str | bytes,
    stdout: int | IO[bytes] = subprocess.PIPE,
    environment: Mapping[str, str] | None = None,
) -> subprocess.CompletedProcess[bytes]:
    """Run the command line in the project's folder."""
    return subprocess.run(
        (*COMMAND, *words),
        cwd=ROOT,
        env=os.environ | dict(environment or {}),
        check=False,
        stdout=stdout,
        stderr=subprocess.PIPE,
    )


def assert_one_line(error: bytes, code: int) -> None:
    lines = error.decode().strip().splitlines()  # a line break follows the ^C of a terminal
    assert len(lines) == 1, error
    assert lines[0].startswith("error: ")
    assert lines[0].endswith(f"[exit code {code}]")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize(
    "words", [("--version",), ("dataset", "validate", "data/datasets/ko-context-dialogue-v1/items.jsonl")]
)
def test_full_output(words: tuple[str, ...]) -> None:
    with Path("/dev/full").open("wb") as full:
        done = pipeline(*words, stdout=full)
    assert done.returncode == 1
    assert_one_line(done.stderr, 1)


def test_reader_that_went_away_gets_no_traceback() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb") as gone:
        done = pipeline("--help", stdout=gone)
    assert b"Traceback" not in done.stderr
    assert b"Exception ignored" not in done.stderr


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Tables of a small published run, built through the command line."""
    folder = tmp_path_factory.mktemp("published")
    assert build(write_run(folder), folder / "out").returncode == 0
    return folder / "out" / "tables"


def build(run: Published, out: Path) -> subprocess.CompletedProcess[bytes]:
    return pipeline("published", "build", str(run.source), "--dataset", str(run.dataset), "--out", str(out))


def test_interrupted_query(tables: Path) -> None:
    process = subprocess.Popen(
        (*COMMAND, "sql", "--tables", str(tables), LONG_QUERY),
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    time.sleep(4)
    process.send_signal(signal.SIGINT)
    try:
        _, error = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 130
    assert_one_line(error, 130)


def test_query_that_is_not_utf8(tables: Path) -> None:
    done = pipeline("sql", "--tables", str(tables), b"select '\xff'")
    assert done.returncode == 1
    assert_one_line(done.stderr, 1)


def test_output_encoding_without_the_character(tables: Path) -> None:
    done = pipeline(
        "sql",
        "--tables",
        str(tables),
        "--format",
        "csv",
        "select '🙂' as face",
        environment={"PYTHONIOENCODING": "latin-1"},
    )
    assert (done.returncode, done.stdout) == (0, b"face\n\\U0001f642\n")


def test_database_replaces_no_other_file(tables: Path, tmp_path: Path) -> None:
    precious = tmp_path / "precious.txt"
    precious.write_text("precious", encoding="utf-8")
    done = pipeline("db", "build", "--tables", str(tables), "--out", str(precious))
    assert done.returncode == 1
    assert_one_line(done.stderr, 1)
    assert precious.read_text(encoding="utf-8") == "precious"


def test_rebuild_replaces_neither_the_run_nor_other_files(tmp_path: Path) -> None:
    run = write_run(tmp_path)
    before = {path: path.read_bytes() for path in run.source.rglob("*") if path.is_file()}
    done = build(run, run.source)
    assert done.returncode == 1
    assert_one_line(done.stderr, 1)
    assert {path: path.read_bytes() for path in run.source.rglob("*") if path.is_file()} == before

    out = tmp_path / "mine"
    (out / "reports").mkdir(parents=True)
    (out / "reports" / "notes.txt").write_text("mine", encoding="utf-8")
    done = build(run, out)
    assert done.returncode == 1
    assert_one_line(done.stderr, 1)
    assert [path.name for path in out.rglob("*") if path.is_file()] == ["notes.txt"]

    shutil.rmtree(out)
    assert build(run, out).returncode == 0
    assert build(run, out).returncode == 0, "an earlier rebuild may be replaced"
    (out / "tables" / "my.csv").write_text("mine", encoding="utf-8")
    assert build(run, out).returncode == 1


def test_a_check_that_compares_nothing_fails(tmp_path: Path) -> None:
    run = write_run(tmp_path)
    done = pipeline("published", "check", str(run.source), str(run.source))
    assert done.returncode == 1
    assert_one_line(done.stderr, 1)
