"""`verify` on honest runs of every kind, on broken ones, and `signature explain`."""

from __future__ import annotations

import io
import json
import re
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
from mutations import RECORDED, answers, edit
from published_data import ABLATION, ABSENT, DATASET, FOLDER, HIGH_JUDGE, REASON
from published_run import build, pipeline, refusal, write_run
from ruamel.yaml import YAML
from sealed_project import MANIFEST, forge_lock, make_sealed_project, parse_again

from pipeline.layout import PARAMS
from pipeline.lineage.places import place_of
from pipeline.lineage.verify.audit import verify_place
from pipeline.lineage.verify.checks import Check, failures
from pipeline.published.build import build_published
from pipeline.stages import judge

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def sealed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_sealed_project(tmp_path_factory.mktemp("sealed") / "project")


@pytest.fixture
def project(sealed: Path, tmp_path: Path) -> Path:
    return shutil.copytree(sealed, tmp_path / "project")


def lines(checks: list[Check]) -> list[str]:
    return [f"{check.name}: {check.figures}" for check in failures(checks)] + [
        difference.line() for check in checks for difference in check.differences
    ]


def test_one_line_a_check_and_a_summary(project: Path) -> None:
    done = pipeline("verify", "--dir", project)
    assert (done.code, done.err) == (0, "")
    *checks, summary = done.out.splitlines()
    assert [re.split(r"  +", line)[1] for line in checks] == [
        "manifest: files",
        "dvc.lock",
        "reports are fresh",
        "requests",
        "answers",
        "recorded answers",
        "tables",
        "score reports",
        "score tables",
        "metrics",
        "leaderboard",
        "manifest: facts",
        "signature",
    ]
    assert all(line.startswith("ok    ") for line in checks)
    assert summary == "13 ok, 0 failed, 0 skipped"
    # Six answers of ten attempts would be other figures: five requests, two of them asked twice.
    assert "5 answers, 7 attempts read again from their raw bytes" in done.out
    assert "8 cells, 5 requests rendered again" in done.out


def test_by_default_the_current_folder(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(project)
    assert pipeline("verify").code == 0


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("scoring", {"scheme": "gemba-upstream"}),
        ("scoring", {"scheme": "wmt-mqm"}),
        ("parser", {"mode": "lenient"}),
        ("run_name", "another.name"),
    ],
)
def test_other_parameters(project: Path, key: str, value: object) -> None:
    """Scored and sealed again under them, nothing differs: the second path follows every parameter."""
    yaml = YAML(typ="safe", pure=True)
    params = yaml.load((project / PARAMS).read_text(encoding="utf-8")) | {key: value}
    with (project / PARAMS).open("w", encoding="utf-8") as out:
        yaml.dump(params, out)
    parse_again(project)
    forge_lock(project)
    lock = yaml.load((project / "dvc.lock").read_text(encoding="utf-8"))
    checks = verify_place(place_of(project))
    assert {check.name for check in failures(checks)} <= {"dvc.lock", "reports are fresh"}, lines(checks)
    # DVC itself was not run, so its parameters are those of before.
    assert lock["stages"]["parse"]["params"]["params.yaml"]["run_name"] == "tiny"


def test_two_verdicts_a_cell(project: Path) -> None:
    """A second repeat of every request, of which one cannot be read: means and counts are over verdicts."""

    def second(rows: list[dict[str, Any]]) -> None:
        for row in list(rows):
            rows.append({**row, "repeat": 1})
            if "船" in row["attempts"][-1]["text"]:
                rows[-1] |= {"attempts": row["attempts"][:1], "selected": 0}
        rows.sort(key=lambda row: (row["request_hash"], row["repeat"]))

    edit("params.yaml", "repeats: 1", "repeats: 2")(project)
    answers(RECORDED, second)(project)
    judge.run(project)
    parse_again(project)
    forge_lock(project)
    checks = verify_place(place_of(project))
    assert {check.name for check in failures(checks)} <= {"dvc.lock", "reports are fresh"}, lines(checks)
    board = json.loads((project / "reports/scores/summary-overall.penalty.json").read_text(encoding="utf-8"))
    # zzsystem-a: (5 + 5 + 1 + 1 + 0 + 0) / 6; the critical error's cell has one valid verdict of two.
    assert (board[0]["mean_penalty"], board[0]["samples"]) == (2, 3)


@pytest.mark.parametrize("scheme", ["context-v1", "gemba-upstream", "wmt-mqm"])
def test_small_output_folder(tmp_path: Path, scheme: str) -> None:
    assert build(write_run(tmp_path), tmp_path / "out", "--scheme", scheme).code == 0
    done = pipeline("verify", "--dir", tmp_path / "out")
    assert done.code == 0, done
    assert done.out.endswith("8 ok, 0 failed, 3 skipped\n")
    assert "skip  dvc.lock" in done.out


@pytest.mark.published
@pytest.mark.skipif(ABSENT, reason=REASON)
@pytest.mark.parametrize(
    ("run", "raw", "scheme"),
    [(HIGH_JUDGE, 7759, "context-v1"), (HIGH_JUDGE, 7759, "wmt-mqm"), (ABLATION, 1284, "gemba-upstream")],
)
def test_published_runs(tmp_path: Path, run: str, raw: int, scheme: str) -> None:
    build_published(FOLDER / run, FOLDER / DATASET, tmp_path / "out", scheme)
    checks = verify_place(place_of(tmp_path / "out"))
    assert lines(checks) == []
    (answers,) = (check for check in checks if check.name == "answers")
    assert answers.figures.startswith(f"{raw:,} raw answers read again")


