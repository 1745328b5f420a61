"""The four published experiments: their audits, their SHA-256 lists, their reports that are in git."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from published_data import (
    ABLATION,
    ABSENT,
    CONTEXT_V2,
    DATASET,
    FOLDER,
    HIGH_JUDGE,
    ISSUE_1,
    REASON,
    REPOSITORY,
)
from published_run import pipeline, tree
from ruamel.yaml import YAML

pytestmark = [pytest.mark.published, pytest.mark.skipif(ABSENT, reason=REASON)]

ARCHIVED = "2026-04-gemini-context-v2-archived"
FOLDERS = {HIGH_JUDGE: HIGH_JUDGE, ABLATION: ABLATION, ISSUE_1: ISSUE_1, ARCHIVED: CONTEXT_V2}
EXPERIMENTS = REPOSITORY / "experiments"


@pytest.fixture(autouse=True)
def _in_the_project(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(REPOSITORY)


@cache
def audited(name: str) -> Any:
    done = pipeline("published", "audit", FOLDER / FOLDERS[name], "--json")
    assert (done.code, done.err) == (0, "")
    return json.loads(done.out)


def failing(document: Any) -> dict[str, str]:
    """What was computed, or said by the reports, of every claim that does not hold; known checks are ''."""
    found = {
        claim["id"]: claim["computed"] or claim["by_reports"]["computed"]
        for claim in document["claims"]
        if "differs" in claim["verdict"] or claim["by_reports"]["say"] == "differ"
    }
    return found | {c["id"]: "" for c in document["checks"] if c["outcome"] == "failed"}


def test_high_judge() -> None:
    document = audited(HIGH_JUDGE)
    # By hand from the published leaderboard.by-language.common-cell.json, where Google's means are
    # 1.2067..., 13.5142... and 2.3971...; the README's section prints those of leaderboard.by-language.
    published = json.loads(
        (FOLDER / HIGH_JUDGE / "reports" / "leaderboard.by-language.common-cell.json").read_text("utf-8")
    )
    google = {
        f"common-cell.{language}.google-cloud-translate-basic": f"{row['mean_penalty']:.2f}"
        for language, rows in published.items()
        for row in rows
        if row["participant_id"] == "google-cloud-translate-basic"
    }
    assert failing(document) == google | {"report-participants": ""}
    lost = {c["id"] for c in document["claims"] if c["verdict"] == "not recomputable"}
    assert {name for name in lost if not name.startswith("asr.")} == {"cost", "finding.context"}
    # Printed in the README and reproduced from the raw answers.
    printed = {
        c["id"]: (c["printed"], c["exact"]) for c in document["claims"] if c["verdict"] == "reproduced"
    }
    assert printed["mean.gemma4-e4b-qat-q4"] == ("1.577", "511/324")  # 1022 / 648
    assert printed["scored"] == ("7,759", "7759")
    assert printed["finding.most-misuse.rate"] == ("8.3%", "1/12")  # 18 of 216


def test_the_manifests_note_on_the_dataset_was_tested() -> None:
    check = next(c for c in audited(HIGH_JUDGE)["checks"] if c["id"] == "dataset-fingerprint")
    assert check["outcome"] == "explained"
    assert "(648 keys removed)" in check["details"][1]
    assert check["details"][2] == "the manifest's note was tested and holds"
    # The same by hand: drop the lines of the label from the file's text, with the comma before them.
    lines = (FOLDER / DATASET).read_text("utf-8").splitlines(keepends=True)
    kept = [line for line in lines if not line.lstrip().startswith('"relativeTimeLabel":')]
    assert len(lines) - len(kept) == 648
    recorded = json.loads((FOLDER / HIGH_JUDGE / "manifest.json").read_text("utf-8"))[
        "datasetFingerprintSha256"
    ]
    assert hashlib.sha256("".join(kept).encode()).hexdigest() == recorded


def test_context_ablation() -> None:
    document = audited(ABLATION)
    assert failing(document) == {
        # Exact means: A 1360 / 642, B 932 / 642.
        "difference": "−0.667",  # (932 - 1360) / 642
        "ignore.difference": "−0.390",  # (280 - 362) / 210
        "en.difference": "−0.977",  # (187 - 396) / 214
        "zh-Hans.difference": "−0.650",  # (361 - 500) / 214
        "ja.change": "−17.2%",  # (384 - 464) / 464
        "gap-widens": "3 < 1 < 2",  # printed: 0.727, 0.861, 0.405
        "gap-widens.ends": "3 < 1",
        "untranslated.items.first-print": "2",
        "untranslated.languages.first-print": "3",
        "failure-participants": "",
    }
    exact = {c["id"]: c["exact"] for c in document["claims"] if c["verdict"] == "reproduced"}
    assert exact["improvement"] == "107/340"  # 428 / 1360 = 31.47 %
    assert (exact["paired.b-better"], exact["paired.a-better"], exact["paired.equal"]) == (
        "236",
        "134",
        "272",
    )


def test_without_raw_answers_nothing_is_verified() -> None:
    for name in (ISSUE_1, ARCHIVED):
        document = audited(name)
        assert {c["verdict"] for c in document["claims"]} == {"not recomputable"}
        assert document["raw_answers"] is False
        assert not (EXPERIMENTS / name / "reports").exists()
    # docs/results.md says twelve participants, the manifest lists eleven.
    assert failing(audited(ISSUE_1)) == {"participants": "11"}
    assert failing(audited(ARCHIVED)) == {}


@pytest.mark.parametrize("name", FOLDERS)
def test_means_are_those_the_reports_give(name: str) -> None:
    """Every claimed mean of a participant, at its printed precision, from the published report itself."""
    reports = FOLDER / FOLDERS[name] / "reports"
    if name == ARCHIVED:
        rows = json.loads((reports / "run-summary.json").read_text("utf-8"))["leaderboard"]
        means = {row["participantId"]: row["meanPenalty"] for row in rows}
    elif name == ABLATION:
        means = {"a": 2.118, "b": 1.452}  # its report is a page of Markdown
    else:
        rows = json.loads((reports / "summary-overall.penalty.json").read_text("utf-8"))
        means = {row["participant_id"]: row["mean_penalty"] for row in rows}
    claimed = {c["id"].removeprefix("mean."): c["printed"] for c in audited(name)["claims"]}
    assert {participant: claimed[participant] for participant in means} == {
        participant: f"{mean:.3f}" for participant, mean in means.items()
    }


@pytest.mark.parametrize("name", FOLDERS)
def test_the_list_of_files_is_that_of_the_publication(name: str) -> None:
    sums = dict(
        reversed(line.split("  ./", 1)) for line in (FOLDER / "SHA256SUMS").read_text("utf-8").splitlines()
    )
    prefix = f"{FOLDERS[name]}/"
    listed = {path.removeprefix(prefix): digest for path, digest in sums.items() if path.startswith(prefix)}
    experiment = YAML(typ="safe").load((EXPERIMENTS / name / "experiment.yaml").read_text("utf-8"))
    assert experiment["files"] == listed
    assert experiment["dataset"]["sha256"] == sums[DATASET]


@pytest.fixture(scope="module")
def regenerated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The experiments with raw answers, added to and made again in a copy of the project's experiments."""
    project = tmp_path_factory.mktemp("project")
    for name in (HIGH_JUDGE, ABLATION):
        (project / "experiments" / name).mkdir(parents=True)
        for file in ("experiment.yaml", "claims.json"):
            shutil.copy(EXPERIMENTS / name / file, project / "experiments" / name / file)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(project)
        for name in (HIGH_JUDGE, ABLATION):
            assert pipeline("published", "add", FOLDER / name, "--experiment", name).code == 0
            assert pipeline("published", "regenerate", name).code == 0
    return project


