"""``experiments/`` against itself: every file is valid, and ``dvc.yaml`` there names what can be rebuilt."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from pipeline.published.claims.model import read_claims
from pipeline.published.experiment import experiment_names, read_experiment

ROOT = Path(__file__).parents[2]
NAMES = experiment_names(ROOT)
PUBLISHED = [
    "2026-04-gemini-context-v2-archived",
    "2026-08-context-ablation",
    "2026-08-high-judge",
    "2026-08-issue1",
]


def _yaml(path: str) -> Any:
    return YAML(typ="safe", pure=True).load((ROOT / path).read_text(encoding="utf-8"))


STAGES = _yaml("experiments/dvc.yaml")["stages"]


def test_the_published_experiments_are_there() -> None:
    assert [name for name in NAMES if read_experiment(ROOT, name).published] == PUBLISHED


@pytest.mark.parametrize("name", NAMES)
def test_an_experiment_and_its_claims_are_valid(name: str) -> None:
    experiment = read_experiment(ROOT, name)
    path = ROOT / "experiments" / name / "claims.json"
    claims = read_claims(path, name, experiment.participants, experiment.languages)
    assert claims.claims
    used = {place.document for claim in claims.claims for place in claim.printed_in}
    assert used == set(claims.documents), "a document that no claim was printed in"
    for document in claims.documents.values():
        assert (document.repository is None) == (document.commit is None)


def test_the_stages_are_the_experiments_with_raw_answers() -> None:
    (stage,) = STAGES.values()
    rebuilt = {name for name in PUBLISHED if read_experiment(ROOT, name).raw_answers}
    assert set(stage["matrix"]["experiment"]) == rebuilt
    with_reports = {path.parent.name for path in (ROOT / "experiments").glob("*/reports")}
    assert with_reports == rebuilt


def test_the_reports_are_in_git_and_the_run_folders_are_not() -> None:
    (stage,) = STAGES.values()
    assert stage["outs"] == [{"experiments/${item.experiment}/reports": {"cache": False}}]
    assert "pipeline" in stage["deps"]
    assert "/published" in (ROOT / "data" / ".gitignore").read_text(encoding="utf-8").splitlines()


def test_the_root_pipeline_needs_none_of_it() -> None:
    root = (ROOT / "dvc.yaml").read_text(encoding="utf-8")
    for text in ("data/published", "pipeline published", *(f"experiments/{n}/reports" for n in PUBLISHED)):
        assert text not in root
