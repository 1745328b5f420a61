"""``published add`` and ``published regenerate`` on a small run of our own."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from published_experiment import CLAIMS, ID, Project, files, write_project
from published_run import ANSWERS, Outcome, pipeline, refusal, tree


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    found = write_project(tmp_path)
    monkeypatch.chdir(found.root)
    return found


def add(project: Project, *options: str | Path) -> Outcome:
    return pipeline("published", "add", project.source, "--experiment", ID, *options)


def added(project: Project) -> Path:
    return project.root / "data" / "published" / ID


def test_every_file_is_put_there_with_the_dataset(project: Project) -> None:
    done = add(project)
    assert (done.code, done.out) == (0, f"data/published/{ID}: every file as published\n")
    assert tree(added(project)) == tree(project.source) | {
        "dataset/dataset.json": project.dataset.read_bytes()
    }


def test_what_was_not_published_is_left_out_and_named(project: Project) -> None:
    (project.source / "notes.txt").write_text("mine")
    done = add(project)
    assert done.out.splitlines()[1:] == ["left out, not a published file: notes.txt"]
    assert "notes.txt" not in files(added(project))


def test_a_named_dataset_file(project: Project, tmp_path: Path) -> None:
    moved = project.dataset.rename(tmp_path / "elsewhere.json")
    assert add(project, "--dataset", moved).code == 0
    assert (added(project) / "dataset" / "dataset.json").read_bytes() == moved.read_bytes()


REFUSED: dict[str, tuple[Callable[[Project], Any], str]] = {
    "a changed byte": (
        lambda p: p.run.edit("judge-raw.jsonl", "misused_context", "unclear"),
        "judge-raw.jsonl: has SHA-256 ",
    ),
    "a missing file": (
        lambda p: (p.source / "manifest.json").unlink(),
        "manifest.json: missing; experiment.yaml lists it as published",
    ),
    "another dataset": (lambda p: p.dataset.write_text("[]"), "dataset.json: has SHA-256 "),
    "no dataset": (lambda p: p.dataset.unlink(), "name it with --dataset"),
    "no experiment": (lambda p: (p.folder / "experiment.yaml").unlink(), "no such experiment"),
}


@pytest.mark.parametrize(("damage", "message"), REFUSED.values(), ids=REFUSED.keys())
@pytest.mark.parametrize("before", [False, True], ids=["first time", "again"])
def test_nothing_changes_if_a_byte_is_not_as_published(
    project: Project, damage: Callable[[Project], Any], message: str, before: bool
) -> None:
    if before:
        assert add(project).code == 0
    there = tree(project.root / "data")
    damage(project)
    assert message in refusal(add(project))
    assert tree(project.root / "data") == there


def test_the_place_itself_is_no_source(project: Project) -> None:
    assert add(project).code == 0
    again = pipeline("published", "add", added(project), "--experiment", ID)
    assert "name the folder it comes from" in refusal(again)
    assert added(project).is_dir()


def test_reports_are_made_again_with_the_audit(project: Project, tmp_path: Path) -> None:
    assert add(project).code == 0
    done = pipeline("published", "regenerate", ID)
    assert done.code == 0
    assert done.out.splitlines()[0] == "5 claims: 4 reproduced, 0 differ, 1 not recomputable."
    out = tmp_path / "out"
    assert (
        pipeline("published", "build", project.source, "--dataset", project.dataset, "--out", out).code == 0
    )
    audited = tmp_path / "audit"
    assert pipeline("published", "audit", added(project), "--out", audited).code == 0
    assert tree(project.folder / "reports") == tree(out / "reports") | tree(audited)


def test_reports_hold_no_text_of_the_data(project: Project) -> None:
    assert add(project).code == 0
    assert pipeline("published", "regenerate", ID).code == 0
    written = b"".join(tree(project.folder / "reports").values()).decode("utf-8")
    items = json.loads(project.dataset.read_text("utf-8"))
    texts = [turn["sourceText"] for item in items for turn in item["contextTurns"]]
    texts += [item["currentSource"]["sourceText"] for item in items] + list(ANSWERS.values())
    assert [text for text in texts if text in written] == []


def test_reports_are_there_to_look_at_even_if_a_claim_differs(project: Project) -> None:
    project.write_claims(CLAIMS[0] | {"printed": "9.99"})
    assert add(project).code == 0
    assert refusal(pipeline("published", "regenerate", ID)).startswith("without explanation: mean.alpha")
    document = json.loads((project.folder / "reports" / "audit.json").read_text("utf-8"))
    assert document["claims"][0]["verdict"] == "differs"


def test_regenerate_needs_the_run(project: Project) -> None:
    said = refusal(pipeline("published", "regenerate", ID))
    assert said == (
        f"data/published/{ID}: not there; run `python -m pipeline published add RUN_FOLDER --experiment {ID}`"
    )


def test_a_changed_run_is_not_regenerated(project: Project) -> None:
    """The audit sees that the bytes are not those published: the stage fails."""
    assert add(project).code == 0
    path = added(project) / "judge-raw.jsonl"
    path.write_text(path.read_text("utf-8").replace("unclear", "unclear") + "", "utf-8")
    assert pipeline("published", "regenerate", ID).code == 0  # same bytes
    path.write_text(path.read_text("utf-8").replace("misused_context", "unclear", 1), "utf-8")
    assert "files" in refusal(pipeline("published", "regenerate", ID))


def test_an_experiment_without_raw_answers_has_no_reports_to_make(project: Project) -> None:
    project.write_experiment(raw_answers=False)
    assert "was published without raw judge answers" in refusal(pipeline("published", "regenerate", ID))
    assert not (project.folder / "reports").exists()
