"""``trace``, ``verify`` and ``diff`` of revisions and experiments, in a clone where nothing ever ran."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
NUMBER = "summary-overall.penalty#/0/mean_penalty"


def run(folder: Path, *command: str) -> str:
    """Output of a command that has to succeed, with the tests' Python first on the path."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    environment["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{environment['PATH']}"
    environment["XDG_STATE_HOME"] = str(folder.parent / "state")
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command}: {done.stdout}\n{done.stderr}"
    return done.stdout


def pipeline(folder: Path, *arguments: str) -> str:
    return run(folder, sys.executable, "-m", "pipeline", *arguments)


def document(folder: Path, *arguments: str) -> dict[str, Any]:
    value: dict[str, Any] = json.loads(pipeline(folder, *arguments, "--json"))
    return value


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bare fresh clone: what is committed, no cache, no outputs."""
    folder = tmp_path_factory.mktemp("trace") / "clone"
    run(folder.parent, "git", "clone", "--quiet", str(ROOT), str(folder))
    return folder


def test_a_fresh_clone_traces_its_own_revision(clone: Path) -> None:
    found = document(clone, "trace", "--rev", "HEAD", NUMBER)
    assert found["agrees"] is True
    reported = json.loads((clone / "reports/scores/summary-overall.penalty.json").read_text(encoding="utf-8"))
    assert found["value"] == reported[0]["mean_penalty"]
    answer = found["cells"]["list"][0]["verdicts"][0]["answer"]
    assert answer["at"]["path"] == "data/responses/responses.jsonl"
    line = (clone / answer["recorded"]["at"]["path"]).read_text(encoding="utf-8").split("\n")
    attempt = json.loads(line[answer["recorded"]["at"]["line"] - 1])["attempts"][0]
    assert answer["text"] == attempt["text"]
    assert answer["attempts"][0]["raw"] == attempt["raw"]
    assert ", 0 failed, " in pipeline(clone, "verify", "--rev", "HEAD")
    assert run(clone, "git", "status", "--porcelain") == ""
    assert run(clone, "git", "worktree", "list").count("\n") == 1
    assert not (clone / "data" / "tables").exists()
    assert not (clone.parent / "state").exists(), "a rebuild uses no ledger"


def test_every_number_of_the_default_run(clone: Path) -> None:
    """As for rebuilt runs in ``test_trace.py``: each value recomputed, each unit down to lines."""
    code = (
        "import sys; sys.path[:0] = sys.argv[1:]\n"
        "from pathlib import Path\n"
        "from trace_walk import check_every_number\n"
        "from pipeline.lineage.revisions import run_at\n"
        "from pipeline.lineage.trace.tracer import Tracer\n"
        "with run_at(Path(), revision='HEAD') as place: print(check_every_number(Tracer(place)))\n"
    )
    count = int(run(clone, sys.executable, "-c", code, str(ROOT), str(ROOT / "tests" / "support")))
    scores = [path.read_text(encoding="utf-8") for path in (clone / "reports" / "scores").glob("*.json")]
    metrics = (clone / "reports" / "metrics.json").read_text(encoding="utf-8")
    assert count == sum(numbers(json.loads(text)) for text in [*scores, metrics])
    assert count > 500


def numbers(value: Any) -> int:
    """How many values of a JSON document are no text."""
    if isinstance(value, dict):
        return sum(map(numbers, value.values()))
    return sum(map(numbers, value)) if isinstance(value, list) else not isinstance(value, str)


def test_an_experiment_with_another_judge_and_the_run_before_it(clone: Path) -> None:
    before = document(clone, "trace", "--rev", "HEAD", NUMBER)
    run(
        clone,
        *(sys.executable, "-m", "dvc", "exp", "run", "--quiet", "--name", "other-judge"),
        *("-S", "judge.profile=qwen2.5-coder-1.5b-json"),
    )
    assert "qwen2.5-coder-1.5b-json" in (clone / "params.yaml").read_text(encoding="utf-8")
    after = document(clone, "trace", "--rev", "HEAD", NUMBER)
    assert after | {"run": None} == before | {"run": None}
    here = document(clone, "trace", NUMBER)
    other = document(clone, "trace", "--rev", "other-judge", NUMBER)
    assert here["agrees"] is other["agrees"] is True
    assert here["run"]["run_id"] == other["run"]["run_id"] != before["run"]["run_id"]
    expected = ("--expect", other["run"]["run_id"])
    assert ", 0 failed, " in pipeline(clone, "verify", "--rev", "other-judge", *expected)

    found = document(clone, "diff", "HEAD", "other-judge")
    assert set(found["cells"]["by_cause"]) == {"request"}
    assert found["behind_requests"] == ["prompts", "profile"]
    for side, revision in (("mean_a", "HEAD"), ("mean_b", "other-judge")):
        committed = json.loads(run(clone, "git", "show", f"{_commit(clone, revision)}:reports/metrics.json"))
        for move in found["leaderboard"]:
            assert move[side] == committed[move["participant_id"]]["mean_penalty"]
    assert "Nothing differs." in pipeline(clone, "diff", ".", "other-judge")
    run(clone, "git", "checkout", "--quiet", ".")
    assert run(clone, "git", "status", "--porcelain") == ""


def _commit(clone: Path, name: str) -> str:
    refs = run(clone, "git", "for-each-ref", "--format=%(refname)", "refs/exps").split()
    return next((ref for ref in refs if ref.endswith(f"/{name}")), name)
