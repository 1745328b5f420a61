"""The audit of a publication of CSV tables and a summary, without raw answers: a small one of our own.

Two participants on two items in two languages; alpha has one cell that could not be translated.

| participant | en      | ja      | all             | use     | ignore  |
| ----------- | ------- | ------- | --------------- | ------- | ------- |
| alpha       | 1 / 2   | 1 / 1   | 2 / 3 = 0.667   | 1 / 2   | 1 / 1   |
| beta        | 3 / 2   | 1 / 2   | 4 / 4 = 1       | 3 / 2   | 1 / 2   |
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from published_experiment import ID, Project, mean, write_project
from published_run import pipeline, refusal

LABELS = "used_correctly,missed_required_context,ignored_irrelevant_context,misused_context,unclear"
TABLES = {
    "leaderboard.overall.csv": (
        "rank,participant_id,mean_penalty,samples",
        "1,alpha,0.666667,3",
        "2,beta,1.000000,4",
    ),
    "leaderboard.by-language.csv": (
        "language,rank,participant_id,mean_penalty,samples,failed_samples",
        "en,1,alpha,0.500000,2,0",
        "en,2,beta,1.500000,2,0",
        "ja,2,alpha,1.000000,1,0",
        "ja,1,beta,0.500000,2,0",
    ),
    "leaderboard.by-context-expectation.csv": (
        "context_expectation,rank,participant_id,mean_penalty,samples,failed_samples",
        "use,1,alpha,0.500000,2,0",
        "use,2,beta,1.500000,2,0",
        "ignore,2,alpha,1.000000,1,0",
        "ignore,1,beta,0.500000,2,0",
    ),
    "context-behavior.csv": (
        f"participant_id,{LABELS},missed_required_context_rate,misused_context_rate",
        "alpha,1,1,1,0,0,0.500000,0.000000",
        "beta,2,0,1,1,0,0.000000,0.500000",
    ),
}
SUMMARY = {
    "sourceRuns": [
        {
            "runId": "own-csv-run",
            "runStatus": {
                "totalExpected": 8,
                "totalNormalized": 7,
                "translationFailureUnresolvedCount": 1,
            },
            "participantSampleCounts": [
                {"participantId": "alpha", "validSamples": 3, "expectedSamples": 4, "unresolvedCells": 1},
                {"participantId": "beta", "validSamples": 4, "expectedSamples": 4, "unresolvedCells": 0},
            ],
        }
    ],
    "leaderboard": [
        {"rank": 1, "participantId": "alpha", "meanPenalty": 2 / 3, "samples": 3},
        {"rank": 2, "participantId": "beta", "meanPenalty": 1, "samples": 4},
    ],
}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    found = write_project(tmp_path)
    monkeypatch.chdir(found.root)
    shutil.rmtree(found.source)
    (found.source / "reports").mkdir(parents=True)
    for name, lines in TABLES.items():
        (found.source / "reports" / name).write_text("\n".join(lines) + "\n", "utf-8")
    (found.source / "reports" / "run-summary.json").write_text(json.dumps(SUMMARY), "utf-8")
    found.write_experiment(raw_answers=False, files={})
    found.write_claims(
        {"id": "mean", "kind": "value", "printed": "0.667", "compute": mean("alpha")},
        {"id": "en", "kind": "value", "printed": "1.50", "compute": mean("beta") | {"language": "en"}},
        {
            "id": "missed",
            "kind": "value",
            "printed": "50%",
            "compute": {
                "function": "label_rate",
                "label": "missed_required_context",
                "participant": "alpha",
                "expectation": "use",
            },
        },
        {
            "id": "samples",
            "kind": "count",
            "printed": "3",
            "compute": {"function": "cell_count", "status": "ok", "participant": "alpha"},
        },
    )
    return found


def audit(project: Project) -> tuple[int, Any]:
    done = pipeline("published", "audit", project.source, "--json")
    return done.code, json.loads(done.out)


def test_a_sound_publication(project: Project) -> None:
    code, document = audit(project)
    assert code == 0
    outcomes = {c["id"]: c["outcome"] for c in document["checks"] if c["outcome"] != "not applicable"}
    assert outcomes == dict.fromkeys(
        ("dataset-file", "report-participants", "report-same-figure", "report-samples", "report-penalties",
         "report-labels", "report-ranks", "report-sources"), "passed")  # fmt: skip
    assert [(c["verdict"], c["by_reports"]["say"]) for c in document["claims"]] == [
        ("not recomputable", "agree")
    ] * 4


def table(name: str, old: str, new: str) -> Callable[[Path], Any]:
    def change(reports: Path) -> None:
        text = (reports / name).read_text("utf-8")
        assert old in text
        (reports / name).write_text(text.replace(old, new, 1), "utf-8")

    return change


FAILING: dict[str, tuple[Callable[[Path], Any], str, str]] = {
    "a mean beyond its last place": (
        table("leaderboard.overall.csv", "0.666667", "0.666668"),
        "report-same-figure",
        "alpha: 0.666668 in leaderboard.overall.csv, 0.666667 in run-summary.json",
    ),
    "a language's mean": (
        table("leaderboard.by-language.csv", "en,2,beta,1.500000", "en,2,beta,1.500002"),
        "report-penalties",
        "beta: 4.000 in leaderboard.by-language.csv, 4.000 overall",
    ),
    "a rank": (
        table("leaderboard.by-language.csv", "en,1,alpha", "en,2,alpha"),
        "report-ranks",
        "alpha: rank 2 in leaderboard.by-language.csv, 0 rows are better",
    ),
    "a sample": (
        table("leaderboard.by-context-expectation.csv", "use,1,alpha,0.500000,2", "use,1,alpha,0.500000,3"),
        "report-samples",
        "alpha: samples: 4 in leaderboard.by-context-expectation.csv, 3 in leaderboard.by-language.csv",
    ),
    "a label": (table("context-behavior.csv", "beta,2,0", "beta,3,0"), "report-labels", "beta: 5 labels, 4"),
    "a rate beyond its last place": (
        table("context-behavior.csv", "0,0.500000", "0,0.500001"),
        "report-labels",
        "alpha: missed_required_context_rate is 1.000 of 2, the label was given 1 times",
    ),
    "a source run that does not add up": (
        table("run-summary.json", '"totalExpected": 8', '"totalExpected": 9'),
        "report-sources",
        "own-csv-run: judged + not translated, expected: 8 and 9",
    ),
    "samples that no source run bears": (
        table("run-summary.json", '"samples": 4', '"samples": 5'),
        "report-sources",
        "beta: 5 samples in run-summary.json, in no source run",
    ),
}


@pytest.mark.parametrize(("damage", "name", "detail"), FAILING.values(), ids=FAILING.keys())
def test_tables_that_disagree(
    project: Project, damage: Callable[[Path], Any], name: str, detail: str
) -> None:
    damage(project.source / "reports")
    code, document = audit(project)
    assert code == 1
    found = next(c for c in document["checks"] if c["id"] == name)
    assert found["outcome"] == "failed"
    assert any(line.startswith(detail) for line in found["details"]), found


def test_a_printed_figure_that_the_tables_do_not_bear(project: Project) -> None:
    project.write_claims({"id": "mean", "kind": "value", "printed": "0.666", "compute": mean("alpha")})
    code, document = audit(project)
    assert code == 1
    assert document["claims"][0]["by_reports"] == {"say": "differ", "computed": "0.667"}
    assert document["summary"]["unexplained"] == ["mean"]


REFUSED: dict[str, tuple[Callable[[Path], Any], str]] = {
    "no number": (
        table("leaderboard.overall.csv", "0.666667", "n/a"),
        "leaderboard.overall.csv:2: mean_penalty: 'n/a' is no number",
    ),
    "a fraction of samples": (
        table("leaderboard.overall.csv", "0.666667,3", "0.666667,3.5"),
        "leaderboard.overall.csv:2: samples: '3.5' is no whole number",
    ),
    "a missing column": (
        table("leaderboard.overall.csv", "mean_penalty", "mean"),
        "leaderboard.overall.csv:2: has no column mean_penalty",
    ),
    "a short line": (
        table("leaderboard.overall.csv", "1,alpha,0.666667,3", "1,alpha"),
        "leaderboard.overall.csv:2: has more or fewer fields than the header",
    ),
    "an open quote": (
        table("leaderboard.overall.csv", "1,alpha", '1,"alpha'),
        "leaderboard.overall.csv:",
    ),
    "no UTF-8": (
        lambda reports: (reports / "leaderboard.overall.csv").write_bytes(b"\xff"),
        "not UTF-8",
    ),
    "a summary of another form": (
        lambda reports: (reports / "run-summary.json").write_text("[]"),
        "run-summary.json",
    ),
}


@pytest.mark.parametrize(("damage", "message"), REFUSED.values(), ids=REFUSED.keys())
def test_broken_tables_are_one_line(project: Project, damage: Callable[[Path], Any], message: str) -> None:
    damage(project.source / "reports")
    assert message in refusal(pipeline("published", "audit", project.source, "--experiment", ID))
