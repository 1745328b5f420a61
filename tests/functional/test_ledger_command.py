"""``python -m pipeline ledger`` and ``judge --dry-run``: what they print, and what they leave alone."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from fake_openai import FakeOpenAI, say
from judge_project import Project, make_project

from pipeline.answers import seal
from pipeline.canonical import json_line
from pipeline.errors import InputError
from pipeline.judges.ledger import Ledger
from pipeline.judges.ledger_sharing import Imported, export_ledger, import_ledger
from pipeline.judges.ledger_views import compact, show_lines, status_lines
from pipeline.stages import judge


@pytest.fixture
def service() -> Iterator[FakeOpenAI]:
    with FakeOpenAI() as running:
        yield running


@pytest.fixture
def project(service: FakeOpenAI, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    made = make_project(tmp_path, service.base_url)
    monkeypatch.setenv("CTXEVAL_LEDGER", str(made.ledger))
    return made


def test_status_and_show(service: FakeOpenAI, project: Project) -> None:
    service.script = lambda body, nth: say(body, "no annotation\x1b[31m")
    judge.run(project.root)
    lines = list(status_lines(project.ledger))
    assert lines == [
        f"ledger {project.ledger}",
        "6 requests; 6 settled, 0 asked and not settled (counted by repeat)",
        "openai-compatible: 12 answered, $0.0014",
        "no open batch jobs",
    ]
    digest = project.requests[0].request_hash
    shown = list(show_lines(project.ledger, digest[:16]))
    assert shown[0] == f"request {digest}"
    assert [": answered" in line for line in shown].count(True) == 2
    assert ["selected" in line for line in shown].count(True) == 1
    assert "  | no annotation [31m" in shown
    raw = list(show_lines(project.ledger, digest, raw=True))
    assert any(line.startswith('  > {"id":') for line in raw)
    with pytest.raises(InputError, match="no requests of"):
        list(show_lines(project.ledger, "g"))
    with pytest.raises(InputError, match="several requests of"):
        list(show_lines(project.ledger, ""))


def test_the_commands_run(project: Project, tmp_path: Path) -> None:
    for words in (["status"], ["show", "aa"], ["export", str(tmp_path / "x")], ["compact"]):
        done = project.run("ledger", *words)
        assert done.returncode == 1, words
        assert "there is no ledger" in done.stderr
        assert len(done.stderr.splitlines()) == 1
    judge.run(project.root)
    export = str(tmp_path / "shared.jsonl")
    for words, said in (
        (["status"], "6 settled"),
        (["show", project.requests[0].request_hash], "selected"),
        (["export", export], "6 attempts exported"),
        (["import", export], "0 attempts added, 6 known already, 0 requests settled"),
        (["compact"], "bytes before"),
    ):
        done = project.run("ledger", *words)
        assert (done.returncode, done.stderr) == (0, "")
        assert said in done.stdout
    done = project.run("ledger", "reconcile")
    assert done.returncode == 1
    assert "has no batch jobs" in done.stderr


def test_two_people_share_answers(service: FakeOpenAI, project: Project, tmp_path: Path) -> None:
    service.script = lambda body, nth: say(body, f"refused {nth}")
    judge.run(project.root)
    theirs = project.responses.read_bytes()
    shared = tmp_path / "shared.jsonl"
    assert export_ledger(project.ledger, shared) == service.asked.total() == 18
    mine = tmp_path / "mine.sqlite"
    assert import_ledger(mine, shared) == Imported(18, 0, 6)
    assert import_ledger(mine, shared) == Imported(0, 18, 0)
    project.responses.unlink()
    shutil.copy(mine, project.ledger)
    for name in ("-wal", "-shm"):
        project.ledger.with_name(project.ledger.name + name).unlink(missing_ok=True)
    judge.run(project.root)
    assert service.asked.total() == 18
    assert project.responses.read_bytes() == theirs
    # ... and back, by a third ledger: nothing is taken for new.
    again = tmp_path / "again.jsonl"
    export_ledger(mine, again)
    assert again.read_bytes() == shared.read_bytes()


def test_an_import_never_changes_a_selection(service: FakeOpenAI, project: Project, tmp_path: Path) -> None:
    judge.run(project.root)
    mine = project.ledger.rename(tmp_path / "mine.sqlite")
    mine.with_name("mine.sqlite-wal").unlink(missing_ok=True)
    service.script = lambda body, nth: say(body, "another answer")
    judge.run(project.root)
    shared = tmp_path / "shared.jsonl"
    attempts = export_ledger(project.ledger, shared)
    key = (project.requests[0].request_hash, 0)
    with Ledger(mine) as ledger:
        before = ledger.answer(key)
    assert import_ledger(mine, shared) == Imported(attempts, 0, 0)
    with Ledger(mine) as ledger:
        assert ledger.answer(key) == before
        assert [attempt.text for attempt in ledger.rounds(key)][1:] == ["another answer"] * 2


def _resealed(line: str, **changes: object) -> str:
    row = {**json.loads(line), **changes}
    row.pop("sha256")
    return json_line({**row, "sha256": seal(row)})


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda lines: [], id="empty"),
        pytest.param(lambda lines: lines[1:], id="no header"),
        pytest.param(lambda lines: [*lines[:-1], lines[-1][:-40]], id="cut"),
        pytest.param(lambda lines: [lines[0], *lines[7:]], id="requests missing"),
        pytest.param(lambda lines: [*lines[:-1], lines[-1].replace("no-error", "x")], id="changed"),
        pytest.param(lambda lines: [*lines, "[" * 100_000 + "\n"], id="deep"),
        pytest.param(lambda lines: [*lines, "\x00\n"], id="binary"),
        pytest.param(lambda lines: [*lines, _resealed(lines[1], canonical="{}")], id="another request"),
        pytest.param(lambda lines: [*lines, _resealed(lines[-1], owner="../../x")], id="path as owner"),
        pytest.param(lambda lines: [*lines, _resealed(lines[-1], origin="a/1;--")], id="SQL as origin"),
        pytest.param(lambda lines: [*lines, _resealed(lines[-1], repeat=-1)], id="repeat"),
        pytest.param(lambda lines: [*lines, _resealed(lines[-1], kind="failed")], id="failed without why"),
        pytest.param(lambda lines: [*lines, _resealed(lines[-1], attempt=None)], id="answer without one"),
        pytest.param(lambda lines: [*lines, _resealed(lines[-1], backend="other")], id="two backends"),
        pytest.param(lambda lines: [*lines, _resealed(lines[0], answer_ledger=2)], id="second header"),
    ],
)
def test_a_damaged_or_hostile_file_is_refused_whole(
    project: Project, tmp_path: Path, change: Callable[[list[str]], list[str]]
) -> None:
    judge.run(project.root)
    shared, mine = tmp_path / "shared.jsonl", tmp_path / "mine.sqlite"
    export_ledger(project.ledger, shared)
    lines = change(shared.read_text("utf-8").splitlines(keepends=True))
    shared.write_text("".join(lines), encoding="utf-8")
    with pytest.raises(InputError) as refused:
        import_ledger(mine, shared)
    assert "\n" not in str(refused.value)
    assert str(shared) in str(refused.value)
    if mine.exists():
        connection = sqlite3.connect(mine)
        assert connection.execute("SELECT count(*) FROM intents").fetchone() == (0,)
        connection.close()


def test_compact_removes_nothing(project: Project, tmp_path: Path) -> None:
    judge.run(project.root)
    before, after = tmp_path / "before", tmp_path / "after"
    export_ledger(project.ledger, before)
    compact(project.ledger)
    export_ledger(project.ledger, after)
    assert after.read_bytes() == before.read_bytes()


def test_an_export_does_not_overwrite(project: Project) -> None:
    judge.run(project.root)
    with pytest.raises(InputError, match="is there already"):
        export_ledger(project.ledger, project.ledger)


def test_a_dry_run_says_what_would_be_asked_and_writes_nothing(service: FakeOpenAI, project: Project) -> None:
    def lines() -> dict[str, str]:
        return dict(line.split(":", 1) for line in judge.dry_run(project.root).splitlines())

    said = lines()
    assert said["wanted"].strip() == "6 answers"
    assert said["to be asked"].strip() == "6 of 'fake-model' by openai-compatible"
    assert "unknown (no price" in said["cost"]
    assert not project.ledger.exists()
    prices = project.root / "data/judge-prices.yaml"
    prices.write_text(
        "prices:\n- {model: fake-model, input_usd: '1.00', output_usd: '2.00', checked: provider, "
        "source: test, date: '2026-11-30'}\n",
        encoding="utf-8",
    )
    # 6 requests of 64 completion tokens at most, at 2 USD a million, and their prompts at 1 USD.
    prompt = int(lines()["tokens"].split()[0])
    assert lines()["cost"].split()[0] == f"${(prompt + 6 * 64 * 2) / 1e6:.4f}"
    assert "prices of 2026-11-30" in lines()["cost"]
    judge.run(project.root)
    project.write_params(repeats=2)
    said = lines()
    assert said["ledger"].strip() == "6"
    assert said["to be asked"].split()[0] == "6"
    # Set right by the usage of the 6 answers: 100 tokens in and 20 out each.
    assert said["tokens"].split()[:4] == ["600", "in,", "120", "out"]
    assert said["cost"].split()[0] == "$0.0008"
    assert service.asked.total() == 6