@pytest.mark.parametrize("name", [HIGH_JUDGE, ABLATION])
def test_the_reports_in_git_are_those_made_again(name: str, regenerated: Path) -> None:
    here, made = tree(EXPERIMENTS / name / "reports"), tree(regenerated / "experiments" / name / "reports")
    assert sorted(here) == sorted(made)
    stale = [path for path in made if here[path] != made[path]]
    assert stale == [], "run `dvc repro experiments/dvc.yaml` and commit experiments/"


@pytest.mark.parametrize("name", [HIGH_JUDGE, ABLATION])
def test_reports_in_git_hold_no_text_of_the_data(name: str) -> None:
    written = b"".join(tree(EXPERIMENTS / name).values()).decode("utf-8")
    items = json.loads((FOLDER / DATASET).read_text("utf-8"))
    texts = {turn["sourceText"] for item in items for turn in item["contextTurns"]}
    texts |= {item["currentSource"]["sourceText"] for item in items}
    for file, field in (("judge-raw.jsonl", "raw_judge_output"), ("translations.jsonl", "translation")):
        path = FOLDER / name / file
        if path.is_file():
            texts |= {json.loads(line)[field].strip() for line in path.read_text("utf-8").splitlines()}
    assert len(texts) > 1000
    # A translation of few letters ("No.") is in any text by chance.
    assert [text for text in texts if len(text) > 8 and text in written] == []


def test_the_page_of_audits_is_current() -> None:
    done = subprocess.run(
        [sys.executable, "docs/audit.py", "--check"],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "docs/audit.md is current\n"), done.stderr
