"""The published experiments in a fresh clone: the root pipeline needs none, and DVC makes them again."""

from __future__ import annotations

import subprocess
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


def test_the_worked_example_of_the_docs(project: Path) -> None:
    page = (project / "docs" / "claims.md").read_text("utf-8")
    output = run((sys.executable, "-m", "pipeline", "published", "audit", "."), project)
    summary = output.split("\n\n## ")[0]
    assert summary.startswith("# The default run of this project")
    assert f"$ python -m pipeline published audit .\n{summary}\n...\n" in page
    path = project / "experiments" / "ko-context-dialogue-v1" / "claims.json"
    text = path.read_text("utf-8")
    path.write_text(text.replace('"5.083"', '"5.084"'), "utf-8")
    command = (sys.executable, "-m", "pipeline", "published", "audit", ".")
    done = subprocess.run(command, cwd=project, capture_output=True, text=True, check=False)
    path.write_text(text, "utf-8")
    (line,) = (line for line in done.stdout.splitlines() if line.startswith("- `mean.sentence`"))
    assert done.returncode == 1
    assert f"{line}\n...\n{done.stderr}" in page


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
