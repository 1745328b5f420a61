"""What bad input gets, through the real command line: one line, exit 1, nothing created or changed."""

from __future__ import annotations

import os
import re
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tiny_project import ITEMS, PROFILE, PROMPT_SET, lines, make_tiny_project, put

from pipeline.stages import parse, render

REPOSITORY = Path(__file__).parents[2]


def run(project: Path, *words: str, file_size: int | None = None) -> subprocess.CompletedProcess[str]:
    """``python -m pipeline WORDS`` in the project; ``file_size`` is the most bytes a file may get."""

    def limit() -> None:
        if file_size is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (file_size, file_size))

    return subprocess.run(
        [sys.executable, "-m", "pipeline", *words],
        cwd=project,
        env=os.environ
        | {
            "PYTHONPATH": str(REPOSITORY),
            "PYTHONDONTWRITEBYTECODE": "1",
            "CTXEVAL_LEDGER": str(project.parent / "ledger.sqlite"),
        },
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        preexec_fn=limit,
    )


def everything(folder: Path) -> dict[str, bytes | None]:
    """Every path below a folder, with the bytes of files."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() if path.is_file() else None
        for path in folder.rglob("*")
    }


def check_refused(project: Path, words: list[str], *says: str) -> None:
    before = everything(project.parent)
    done = run(project, *words)
    assert done.stdout == ""
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert line.startswith("error: ")
    assert line.endswith(" [exit code 1]")
    for said in says:
        assert said in line
    assert everything(project.parent) == before


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """The tiny project after an earlier run, whose outputs must stay as they are."""
    root = make_tiny_project(tmp_path / "project")
    put(root / "data/requests/requests.jsonl", "of an earlier run\n")
    put(root / "reports/scores/run-status.json", "of an earlier run\n")
    put(root / "reports/leaderboard.md", "of an earlier run\n")
    return root


def edit(file: str, old: str, new: str) -> Callable[[Path], None]:
    def change(project: Path) -> None:
        text = (project / file).read_text(encoding="utf-8")
        assert old in text
        put(project / file, text.replace(old, new))

    return change


def append(file: str, text: str) -> Callable[[Path], None]:
    return lambda project: put(project / file, (project / file).read_text(encoding="utf-8") + text) and None


def remove(file: str) -> Callable[[Path], None]:
    return lambda project: (project / file).unlink()


ITEMS_FILE = "data/datasets/tiny/items.jsonl"
A = "data/translations/a.jsonl"
# (what is broken, how, words of the message)
RENDER: dict[str, tuple[Callable[[Path], None], list[str]]] = {
    "broken dataset line": (append(ITEMS_FILE, "{"), [f"{ITEMS_FILE}:3: not valid JSON"]),
    "dataset field": (
        edit(ITEMS_FILE, '"dyadic"', '"single"'),
        [f"{ITEMS_FILE}:2: speaker_mode: is 'single'"],
    ),
    "lone surrogate": (edit(ITEMS_FILE, "벌써", "\\ud800"), [f"{ITEMS_FILE}:1: ", "surrogate"]),
    "missing dataset": (remove(ITEMS_FILE), [f"{ITEMS_FILE}: no such file"]),
    "translation for an unknown item": (
        append(A, lines({"item_id": "zzitem-9", "target_language": "en", "translation": "x"})),
        [f"{A}:3: item_id: 'zzitem-9' is not in the dataset"],
    ),
    "missing participant file": (remove(A), [f"{A}: no such file; check the path"]),
    "unknown participant": (
        edit("params.yaml", "zzsystem-b]", "zzsystem-c]"),
        ["data/participants.yaml: no participant 'zzsystem-c'"],
    ),
    "unknown profile": (
        edit("params.yaml", "profile: tiny-judge", "profile: tiny-juge"),
        ["experiments/judges/tiny-juge.yaml: no judge profile 'tiny-juge'", "choose from: tiny-judge"],
    ),
    "misspelt profile key": (
        edit(PROFILE, "max_tokens", "max_token"),
        [f"{PROFILE}: request.max_token: unknown key; did you mean 'max_tokens'?"],
    ),
    "key in a profile": (
        append(PROFILE, "  api_key_env: sk-or-v1-0123\n"),
        [f"{PROFILE}: transport.api_key_env: must be the NAME of an environment variable"],
    ),
    "unknown template variable": (
        edit(f"{PROMPT_SET}/user.txt", "${target_language}", "${target_langage}"),
        [f"{PROMPT_SET}/user.txt: names template variable 'target_langage', which does not exist"],
    ),
    "missing template variable": (
        edit(f"{PROMPT_SET}/user.txt", "${target_language}", "English"),
        [f"{PROMPT_SET}/user.txt: does not use template variable 'target_language'"],
    ),
    "broken params": (append("params.yaml", "judge: [\n"), ["params.yaml:", "not valid YAML"]),
    "line break in a path": (
        edit("params.yaml", ITEMS_FILE, '"data/a\\nerror: b"'),
        ["params.yaml: dataset: must be a path inside the project"],
    ),
}


@pytest.mark.parametrize("case", RENDER)
def test_render(project: Path, case: str) -> None:
    change, says = RENDER[case]
    change(project)
    check_refused(project, ["render"], *says)


def test_key_is_not_shown(project: Path) -> None:
    append(PROFILE, "  api_key_env: sk-or-v1-0123\n")(project)
    assert "sk-or" not in run(project, "render").stderr


@pytest.mark.parametrize("stage", ["score", "report", "seal"])
def test_unknown_scheme(scored: Path, stage: str) -> None:
    edit("params.yaml", "context-v1", "context-v9")(scored)
    check_refused(scored, [stage], "'context-v9'", "context-v1", "wmt-mqm")


@pytest.fixture
def scored(project: Path) -> Path:
    """The project with its tables: no cell was translated, so that no judge had to be asked."""
    for participant in "ab":
        failures = [
            {"item_id": item["sample_id"], "target_language": "en", "failure": "broke"} for item in ITEMS
        ]
        put(project / f"data/translations/{participant}.jsonl", lines(*failures))
    put(project / "requirements.lock", "")
    render.run(project)
    put(project / "data/responses/responses.jsonl", "")
    parse.run(project)
    return project


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-20])


TABLES = "data/tables"
DAMAGE: dict[str, Callable[[Path], None]] = {
    "cut table": lambda project: cut(project / TABLES / "cells.parquet"),
    "no table": lambda project: (project / TABLES / "items.parquet").unlink(),
    "another file": lambda project: put(project / TABLES / "run.parquet", "text") and None,
    "empty file": lambda project: put(project / TABLES / "turns.parquet", "") and None,
    "table of another": lambda project: (
        (project / TABLES / "items.parquet").replace(project / TABLES / "languages.parquet") and None
    ),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_corrupt_tables(scored: Path, damage: str) -> None:
    DAMAGE[damage](scored)
    check_refused(scored, ["score"], TABLES)


@pytest.mark.parametrize("words", [["report"], ["seal"], ["sql", "select 1"], ["db", "build"]], ids=" ".join)
def test_corrupt_tables_elsewhere(scored: Path, words: list[str]) -> None:
    cut(scored / TABLES / "cells.parquet")
    check_refused(scored, words, TABLES)


@pytest.mark.parametrize(
    ("stage", "missing"),
    [
        ("judge", "data/requests/requests.jsonl"),
        ("parse", "data/requests/cells.parquet"),
        ("score", "data/tables"),
        ("report", "data/tables"),
        ("seal", "data/tables"),
    ],
)
def test_stage_before_has_not_run(tmp_path: Path, stage: str, missing: str) -> None:
    check_refused(make_tiny_project(tmp_path / "project"), [stage], missing, "run `dvc repro")


def test_no_project(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    check_refused(tmp_path / "empty", ["render"], "params.yaml: no such file; check the path")


@pytest.mark.parametrize(
    ("file_size", "file"),
    [(100, "cells.parquet"), (3_000, "requests.jsonl")],
    ids=["no room", "for one"],
)
def test_full_disk(project: Path, file_size: int, file: str) -> None:
    """Requests of more than 3,000 bytes beside cells of less: neither file may be there then."""
    long = {"item_id": "zzitem-1", "target_language": "en", "translation": "long " * 800}
    put(project / A, lines(long))
    before = everything(project)
    done = run(project, "render", file_size=file_size)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        f"error: cannot write data/requests/{file}: File too large; "
        "make room or choose another folder [exit code 1]\n"
    )
    assert everything(project) == before


@pytest.mark.parametrize(
    "words",
    [
        ["nonsense"],
        ["render", "--fast"],
        ["render", "extra"],
        ["sql"],
        ["sql", "select 1", "--format", "xml"],
        ["annotation", "read"],
        ["annotation", "read", "x", "--mode", "loose"],
        ["requests", "show"],
        ["published", "build"],
    ],
    ids=" ".join,
)
def test_usage_errors(tmp_path: Path, words: list[str]) -> None:
    done = run(tmp_path, *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("Usage: python -m pipeline")
    assert "Traceback" not in done.stderr
    assert everything(tmp_path) == {}


HEAVY = {"duckdb", "polars", "dvc", "requests", "rich", "pydantic", "ruamel", "rfc8785", "numpy", "pandas"}


@pytest.mark.parametrize(
    "words", [["--help"], ["--version"], ["render", "--help"], ["sql", "--help"]], ids=" ".join
)
def test_help_loads_no_heavy_library(words: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "pipeline", *words],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=True,
    )
    loaded = set(re.findall(r"^import time:[^|]*\|[^|]*\| *(\w+)", done.stderr, re.MULTILINE))
    assert "click" in loaded
    assert not loaded & HEAVY
