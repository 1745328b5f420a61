"""``dvc repro`` in a fresh clone: the same bytes wherever and however it runs, and nothing to do twice."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DVC = (sys.executable, "-m", "dvc")

# Each way differs in folder, threads, time zone, locale and byte-code writing. That all of them leave git
# clean says that all of them gave the committed bytes.
WAYS = {
    "one thread, east, plain C locale, no byte code": (
        "clone",
        {
            "CTXEVAL_THREADS": "1",
            "POLARS_MAX_THREADS": "1",
            "TZ": "Asia/Seoul",
            "LC_ALL": "C",
            "PYTHONDONTWRITEBYTECODE": "1",
        },
    ),
    "two threads, west, UTF-8 locale, odd folder": (
        "a folder/복제 'clone'",
        {
            "CTXEVAL_THREADS": "2",
            "POLARS_MAX_THREADS": "2",
            "TZ": "America/St_Johns",
            "LC_ALL": "C.UTF-8",
            "PYTHONHASHSEED": "7",
        },
    ),
}


def run(command: tuple[str, ...], folder: Path, extra: Mapping[str, str] | None = None) -> str:
    """Output of a command that has to succeed, with the tests' Python first on the path."""
    environment = {k: v for k, v in os.environ.items() if k not in ("PYTHONDONTWRITEBYTECODE", "PYTHONPATH")}
    environment["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{environment['PATH']}"
    done = subprocess.run(
        command, cwd=folder, env=environment | dict(extra or {}), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{command}: {done.stdout}\n{done.stderr}"
    return done.stdout


def clone(folder: Path) -> Path:
    """A fresh clone of what is committed, without any DVC cache."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    run(("git", "clone", "--quiet", str(ROOT), str(folder)), folder.parent)
    return folder


@pytest.fixture(scope="module")
def reproduced(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A clone in which ``dvc repro`` has run once, shared by the tests that only look."""
    project = clone(tmp_path_factory.mktemp("reproduced") / "clone")
    run((*DVC, "repro"), project)
    return project


@pytest.mark.parametrize("way", WAYS)
def test_same_bytes_every_way(way: str, tmp_path: Path) -> None:
    folder, environment = WAYS[way]
    project = clone(tmp_path / folder)
    ledger = tmp_path / "state"
    output = run((*DVC, "repro"), project, environment | {"XDG_STATE_HOME": str(ledger)})
    assert "Running stage 'render'" in output
    assert run(("git", "status", "--porcelain"), project) == ""
    assert not ledger.exists(), "a run from recorded answers needs no ledger"


def test_second_repro_runs_nothing(reproduced: Path) -> None:
    output = run((*DVC, "repro"), reproduced)
    assert "Running stage" not in output
    assert "Data and pipelines are up to date." in output
    assert run(("git", "status", "--porcelain"), reproduced) == ""


def test_verify_finds_nothing(reproduced: Path) -> None:
    output = run((sys.executable, "-m", "pipeline", "verify"), reproduced)
    assert output.endswith("13 ok, 0 failed, 0 skipped\n")
    assert "210 of 210 used answers recorded, and the same" in output


def test_dvc_sees_metrics_plots_and_stages(reproduced: Path) -> None:
    metrics = run((*DVC, "metrics", "show", "--md"), reproduced)
    assert "copy-source" in metrics
    assert "mean_penalty" in metrics
    dag = run((*DVC, "dag", "--dot"), reproduced)
    for edge in ('"render" -> "judge"', '"judge" -> "parse"', '"parse" -> "score"', '"score" -> "seal"'):
        assert edge in dag
    page = run((*DVC, "plots", "show"), reproduced).strip().removeprefix("file://")
    html = Path(page).read_text(encoding="utf-8")
    assert "Mean penalty, best first" in html
    assert '"zero": true' in html


def readme_commands() -> list[str]:
    """Every ``python -m pipeline`` command of the README's code blocks, comments dropped."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```\n(.*?)^```", text, flags=re.DOTALL | re.MULTILINE)
    found = re.findall(r"^(python -m pipeline .*?)(?:\s+#.*)?$", "".join(blocks), flags=re.MULTILINE)
    assert len(found) >= 3
    return found


def test_readme_commands_run(reproduced: Path) -> None:
    for command in readme_commands():
        words = shlex.split(command)
        assert run((sys.executable, *words[1:]), reproduced), command


def test_experiments_change_what_they_say(reproduced: Path) -> None:
    """``dvc exp run`` in the project's folder and in a temporary one, compared with what HEAD has."""
    run((*DVC, "exp", "run", "--temp", "--name", "capped", "-S", "scoring.scheme=gemba-upstream"), reproduced)
    assert run(("git", "status", "--porcelain"), reproduced) == ""
    shown = run((*DVC, "exp", "show", "--csv", "--only-changed"), reproduced)
    assert "capped" in shown
    assert "gemba-upstream" in shown
    run((*DVC, "exp", "run", "--name", "json", "-S", "judge.profile=qwen2.5-coder-1.5b-json"), reproduced)
    assert "profile: qwen2.5-coder-1.5b-json" in (reproduced / "params.yaml").read_text(encoding="utf-8")
    assert run((sys.executable, "-m", "pipeline", "verify"), reproduced).endswith(" 0 failed, 0 skipped\n")
    metrics = json.loads((reproduced / "reports" / "metrics.json").read_text(encoding="utf-8"))
    quoted = re.search(r"untranslated, a mean penalty of ([0-9.]+)", (ROOT / "README.md").read_text("utf-8"))
    assert quoted is not None
    assert f"{metrics['copy-source']['mean_penalty']:.3f}" == quoted[1]
    assert "copy-source.mean_penalty" in run((*DVC, "metrics", "diff"), reproduced)
    run(("git", "checkout", "--quiet", "."), reproduced)


@pytest.mark.long
def test_queued_experiment(tmp_path: Path) -> None:
    project = clone(tmp_path / "clone")
    run(
        (*DVC, "exp", "run", "--queue", "--name", "queued", "-S", "judge.profile=qwen2.5-coder-1.5b-json"),
        project,
    )
    run((*DVC, "queue", "start", "--jobs", "1"), project)
    run((*DVC, "queue", "logs", "queued", "--follow"), project)
    assert "queued" in run((*DVC, "exp", "list", "--name-only"), project)
    run((*DVC, "queue", "stop"), project)


def test_answer_that_is_missing_stops_the_run(tmp_path: Path) -> None:
    """Without the recorded answers the judge stage says what is missing, and dvc passes a failure on."""
    project = clone(tmp_path / "clone")
    for path in (project / "data" / "recorded").glob("*.jsonl"):
        lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
        path.write_text("".join(lines[1:]), encoding="utf-8")
    environment = os.environ | {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "XDG_STATE_HOME": str(tmp_path / "state"),
    }
    done = subprocess.run(
        (*DVC, "repro"), cwd=project, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 255
    last = [line for line in done.stderr.splitlines() if line.startswith("error:")]
    assert len(last) == 1
    assert "1 " in last[0]
    assert "[exit code 3]" in last[0]
    assert not (project / "data" / "responses" / "responses.jsonl").exists()
