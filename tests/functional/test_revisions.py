"""Runs of revisions: found, rebuilt, cleaned up after, and refused in one line.

The project here is a stub with the places of a real one: its one stage writes its outputs and manifest
from ``params.yaml``, so that a rebuild takes as long as DVC takes to start.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pipeline.errors import ManifestError, RevisionError
from pipeline.lineage.revisions import experiments, named_run, resolve, run_at

STAGE = """\
import os, pathlib, sys, time
text = pathlib.Path("params.yaml").read_text()
if "fail" in text:
    print("error: 3 answers are missing [exit code 3]")
    sys.exit(3)
if "sleep" in text:
    pathlib.Path(os.environ["MARK"]).write_text(str(os.getpid()))
    time.sleep(60)
for name in ("data/requests/requests.jsonl", "data/requests/cells.parquet", "data/responses/responses.jsonl",
             "data/tables/x", "reports/manifest.json"):
    pathlib.Path(name).parent.mkdir(parents=True, exist_ok=True)
    pathlib.Path(name).write_text(text + os.environ["CTXEVAL_LEDGER"].rpartition("/")[2])
"""
DVC_YAML = """\
stages:
  all:
    cmd: python -m pipeline
    deps: [params.yaml]
    outs:
      - data/requests
      - data/responses
      - data/tables
      - reports/manifest.json: {cache: false}