NO_RUN = {
    "an empty folder": lambda root: None,
    "a file": lambda root: (root / "reports").write_text(""),
    "no JSON": lambda root: _write(root, "{"),
    "a list": lambda root: _write(root, "[]"),
    "another shape": lambda root: _write(root, '{"manifest_version": 1}'),
    "another version": lambda root: _write(root, '{"manifest_version": 99}'),
    "not UTF-8": lambda root: _write(root, "\udcff"),
    "nested without end": lambda root: _write(root, "[" * 100_000),
}


def _write(root: Path, text: str) -> None:
    (root / "reports").mkdir()
    (root / MANIFEST).write_bytes(text.encode("utf-8", "surrogateescape"))


@pytest.mark.parametrize("case", NO_RUN)
def test_no_run_there(tmp_path: Path, case: str) -> None:
    NO_RUN[case](tmp_path)
    done = pipeline("verify", "--dir", tmp_path)
    assert "manifest.json" in refusal(done)


BROKEN = {
    "no dvc.yaml": ("dvc.yaml", None, "dvc.lock"),
    "dvc.yaml of another shape": ("dvc.yaml", "stages: []\n", "dvc.lock"),
    "dvc.lock no YAML": ("dvc.lock", "a: [\n", "dvc.lock"),
    "dvc.lock of another shape": ("dvc.lock", "stages: {render: {cmd: x, deps: [1]}}\n", "dvc.lock"),
    "a pattern verify does not know": (".dvcignore", "a/**/b\n", None),
    "no dataset": ("data/datasets/tiny/items.jsonl", None, "inputs"),
    "params of another shape": ("params.yaml", "- 1\n", "inputs"),
    "no profile": ("experiments/judges/tiny-judge.yaml", None, "inputs"),
    "no answers": ("data/responses/responses.jsonl", None, "answers"),
    "an answer of another shape": ("data/responses/responses.jsonl", "{}\n", "answers"),
    "raw that is not base64": (
        "data/responses/responses.jsonl",
        '{"request_hash": "%s", "repeat": 0, "selected": 0, "attempts": [], "sha256": ""}\n' % ("0" * 64),
        "answers",
    ),
    "no requests": ("data/requests/requests.jsonl", None, "requests"),
    "no cells": ("data/requests/cells.parquet", None, "requests"),
    "a table that is text": ("data/tables/cells.parquet", "cells", "tables"),
    "a report that is a number": ("reports/scores/slices.json", "1\n", "score reports"),
    "a flat table with an open quote": ("reports/scores/slices.csv", 'a,"b\n', "score tables"),
    "no metrics": ("reports/metrics.json", None, "metrics"),
    "an empty leaderboard": ("reports/leaderboard.md", "", "leaderboard"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_broken_runs_end_in_one_line(project: Path, case: str) -> None:
    name, text, check = BROKEN[case]
    if text is None:
        (project / name).unlink()
    else:
        (project / name).write_text(text, encoding="utf-8")
    done = pipeline("verify", "--dir", project)
    assert refusal(done)
    if check is not None:
        assert f"FAIL  {check}" in done.out


def test_a_number_of_too_many_digits(project: Path) -> None:
    (project / "reports/metrics.json").write_text('{"zzsystem-a": 1e999}', encoding="utf-8")
    assert "zzsystem-a" in pipeline("verify", "--dir", project).out


def test_explain_says_what_each_part_means(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    line = (
        "GEMBA-MQM-context|id:01234567|d:89abcdef|p:unrecorded|j:openrouter-batch:google/gemini%3Abatch"
        "|e:default|r:3|a:strict|w:context-v1|c:70/72|v:0.1.0"
    )
    done = pipeline("signature", "explain", line)
    assert done.code == 0
    rows = done.out.splitlines()
    assert len(rows) == 11
    assert re.sub(r" +", " ", rows[2]) == (
        "p prompts unrecorded hash of the judge-prompt set, first 8 digits; the run did not record it"
    )
    assert rows[3].startswith("j  judge    openrouter-batch:google/gemini:batch  judge backend and model")
    assert rows[8].startswith("c  cells    70/72 ")
    assert rows[-1] == "there is no run here to compare with; name one by --dir"


def test_explain_compares_with_a_run(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    signature = json.loads((project / MANIFEST).read_text(encoding="utf-8"))["signature"]
    for form in ("short", "long"):
        done = pipeline("signature", "explain", signature[form], "--dir", project)
        assert done.code == 0, done
        assert done.out.count("; as in this run\n") == 10
    monkeypatch.chdir(project)
    other = signature["short"].replace("c:5/8", "c:8/8").replace("w:context-v1", "w:wmt-mqm")
    done = pipeline("signature", "explain", other)
    assert refusal(done) == "the run in . differs in: weights, cells"
    assert "8/8" in done.out
    assert "; this run has 5/8" in done.out


def test_explain_reads_standard_input(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    board = (project / "reports/leaderboard.md").read_text(encoding="utf-8")
    (quoted, _) = (line for line in board.splitlines() if line.startswith("`GEMBA"))
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(f"{quoted}\n".encode())))
    assert pipeline("signature", "explain", "-", "--dir", project).code == 0
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"GEMBA\xff\xfe")))
    assert "not a judge signature" in refusal(pipeline("signature", "explain", "-"))


@pytest.mark.parametrize("text", ["", "x", "GEMBA-MQM-context", "\udcff", "GEMBA-MQM-context|id:\x1b[31m"])
def test_explain_refuses_what_is_no_signature(text: str) -> None:
    assert refusal(pipeline("signature", "explain", text))
