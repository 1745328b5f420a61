"""The published experiments in a fresh clone: the root pipeline needs none of them, and DVC makes them again."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from published_data import ABLATION, ABSENT, FOLDER, HIGH_JUDGE, REASON
from test_repro import DVC, clone, run


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A clone without run folders in which ``dvc repro`` has run."""
    project = clone(tmp_path_factory.mktemp("experiments") / "clone")
    assert "experiments/dvc.yaml" not in run((*DVC, "repro"), project)
    return project


def test_a_clone_without_run_folders_is_up_to_date(project: Path) -> None:
    assert not (project / "data" / "published").exists()
    assert run((*DVC, "status"), project) == "Data and pipelines are up to date.\n"
    assert "Running stage" not in run((*DVC, "repro", "experiments/dvc.yaml"), project)
    assert run(("git", "status", "--porcelain"), project) == ""


@pytest.mark.published
@pytest.mark.skipif(ABSENT, reason=REASON)
def test_dvc_makes_the_reports_again_with_the_same_bytes(project: Path) -> None:
    for name in (HIGH_JUDGE, ABLATION):
        command = (sys.executable, "-m", "pipeline", "published", "add", str(FOLDER / name))
        run((*command, "--experiment", name), project)
    output = run((*DVC, "repro", "--force", "experiments/dvc.yaml"), project)
    assert output.count("Running stage 'experiments/dvc.yaml:published@") == 2
    assert run(("git", "status", "--porcelain"), project) == ""
    assert run((*DVC, "status"), project) == "Data and pipelines are up to date.\n"