"""
IGNORED = "/data/\n/.dvc/tmp\n/.dvc/cache\n/.dvc/config.local\n"
PARAMS = "judge: {offline: true, word: one}\n"


def git(folder: Path, *arguments: str) -> str:
    identity = ("-c", "user.name=someone", "-c", "user.email=someone@example.org")
    done = subprocess.run(
        ["git", *identity, *arguments], cwd=folder, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def commit(project: Path, params: str | None = None) -> str:
    if params is not None:
        (project / "params.yaml").write_text(params, encoding="utf-8")
    git(project, "add", "--all")
    git(project, "commit", "--quiet", "--allow-empty", "--message", "a commit")
    return git(project, "rev-parse", "HEAD")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """The stub, committed before it ever ran."""
    folder = tmp_path / "project"
    for name, text in {
        "pipeline/__main__.py": STAGE,
        "pipeline/__init__.py": "",
        "dvc.yaml": DVC_YAML,
        "params.yaml": PARAMS,
        ".gitignore": IGNORED,
        ".dvc/config": "[core]\n    analytics = false\n",
        "reports/manifest.json": "committed",
    }.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    git(folder, "init", "--quiet")
    commit(folder)
    return folder


def left_behind(project: Path) -> str:
    """What a look at a revision must not leave: changes, worktrees."""
    return git(project, "status", "--porcelain") + git(project, "worktree", "list").partition("\n")[2]


def test_a_revision_is_rebuilt_once_then_taken_from_the_cache(project: Path) -> None:
    head = git(project, "rev-parse", "HEAD")
    (project / "params.yaml").write_text("judge: {offline: true, word: changed}\n", encoding="utf-8")
    with run_at(project, revision="HEAD") as place:
        root = place.root
        assert place.name == f"HEAD ({head[:12]})"
        assert not place.published
        assert "word: one" in (place.tables / "x").read_text(encoding="utf-8")
        assert "ledger.sqlite" in (place.tables / "x").read_text(encoding="utf-8")
        # What git tracks is as it was committed, though the rebuild wrote it.
        assert place.manifest.read_text(encoding="utf-8") == "committed"
        assert root != project
    assert not root.exists()
    assert not root.parent.exists()
    assert left_behind(project) == "M params.yaml"  # as the user left it
    assert git(project, "rev-parse", "HEAD") == head


def test_outputs_come_from_the_cache(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    environment = os.environ | {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "CTXEVAL_LEDGER": "/x/own-ledger",
    }
    subprocess.run([sys.executable, "-m", "dvc", "repro", "-q"], cwd=project, env=environment, check=True)
    commit(project)
    shutil.rmtree(project / "data")
    commit(project, "judge: {offline: true, word: two}\n")
    monkeypatch.setattr("pipeline.lineage.rebuilding._reproduce", lambda *_: pytest.fail("was rebuilt"))
    with run_at(project, revision="HEAD~1") as place:
        assert (place.tables / "x").read_text(encoding="utf-8") == PARAMS + "own-ledger"
    # A worktree of the user's has no cache of its own; the main working tree's serves it.
    git(project, "worktree", "add", "--quiet", "--detach", str(project.parent / "other"), "HEAD")
    with run_at(project.parent / "other", revision="HEAD~1") as place:
        assert (place.tables / "x").is_file()
    # A cache elsewhere is found by the configuration.
    shutil.move(project / ".dvc" / "cache", project.parent / "cache")
    (project / ".dvc" / "config.local").write_text("[cache]\n    dir = ../../cache\n", encoding="utf-8")
    with run_at(project, revision="HEAD~1") as place:
        assert (place.tables / "x").is_file()


def test_a_rebuild_asks_nobody(project: Path) -> None:
    commit(project, "judge: {offline: false, word: asks}\n")
    with run_at(project, revision="HEAD") as place:
        made = (place.tables / "x").read_text(encoding="utf-8")
        assert "offline: true" in made
        assert "offline: false" in (place.root / "params.yaml").read_text(encoding="utf-8")


def test_a_project_in_a_folder_of_the_repository(project: Path) -> None:
    inner = project / "inner"
    inner.mkdir()
    for name in git(project, "ls-files").split("\n"):
        (inner / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).rename(inner / name)
    commit(project)
    with run_at(inner, revision="HEAD") as place:
        assert (place.tables / "x").is_file()
        assert place.root.name == "inner"


def test_git_variables_of_a_hook_mislead_nothing(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    head = resolve(project, "HEAD")
    monkeypatch.setenv("GIT_DIR", "/nowhere")
    assert resolve(project, "HEAD") == head


def test_experiments_by_name(project: Path) -> None:
    first, second = commit(project), commit(project)
    git(project, "update-ref", f"refs/exps/{first[:2]}/{first[2:]}/try-1", second)
    git(project, "update-ref", "refs/exps/exec/EXEC_HEAD", first)
    assert experiments(project) == [("try-1", second)]
    assert resolve(project, "try-1") == second
    git(project, "update-ref", f"refs/exps/{second[:2]}/{second[2:]}/try-1", first)
    with pytest.raises(
        RevisionError, match=f"2 experiments are named 'try-1'; give one commit of: .*{first[:12]}"
    ):
        resolve(project, "try-1")


@pytest.mark.parametrize(
    "revision", ["nothing", "", "--help", "-q", "HEAD~99", "a b", "refs/exps", "\n", "@{9}"]
)
def test_unknown_revisions(project: Path, revision: str) -> None:
    with pytest.raises(RevisionError, match="is no git revision and no DVC experiment"):
        resolve(project, revision)


def test_not_a_repository(tmp_path: Path) -> None:
    with pytest.raises(RevisionError, match="not a git repository; revisions need a clone"):
        resolve(tmp_path, "HEAD")


def test_a_repository_without_a_commit(tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet")
    with pytest.raises(RevisionError, match="is no git revision"):
        resolve(tmp_path, "HEAD")


def test_no_git(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(RevisionError, match="git is not installed"):
        resolve(project, "HEAD")


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        ("git rm -rq pipeline", "holds no pipeline/__main__.py; name a revision that holds the pipeline"),
        ("git rm -q dvc.yaml", "holds no dvc.yaml"),
        ("git rm -q params.yaml", "params.yaml of the revision cannot be read"),
        ("echo 'judge: 1' > params.yaml", "params.yaml of the revision cannot be read"),
        ("echo 'judge: {word: fail}' > params.yaml", "cannot be rebuilt .*: 3 answers are missing"),
        ("echo 'a: [' > dvc.yaml", "cannot be rebuilt from its recorded answers: "),
        ("echo 'stages: 1' > dvc.lock", "dvc.lock: not DVC's lock file"),
    ],
)
def test_revisions_that_cannot_be_had(project: Path, spoil: str, message: str) -> None:
    subprocess.run(["bash", "-c", spoil], cwd=project, check=True)
    commit(project)
    with (
        pytest.raises((RevisionError, ManifestError), match=message) as caught,
        run_at(project, revision="HEAD"),
    ):
        pytest.fail("there is no such run")
    assert "\n" not in str(caught.value)
    assert left_behind(project) == ""


def test_an_error_while_looking_leaves_nothing(project: Path) -> None:
    with pytest.raises(KeyError), run_at(project, revision="HEAD") as place:
        raise KeyError(place.root)
    assert left_behind(project) == ""


def test_ctrl_c_ends_the_rebuild_and_leaves_nothing(project: Path, tmp_path: Path) -> None:
    commit(project, "judge: {word: sleep}\n")
    mark, temporary = tmp_path / "mark", tmp_path / "temporary"
    temporary.mkdir()
    code = (
        "from pathlib import Path; from pipeline.lineage.revisions import run_at\n"
        "with run_at(Path(), revision='HEAD'): pass\n"
    )
    environment = os.environ | {
        "PYTHONPATH": str(Path(__file__).parents[2]),
        "MARK": str(mark),
        "TMPDIR": str(temporary),
        "PYTHONSAFEPATH": "1",  # the stub's package must not stand in for the real one
    }
    process = subprocess.Popen(
        [sys.executable, "-c", code], cwd=project, env=environment, stderr=subprocess.PIPE
    )
    deadline = time.monotonic() + 60
    while not (mark.is_file() and mark.read_text(encoding="utf-8")):
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=30)
    assert b"KeyboardInterrupt" in said
    assert list(temporary.iterdir()) == []
    assert left_behind(project) == ""
    stage = Path("/proc") / mark.read_text(encoding="utf-8")
    assert not stage.exists() or "Z (zombie)" in (stage / "status").read_text(encoding="utf-8")


def test_named_runs(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder that is there comes before a revision of the same name."""
    monkeypatch.chdir(project)
    git(project, "branch", "data")
    (project / "data").mkdir()
    with pytest.raises(ManifestError, match="name a project where"), named_run(Path(), "data"):
        pytest.fail("there is no run in it")
    with named_run(Path(), ".") as place:
        assert place.root == Path()
    with named_run(Path(), "HEAD") as place:
        assert (place.tables / "x").is_file()
